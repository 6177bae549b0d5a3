"""A set of numbers as cuts of the number line: what bounds and excluded values leave.

Each sign has a `HalfLine` of its own, read as magnitudes: sorted positive cuts, and for each cut and each gap beside
them whether it belongs to the set. With n cuts these are 2n + 1 places: gap, cut, gap, cut, ..., gap. Zero is told
apart, since JSON writes it in both signs.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from typing import NamedTuple

__all__ = ["HalfLine", "Interval", "NumberLine", "cut"]


class Interval(NamedTuple):
    """Magnitudes between two ends; `low` 0 (never in it) and `high` None are no bounds."""

    low: Decimal
    has_low: bool
    high: Decimal | None
    has_high: bool


@dataclass(frozen=True)
class HalfLine:
    """Positive magnitudes: sorted cuts, and the places that belong to the set."""

    cuts: tuple[Decimal, ...]
    places: tuple[bool, ...]

    def is_empty(self) -> bool:
        """Whether no magnitude belongs to the set."""
        return not any(self.places)

    def is_whole(self) -> bool:
        """Whether every magnitude does."""
        return all(self.places)

    def intervals(self) -> list[Interval]:
        """Give the longest runs of places that belong to the set."""
        found: list[Interval] = []
        ends = (Decimal(0), *self.cuts)
        start = 0
        places = (*self.places, False)
        for index, inside in enumerate(places):
            if inside:
                continue
            if index > start:
                last = index - 1
                # Odd places are cuts; a gap at 2i lies between the ends i and i + 1.
                has_high = last % 2 == 1
                top = (last + 1) // 2 if has_high else last // 2 + 1
                high = ends[top] if top < len(ends) else None
                found.append(Interval(ends[(start + 1) // 2], start % 2 == 1, high, has_high))
            start = index + 1
        return found


@dataclass(frozen=True)
class NumberLine:
    """A set of numbers: its magnitudes of each sign, and whether zero is in it."""

    positive: HalfLine
    negative: HalfLine
    has_zero: bool


def cut(
    low: Decimal | None,
    has_low: bool,
    high: Decimal | None,
    has_high: bool,
    excluded: Iterable[Decimal],
) -> NumberLine:
    """Give the numbers between two bounds, less some.

    >>> cut(Decimal(-1), True, None, False, [Decimal(5)]).positive.intervals()
    [Interval(low=Decimal('0'), has_low=False, high=Decimal('5'), has_high=False), \
Interval(low=Decimal('5'), has_low=False, high=None, has_high=False)]
    """
    holes = set(excluded)

    def has(value: Decimal) -> bool:
        above = low is None or value > low or (has_low and value == low)
        below = high is None or value < high or (has_high and value == high)
        return above and below and value not in holes

    ends = [end for end in (low, high) if end is not None]
    inner = [hole for hole in holes if has_around(hole, low, high)]
    halves: list[HalfLine] = []
    for sign in (1, -1):
        cuts = sorted({end.copy_abs() for end in (*ends, *inner) if (end > 0) == (sign > 0) and end != 0})
        edges: list[Decimal | None] = [Decimal(0), *cuts, None]
        places: list[bool] = []
        for left, right in pairwise(edges):
            places.append(_has_gap(left, right, sign, low, high))
            if right is not None:
                places.append(has(right if sign > 0 else right.copy_negate()))
        halves.append(HalfLine(tuple(cuts), tuple(places)))
    return NumberLine(halves[0], halves[1], has(Decimal(0)))


def has_around(value: Decimal, low: Decimal | None, high: Decimal | None) -> bool:
    """Whether a value lies between the bounds, or on one."""
    return (low is None or value >= low) and (high is None or value <= high)


def _has_gap(left: Decimal | None, right: Decimal | None, sign: int, low: Decimal | None, high: Decimal | None) -> bool:
    """Whether the open gap of magnitudes lies within the bounds; both are among the cuts, or of the other sign."""
    if sign < 0:
        low, high = (None if end is None else end.copy_negate() for end in (high, low))
    above = low is None or (left is not None and left >= low)
    below = high is None or (right is not None and right <= high)
    return above and below

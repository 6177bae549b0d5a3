"""Sets of numbers as unions of intervals: the numbers between two bounds, without some excluded values.

Each sign has a `HalfLine` of magnitudes: n sorted positive cuts, and 2n + 1 flags of membership for gap, cut, gap, cut,
..., gap. Zero is a case of its own, since JSON writes it with both signs.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from typing import NamedTuple

__all__ = ["HalfLine", "Interval", "NumberLine", "cut"]


class Interval(NamedTuple):
    """Magnitudes between two bounds. `low` 0, which is never a member, and `high` None are no bounds."""

    low: Decimal
    has_low: bool
    high: Decimal | None
    has_high: bool

    def is_closed(self) -> bool:
        """Whether both bounds are members, where there are bounds."""
        return (self.has_low or not self.low) and (self.has_high or self.high is None)

    def meets(self, low: Decimal, high: Decimal | None) -> bool:
        """Whether a magnitude from `low` to below `high` is a member."""
        is_above = self.high is None or self.high > low or (self.has_high and self.high == low)
        return is_above and (high is None or self.low < high)

    def includes(self, low: Decimal, high: Decimal | None) -> bool:
        """Whether all magnitudes from `low` to below `high` are members."""
        is_from_low = self.low < low or (self.low == low and (self.has_low or not low))
        return is_from_low and (self.high is None or (high is not None and self.high >= high))


@dataclass(frozen=True)
class HalfLine:
    """Positive magnitudes: sorted cuts, and the membership of the gaps and cuts in turn."""

    cuts: tuple[Decimal, ...]
    membership: tuple[bool, ...]

    def is_empty(self) -> bool:
        """Whether no magnitude belongs to the set."""
        return not any(self.membership)

    def is_whole(self) -> bool:
        """Whether every magnitude does."""
        return all(self.membership)

    def intervals(self) -> list[Interval]:
        """Return the maximal intervals of members."""
        found: list[Interval] = []
        cuts_from_zero = (Decimal(0), *self.cuts)
        start = 0
        membership = (*self.membership, False)
        for index, inside in enumerate(membership):
            if inside:
                continue
            if index > start:
                last = index - 1
                # Cuts have odd indices; the gap at 2i is between the cuts i and i + 1, where cut 0 is zero.
                has_high = last % 2 == 1
                top = (last + 1) // 2 if has_high else last // 2 + 1
                high = cuts_from_zero[top] if top < len(cuts_from_zero) else None
                found.append(Interval(cuts_from_zero[(start + 1) // 2], start % 2 == 1, high, has_high))
            start = index + 1
        return found


@dataclass(frozen=True)
class NumberLine:
    """A set of numbers: its magnitudes of each sign, and whether zero is a member."""

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
    """Return the numbers between two bounds, without the excluded ones.

    >>> cut(Decimal(-1), True, None, False, [Decimal(5)]).positive.intervals()
    [Interval(low=Decimal('0'), has_low=False, high=Decimal('5'), has_high=False), \
Interval(low=Decimal('5'), has_low=False, high=None, has_high=False)]
    """
    holes = set(excluded)

    def has(value: Decimal) -> bool:
        above = low is None or value > low or (has_low and value == low)
        below = high is None or value < high or (has_high and value == high)
        return above and below and value not in holes

    bounds = [bound for bound in (low, high) if bound is not None]
    inner = [hole for hole in holes if _is_between(hole, low, high)]
    halves: list[HalfLine] = []
    for sign in (1, -1):
        cuts = sorted({cut.copy_abs() for cut in (*bounds, *inner) if (cut > 0) == (sign > 0) and cut != 0})
        edges: list[Decimal | None] = [Decimal(0), *cuts, None]
        membership: list[bool] = []
        for left, right in pairwise(edges):
            membership.append(_has_gap(left, right, sign, low, high))
            if right is not None:
                membership.append(has(right if sign > 0 else right.copy_negate()))
        halves.append(HalfLine(tuple(cuts), tuple(membership)))
    return NumberLine(halves[0], halves[1], has(Decimal(0)))


def _is_between(value: Decimal, low: Decimal | None, high: Decimal | None) -> bool:
    """Whether a value is between the bounds, or equal to one."""
    return (low is None or value >= low) and (high is None or value <= high)


def _has_gap(left: Decimal | None, right: Decimal | None, sign: int, low: Decimal | None, high: Decimal | None) -> bool:
    """Whether an open gap of magnitudes is within the bounds; a bound is a cut, or has the other sign."""
    if sign < 0:
        low, high = (None if bound is None else bound.copy_negate() for bound in (high, low))
    above = low is None or (left is not None and left >= low)
    below = high is None or (right is not None and right <= high)
    return above and below

"""Sets of code points as ranges: inclusive pairs, ascending, disjoint and not adjacent.

Surrogates may lie inside a range: text in UTF-8 has none, so the core leaves them out.
"""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["EVERYTHING", "LAST", "Range", "Ranges", "complement", "normalise"]

Range = tuple[int, int]
Ranges = tuple[Range, ...]

LAST = 0x10FFFF
EVERYTHING: Ranges = ((0, LAST),)


def normalise(ranges: Iterable[Range]) -> Ranges:
    """Sort and merge; costs n log n.

    >>> normalise([(50, 60), (48, 49), (55, 70)])
    ((48, 70),)
    """
    merged: list[Range] = []
    end = -2
    for low, high in sorted(ranges):
        if low > end + 1:
            merged.append((low, high))
            end = high
        elif high > end:
            merged[-1] = (merged[-1][0], high)
            end = high
    return tuple(merged)


def complement(ranges: Ranges) -> Ranges:
    """Every code point that is in none of the (normalised) ranges; costs n.

    >>> complement(((0, 9), (11, LAST)))
    ((10, 10),)
    """
    gaps: list[Range] = []
    start = 0
    for low, high in ranges:
        if low > start:
            gaps.append((start, low - 1))
        start = high + 1
    if start <= LAST:
        gaps.append((start, LAST))
    return tuple(gaps)

"""Sets of code points, as tuples of ranges: inclusive pairs, ascending, disjoint and not adjacent.

Every front end uses this form: regexes, ECMA patterns, grammars and the regexes of pre-tokenizers. A range may contain
surrogates; the core leaves them out, since UTF-8 text has none.
"""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["EVERYTHING", "LAST", "Range", "Ranges", "complement", "normalise"]

Range = tuple[int, int]
Ranges = tuple[Range, ...]

LAST = 0x10FFFF
EVERYTHING: Ranges = ((0, LAST),)


def normalise(ranges: Iterable[Range]) -> Ranges:
    """Return the set of some ranges, sorted and merged. Takes O(n log n).

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
    """Return the code points outside a set. Takes O(n).

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

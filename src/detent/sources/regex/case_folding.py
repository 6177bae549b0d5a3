"""The characters that match each other when case is ignored, after Python's `re`.

`re` maps both sides to lower case by the simple Unicode mapping. A few lower-case letters with a common capital also
match each other (its table of extra cases: "s" and the long s, "μ" and the micro sign). With the ASCII flag only A-Z
and a-z fold.

This module closes whole ranges under folding. One defect of `re` is not copied: in `re`, a class that lists a capital
above U+FFFF, such as `[𐐀x]`, does not match that capital.
"""

from __future__ import annotations

import _sre
import sys
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from functools import cache

from detent.code_points import Range

if sys.version_info >= (3, 11):
    from re import _casefix  # type: ignore[attr-defined]

    _extra_cases: dict[int, tuple[int, ...]] = _casefix._EXTRA_CASES
else:
    import sre_compile

    _extra_cases = sre_compile._ignorecase_fixes

__all__ = ["case_variants"]

# The only characters outside ASCII that match an ASCII letter: i with and I without a dot, Kelvin sign, long s.
_BEYOND_ASCII = {0x69: (0x130, 0x131), 0x6B: (0x212A,), 0x73: (0x17F,)}

# Planes 0 and 1 hold every cased letter.
_CASED_END = 0x20000


def case_variants(ranges: Iterable[Range], ascii_only: bool) -> Iterator[Range]:
    """Yield the variants of the characters in `ranges`; takes time linear in the cased letters of the ranges.

    >>> list(case_variants([(0x6B, 0x6B)], ascii_only=False))
    [(75, 75), (8490, 8490)]
    """
    for low, high in ranges:
        yield from _ascii_variants(low, high, not ascii_only)
        if high > 0x7F and not ascii_only:
            cased, orbits = _letters()
            for letter in cased[bisect_left(cased, max(low, 0x80)) : bisect_right(cased, high)]:
                for variant in orbits[letter]:
                    yield (variant, variant)


def _ascii_variants(low: int, high: int, beyond: bool) -> Iterator[Range]:
    for first, last, shift in ((65, 90, 32), (97, 122, -32)):
        start, end = max(low, first), min(high, last)
        if start <= end:
            yield (start + shift, end + shift)
            if beyond:
                for letter, variants in _BEYOND_ASCII.items():
                    if start <= (letter if shift < 0 else letter - 32) <= end:
                        for variant in variants:
                            yield (variant, variant)


@cache
def _letters() -> tuple[list[int], dict[int, tuple[int, ...]]]:
    """Return all cased letters, ascending, and the variants of each. The first call takes 10 ms."""
    cased = list(filter(_sre.unicode_iscased, range(_CASED_END)))
    lowered: dict[int, list[int]] = {}
    for letter in cased:
        lowered.setdefault(_sre.unicode_tolower(letter), []).append(letter)
    orbits: dict[int, tuple[int, ...]] = {}
    for lower, letters in lowered.items():
        alike = [lower, *_extra_cases.get(lower, ())]
        orbit = tuple(variant for target in alike for variant in lowered.get(target, (target,)))
        orbits.update(dict.fromkeys(letters, orbit))
    return cased, orbits

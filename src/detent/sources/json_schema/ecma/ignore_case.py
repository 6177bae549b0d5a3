"""Characters that match each other where an ECMA-262 pattern ignores case, `(?i:...)`.

ECMA-262's Canonicalize, with the flag u, compares characters by Unicode's simple case folding. So `k` matches the
Kelvin sign and `s` the long s; `ß` does not match `ss`, and `i` not the capital with a dot.
"""

from __future__ import annotations

import _sre
from bisect import bisect_left, bisect_right
from functools import cache

from detent.code_points import Ranges, complement, normalise
from detent.sources.regex.classes import class_ranges
from detent.sources.regex.parser import Item, op

__all__ = ["any_case", "class_of_any_case", "word_of_any_case"]

# Planes 0 and 1 hold every cased letter.
_CASED_END = 0x20000
_CAPITAL_I_WITH_DOT = 0x130
_WORD: Item = (op.CATEGORY, op.CATEGORY_WORD)
_NOT_WORD: Item = (op.CATEGORY, op.CATEGORY_NOT_WORD)


def any_case(code_point: int) -> Item:
    """Return the item of a character in any case."""
    orbit = _orbits().get(code_point)
    return (op.IN, [(op.LITERAL, variant) for variant in orbit]) if orbit else (op.LITERAL, code_point)


def class_of_any_case(items: list[Item]) -> list[Item]:
    r"""Return the items of a class without its negation, closed under case; takes time linear in its cased letters.

    `\W` is what is no `\w` in any case.
    """
    ranges = list(class_ranges(tuple(item for item in items if item not in (_WORD, _NOT_WORD)), False, True)[0])
    if _WORD in items:
        ranges.extend(word_of_any_case())
    if _NOT_WORD in items:
        ranges.extend(complement(word_of_any_case()))
    return [(op.RANGE, pair) for pair in _closed(normalise(ranges))]


@cache
def word_of_any_case() -> Ranges:
    r"""Return the characters of `\w` in any case."""
    return _closed(class_ranges((_WORD,), False, True)[0])


def _closed(ranges: Ranges) -> Ranges:
    orbits, cased = _orbits(), _cased()
    added = [
        (variant, variant)
        for low, high in ranges
        for letter in cased[bisect_left(cased, low) : bisect_right(cased, high)]
        for variant in orbits[letter]
    ]
    return normalise([*ranges, *added])


@cache
def _cased() -> list[int]:
    return sorted(_orbits())


@cache
def _orbits() -> dict[int, tuple[int, ...]]:
    """Return the characters that match each other, for each that matches another. The first call takes 30 ms."""
    alike: dict[int, list[int]] = {}
    for code_point in filter(_sre.unicode_iscased, range(_CASED_END)):
        alike.setdefault(_simple_fold(code_point), []).append(code_point)
    return {one: tuple(orbit) for orbit in alike.values() if len(orbit) > 1 for one in orbit}


# Simple foldings that Unicode has since 15.1, of letters that it had before; Python's tables may be older.
_LATER_FOLDINGS = {0x1FD3: 0x0390, 0x1FE3: 0x03B0, 0xFB05: 0xFB06}


def _simple_fold(code_point: int) -> int:
    if code_point in _LATER_FOLDINGS:
        return _LATER_FOLDINGS[code_point]
    folded = chr(code_point).casefold()
    if len(folded) == 1:
        return ord(folded)
    # Folded to several characters in full; the simple folding, if there is one, is the small letter.
    return code_point if code_point == _CAPITAL_I_WITH_DOT else int(_sre.unicode_tolower(code_point))

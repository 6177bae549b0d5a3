r"""Character classes, dots and case-insensitive letters, as sets of code points and as nodes.

Patterns share classes, so their nodes are cached. The cache is bounded in entries and in the length of an entry.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from detent import _core
from detent.code_points import EVERYTHING, Range, Ranges, complement, normalise
from detent.sources.regex.case_folding import case_variants
from detent.sources.regex.characters import Property, category_ranges, property_ranges
from detent.sources.regex.parser import Item, op

__all__ = ["ANY", "ANY_BUT_NEWLINE", "CharacterClass", "class_ranges", "make_class"]


class CharacterClass(NamedTuple):
    """The node of a class, and how many ranges were merged for it."""

    node: _core.Node
    cost: int


_CATEGORIES = {
    op.CATEGORY_DIGIT: ("d", False),
    op.CATEGORY_NOT_DIGIT: ("d", True),
    op.CATEGORY_SPACE: ("s", False),
    op.CATEGORY_NOT_SPACE: ("s", True),
    op.CATEGORY_WORD: ("w", False),
    op.CATEGORY_NOT_WORD: ("w", True),
}

# Up to 100 classes, of some hundred kB where they hold \w: below 40 MB at worst, 1 MB in common use.
_CACHED_CLASSES = 100
_CACHED_ITEMS = 64


def make_class(items: tuple[Item, ...], ignore_case: bool, ascii_only: bool) -> CharacterClass:
    """Return the node of a class; costs as `class_ranges`, or a look-up when cached."""
    build = _cached_class if len(items) <= _CACHED_ITEMS else _build_class
    return build(items, ignore_case, ascii_only)


def class_ranges(items: tuple[Item, ...], ignore_case: bool, ascii_only: bool) -> tuple[Ranges, int]:
    """Return the code points of a class from the parser's items, and how many ranges were merged for them.

    Costs n log n in that number. Where case is ignored, letters are closed under it before the class is negated.
    """
    listed: list[Range] = []
    named: list[Range] = []
    negated = False
    for kind, value in items:
        if kind is op.LITERAL:
            listed.append((value, value))
        elif kind is op.RANGE:
            listed.append(value)
        elif kind is op.NEGATE:
            negated = True
        elif isinstance(value, Property):
            ranges = property_ranges(value.name, ignore_case)
            named.extend(complement(ranges) if value.negated else ranges)
        else:
            # `re` tests the lower-case letter; \w \d \s hold a capital exactly when they hold its small letter.
            named.extend(category_ranges(*_CATEGORIES[value], ascii_only))
    if ignore_case:
        listed = list(normalise(listed))
        listed.extend(case_variants(tuple(listed), ascii_only))
    listed.extend(named)
    merged = normalise(listed)
    return (complement(merged) if negated else merged), len(listed)


def _build_class(items: tuple[Item, ...], ignore_case: bool, ascii_only: bool) -> CharacterClass:
    ranges, cost = class_ranges(items, ignore_case, ascii_only)
    return CharacterClass(_core.chars(list(ranges)) if ranges else _core.empty(), cost)


_cached_class = lru_cache(maxsize=_CACHED_CLASSES)(_build_class)

ANY = CharacterClass(_core.chars(list(EVERYTHING)), 1)
ANY_BUT_NEWLINE = CharacterClass(_core.chars(list(complement(((10, 10),)))), 1)

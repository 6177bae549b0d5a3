r"""The sets of code points of `\w`, `\d`, `\s` and `\p{...}`.

No table is stored. The engine that defines a set matches one string of all code points, once: the running Python's `re`
for `\w \d \s` (so the Unicode version is Python's), the `regex` package for properties. The first use of a set costs
about 10 ms.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from detent.code_points import LAST, Ranges, complement, normalise

if TYPE_CHECKING:
    from types import ModuleType

__all__ = ["Property", "category_ranges", "has_property", "property_ranges"]


class Property(NamedTuple):
    r"""A Unicode property as a pattern names it: `\p{name}`, or with `negated` `\P{name}`."""

    name: str
    negated: bool


_ASCII: dict[str, Ranges] = {
    "d": ((48, 57),),
    "s": ((9, 13), (32, 32)),
    "w": ((48, 57), (65, 90), (95, 95), (97, 122)),
}


@cache
def category_ranges(letter: str, negated: bool, ascii_only: bool) -> Ranges:
    r"""Return the set of `\d`, `\s` or `\w`, or of its capital."""
    if negated:
        return complement(category_ranges(letter, False, ascii_only))
    if ascii_only:
        return _ASCII[letter]
    # One run outside the class, one run inside it. Searching for the class takes twice the time.
    runs = re.compile(rf"[^\{letter}]*([\{letter}]+|\Z)")
    return _spans(runs)


# At most 64 sets of 100 kB. The cache is bounded, since a property has arbitrarily many aliases.
@lru_cache(maxsize=64)
def property_ranges(name: str, ignore_case: bool) -> Ranges:
    r"""Return the set of `\p{name}` in the `regex` package, with its case-insensitive meaning if `ignore_case`."""
    engine = _engine()
    flags = engine.V0 | (engine.IGNORECASE if ignore_case else 0)
    return _spans(engine.compile(rf"(\p{{{name}}}+)", flags))


def has_property(name: str) -> bool:
    """Whether the `regex` package knows the property."""
    if not re.fullmatch(r"[A-Za-z0-9 _=:.&/+-]{1,100}", name):
        return False
    engine = _engine()
    try:
        engine.compile(rf"\p{{{name}}}", engine.V0)
    except engine.error:
        return False
    return True


def _engine() -> ModuleType:
    import regex  # imported here, since only properties need it

    return regex  # type: ignore[no-any-return]


def _spans(runs: re.Pattern[str]) -> Ranges:
    text = np.arange(LAST + 1, dtype="<u4").tobytes().decode("utf-32-le", "surrogatepass")
    spans = [match.span(1) for match in runs.finditer(text)]
    return normalise((start, end - 1) for start, end in spans if start < end)

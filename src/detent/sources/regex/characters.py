r"""What kind of character a code point is: the sets behind `\w \d \s` and `\p{...}`.

Nothing is tabulated here. Each set is read off the engine that defines it, once, by matching one string of all code
points: the running Python's `re` for `\w \d \s` (so the Unicode version is Python's), the `regex` package for
properties. That costs about 10 ms a set, when a pattern first needs it.
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
    r"""Give the set of `\d`, `\s` or `\w`, or of its capital."""
    if negated:
        return complement(category_ranges(letter, False, ascii_only))
    if ascii_only:
        return _ASCII[letter]
    # Two tight loops: skip what does not match, take what does. Searching for the class is half as fast.
    runs = re.compile(rf"[^\{letter}]*([\{letter}]+|\Z)")
    return _spans(runs)


# Some 60 sets of at most 100 kB; a name can be spelt in endless ways, so the cache is bounded.
@lru_cache(maxsize=64)
def property_ranges(name: str, ignore_case: bool) -> Ranges:
    r"""Give the set of `\p{name}` as the `regex` package has it, in its own case-insensitive sense if asked."""
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
    import regex  # type: ignore[import-untyped] # loaded at first use: only properties need it

    return regex  # type: ignore[no-any-return]


def _spans(runs: re.Pattern[str]) -> Ranges:
    text = np.arange(LAST + 1, dtype="<u4").tobytes().decode("utf-32-le", "surrogatepass")
    spans = [match.span(1) for match in runs.finditer(text)]
    return normalise((start, end - 1) for start, end in spans if start < end)

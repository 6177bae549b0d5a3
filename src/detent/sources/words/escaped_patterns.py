r"""Matches of patterns in texts with escapes: `"li\u0073ten"` decodes to a match of `list[a-z]+`.

The pattern is translated with another alphabet: each character is itself or one of its escapes in JSON and Python.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from detent import _core
from detent.code_points import EVERYTHING, Ranges, complement, normalise
from detent.errors import UnsupportedError
from detent.limits import Limits
from detent.sources.nodes import ANY_BYTES, concat, repeat, short_repr, union
from detent.sources.regex.classes import CharacterClass, class_ranges
from detent.sources.regex.parser import Item, parse
from detent.sources.regex.translate import Alphabet, translate_part
from detent.sources.words.escaped import BEFORE

__all__ = ["containing_escaped_matches"]

_HEX = _core.byte_set(b"0123456789abcdefABCDEF")
_PYTHON_LETTERS = {"\a": "a", "\v": "v", "'": "'"}
"""The escapes of one letter that Python reads and JSON does not."""
_LIMITS = Limits()


def containing_escaped_matches(patterns: Sequence[re.Pattern[str]]) -> _core.Node:
    r"""Return the texts that have a match of a pattern, in which characters may be escaped as in JSON or Python.

    >>> from detent.language import Language
    >>> hidden = Language(containing_escaped_matches([re.compile("list[a-z]")]), "hidden")
    >>> [hidden.accepts(text) for text in (r'"li\u0073ten"', r"'\x6cist\U00000065n'", r'"li\\u0073ten"', '"list"')]
    [True, True, False, False]

    Raises
    ------
    UnsupportedError
        A pattern has an assertion: escapes may be on both sides of it.
    """
    return concat(BEFORE, union(*map(_escaped, patterns)), ANY_BYTES)


def _escaped(pattern: re.Pattern[str]) -> _core.Node:
    tree, flags = parse(pattern.pattern, pattern.flags, _LIMITS)
    node, is_exact = translate_part(tree, flags, _LIMITS.pattern_size, _Escaped())
    if not is_exact:
        raise UnsupportedError(
            f"the pattern {short_repr(pattern.pattern)} has an assertion, such as \\b, ^ or a lookahead, that cannot "
            "be held through the escapes of strings; write the characters beside it, or give words and whole_words=True"
        )
    return node


class _Escaped(Alphabet):
    """Characters, each itself or escaped."""

    def literal(self, text: str) -> _core.Node:
        return _core.concat([_escaped_characters(((ord(each), ord(each)),)) for each in text])

    def any_character(self, newline: bool) -> _core.Node:
        return _escaped_characters(EVERYTHING if newline else complement(((10, 10),)))

    def make_class(self, items: tuple[Item, ...], ignore_case: bool, ascii_only: bool) -> CharacterClass:
        ranges, cost = class_ranges(items, ignore_case, ascii_only)
        return CharacterClass(_escaped_characters(ranges), cost)


@lru_cache(maxsize=256)
def _escaped_characters(ranges: Ranges) -> _core.Node:
    """Return one character of some ranges, itself or escaped."""
    if not ranges:
        return _core.empty()
    raw = complement(normalise([*complement(ranges), (0x5C, 0x5C)]))
    letters = "".join(letter for character, letter in _PYTHON_LETTERS.items() if _has(ranges, ord(character)))
    forms = [
        _core.chars(list(raw)) if raw else _core.empty(),
        _core.intersection([_core.json_string(_core.chars(list(ranges))), concat("\\", ANY_BYTES)]),
        concat("\\x", _hex_digits(tuple((low, min(high, 0xFF)) for low, high in ranges if low <= 0xFF), 2)),
        concat("\\U", _hex_digits(ranges, 8)),
    ]
    return union(*forms, *([concat("\\", _core.byte_set(letters.encode()))] if letters else []))


def _has(ranges: Ranges, code: int) -> bool:
    return any(low <= code <= high for low, high in ranges)


def _hex_digits(ranges: Ranges, count: int) -> _core.Node:
    """Return the numbers of some ranges in so many hexadecimal digits, each in both cases."""
    if not ranges:
        return _core.empty()
    if ranges == ((0, 16**count - 1),):
        return repeat(_HEX, count, count)
    size = 16 ** (count - 1)
    by_rest: dict[Ranges, str] = {}
    for digit in range(16):
        first = digit * size
        rest = tuple(
            (max(low, first) - first, min(high, first + size - 1) - first)
            for low, high in ranges
            if low < first + size and high >= first
        )
        if rest:
            by_rest[rest] = by_rest.get(rest, "") + f"{digit:x}{digit:X}"
    return union(*(concat(_core.byte_set(heads.encode()), _rest(rest, count)) for rest, heads in by_rest.items()))


def _rest(ranges: Ranges, count: int) -> _core.Node:
    return _core.epsilon() if count == 1 else _hex_digits(ranges, count - 1)

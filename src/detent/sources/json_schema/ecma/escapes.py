r"""Escapes of ECMA-262 regular expressions: the meaning of what follows a backslash, inside a class and outside.

The meaning is that of the flag u. Where that flag makes an escape an error, Annex B's meaning is taken for punctuation
(`\-`, `\_`, `\@`: the character itself). Letters and digits without a meaning are refused: patterns with `\A`, `\Z` or
`\h` come from other dialects, in which these mean something else.
"""

from __future__ import annotations

import re
from typing import NoReturn

from detent.code_points import Ranges, complement, normalise
from detent.errors import LimitError, PatternSyntaxError, UnsupportedError
from detent.sources.diagnostics import pattern_error
from detent.sources.regex.characters import Property, has_property
from detent.sources.regex.parser import Item, op

__all__ = ["ANY_BUT_LINE_ENDS", "LINE_ENDS", "Escapes", "malformed"]

LINE_ENDS: list[Item] = [(op.LITERAL, 0x0A), (op.LITERAL, 0x0D), (op.RANGE, (0x2028, 0x2029))]
"""The items of a class of the characters that end a line."""

ANY_BUT_LINE_ENDS: Item = (op.IN, [(op.NEGATE, None), *LINE_ENDS])
"""The dot."""

# WhiteSpace and LineTerminator: ECMA-262, tables 34 and 35.
_SPACE: Ranges = normalise(
    [
        (0x09, 0x0D),
        (0x20, 0x20),
        (0xA0, 0xA0),
        (0x1680, 0x1680),
        (0x2000, 0x200A),
        (0x2028, 0x2029),
        (0x202F, 0x202F),
        (0x205F, 0x205F),
        (0x3000, 0x3000),
        (0xFEFF, 0xFEFF),
    ]
)
_CLASSES: dict[str, list[Item]] = {
    "d": [(op.CATEGORY, op.CATEGORY_DIGIT)],
    "D": [(op.CATEGORY, op.CATEGORY_NOT_DIGIT)],
    "w": [(op.CATEGORY, op.CATEGORY_WORD)],
    "W": [(op.CATEGORY, op.CATEGORY_NOT_WORD)],
    "s": [(op.RANGE, pair) for pair in _SPACE],
    "S": [(op.RANGE, pair) for pair in complement(_SPACE)],
}
_CONTROLS = {"t": 0x09, "n": 0x0A, "v": 0x0B, "f": 0x0C, "r": 0x0D}

_UNIT = re.compile(r"u([0-9A-Fa-f]{4})")
_LOW_HALF = re.compile(r"\\u([Dd][C-Fc-f][0-9A-Fa-f]{2})")
_CODE_POINT = re.compile(r"u\{0*([0-9A-Fa-f]{1,6})\}")
_BYTE = re.compile(r"x([0-9A-Fa-f]{2})")
_CONTROL_LETTER = re.compile(r"c([A-Za-z])")
_NAME = re.compile(r"[pP]\{([A-Za-z0-9_=]{1,100})\}")

_MAX_PROPERTIES = 64

_HINTS = {
    "A": "write ^ for the start of the text",
    "Z": "write $ for the end of the text",
    "z": "write $ for the end of the text",
    "h": r"write [ \t] for spaces and tabs",
    "Q": "ECMA-262 has no quoting; put a backslash before each special character",
    "R": r"write (?:\r\n|[\n\r]) for a line break",
    "U": r"write \u{...} for a code point",
}


def malformed(what: str, pattern: str, offset: int, remedy: str) -> NoReturn:
    """Refuse a pattern that is none."""
    raise pattern_error(PatternSyntaxError, what, pattern, offset, remedy)


class Escapes:
    """The escapes of one pattern; `offset` is always that of the backslash."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.properties: set[str] = set()

    def read(self, offset: int) -> tuple[int | list[Item], int]:
        """Return what an escape stands for, a code point or the items of a class, and where it ends."""
        pattern = self.pattern
        letter = pattern[offset + 1 : offset + 2]
        if not letter:
            malformed("a backslash at the end", pattern, offset, r"write \\ for a backslash")
        if letter in _CLASSES:
            return _CLASSES[letter], offset + 2
        if letter in _CONTROLS:
            return _CONTROLS[letter], offset + 2
        if not letter.isascii() or not letter.isalnum():
            return ord(letter), offset + 2
        if letter in "pP":
            return self._property(offset)
        if letter in "uxc":
            return self._coded(letter, offset)
        following = pattern[offset + 2 : offset + 3]
        if letter == "0" and not (following.isascii() and following.isdecimal()):
            return 0, offset + 2
        if letter.isdecimal() or letter == "k":
            self._refuse_reference(letter, offset)
        remedy = _HINTS.get(letter, "leave the backslash out for the character itself")
        malformed(f"\\{letter} is no escape of ECMA-262", pattern, offset, remedy)

    def _coded(self, letter: str, offset: int) -> tuple[int, int]:
        pattern, start = self.pattern, offset + 1
        if letter == "c":
            found = _CONTROL_LETTER.match(pattern, start)
            if found:
                return ord(found[1]) % 32, found.end()
        elif letter == "x":
            found = _BYTE.match(pattern, start)
            if found:
                return int(found[1], 16), found.end()
        else:
            found = _UNIT.match(pattern, start)
            if found:
                unit = int(found[1], 16)
                low = _LOW_HALF.match(pattern, found.end()) if 0xD800 <= unit <= 0xDBFF else None
                if low:
                    return 0x10000 + (unit - 0xD800 << 10) + (int(low[1], 16) - 0xDC00), low.end()
                return unit, found.end()
            found = _CODE_POINT.match(pattern, start)
            if found and int(found[1], 16) <= 0x10FFFF:
                return int(found[1], 16), found.end()
        remedy = r"write \cJ, \x0A, \u000A or \u{A}, or leave the backslash out for the character itself"
        malformed(f"\\{letter} without its digits", pattern, offset, remedy)

    def _property(self, offset: int) -> tuple[list[Item], int]:
        pattern = self.pattern
        found = _NAME.match(pattern, offset + 1)
        if not found:
            malformed("a property without its name", pattern, offset, r"write it as \p{L} or \p{Script=Greek}")
        name = found[1]
        self.properties.add(name)
        if len(self.properties) > _MAX_PROPERTIES:
            raise LimitError(
                f"the pattern names more than {_MAX_PROPERTIES} Unicode properties, at character {offset}; use fewer",
                position=offset,
                subject="properties",
                limit=_MAX_PROPERTIES,
            )
        try:
            known = has_property(name)
        except ImportError:
            what, remedy = "Unicode properties need the package regex", "pip install regex"
            raise pattern_error(UnsupportedError, what, pattern, offset, remedy) from None
        if not known:
            remedy = r"names are such as \p{L}, \p{Lu}, \p{Letter}, \p{Script=Greek}, \p{Alphabetic}"
            malformed(f"unknown property {name!r}", pattern, offset, remedy)
        return [(op.CATEGORY, Property(name, pattern[offset + 1] == "P"))], found.end()

    def _refuse_reference(self, letter: str, offset: int) -> NoReturn:
        if letter == "0":
            malformed("an octal escape", self.pattern, offset, r"write \xHH for a character by its number")
        what, remedy = "a back-reference is not regular", "write out the texts that may repeat: (?:aa|bb)"
        raise pattern_error(UnsupportedError, what, self.pattern, offset, remedy)

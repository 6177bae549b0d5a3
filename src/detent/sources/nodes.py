"""Nodes that several sources share, functions that build more, and checks of arguments."""

from __future__ import annotations

import re

from detent import _core
from detent.errors import ArgumentError, LimitError

__all__ = [
    "ANY_BYTES",
    "CHARACTER",
    "UTF8",
    "WHITE_SPACE",
    "check_flag",
    "concat",
    "decimal",
    "encode",
    "lower_count",
    "optional",
    "repeat",
    "short_repr",
    "union",
    "upper_count",
]

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+(?=>)")
"""Where an object lies, as `repr` writes it: another number in each process."""

CHARACTER: _core.Node = _core.chars([(0, 0x10FFFF)])
"""One character of UTF-8."""

UTF8: _core.Node = _core.repeat(CHARACTER, 0, None)
"""Any text in UTF-8."""

_SPACES = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
WHITE_SPACE: _core.Node = _core.chars(sorted((ord(each), ord(each)) for each in _SPACES))
"""A character that Unicode calls white space, as `\\s` of Rust does; Python's has four more."""

ANY_BYTES: _core.Node = _core.repeat(_core.byte_set(bytes(range(256))), 0, None)
"""Any string of bytes."""


def concat(*parts: _core.Node | str) -> _core.Node:
    """Concatenate the parts; a string is a literal."""
    return _core.concat([_core.literal(part.encode()) if isinstance(part, str) else part for part in parts])


def union(*parts: _core.Node | str) -> _core.Node:
    """Return the union of the parts."""
    return _core.union([_node(part) for part in parts])


def optional(part: _core.Node | str) -> _core.Node:
    """Return the part or the empty string."""
    return _core.repeat(_node(part), 0, 1)


def repeat(part: _core.Node | str, minimum: int, maximum: int | None) -> _core.Node:
    """Repeat the part from `minimum` to `maximum` times."""
    return _core.repeat(_node(part), minimum, maximum)


def lower_count(count: int) -> int:
    """Return a lower count, if it is one that the core takes."""
    if count >= _core.UNBOUNDED:
        raise LimitError(
            f"a count of {count} is above the largest, {_core.UNBOUNDED - 1}; lower it",
            subject="repeat_count",
            limit=_core.UNBOUNDED - 1,
            given=count,
        )
    return count


def upper_count(count: int | None) -> int | None:
    """Return an upper count for the core; a count above the length of any text is none."""
    return None if count is None or count >= _core.UNBOUNDED else count


def _node(part: _core.Node | str) -> _core.Node:
    return _core.literal(part.encode()) if isinstance(part, str) else part


def encode(text: str, asker: str) -> bytes:
    """Return the UTF-8 of a text; `asker` is the function that the message names.

    >>> len(encode("é", "literal"))
    2
    """
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise ArgumentError(
            f"{asker} got {short_repr(text)} with half of a surrogate pair at character {error.start}, "
            "which UTF-8 text never holds; decode the text first"
        ) from None


def check_flag(value: object, asker: str, name: str) -> None:
    """Raise `ArgumentError` unless a value is True or False; `asker` is the function that the message names."""
    if not isinstance(value, (bool, int)) or value not in (0, 1):
        raise ArgumentError(f"{asker} needs True or False as {name}, got {short_repr(value)}")


def decimal(number: int, asker: str) -> str:
    """Return the decimal digits of an integer.

    >>> decimal(-12, "choice")
    '-12'
    """
    try:
        return format(number, "d")
    except ValueError:
        raise ArgumentError(
            f"{asker} got an integer of {number.bit_length()} bits, more than Python writes in decimal; "
            "see sys.set_int_max_str_digits"
        ) from None


def short_repr(value: object, limit: int = 60) -> str:
    """Return the `repr` of a value, cut to a length that fits into a message.

    >>> short_repr("a" * 100, 8)
    "'aaaaaa…"
    """
    is_cut = isinstance(value, (str, bytes)) and len(value) > limit
    try:
        # A slice first: the repr of a long text costs its length.
        text = repr(value[:limit]) if isinstance(value, (str, bytes)) else _ADDRESS.sub("", repr(value))
    except (ValueError, RecursionError):
        text = f"a very large {type(value).__name__}"
    return text if len(text) <= limit and not is_cut else text[: limit - 1] + "…"

"""White space between the tokens of a JSON text."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from detent import _core
from detent.errors import ArgumentError
from detent.language import Language
from detent.sources.nodes import concat, optional, repeat, short_repr, union
from detent.sources.regex import regex
from detent.suggestions import did_you_mean

__all__ = ["WhiteSpace", "white_space"]

_KNOWN = ("written", "line", "bounded", "compact", "single")
_NAMES = f"""{", ".join(f'"{name}"' for name in _KNOWN[:-1])} or "{_KNOWN[-1]}\""""
_WORD = re.compile("[A-Za-z][A-Za-z0-9_ -]*")
_PATTERN = '" ?"'
_MAX_INDENT = 96
_JSON_SPACE = Language(repeat(_core.byte_set(b" \t\n\r"), 0, None), "white space")


class WhiteSpace(NamedTuple):
    """The comma and colon with the white space around them, and the white space inside brackets."""

    comma: _core.Node
    colon: _core.Node
    inside: _core.Node
    """Between a bracket and the first or last item."""
    empty: _core.Node
    """Between the brackets of an empty array or object."""


def white_space(whitespace: object) -> WhiteSpace:
    """Return the white space for the argument `whitespace` of `json_schema`."""
    if isinstance(whitespace, Language):
        return _custom(whitespace)
    if not isinstance(whitespace, str):
        raise ArgumentError(f"whitespace must be {_NAMES}, or a pattern or language; got {type(whitespace).__name__}")
    return _named(whitespace)


@lru_cache(maxsize=16)
def _named(whitespace: str) -> WhiteSpace:
    indent = repeat(_core.byte_set(b" \t"), 0, _MAX_INDENT)
    if whitespace == "written":
        line = concat("\n", indent)
        return WhiteSpace(
            concat(",", optional(union(" ", line))), concat(":", optional(" ")), optional(line), _core.epsilon()
        )
    if whitespace == "line":
        return WhiteSpace(concat(",", optional(" ")), concat(":", optional(" ")), _core.epsilon(), _core.epsilon())
    if whitespace == "bounded":
        return _everywhere(optional(union(" ", concat(optional("\r"), "\n", indent))))
    if whitespace == "compact":
        return _everywhere(_core.epsilon())
    if whitespace == "single":
        return WhiteSpace(_core.literal(b", "), _core.literal(b": "), _core.epsilon(), _core.epsilon())
    if _WORD.fullmatch(whitespace):  # a pattern of white space has no words
        raise ArgumentError(
            f"{short_repr(whitespace)} is no white space; whitespace must be {_NAMES}, or a pattern such as "
            f"{_PATTERN}{did_you_mean(whitespace, _KNOWN)}"
        )
    return _custom(regex(whitespace))


def _custom(whitespace: Language) -> WhiteSpace:
    wrong = whitespace.counterexample(_JSON_SPACE)
    if wrong is not None:
        raise ArgumentError(
            f"{short_repr(whitespace.description)} is no white space, because it has the text {short_repr(wrong)}; "
            f"whitespace must be {_NAMES}, or a pattern or language of spaces, tabs, line feeds and carriage returns"
        )
    return _everywhere(whitespace._node)


def _everywhere(space: _core.Node) -> WhiteSpace:
    return WhiteSpace(concat(space, ",", space), concat(space, ":", space), space, space)

"""Layout: the white space between the tokens of a JSON text, and what is built with it once for all schemas."""

from __future__ import annotations

from functools import lru_cache

from detent import _core
from detent.errors import ArgumentError
from detent.language import Language
from detent.sources.json_schema.numbers import number_node
from detent.sources.nodes import UTF8, concat, optional, repeat, short_repr, union
from detent.sources.regex import regex

__all__ = ["NUMBER", "STRING", "Layout", "layout"]

_DEEPEST_INDENT = 96
_QUOTE = _core.literal(b'"')
_SPACE = Language(repeat(_core.byte_set(b" \t\n\r"), 0, None), "white space")

STRING: _core.Node = concat(_QUOTE, _core.json_string(UTF8), _QUOTE)
"""Any JSON string."""

NUMBER: _core.Node = number_node(integer=False) or _core.empty()
"""Any JSON number."""


class Layout:
    """The nodes of brackets, commas and colons with the white space around them."""

    def __init__(self, space: _core.Node, comma: _core.Node, colon: _core.Node) -> None:
        self.space = space
        self.comma = comma
        self.colon = colon
        self.open_array = concat("[", space)
        self.close_array = concat(space, "]")
        self.open_object = concat("{", space)
        self.close_object = concat(space, "}")
        self.empty_array = concat("[", space, "]")
        self.empty_object = concat("{", space, "}")
        self.quote_colon = concat(_QUOTE, colon)
        self.any_member = concat(_QUOTE, _core.json_string(UTF8), self.quote_colon)
        self.anything = self._anything()

    def _anything(self) -> _core.Node:
        """Any JSON text: the one recursive language that most schemas need, shared by all."""
        value = _core.reference(0)
        member = concat(self.any_member, value)
        array = concat(self.open_array, value, repeat(concat(self.comma, value), 0, None), self.close_array)
        members = concat(self.open_object, member, repeat(concat(self.comma, member), 0, None), self.close_object)
        scalars = union(STRING, NUMBER, "true", "false", "null")
        return _core.grammar([union(scalars, self.empty_array, array, self.empty_object, members)], 0)


def layout(whitespace: object) -> Layout:
    """Give the layout for the argument `whitespace`; made once for each."""
    if isinstance(whitespace, Language):
        return _custom(whitespace)
    if not isinstance(whitespace, str):
        raise ArgumentError(
            'whitespace must be "bounded", "compact", "single", a pattern or a Language, '
            f"got {type(whitespace).__name__}"
        )
    return _named(whitespace)


@lru_cache(maxsize=16)
def _named(whitespace: str) -> Layout:
    if whitespace == "bounded":
        indent = repeat(_core.byte_set(b" \t"), 0, _DEEPEST_INDENT)
        space = optional(union(" ", concat(optional("\r"), "\n", indent)))
        return _spaced(space)
    if whitespace == "compact":
        return _spaced(_core.epsilon())
    if whitespace == "single":
        return Layout(_core.epsilon(), _core.literal(b", "), _core.literal(b": "))
    return _custom(regex(whitespace))


def _custom(whitespace: Language) -> Layout:
    if not whitespace <= _SPACE:
        raise ArgumentError(
            f"whitespace {short_repr(whitespace.description)} holds "
            f"{short_repr(whitespace.counterexample(_SPACE))}; JSON allows "
            "spaces, tabs, line feeds and carriage returns only"
        )
    return _spaced(whitespace._node)


def _spaced(space: _core.Node) -> Layout:
    return Layout(space, concat(space, ",", space), concat(space, ":", space))

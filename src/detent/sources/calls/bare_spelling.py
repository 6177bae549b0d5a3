r"""Bare objects: names without quotes, and strings as raw text between two tags, as Gemma writes arguments.

`{city:<|"|>Oslo<|"|>,days:3,exact:true}`. A tag is a special token, or its name in letters where the vocabulary has no
such token. A string cannot contain the tag, so no character is escaped, and strings with the tag cannot be written.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import cached_property

from detent import _core
from detent.errors import UnsupportedError
from detent.sources.json_schema.emit.numbers import any_number, number_text
from detent.sources.json_schema.emit.spelling import Spelling
from detent.sources.json_schema.solve.number_sets import NumberSet
from detent.sources.json_schema.solve.string_sets import StringSet
from detent.sources.nodes import ANY_BYTES, concat, short_repr, union
from detent.sources.regex import regex

__all__ = ["BareSpelling", "bare_as_json"]

_NAME = "[A-Za-z_$][A-Za-z0-9_$.-]*"
_NAMES = regex(_NAME)._node
_BARE = re.compile(rf"\s*(?:([\[{{\]}},])|({_NAME})(:)|([^\s\[{{\]}},:]+))")


class BareSpelling(Spelling):
    """Bare objects; `tag` stands before and after a string. null may also be None, as one template writes it."""

    null = union("null", "None")
    true, false = _core.literal(b"true"), _core.literal(b"false")
    comma, colon = _core.literal(b","), _core.literal(b":")
    open_array, close_array, empty_array = _core.literal(b"["), _core.literal(b"]"), _core.literal(b"[]")
    open_object, close_object, empty_object = _core.literal(b"{"), _core.literal(b"}"), _core.literal(b"{}")
    object_start, before_member, empty_end = open_object, _core.epsilon(), close_object

    def __init__(self, tag: str) -> None:
        """Make the spelling for one tag."""
        self._letters = tag
        self._tag = _core.special(tag.encode(), _core.literal(tag.encode()))

    @cached_property
    def any_name(self) -> _core.Node:
        """Any bare name, and the colon."""
        return concat(_NAMES, self.colon)

    @cached_property
    def any_scalar(self) -> _core.Node:
        """The texts of all strings, numbers, booleans and null."""
        return union(self.null, self.true, self.false, any_number(written=True), self.strings(StringSet()))

    def name(self, name: str) -> _core.Node:
        """See `Spelling.name`.

        Raises
        ------
        UnsupportedError
            The name has a character that bare names do not have.
        """
        if not re.fullmatch(_NAME, name):
            raise UnsupportedError(
                f"the argument name {short_repr(name)} cannot be written without quotes; rename it, or use a style "
                "that writes JSON"
            )
        return _core.literal(name.encode())

    def names(self, names: StringSet) -> _core.Node:
        """See `Spelling.names`."""
        return _core.intersection([names.node(), _NAMES])

    def strings(self, strings: StringSet) -> _core.Node:
        """See `Spelling.strings`."""
        closed = concat(ANY_BYTES, self._letters, ANY_BYTES)
        return concat(self._tag, _core.intersection([strings.node(), _core.complement(closed)]), self._tag)

    def numbers(self, sets: Sequence[NumberSet]) -> _core.Node:
        """See `Spelling.numbers`: integers are digits."""
        return union(*[number_text(one, written=True) for one in sets])


def bare_as_json(text: str, tag: str) -> str:
    r"""Return a bare object as JSON.

    >>> bare_as_json('{city:<|"|>a "b"<|"|>,days:[1,None]}', '<|"|>')
    '{"city":"a \\"b\\"","days":[1,null]}'
    """
    parts: list[str] = []
    position = 0
    while position < len(text):
        if text.startswith(tag, position):
            end = text.index(tag, position + len(tag))
            parts.append(json.dumps(text[position + len(tag) : end], ensure_ascii=False))
            position = end + len(tag)
            continue
        found = _BARE.match(text, position)
        assert found is not None  # noqa: S101 - the text is in the language
        punctuation, name, colon, scalar = found.groups()
        parts.append(punctuation or (f'"{name}"{colon}' if name else "null" if scalar == "None" else scalar))
        position = found.end()
    return "".join(parts)

r"""Bare objects: names without quotes, and strings as raw text between two tags, as Gemma writes arguments.

`{city:<|"|>Oslo<|"|>,days:3,exact:true}`. A tag is a special token, or its name in letters where the vocabulary has no
such token. A string cannot contain the tag, so no character is escaped, and strings with the tag cannot be written.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from functools import cached_property

from detent import _core
from detent.errors import UnsupportedError
from detent.sources.json_schema.emit.numbers import any_number, number_text
from detent.sources.json_schema.emit.spelling import Spelling
from detent.sources.json_schema.solve.number_sets import NumberSet
from detent.sources.json_schema.solve.string_sets import StringSet
from detent.sources.nodes import ANY_BYTES, concat, short_repr, union
from detent.sources.regex import regex

__all__ = ["BareReader", "BareSpelling"]

_NAME = "[A-Za-z_$][A-Za-z0-9_$.-]*"
_NAMES = regex(_NAME)._node
_WORD = re.compile(r"[^\[\]{},:]+[\[\]{},:]")
"""A name with its colon, or a scalar with the character after it."""


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

    def member_order(self, names: Iterable[str]) -> Iterable[str]:
        """See `Spelling.member_order`: the alphabetical order, in which Gemma's templates write."""
        return sorted(names, key=str.lower)

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


class BareReader:
    r"""The JSON of a bare object that is fed in pieces.

    >>> reader = BareReader('<|"|>')
    >>> [reader.feed(piece) for piece in ('{city:<|"|>a "', 'b<|"', '|>,days:[1', '2,None]}')]
    ['{"city":"a \\"', 'b', '","days":[', '12,null]}']
    """

    def __init__(self, tag: str) -> None:
        """Begin before the object; `tag` stands before and after a string."""
        self._tag = tag
        self._rest = ""
        self._in_string = False

    def feed(self, piece: str) -> str:
        """Append a piece of a text of the language; return the next piece of the JSON."""
        self._rest += piece
        found: list[str] = []
        while self._rest:
            written = self._string() if self._in_string else self._token()
            if written is None:
                break
            found.append(written)
        return "".join(found)

    def _string(self) -> str | None:
        text, tag, after = self._rest.partition(self._tag)
        if not tag:
            # The end of the text may be the beginning of the tag.
            partial = next(n for n in range(len(self._tag), -1, -1) if text.endswith(self._tag[:n]))
            text, after = text[: len(text) - partial], text[len(text) - partial :]
            if not text:
                return None
        self._rest = after
        self._in_string = not tag
        return json.dumps(text, ensure_ascii=False)[1:-1] + ('"' if tag else "")

    def _token(self) -> str | None:
        text = self._rest
        if self._tag.startswith(text[: len(self._tag)]):
            if len(text) < len(self._tag):
                return None
            self._in_string, self._rest = True, text[len(self._tag) :]
            return '"'
        if text[0] in "[]{},":
            self._rest = text[1:]
            return text[0]
        word = _WORD.match(text)
        if word is None:
            return None
        end = text[word.end() - 1]
        self._rest = text[word.end() - (end != ":") :]
        name = text[: word.end() - 1]
        return f'"{name}":' if end == ":" else "null" if name == "None" else name

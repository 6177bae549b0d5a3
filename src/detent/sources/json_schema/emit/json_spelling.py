"""JSON (RFC 8259) as a spelling: all of its texts, or those that serialisers write."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, cached_property, lru_cache
from json.encoder import encode_basestring, encode_basestring_ascii
from typing import Literal

from detent import _core
from detent.errors import ArgumentError
from detent.sources.json_schema.emit.numbers import any_number, number_text
from detent.sources.json_schema.emit.spelling import Spelling
from detent.sources.json_schema.emit.white_space import WhiteSpace, white_space
from detent.sources.json_schema.solve.number_sets import NumberRange, NumberSet
from detent.sources.json_schema.solve.string_sets import StringSet
from detent.sources.nodes import UTF8, concat, short_repr, union

__all__ = ["JsonSpelling", "SpellingName", "json_spelling"]

SpellingName = Literal["written", "any"]

_QUOTE = _core.literal(b'"')
_NULL, _TRUE, _FALSE = _core.literal(b"null"), _core.literal(b"true"), _core.literal(b"false")
_EVERY_NUMBER = [NumberRange()]


class JsonSpelling(Spelling):
    """JSON texts with some white space between tokens.

    With `written`, strings and numbers are as serialisers write them; else every escape and form of numbers is allowed.
    """

    null, true, false, quote = _NULL, _TRUE, _FALSE, _QUOTE
    has_json_values = True

    def __init__(self, space: WhiteSpace, written: bool) -> None:
        inside = space.inside
        self.is_written = written
        self.comma = space.comma
        self.colon = space.colon
        self.open_array = concat("[", inside)
        self.close_array = concat(inside, "]")
        self.open_object = concat("{", inside)
        self.close_object = concat(inside, "}")
        self.empty_array = concat("[", space.empty, "]")
        self.empty_object = concat("{", space.empty, "}")
        self.object_start = _core.literal(b"{")
        self.before_member = inside
        self.empty_end = concat(space.empty, "}")
        self._any_string = concat(_QUOTE, self._escaped(UTF8), _QUOTE)

    def _escaped(self, texts: _core.Node) -> _core.Node:
        return _core.json_string(texts, self.is_written)

    def _listed(self, text: str) -> list[_core.Node]:
        """Return the texts of a declared name or listed string: those of `json.dumps`."""
        raw = encode_basestring(text)
        if raw.isascii() or not self.is_written:
            return [_core.literal(raw.encode())]
        return [_core.literal(raw.encode()), _core.literal(encode_basestring_ascii(text).encode())]

    @cached_property
    def any_name(self) -> _core.Node:
        """Any name of a member, and the colon."""
        return concat(_QUOTE, self._escaped(UTF8), concat(_QUOTE, self.colon))

    def name(self, name: str) -> _core.Node:
        """See `Spelling.name`."""
        texts = self._listed(name)
        return texts[0] if len(texts) == 1 else _core.union(texts)

    def names(self, names: StringSet) -> _core.Node:
        """See `Spelling.names`."""
        return self.strings(names)

    def strings(self, strings: StringSet) -> _core.Node:
        """See `Spelling.strings`: listed strings are as `json.dumps` writes them."""
        if strings.listed is not None:
            return _core.union([node for text in strings.listed for node in self._listed(text)])
        if strings.is_everything:
            return self._any_string
        return _core.concat([_QUOTE, self._escaped(strings.node()), _QUOTE])

    def numbers(self, sets: Sequence[NumberSet]) -> _core.Node:
        """See `Spelling.numbers`."""
        if sets == _EVERY_NUMBER:
            return any_number(written=self.is_written)
        return _core.union([number_text(one, written=self.is_written) for one in sets])

    @cached_property
    def any_scalar(self) -> _core.Node:
        """The texts of all strings, numbers, booleans and null."""
        return union(self._any_string, any_number(written=self.is_written), _TRUE, _FALSE, _NULL)


def json_spelling(spelling: str, whitespace: object) -> JsonSpelling:
    """Return the spelling for these arguments of `json_schema`; made once for equal white space.

    Raises
    ------
    ArgumentError
        An argument is none of the known values.
    """
    if spelling not in ("written", "any"):
        raise ArgumentError(f'spelling must be "written" or "any", got {short_repr(spelling)}')
    if whitespace is None:
        return _default(spelling)
    return _cached(white_space(whitespace), spelling == "written")


@cache
def _default(spelling: str) -> JsonSpelling:
    return _cached(white_space("written" if spelling == "written" else "bounded"), spelling == "written")


@lru_cache(maxsize=16)
def _cached(space: WhiteSpace, written: bool) -> JsonSpelling:
    return JsonSpelling(space, written)

"""JSON (RFC 8259) as a spelling."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache
from json.encoder import encode_basestring

from detent import _core
from detent.sources.json_schema.emit.numbers import any_number, number_text
from detent.sources.json_schema.emit.spelling import Spelling
from detent.sources.json_schema.emit.white_space import WhiteSpace, white_space
from detent.sources.json_schema.solve.number_sets import NumberRange, NumberSet
from detent.sources.json_schema.solve.string_sets import StringSet
from detent.sources.nodes import UTF8, concat, union

__all__ = ["JsonSpelling", "json_spelling"]

_QUOTE = _core.literal(b'"')
_ANY_STRING = concat(_QUOTE, _core.json_string(UTF8), _QUOTE)
_NULL, _TRUE, _FALSE = _core.literal(b"null"), _core.literal(b"true"), _core.literal(b"false")
_EVERY_NUMBER = [NumberRange()]


def _literal(text: str) -> _core.Node:
    """Return a declared name or listed string as `json.dumps(..., ensure_ascii=False)` writes it."""
    return _core.literal(encode_basestring(text).encode())


class JsonSpelling(Spelling):
    """JSON texts with some white space between tokens."""

    null, true, false = _NULL, _TRUE, _FALSE

    def __init__(self, space: WhiteSpace) -> None:
        inside = space.inside
        self.comma = space.comma
        self.colon = space.colon
        self.open_array = concat("[", inside)
        self.close_array = concat(inside, "]")
        self.open_object = concat("{", inside)
        self.close_object = concat(inside, "}")
        self.empty_array = concat("[", inside, "]")
        self.empty_object = concat("{", inside, "}")
        self.close_empty_object = _core.literal(b"}")

    @cached_property
    def any_name(self) -> _core.Node:
        """Any name of a member, and the colon."""
        return concat(_QUOTE, _core.json_string(UTF8), concat(_QUOTE, self.colon))

    def name(self, name: str) -> _core.Node:
        """See `Spelling.name`: the text is that of `json.dumps(..., ensure_ascii=False)`."""
        return _literal(name)

    def names(self, names: StringSet) -> _core.Node:
        """See `Spelling.names`."""
        return self.strings(names)

    def strings(self, strings: StringSet) -> _core.Node:
        """See `Spelling.strings`: listed strings have one text, all others may have every escape."""
        if strings.listed is not None:
            return _core.union([_literal(text) for text in strings.listed])
        if strings.is_everything:
            return _ANY_STRING
        return _core.concat([_QUOTE, _core.json_string(strings.node()), _QUOTE])

    def numbers(self, sets: Sequence[NumberSet]) -> _core.Node:
        """See `Spelling.numbers`."""
        if sets == _EVERY_NUMBER:
            return any_number()
        return _core.union([number_text(one) for one in sets])

    @cached_property
    def any_scalar(self) -> _core.Node:
        """The texts of all strings, numbers, booleans and null."""
        return union(_ANY_STRING, any_number(), _TRUE, _FALSE, _NULL)


def json_spelling(whitespace: object) -> JsonSpelling:
    """Return the spelling for the argument `whitespace` of `json_schema`; made once for equal white space."""
    return _with_white_space(white_space(whitespace))


@lru_cache(maxsize=16)
def _with_white_space(space: WhiteSpace) -> JsonSpelling:
    return JsonSpelling(space)

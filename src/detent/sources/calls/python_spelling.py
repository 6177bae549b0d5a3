"""Python literals as a spelling of JSON values, and keyword arguments as a spelling of objects."""

from __future__ import annotations

import keyword
from collections.abc import Sequence
from functools import cached_property

from detent import _core
from detent.errors import UnsupportedError
from detent.sources.calls.python_strings import any_string, constant_string, string_matching
from detent.sources.json_schema.emit.numbers import any_number, number_text
from detent.sources.json_schema.emit.spelling import Spelling
from detent.sources.json_schema.solve.number_sets import NumberSet
from detent.sources.json_schema.solve.string_sets import StringSet
from detent.sources.nodes import concat, lower_count, optional, short_repr, union, upper_count
from detent.sources.regex import regex

__all__ = ["LITERALS_OF_EITHER", "PYTHON_LITERALS", "ArgumentSpelling", "PythonSpelling"]

_IDENTIFIER = _core.intersection(
    [regex("[A-Za-z_][A-Za-z0-9_]*")._node, _core.complement(union(*keyword.kwlist))],
)


class PythonSpelling(Spelling):
    """Literals of Python: strings in either quotes, None, True and False, dicts and lists; at most one space."""

    null, true, false = _core.literal(b"None"), _core.literal(b"True"), _core.literal(b"False")
    comma, colon = concat(",", optional(" ")), concat(":", optional(" "))
    open_array, close_array, empty_array = _core.literal(b"["), _core.literal(b"]"), _core.literal(b"[]")
    open_object, close_object, empty_object = _core.literal(b"{"), _core.literal(b"}"), _core.literal(b"{}")
    object_start, before_member, empty_end = open_object, _core.epsilon(), close_object

    @cached_property
    def any_name(self) -> _core.Node:
        """Any name of a member, and the colon."""
        return concat(any_string(0, None), self.colon)

    @cached_property
    def any_scalar(self) -> _core.Node:
        """The literals of all strings, numbers, booleans and None."""
        return union(self.null, self.true, self.false, any_number(written=True), any_string(0, None))

    def name(self, name: str) -> _core.Node:
        """See `Spelling.name`."""
        return constant_string(name)

    def names(self, names: StringSet) -> _core.Node:
        """See `Spelling.names`."""
        return self.strings(names)

    def strings(self, strings: StringSet) -> _core.Node:
        """See `Spelling.strings`."""
        if strings.listed is not None:
            return union(*map(constant_string, strings.listed))
        if not strings.nodes and not strings.excluded:
            return any_string(lower_count(strings.min_length), upper_count(strings.max_length))
        return string_matching(strings.node())

    def numbers(self, sets: Sequence[NumberSet]) -> _core.Node:
        """See `Spelling.numbers`: integers are digits."""
        return union(*[number_text(one, written=True) for one in sets])


class ArgumentSpelling(PythonSpelling):
    """An object as the keyword arguments of a call, in parentheses."""

    colon = _core.literal(b"=")
    open_object, close_object, empty_object = _core.literal(b"("), _core.literal(b")"), _core.literal(b"()")
    object_start, empty_end = open_object, close_object

    def __init__(self, function: str) -> None:
        """Make the spelling; messages name the function."""
        self._function = function

    @cached_property
    def any_name(self) -> _core.Node:
        """Any identifier that is no keyword, and the equals sign."""
        return concat(_IDENTIFIER, self.colon)

    def name(self, name: str) -> _core.Node:
        """See `Spelling.name`.

        Raises
        ------
        UnsupportedError
            The name is no Python identifier.
        """
        if not name.isidentifier() or keyword.iskeyword(name):
            raise UnsupportedError(
                f"the argument name {short_repr(name)} of {short_repr(self._function)} is no Python identifier; rename "
                "it, or use a style that writes JSON"
            )
        return _core.literal(name.encode())

    def names(self, names: StringSet) -> _core.Node:
        """See `Spelling.names`."""
        return _core.intersection([names.node(), _IDENTIFIER])


class _EitherWords(PythonSpelling):
    """Literals of Python, whose words may be written as in JSON."""

    null, true, false = union("None", "null"), union("True", "true"), union("False", "false")


PYTHON_LITERALS = PythonSpelling()
LITERALS_OF_EITHER = _EitherWords()

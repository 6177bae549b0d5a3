"""Converters: from a JSON value to an instance of a Python type.

A converter is plain data, so that it can be pickled. Its `convert` is a generator: it yields a part of the value with
the part's converter, is sent the result, and returns the whole. `TextConverter` runs the generators on an explicit
stack, so that values may nest deeply. It keeps the result for each part, so that alternatives that read the same part
cost one conversion.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from typing import Any, TypeAlias

from detent.errors import ArgumentError
from detent.sources.json_schema.parse.decoder import decode
from detent.sources.nodes import short_repr

__all__ = [
    "ArrayOf",
    "Definition",
    "FirstOf",
    "ObjectOf",
    "ObjectWith",
    "OneValueOf",
    "PydanticValue",
    "ScalarOf",
    "TextConverter",
    "ValueConverter",
]
__all__ += ["AnyValue", "ParsedString", "_key"]

Conversion: TypeAlias = Generator["tuple[ValueConverter, Any]", Any, Any]


class _Mismatch(Exception):  # noqa: N818 - it never leaves a TextConverter
    """The converter does not take the value."""


class ValueConverter:
    """Turns a JSON value into a Python value."""

    __slots__ = ()

    def convert(self, value: Any) -> Conversion:
        """Yield parts with their converters, receive the results, and return the whole; or raise `_Mismatch`."""
        raise NotImplementedError


@dataclass(frozen=True)
class AnyValue(ValueConverter):
    """Any JSON value, with floats for the numbers that are not integers."""

    def convert(self, value: Any) -> Conversion:
        """See `ValueConverter.convert`."""
        if isinstance(value, list):
            found = []
            for item in value:
                found.append((yield self, item))
            return found
        if isinstance(value, dict):
            members = {}
            for name, item in value.items():
                members[name] = yield self, item
            return members
        return float(value) if isinstance(value, Decimal) else value


@dataclass(frozen=True)
class ScalarOf(ValueConverter):
    """A str, int, float, bool, Decimal or None."""

    kind: type

    def convert(self, value: Any) -> Conversion:
        """See `ValueConverter.convert`."""
        yield from ()
        kind = self.kind
        if kind in (int, float, Decimal):
            if isinstance(value, bool) or not isinstance(value, (int, Decimal)):
                raise _Mismatch
            if kind is int and isinstance(value, Decimal) and value != value.to_integral_value():
                raise _Mismatch
            if kind is float and isinstance(value, int):
                value = Decimal(value)  # float() of an int raises above 1e308, that of a Decimal is infinite
            return kind(value)
        if type(value) is not kind:
            raise _Mismatch
        return value


@dataclass(frozen=True)
class ParsedString(ValueConverter):
    """A string, read by a function that raises ValueError for those that it does not take."""

    read: Callable[[str], Any]

    def convert(self, value: Any) -> Conversion:
        """See `ValueConverter.convert`."""
        yield from ()
        if not isinstance(value, str):
            raise _Mismatch
        try:
            return self.read(value)
        except ValueError:
            raise _Mismatch from None


def _key(value: object) -> object:
    """Return a key of a JSON scalar. Equal scalars have equal keys, others have not: true is not 1, and 1.0 is 1."""
    if isinstance(value, Enum):
        value = value.value
    if isinstance(value, bool) or value is None:
        return value, "word"
    if isinstance(value, float):
        value = Decimal(repr(value))
    return value, "text" if isinstance(value, str) else "number"


@dataclass(frozen=True)
class OneValueOf(ValueConverter):
    """One of some scalars, or of the members of an Enum."""

    values: tuple[Any, ...]

    def convert(self, value: Any) -> Conversion:
        """See `ValueConverter.convert`."""
        yield from ()
        if not isinstance(value, (list, dict)):
            wanted = _key(value)
            for candidate in self.values:
                if _key(candidate) == wanted:
                    return candidate
        raise _Mismatch


@dataclass(frozen=True)
class ArrayOf(ValueConverter):
    """An array: the first items have a converter each, all others one; `build` takes the list."""

    first: tuple[ValueConverter, ...]
    others: ValueConverter | None
    build: Callable[[list[Any]], Any]

    def convert(self, value: Any) -> Conversion:
        """See `ValueConverter.convert`."""
        if not isinstance(value, list) or len(value) < len(self.first):
            raise _Mismatch
        if self.others is None and len(value) > len(self.first):
            raise _Mismatch
        found = []
        for index, item in enumerate(value):
            converter = self.first[index] if index < len(self.first) else self.others
            found.append((yield converter, item))  # type: ignore[misc]
        return self.build(found)


@dataclass(frozen=True)
class ObjectOf(ValueConverter):
    """An object of any names."""

    names: ValueConverter
    values: ValueConverter
    build: Callable[[dict[Any, Any]], Any]

    def convert(self, value: Any) -> Conversion:
        """See `ValueConverter.convert`."""
        if not isinstance(value, dict):
            raise _Mismatch
        found = {}
        for name, item in value.items():
            found[(yield self.names, name)] = yield self.values, item
        return self.build(found)


@dataclass(frozen=True)
class ObjectWith(ValueConverter):
    """An object of these names; `build` takes them as keyword arguments."""

    fields: tuple[tuple[str, ValueConverter], ...]
    required: frozenset[str]
    build: Callable[..., Any]

    def convert(self, value: Any) -> Conversion:
        """See `ValueConverter.convert`."""
        if not isinstance(value, dict) or not self.required <= value.keys():
            raise _Mismatch
        converters = dict(self.fields)
        if not value.keys() <= converters.keys():
            raise _Mismatch
        found = {}
        for name, item in value.items():
            found[name] = yield converters[name], item
        return self.build(**found)


@dataclass(frozen=True)
class FirstOf(ValueConverter):
    """The result of the first converter that takes the value."""

    options: tuple[ValueConverter, ...]

    def convert(self, value: Any) -> Conversion:
        """See `ValueConverter.convert`."""
        for option in self.options:
            try:
                return (yield option, value)
            except _Mismatch:
                continue
        raise _Mismatch


@dataclass(frozen=True)
class Definition(ValueConverter):
    """The converter of that name in the converter's definitions."""

    name: str

    def convert(self, value: Any) -> Conversion:
        """See `ValueConverter.convert`."""
        raise AssertionError("a converter looks names up")
        yield


@dataclass(frozen=True)
class PydanticValue(ValueConverter):
    """An object of a pydantic type inside a type of the standard library; `read` takes JSON text."""

    read: Callable[[Any], Any]

    def convert(self, value: Any) -> Conversion:
        """See `ValueConverter.convert`."""
        plain = yield AnyValue(), value
        try:
            return self.read(plain)
        except ValueError:
            raise _Mismatch from None


@dataclass(frozen=True)
class TextConverter:
    """From JSON text to an instance of a type.

    >>> TextConverter(ArrayOf((), ScalarOf(int), list), (), "list[int]")("[1, 2.0]")
    [1, 2]
    """

    converter: ValueConverter
    definitions: tuple[tuple[str, ValueConverter], ...]
    description: str

    def __call__(self, text: str) -> Any:
        """Turn a text of the schema's language; raise `ArgumentError` for any other."""
        try:
            return self._run(decode(text))
        except _Mismatch:
            raise ArgumentError(f"{short_repr(text)} is no {self.description}") from None

    def _run(self, value: Any) -> Any:
        definitions = dict(self.definitions)
        # By converter and part, which both stay alive: whether there is a result, and the result.
        known: dict[tuple[int, int], tuple[bool, Any]] = {}
        stack: list[tuple[tuple[int, int] | None, Conversion]] = []
        converter, part = self.converter, value
        while True:
            while isinstance(converter, Definition):
                converter = definitions[converter.name]
            key = (id(converter), id(part)) if isinstance(part, (list, dict)) else None
            outcome = known.get(key) if key else None
            if outcome is None:
                stack.append((key, converter.convert(part)))
                outcome = (True, None)
            # Send the outcome to the waiting generators, until one yields another part.
            while True:
                if not stack:
                    if outcome[0]:
                        return outcome[1]
                    raise _Mismatch
                key, convert = stack[-1]
                try:
                    converter, part = convert.send(outcome[1]) if outcome[0] else convert.throw(_Mismatch())
                    break
                except StopIteration as end:
                    outcome = (True, end.value)
                except _Mismatch:
                    outcome = (False, None)
                stack.pop()
                if key:
                    known[key] = outcome

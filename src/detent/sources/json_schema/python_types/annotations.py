"""Python types as JSON Schemas, each with a converter from texts of the schema to instances.

Annotations of the standard library's types become schemas and converters (`converters`) at the same time. A named class
becomes a definition; a work list of classes allows recursive types. Pydantic makes the schemas of its own types
(`pydantic_models`). A type without a form in JSON or in JSON Schema is refused with the name of the field.
"""

from __future__ import annotations

import collections
import collections.abc as abc
import dataclasses
import datetime as dt
import inspect
import ipaddress
import pathlib
import re
import sys
import types
import typing
import uuid
from collections.abc import Callable
from decimal import Decimal
from enum import Enum
from functools import partial
from typing import Any, TypeAlias, Union

from detent.errors import ArgumentError, LimitError
from detent.sources.json_schema.python_types import constrained, pydantic_models
from detent.sources.json_schema.python_types.converters import (
    AnyValue,
    ArrayOf,
    Definition,
    FirstOf,
    ObjectOf,
    ObjectWith,
    OneValueOf,
    ParsedString,
    PydanticValue,
    ScalarOf,
    TextConverter,
    ValueConverter,
)
from detent.sources.json_schema.python_types.metadata import (
    clip,
    is_constraint,
    refuse,
    refuse_default,
    refuse_unread,
)
from detent.sources.json_schema.python_types.rust_patterns import as_ecma_pattern
from detent.sources.nodes import short_repr
from detent.sources.types import datetime, duration, time

__all__ = ["is_model", "schema_of"]

SchemaAndConverter: TypeAlias = tuple[dict[str, Any], ValueConverter]

_DEPTH = 64
_NOTHING = object()
_QUALIFIERS = ("Required", "NotRequired", "ReadOnly", "Final")
_LONG_FRACTION = re.compile(r"(\.[0-9]{6})[0-9]+")

_SCALARS: dict[Any, str] = {
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    Decimal: "number",
    type(None): "null",
}
_LISTS = frozenset({list, abc.Sequence, abc.MutableSequence, abc.Iterable, abc.Collection})
_SETS = {set: set, abc.Set: frozenset, abc.MutableSet: set, frozenset: frozenset}
_DICTS = frozenset({dict, abc.Mapping, abc.MutableMapping})
_UNIONS = (Union, types.UnionType)
_BOUNDS = {
    "gt": "exclusiveMinimum",
    "ge": "minimum",
    "lt": "exclusiveMaximum",
    "le": "maximum",
    "multiple_of": "multipleOf",
    "pattern": "pattern",
}
_CONSTRAINED: dict[Any, Callable[[dict[str, Any]], dict[str, Any]]] = {
    Decimal: partial(constrained.decimal_number, is_exact=True),
    dt.date: constrained.date,
    dt.datetime: constrained.date_time,
    dt.time: constrained.time,
}
_CONSTRAINTS: dict[Any, tuple[str, ...]] = {
    **dict.fromkeys(_CONSTRAINED, constrained.BOUNDS),
    Decimal: (*constrained.BOUNDS, "multiple_of", "max_digits", "decimal_places"),
}
_LENGTHS = {"string": "Length", "array": "Items", "object": "Properties"}


def _read_time(text: str) -> object:
    return time().value(_LONG_FRACTION.sub(r"\1", text).upper())  # type: ignore[misc]


def _read_datetime(text: str) -> object:
    return datetime().value(_LONG_FRACTION.sub(r"\1", text).upper())  # type: ignore[misc]


def _read_duration(text: str) -> object:
    return duration().value(text)  # type: ignore[misc]


# Types that are read from strings: the schema, and the reader. datetime holds no leap seconds and no year 0000, and a
# timedelta no years and months.
_READ: dict[Any, tuple[dict[str, Any], Callable[[str], object]]] = {
    dt.datetime: ({"format": "date-time", "not": {"pattern": rf"^0000|{constrained.ODD_TIME}"}}, _read_datetime),
    dt.date: ({"format": "date", "not": {"pattern": "^0000"}}, dt.date.fromisoformat),
    dt.time: ({"format": "time", "not": {"pattern": constrained.ODD_TIME}}, _read_time),
    dt.timedelta: ({"format": "duration", "not": {"pattern": "Y|^P[^T]*M|[0-9]{9}"}}, _read_duration),
    uuid.UUID: ({"format": "uuid"}, uuid.UUID),
    ipaddress.IPv4Address: ({"format": "ipv4"}, ipaddress.IPv4Address),
    ipaddress.IPv6Address: ({"format": "ipv6"}, ipaddress.IPv6Address),
    pathlib.Path: ({}, pathlib.Path),
    pathlib.PurePath: ({}, pathlib.PurePath),
    pathlib.PurePosixPath: ({}, pathlib.PurePosixPath),
}


def is_model(source: object) -> bool:
    """Whether it is a class whose instances are JSON objects: of pydantic, a dataclass, a TypedDict, a NamedTuple.

    >>> import dataclasses
    >>> is_model(dataclasses.make_dataclass("Point", [("x", int)])), is_model(int)
    (True, False)
    """
    return pydantic_models.is_pydantic_type(source) or _is_record(source)


def schema_of(source: object) -> tuple[dict[str, Any], Callable[[str], object]] | None:
    """Return the schema of a Python type or of a function's arguments, and the parser of its texts.

    >>> schema, parse = schema_of(list[int])
    >>> schema, parse("[1, 2.0]")
    ({'type': 'array', 'items': {'type': 'integer'}}, [1, 2])

    Parameters
    ----------
    source : object
        A pydantic model or `TypeAdapter`; a dataclass, TypedDict, NamedTuple or Enum; any annotation of these and of
        str, int, float, bool, None, Decimal, datetime, date, time, timedelta, UUID, IP addresses, paths, list, tuple,
        set, dict, Literal, unions, Any and Annotated; or a function, whose arguments are an object.

    Returns
    -------
    tuple or None
        None if the source is no type, but a schema or its text. The parser can be pickled if the type can. A function's
        gives the arguments by name.

    Raises
    ------
    ArgumentError
        The source is a value and no type.
    UnsupportedError
        An annotation has no form in JSON, or none that a schema can say; the message names the field.
    LimitError
        Annotations nest more than 64 deep.
    """
    if isinstance(source, (str, bytes, bool, abc.Mapping, list)):
        return None
    if _is_value(source):
        kind = type(source).__name__
        is_collection = isinstance(source, (tuple, set, frozenset))
        advice = f"write {kind}[...] with the types of the items" if is_collection else f"pass {kind} itself"
        raise ArgumentError(f"json_schema got a value of type {kind}, not a type; {advice}")
    if pydantic_models.is_adapter(source):
        return pydantic_models.adapted_schema(source)
    if pydantic_models.is_pydantic_type(source):
        return pydantic_models.type_schema(source)
    reader = _SchemaBuilder()
    is_function = inspect.isroutine(source)
    name = getattr(source, "__name__", None) or short_repr(source)
    schema, converter = reader.arguments(source, name) if is_function else reader.read(source, name, 0)
    definitions = reader.finish()
    if reader.schemas:
        schema = {**schema, "$defs": reader.schemas}
    return schema, TextConverter(converter, definitions, f"arguments of {name}" if is_function else name)


def _is_value(source: object) -> bool:
    """Whether it is no type, annotation, adapter or function."""
    if source is None or isinstance(source, type) or callable(source) or pydantic_models.is_adapter(source):
        return False
    is_annotation = typing.get_origin(source) is not None or hasattr(source, "__supertype__")
    return not is_annotation and type(source).__module__ not in ("typing", "typing_extensions", "types")


class _SchemaBuilder:
    """Annotations on the way to schemas; classes with names are worked off a list."""

    def __init__(self) -> None:
        self.names: dict[Any, str] = {}
        self.waiting: list[Any] = []
        self.schemas: dict[str, Any] = {}
        self.converters: dict[str, ValueConverter] = {}

    def finish(self) -> tuple[tuple[str, ValueConverter], ...]:
        while self.waiting:
            kind = self.waiting.pop()
            name = self.names[kind]
            self.schemas[name], self.converters[name] = self.body(kind, name)
        return tuple(self.converters.items())

    def body(self, kind: Any, name: str) -> SchemaAndConverter:
        if _is_record(kind):
            return self.record(kind, kind.__name__)
        if not pydantic_models.is_pydantic_type(kind):
            return self.read(kind.__value__, name, 0)  # an alias
        schema, read = pydantic_models.type_schema(kind, f"{name}.")
        self.schemas.update(schema.pop("$defs", {}))
        return schema, PydanticValue(read)

    def named(self, kind: Any) -> SchemaAndConverter:
        name = self.names.get(kind)
        if name is None:
            name = str(kind.__name__)
            while name in self.names.values():
                name += "_"
            self.names[kind] = name
            self.waiting.append(kind)
        return {"$ref": f"#/$defs/{name}"}, Definition(name)

    def read(self, kind: Any, where: str, depth: int) -> SchemaAndConverter:
        """Return the schema and the converter of one annotation; `where` names the field that has it."""
        if depth > _DEPTH:
            raise LimitError(
                f"{clip(where)}: annotations nest more than {_DEPTH} deep; name a part of them",
                subject="annotation_depth",
                limit=_DEPTH,
                given=depth,
            )
        if kind in (Any, object):
            return {}, AnyValue()
        if isinstance(kind, (str, typing.ForwardRef)):
            refuse(where, kind, "its name was not found", "define it where the type is defined")
        if kind is None or isinstance(kind, type):
            known = self.plain(kind, where)
            if known:
                return known
        if type(kind).__name__ == "TypeAliasType" or _is_record(kind) or pydantic_models.is_pydantic_type(kind):
            return self.named(kind)
        if hasattr(kind, "__supertype__"):  # a NewType
            return self.read(kind.__supertype__, where, depth + 1)
        if _is_special(kind, "LiteralString"):
            return self.read(str, where, depth)
        return self.generic(kind, typing.get_origin(kind) or kind, where, depth + 1)

    def plain(self, kind: Any, where: str) -> SchemaAndConverter | None:
        """Return the schema and the converter of a class without parts, or None."""
        kind = kind or type(None)
        if kind in _SCALARS:
            return {"type": _SCALARS[kind]}, ScalarOf(kind)
        if kind in _READ:
            schema, read = _READ[kind]
            return {"type": "string", **schema}, ParsedString(read)
        return self.values(list(kind), where) if issubclass(kind, Enum) else None

    def generic(self, kind: Any, origin: Any, where: str, depth: int) -> SchemaAndConverter:
        arguments = typing.get_args(kind)
        if _is_special(origin, "Literal"):
            return self.values(arguments, where)
        if origin in _UNIONS:
            read = [self.read(argument, where, depth) for argument in arguments]
            return {"anyOf": [schema for schema, _ in read]}, FirstOf(tuple(converter for _, converter in read))
        if origin is typing.Annotated:
            return self.annotated(arguments, where, depth)
        if arguments and any(_is_special(origin, name) for name in _QUALIFIERS):
            return self.read(arguments[0], where, depth)
        if origin is tuple and not (len(arguments) == 2 and arguments[1] is Ellipsis):
            return self.fixed(arguments, kind, where, depth)
        if origin in _LISTS or origin in _SETS or origin in (tuple, collections.deque):
            if len(arguments) > (2 if origin is tuple else 1):
                refuse(where, kind, "its items have one type", "use a union such as list[int | str], or a tuple")
            item, converter = self.read(arguments[0] if arguments else Any, f"an item of {where}", depth)
            build: Any = _SETS.get(origin, list if origin in _LISTS else origin)
            return {"type": "array", **({"items": item} if item else {})}, ArrayOf((), converter, build)
        if origin in _DICTS:
            if len(arguments) == 1:
                refuse(where, kind, "the type of its values is missing", "write dict[str, ...]")
            return self.mapping(arguments or (str, Any), where, depth)
        refuse(where, kind, "it has no form in JSON", "use types of the standard library, a dataclass or pydantic")

    def fixed(self, arguments: tuple[Any, ...], kind: Any, where: str, depth: int) -> SchemaAndConverter:
        if kind is tuple:
            return {"type": "array"}, ArrayOf((), AnyValue(), tuple)
        read = [self.read(part, f"item {index} of {where}", depth) for index, part in enumerate(arguments)]
        schema: dict[str, Any] = {"type": "array", "minItems": len(read), "maxItems": len(read)}
        if read:
            schema["prefixItems"] = [part for part, _ in read]
        return schema, ArrayOf(tuple(converter for _, converter in read), None, tuple)

    def mapping(self, arguments: tuple[Any, ...], where: str, depth: int) -> SchemaAndConverter:
        names, name_converter = self.read(arguments[0], f"a name of {where}", depth)
        values, converter = self.read(arguments[1], f"a value of {where}", depth)
        if names.get("type") != "string" and not all(isinstance(name, str) for name in names.get("enum", [0])):
            refuse(f"a name of {where}", arguments[0], "JSON's names are strings", "use str, or a list of pairs")
        schema: dict[str, Any] = {"type": "object"}
        if names != {"type": "string"}:
            schema["propertyNames"] = names
        if values:
            schema["additionalProperties"] = values
        return schema, ObjectOf(name_converter, converter, dict)

    def values(self, members: Any, where: str) -> SchemaAndConverter:
        scalars = [member.value if isinstance(member, Enum) else member for member in members]
        for member, scalar in zip(members, scalars, strict=True):
            if not isinstance(scalar, (str, int, float, bool, type(None))):
                refuse(where, member, "its value is no JSON scalar", "use strings or numbers")
        return {"enum": scalars}, OneValueOf(tuple(members))

    def annotated(self, arguments: tuple[Any, ...], where: str, depth: int) -> SchemaAndConverter:
        schema, converter = self.read(arguments[0], where, depth)
        keywords: dict[str, Any] = {}
        constraints: dict[str, Any] = {}
        make = _CONSTRAINED.get(arguments[0]) if isinstance(arguments[0], type) else None
        work = list(reversed(arguments[1:]))
        while work:
            data = work.pop()
            if isinstance(data, str):
                keywords["description"] = data
                continue
            refuse_unread(data, where)
            # Known here: the metadata of annotated-types and of pydantic's Field, which contains other metadata.
            work.extend(reversed(getattr(data, "metadata", ()) or ()))
            description = getattr(data, "description", None)
            if isinstance(description, str):
                keywords["description"] = description
            if make is not None:
                found = {name: getattr(data, name, None) for name in _CONSTRAINTS[arguments[0]]}
                constraints.update((name, bound) for name, bound in found.items() if bound is not None)
                known = any(bound is not None for bound in found.values())
            else:
                known = self.bounds(data, schema, keywords)
            if not known and is_constraint(type(data)) and type(data).__name__ != "FieldInfo":
                refuse(where, data, "a schema cannot say it", "leave it out, or check it on the value")
        if make is not None and constraints:
            schema = make(constraints)
        if not keywords:
            return schema, converter
        return {**({"allOf": [schema]} if "$ref" in schema else schema), **keywords}, converter

    @staticmethod
    def bounds(data: object, schema: dict[str, Any], keywords: dict[str, Any]) -> bool:
        known = False
        for attribute, keyword in _BOUNDS.items():
            bound = getattr(data, attribute, None)
            if isinstance(bound, (int, float, Decimal, str)) and isinstance(bound, str) == (attribute == "pattern"):
                keywords[keyword] = float(bound) if isinstance(bound, Decimal) else bound
                if isinstance(bound, str) and type(data).__module__.startswith("pydantic."):
                    keywords[keyword] = as_ecma_pattern(bound)  # pydantic compiles it with Rust's regex
                known = True
        for attribute, side in (("min_length", "min"), ("max_length", "max")):
            bound = getattr(data, attribute, None)
            noun = _LENGTHS.get(str(schema.get("type")))
            if isinstance(bound, int) and noun:
                keywords[side + noun] = bound
                known = True
        return known

    def record(self, kind: Any, where: str) -> SchemaAndConverter:
        try:
            hints = typing.get_type_hints(kind, include_extras=True)
        except NameError as error:
            refuse(where, kind, str(error), "define it in the module of the type, not inside a function")
        if dataclasses.is_dataclass(kind):
            fields = [field for field in dataclasses.fields(kind) if field.init]
            for field in fields:
                refuse_default(field.default, f"{where}.{field.name}")
            names = [field.name for field in fields]
            missing = dataclasses.MISSING
            required = [f.name for f in fields if f.default is missing and f.default_factory is missing]
        elif hasattr(kind, "__required_keys__"):
            names, required = list(hints), [name for name in hints if _is_required(kind, name, hints[name])]
        else:
            names = list(kind._fields)
            required = [name for name in names if name not in kind._field_defaults]
        build = dict if hasattr(kind, "__required_keys__") else kind
        return self.fields([(name, hints[name]) for name in names], required, build, where)

    def arguments(self, function: Any, where: str) -> SchemaAndConverter:
        try:
            parameters = inspect.signature(function).parameters.values()
            hints = typing.get_type_hints(function, include_extras=True)
        except (ValueError, TypeError, NameError) as error:
            refuse(
                where, function, str(error), "define its annotations in its module, or pass a schema of its arguments"
            )
        fields: list[tuple[str, Any]] = []
        for parameter in parameters:
            location = f"{where}({parameter.name})"
            if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
                refuse(location, parameter, "arguments are given by name", "declare it as a parameter with a name")
            if parameter.name not in hints:
                refuse(location, parameter, "it has no annotation", f"annotate it, as in {parameter.name}: str")
            refuse_default(parameter.default, location)
            fields.append((parameter.name, hints[parameter.name]))
        required = [parameter.name for parameter in parameters if parameter.default is parameter.empty]
        return self.fields(fields, required, dict, where)

    def fields(
        self, hints: list[tuple[str, Any]], required: list[str], build: Callable[..., Any], where: str
    ) -> SchemaAndConverter:
        schema: dict[str, Any] = {"type": "object", "properties": {}, "additionalProperties": False}
        converters: list[tuple[str, ValueConverter]] = []
        for name, kind in hints:
            schema["properties"][name], converter = self.read(kind, f"{where}.{name}", 0)
            converters.append((name, converter))
        if required:
            schema["required"] = required
        return schema, ObjectWith(tuple(converters), frozenset(required), build)


def _is_special(kind: object, name: str) -> bool:
    """Whether it is that special form, of typing or of typing_extensions."""
    modules = (typing, sys.modules.get("typing_extensions"))
    return any(kind is getattr(module, name, _NOTHING) for module in modules)


def _is_required(kind: Any, name: str, hint: Any) -> bool:
    """Whether a TypedDict asks for a name; it does not see what its own annotations say when these are strings."""
    while True:
        origin = typing.get_origin(hint)
        if _is_special(origin, "Required") or _is_special(origin, "NotRequired"):
            return _is_special(origin, "Required")
        if origin is not typing.Annotated and not _is_special(origin, "ReadOnly"):
            return name in kind.__required_keys__
        hint = typing.get_args(hint)[0]


def _is_record(kind: Any) -> bool:
    """Whether it is a class of named fields of the standard library."""
    if not isinstance(kind, type):
        return False
    is_named_tuple = issubclass(kind, tuple) and hasattr(kind, "_field_defaults")
    is_typed_dict = issubclass(kind, dict) and hasattr(kind, "__required_keys__")
    return dataclasses.is_dataclass(kind) or is_typed_dict or is_named_tuple

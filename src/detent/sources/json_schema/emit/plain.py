"""Plain schemas to expressions: the members and items of a schema as its keywords have them, without formulas.

The expressions are those that `objects` and `arrays` emit for the same schema along a plan.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, TypeAlias

from detent import _core
from detent.sources.json_schema.assertions.plain import ANNOTATIONS, PlainSchema, listed_strings
from detent.sources.json_schema.emit.scalars import CONSTRAINTS, constrained_scalar
from detent.sources.json_schema.emit.tasks import Request, Task, ValueEmitter, union_of
from detent.sources.json_schema.parse.schema_node import Base, SchemaNode
from detent.sources.json_schema.parse.values import (
    ARRAY,
    BOOLEAN,
    INTEGER,
    NULL,
    NUMBER,
    OBJECT,
    STRING,
)
from detent.sources.json_schema.solve.number_sets import NumberRange
from detent.sources.json_schema.solve.string_sets import StringSet
from detent.sources.nodes import concat, repeat

__all__ = ["PlainEmitter"]

_TYPED = ANNOTATIONS | {"type"}
_CONSTRAINED = ANNOTATIONS | CONSTRAINTS
_NUMBERS = {INTEGER: [NumberRange(is_integer=True)], NUMBER: [NumberRange()]}
_Inner: TypeAlias = "Generator[Request, _core.Node, _core.Node | None]"
_SCALARS = {"null": NULL, "boolean": BOOLEAN, "integer": INTEGER, "number": NUMBER, "string": STRING}


class PlainEmitter:
    """Emits plain schemas of one document; asks `values` for the schemas inside that are not plain."""

    def __init__(self, values: ValueEmitter) -> None:
        self._values = values
        self._document = values.solver.document
        self._spelling = values.spelling
        self._types: dict[tuple[str, Base], _core.Node] = {}

    def scalar(self, schema: Any, base: Base) -> _core.Node | None:
        """Return the expression of a schema of one scalar type; None for any other schema."""
        if not isinstance(schema, dict):
            return None
        name = schema.get("type")
        if isinstance(name, str) and name in _SCALARS:
            names = schema.keys()
            if names <= _TYPED:
                known = self._types.get((name, base))
                if known is None:
                    known = self._types[name, base] = self._type(name, base)
                return known
            if names <= _CONSTRAINED and self._document.has_default_texts:
                return constrained_scalar(self._spelling, base.dialect.uri, schema)
        if "enum" in schema or "const" in schema:
            listed = listed_strings(schema, base.dialect.year)
            return None if listed is None else self._spelling.strings(StringSet(dict.fromkeys(listed)))
        return None

    def _type(self, name: str, base: Base) -> _core.Node:
        if name == "integer" and base.dialect.year <= 4:
            return self._spelling.numbers([NumberRange(is_integer=True, fraction_part=False)])
        return union_of(self._scalars(_SCALARS[name]))

    def _scalars(self, kinds: int) -> list[_core.Node]:
        """Return the expressions of all scalars of some kinds."""
        spelling = self._spelling
        parts = [spelling.null] if kinds & NULL else []
        if kinds & BOOLEAN:
            parts += [spelling.true, spelling.false]
        if kinds & NUMBER:
            parts.append(spelling.numbers(_NUMBERS[kinds & NUMBER]))
        if kinds & STRING:
            parts.append(spelling.strings(StringSet()))
        return parts

    def emit(self, node: SchemaNode, plain: PlainSchema) -> Task:
        """Emit the values of a plain schema."""
        parts = self._scalars(plain.kinds)
        if plain.kinds & ARRAY:
            parts.append((yield from self._array(node, plain)))
        if plain.kinds & OBJECT:
            parts.append((yield from self._object(node, plain)))
        return union_of(parts)

    def _inner(self, node: SchemaNode, schema: Any, *token: object) -> _Inner:
        """Emit the value of a member or item; return None if plainly no value is valid."""
        if schema is True:
            return self._spelling.anything
        known = self.scalar(schema, node.base)
        if known is None:
            value = self._values.solver.values((self._document.inner(node, schema, *token),))
            if value is self._document.nothing:
                return None
            known = self._values.try_immediate(value)
        return known if known is not None else (yield value)

    def _array(self, node: SchemaNode, plain: PlainSchema) -> Task:
        spelling, most = self._spelling, plain.most
        item = None if most == 0 else (yield from self._inner(node, plain.items, "items"))
        if item is None:
            return _core.empty() if plain.least else spelling.empty_array
        upper = None if most is None else most - 1
        more = repeat(concat(spelling.comma, item), max(plain.least - 1, 0), upper)
        whole = concat(spelling.open_array, item, more, spelling.close_array)
        return whole if plain.least else _core.union([spelling.empty_array, whole])

    def _object(self, node: SchemaNode, plain: PlainSchema) -> Task:
        spelling, properties, required = self._spelling, plain.properties, plain.required
        members: list[tuple[_core.Node, bool]] = []
        for name in spelling.member_order(properties):
            inner = yield from self._inner(node, properties[name], "properties", name)
            if inner is not None:
                members.append((_core.concat([spelling.name(name), spelling.colon, inner]), name in required))
            elif name in required:
                return _core.empty()
        other = None
        if plain.additional is not False:
            other = yield from self._inner(node, plain.additional, "additionalProperties")
        for name in required:
            if name not in properties:
                if other is None:
                    return _core.empty()
                members.append((_core.concat([spelling.name(name), spelling.colon, other]), True))
        others = None
        if other is not None:
            names = frozenset((*properties, *required))
            others = concat(spelling.free_label(StringSet(excluded=names)), other)
        some = concat(spelling.open_object, _core.ordered(members, others, spelling.comma, True), spelling.close_object)
        return some if required else _core.union([spelling.empty_object, some])

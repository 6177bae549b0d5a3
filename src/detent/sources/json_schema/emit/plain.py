"""Plain schemas to expressions: each keyword decides its own part of the expression, without formulas and solver.

For example, `{"type": "array", "items": {"type": "null"}, "minItems": 1}` becomes `"[" null ("," null)* "]"`. The
expressions are those that `objects` and `arrays` emit for the same schema along a plan.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Any, Protocol, TypeAlias

from detent import _core
from detent.sources.json_schema.assertions.plain import (
    ANNOTATIONS,
    Advice,
    PlainSchema,
    assert_nothing,
    listed_strings,
    read_plain,
)
from detent.sources.json_schema.assertions.texts import unknown_format
from detent.sources.json_schema.emit.plain_references import SCALARS, PlainRead, target, targets, union_targets
from detent.sources.json_schema.emit.plain_warnings import PlainWarnings
from detent.sources.json_schema.emit.scalars import CONSTRAINTS, constrained_scalar
from detent.sources.json_schema.emit.spelling import Spelling
from detent.sources.json_schema.emit.tasks import Request, Task, ValueEmitter, union_of
from detent.sources.json_schema.formats import is_known_format
from detent.sources.json_schema.parse.dialect import Dialect
from detent.sources.json_schema.parse.schema_node import SchemaNode
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

__all__ = ["PlainEmitter", "PlainNodes"]

_TYPED = ANNOTATIONS | {"type"}
_CONSTRAINED = ANNOTATIONS | CONSTRAINTS
_NUMBERS = {INTEGER: [NumberRange(is_integer=True)], NUMBER: [NumberRange()]}
_Inner: TypeAlias = "Generator[Request, _core.Node, _core.Node | None]"
_SCALAR_KINDS = NULL | BOOLEAN | NUMBER | STRING


class ClosedSchemas(Protocol):
    """The function `closed_schema`, which needs plain schemas itself."""

    def __call__(self, spelling: Spelling, uri: str, schema: dict[str, Any], *, is_ordered: bool) -> _core.Node | None:
        """Return the expression of a schema that is not plain; None if the solver of its document must decide."""


class PlainNodes:
    """Expressions of plain schemas in one spelling, in or without the order of the schema.

    With `has_default_texts`, patterns and formats have the meaning that they have in any other document. Then `closed`,
    if given, makes the expressions of small schemas that are not plain.
    """

    def __init__(
        self, spelling: Spelling, *, is_ordered: bool, has_default_texts: bool, closed: ClosedSchemas | None = None
    ) -> None:
        self._spelling = spelling
        self._is_ordered = is_ordered
        self._has_default_texts = has_default_texts
        self._closed_schemas = closed
        self._types: dict[tuple[str, int], _core.Node] = {}

    def document(self, root: Any, dialect: Dialect, max_schemas: int) -> _core.Node | None:
        """Return the expression of a document of plain schemas alone, at most `max_schemas` of them; else None."""
        known: dict[int, _core.Node] = {}
        plain: dict[int, PlainRead] = {}
        start = target(root, root, dialect)
        pending = [start]
        warnings = PlainWarnings()
        while pending:
            schema = pending[-1]
            if id(schema) in known:
                pending.pop()
                continue
            if id(schema) in plain:
                known[id(schema)] = self._whole(*plain[id(schema)], known)
                continue
            found = self._read(schema, root, dialect, warnings)
            if len(plain) >= max_schemas:
                return None
            if found is None:
                closed = self._closed(schema, dialect) if schema is not root else None
                if closed is None:
                    return None
                known[id(schema)] = closed
                continue
            plain[id(schema)] = found
            unknown = self._note_scalars(found.targets, dialect, warnings, known)
            if any(id(one) in plain for one in unknown):
                return None  # a schema inside itself
            pending += unknown
        return known[id(start)] if warnings.issue(root, plain, dialect) else None

    @staticmethod
    def _read(schema: Any, root: Any, dialect: Dialect, warnings: PlainWarnings) -> PlainRead | None:
        union = union_targets(schema, root, dialect)
        if union is not None:
            return PlainRead(*union)
        advice: Advice = []
        found = read_plain(schema, dialect.year, is_root=schema is root, advice=advice)
        if found is None:
            return None
        warnings.note(schema, advice)
        return PlainRead(found, targets([*found.properties.values(), found.additional, found.items], root, dialect))

    def _note_scalars(
        self, schemas: list[Any], dialect: Dialect, warnings: PlainWarnings, known: dict[int, _core.Node]
    ) -> list[Any]:
        """Note the expressions of scalars; return the schemas that have none yet."""
        found = []
        for schema in schemas:
            if schema is True or schema is False or id(schema) in known:
                continue
            node = self.scalar(schema, dialect, warnings)
            if node is None:
                found.append(schema)
            else:
                known[id(schema)] = node
        return found

    def _closed(self, schema: Any, dialect: Dialect) -> _core.Node | None:
        """Return the expression of a schema that is not plain if it is small and refers to nothing; else None."""
        if self._closed_schemas is None or not self._has_default_texts or not isinstance(schema, dict):
            return None
        return self._closed_schemas(self._spelling, dialect.uri, schema, is_ordered=self._is_ordered)

    def _whole(self, plain: PlainSchema | str, inner: list[Any], known: Mapping[int, _core.Node]) -> _core.Node:
        """Return the expression of a schema; `inner` is `PlainRead.targets`, whose expressions are known."""
        if isinstance(plain, str):
            return union_of([known[id(one)] for one in inner])
        anything = self._spelling.anything
        *values, other, item = [None if one is False else anything if one is True else known[id(one)] for one in inner]
        parts = self.scalars(plain.kinds)
        if plain.kinds & ARRAY:
            parts.append(self.array(plain, None if plain.max_items == 0 else item))
        if plain.kinds & OBJECT:
            parts.append(self.object(plain, dict(zip(plain.properties, values, strict=True)), other))
        return union_of(parts)

    def scalar(self, schema: Any, dialect: Dialect, warnings: PlainWarnings | None = None) -> _core.Node | None:
        """Return the expression of a schema of one scalar type, or of every value; None for any other schema.

        Without `warnings`, the result for a schema that needs a warning is None.
        """
        if not isinstance(schema, dict):
            return None
        name = schema.get("type")
        names = schema.keys()
        if isinstance(name, str) and name in SCALARS and (len(names) == 1 or names <= _TYPED):
            known = self._types.get((name, dialect.year))
            if known is None:
                known = self._types[name, dialect.year] = self._type(name, dialect)
            return known
        if names <= ANNOTATIONS:
            return self._spelling.anything
        advice: Advice | None = None if warnings is None else []
        if "enum" in schema or "const" in schema:
            listed = listed_strings(schema, dialect.year, advice)
            node = None if listed is None else self._spelling.strings(StringSet(dict.fromkeys(listed)))
        elif isinstance(name, str) and name in SCALARS:
            node = self._constrained(schema, dialect, warnings, advice)
        else:
            return None
        if node is not None and warnings is not None:
            warnings.note(schema, advice)
        return node

    def _constrained(
        self, schema: dict[str, Any], dialect: Dialect, warnings: PlainWarnings | None, advice: Advice | None
    ) -> _core.Node | None:
        """Return the expression of a schema of one scalar type with conditions."""
        names = schema.keys()
        if not self._has_default_texts:
            return None
        if not names <= _CONSTRAINED and not assert_nothing(schema, _CONSTRAINED, advice):
            return None
        name = schema.get("format")
        if isinstance(name, str) and not is_known_format(name):
            if warnings is None:
                return None
            warnings.note_format(schema, unknown_format(name))
            schema = {keyword: argument for keyword, argument in schema.items() if keyword != "format"}
        return constrained_scalar(self._spelling, dialect.uri, schema)

    def _type(self, name: str, dialect: Dialect) -> _core.Node:
        if name == "integer" and dialect.year <= 4:
            return self._spelling.numbers([NumberRange(is_integer=True, fraction_part=False)])
        return union_of(self.scalars(SCALARS[name]))

    def scalars(self, kinds: int) -> list[_core.Node]:
        """Return the expressions of all scalars of some kinds."""
        if not kinds & _SCALAR_KINDS:
            return []
        spelling = self._spelling
        parts = [spelling.null] if kinds & NULL else []
        if kinds & BOOLEAN:
            parts += [spelling.true, spelling.false]
        if kinds & NUMBER:
            parts.append(spelling.numbers(_NUMBERS[kinds & NUMBER]))
        if kinds & STRING:
            parts.append(spelling.strings(StringSet()))
        return parts

    def array(self, plain: PlainSchema, item: _core.Node | None) -> _core.Node:
        """Return the expression of the arrays of a schema; `item` is None if no item is valid."""
        spelling, max_items = self._spelling, plain.max_items
        if item is None:
            return _core.empty() if plain.min_items else spelling.empty_array
        upper = None if max_items is None else max_items - 1
        more = _core.repeat(_core.concat([spelling.comma, item]), max(plain.min_items - 1, 0), upper)
        whole = _core.concat([spelling.open_array, item, more, spelling.close_array])
        return whole if plain.min_items else _core.union([spelling.empty_array, whole])

    def object(
        self, plain: PlainSchema, values: Mapping[str, _core.Node | None], other: _core.Node | None
    ) -> _core.Node:
        """Return the expression of the objects of a schema; None stands for a schema without a value."""
        spelling, required, is_ordered = self._spelling, plain.required, self._is_ordered
        members: list[tuple[_core.Node, bool]] = []
        for name in (*spelling.member_order(values), *(name for name in required if name not in values)):
            inner = values.get(name, other)
            if inner is not None:
                members.append((self._member(name, inner), name in required))
            elif name in required:
                return _core.empty()
        others = None
        if other is not None:
            names = frozenset((*values, *required))
            others = _core.concat([spelling.free_label(StringSet(excluded=names)), other])
        if is_ordered:
            whole = _core.ordered(members, others, spelling.comma, True)
        elif members or others is not None:
            whole = _core.unordered(members, others, spelling.comma, 1, None)
        else:
            return spelling.empty_object
        some = _core.concat([spelling.open_object, whole, spelling.close_object])
        return some if required else _core.union([spelling.empty_object, some])

    def _member(self, name: str, value: _core.Node) -> _core.Node:
        """Return a member; its parts are grouped as in `objects`, which differs between the orders."""
        label, colon = self._spelling.name(name), self._spelling.colon
        if self._is_ordered:
            return _core.concat([label, colon, value])
        return _core.concat([_core.concat([label, colon]), value])


class PlainEmitter:
    """Emits plain schemas of one document; asks `values` for the schemas inside that are not plain."""

    def __init__(self, values: ValueEmitter, reader: _core.PlainReader | None = None) -> None:
        self._values = values
        self._reader = reader
        self._document = values.solver.document
        self._nodes = PlainNodes(
            values.spelling, is_ordered=values.is_ordered, has_default_texts=self._document.has_default_texts
        )

    def whole(self, node: SchemaNode) -> _core.Node | None:
        """Return the expression of a plain schema if the core finds all schemas inside plain, too; else None.

        The pointer leads to the schema: a schema that the document does not contain is never plain.
        """
        return None if self._reader is None else self._reader.schema_at(node.pointer())

    def emit(self, node: SchemaNode, plain: PlainSchema) -> Task:
        """Emit the values of a plain schema."""
        parts = self._nodes.scalars(plain.kinds)
        if plain.kinds & ARRAY:
            parts.append((yield from self._array(node, plain)))
        if plain.kinds & OBJECT:
            parts.append((yield from self._object(node, plain)))
        return union_of(parts)

    def _inner(self, node: SchemaNode, schema: Any, *token: object) -> _Inner:
        """Emit the value of a member or item; return None if the solver already knows that no value is valid."""
        if schema is True:
            return self._values.spelling.anything
        known = self._nodes.scalar(schema, node.base.dialect)
        if known is None:
            value = self._values.solver.values((self._document.inner(node, schema, *token),))
            if value is self._document.nothing:
                return None
            known = self._values.try_immediate(value)
        return known if known is not None else (yield value)

    def _array(self, node: SchemaNode, plain: PlainSchema) -> Task:
        item = None if plain.max_items == 0 else (yield from self._inner(node, plain.items, "items"))
        return self._nodes.array(plain, item)

    def _object(self, node: SchemaNode, plain: PlainSchema) -> Task:
        values: dict[str, _core.Node | None] = {}
        for name in self._values.spelling.member_order(plain.properties):
            values[name] = yield from self._inner(node, plain.properties[name], "properties", name)
            if values[name] is None and name in plain.required:
                return _core.empty()
        other = None
        if plain.additional is not False:
            other = yield from self._inner(node, plain.additional, "additionalProperties")
        return self._nodes.object(plain, values, other)

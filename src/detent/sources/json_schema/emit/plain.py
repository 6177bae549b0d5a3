"""Plain schemas to expressions: each keyword decides its own part of the expression, without formulas and solver.

For example, `{"type": "array", "items": {"type": "null"}, "minItems": 1}` becomes `"[" null ("," null)* "]"`. The
expressions are those that `objects` and `arrays` emit for the same schema along a plan.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence, Set
from functools import reduce
from operator import or_
from typing import Any, NamedTuple, Protocol, TypeAlias

from detent import _core
from detent.sources.diagnostics import json_pointer
from detent.sources.json_schema.assertions.diagnostics import Diagnostics
from detent.sources.json_schema.assertions.keywords import unknown_name
from detent.sources.json_schema.assertions.plain import (
    ANNOTATIONS,
    Advice,
    PlainSchema,
    assert_nothing,
    kinds_of,
    listed_strings,
    read_plain,
)
from detent.sources.json_schema.assertions.texts import unknown_format
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
_REFERRING = ANNOTATIONS | {"$ref"}
_WRAPPING = ANNOTATIONS | {"allOf"}
_UNITING = ANNOTATIONS | {"anyOf", "oneOf"}
_FEWEST_OPTIONS = 2
_LONGEST_CHAIN = 10
_CONSTRAINED = ANNOTATIONS | CONSTRAINTS
_NUMBERS = {INTEGER: [NumberRange(is_integer=True)], NUMBER: [NumberRange()]}
_Inner: TypeAlias = "Generator[Request, _core.Node, _core.Node | None]"
_SCALAR_KINDS = NULL | BOOLEAN | NUMBER | STRING
_SCALARS = {"null": NULL, "boolean": BOOLEAN, "integer": INTEGER, "number": NUMBER, "string": STRING}


class ClosedSchemas(Protocol):
    """The function `closed_schema`, which needs plain schemas itself."""

    def __call__(self, spelling: Spelling, uri: str, schema: dict[str, Any], *, is_ordered: bool) -> _core.Node | None:
        """Return the expression of a schema that is not plain; None if the solver of its document must decide."""


class _Read(NamedTuple):
    """A schema of a document: a plain one, or anyOf or oneOf alone."""

    plain: PlainSchema | str
    """The keywords; "anyOf" or "oneOf" where the schema has that keyword alone."""
    targets: list[Any]
    """The schemas of its members, of other members and of items, or its options; references are followed."""


class _Warnings:
    """The warnings that are due once a document has turned out to be plain."""

    def __init__(self) -> None:
        self._formats: dict[int, str] = {}
        self._advice: dict[int, Advice] = {}

    def note(self, schema: Any, advice: Advice | None) -> None:
        """Note the names in a schema that resemble keywords."""
        if advice:
            self._advice[id(schema)] = advice

    def note_format(self, schema: Any, message: str) -> None:
        """Note the format of a schema that has no effect."""
        self._formats[id(schema)] = message

    def issue(self, root: Any, plain: Mapping[int, _Read], dialect: Dialect) -> bool:
        """Issue the warnings; return False, and issue none, if the solver might not read some of the schemas.

        The solver skips schemas that no value reaches, such as that of items where `maxItems` is 0. It does not warn of
        them.
        """
        if not (self._formats or self._advice):
            return True
        if any(_has_unread_parts(each.plain) for each in plain.values()):
            return False
        messages: list[str] = []
        formats = self._formats.copy()
        for schema, pointer in _pointers(root, plain, dialect):
            where = pointer or "the root"
            if id(schema) in formats:
                messages.append(formats.pop(id(schema)))
            messages += [unknown_name(name, where, intended) for name, intended in self._advice.get(id(schema), ())]
        messages += formats.values()
        diagnostics = Diagnostics(lenient=False)
        for message in messages:
            diagnostics.warn(message)
        return True


def _has_unread_parts(plain: PlainSchema | str) -> bool:
    if isinstance(plain, str):
        return False
    return plain.items is False or plain.most == 0 or any(inner is False for inner in plain.properties.values())


def _pointers(root: Any, plain: Mapping[int, _Read], dialect: Dialect) -> Iterator[tuple[Any, str]]:
    """Yield the schemas of a document, each once and in its order, with their JSON pointers."""
    seen: set[int] = set()
    pending: list[tuple[Any, str]] = [(root, "")]
    while pending:
        schema, pointer = pending.pop()
        while (referred := _referred(schema, root, dialect)) is not None:
            schema, where = referred
            pointer = where[1:] if where.startswith("#") else pointer + where
        if id(schema) in seen:
            continue
        seen.add(id(schema))
        yield schema, pointer
        if id(schema) not in plain:
            continue
        found = plain[id(schema)].plain
        if isinstance(found, str):
            options = [(one, f"{pointer}/{found}/{index}") for index, one in enumerate(schema[found])]
            pending += reversed(options)
            continue
        inner = [(schema, json_pointer(("properties", name))) for name, schema in found.properties.items()]
        inner += [(found.additional, "/additionalProperties"), (found.items, "/items")]
        pending += [(one, pointer + path) for one, path in reversed(inner)]


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

    def document(self, root: Any, dialect: Dialect, most: int) -> _core.Node | None:
        """Return the expression of a document of plain schemas alone, at most `most` of them; else None."""
        known: dict[int, _core.Node] = {}
        plain: dict[int, _Read] = {}
        start = _target(root, root, dialect)
        pending = [start]
        warnings = _Warnings()
        while pending:
            schema = pending[-1]
            if id(schema) in known:
                pending.pop()
                continue
            if id(schema) in plain:
                known[id(schema)] = self._whole(*plain[id(schema)], known)
                continue
            found = self._read(schema, root, dialect, warnings)
            if len(plain) >= most:
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
    def _read(schema: Any, root: Any, dialect: Dialect, warnings: _Warnings) -> _Read | None:
        union = _union(schema, root, dialect)
        if union is not None:
            return _Read(*union)
        advice: Advice = []
        found = read_plain(schema, dialect.year, is_root=schema is root, advice=advice)
        if found is None:
            return None
        warnings.note(schema, advice)
        return _Read(found, _targets([*found.properties.values(), found.additional, found.items], root, dialect))

    def _note_scalars(
        self, schemas: list[Any], dialect: Dialect, warnings: _Warnings, known: dict[int, _core.Node]
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
        """Return the expression of a schema; `inner` is `_Read.targets`, whose expressions are known."""
        if isinstance(plain, str):
            return union_of([known[id(one)] for one in inner])
        anything = self._spelling.anything
        *values, other, item = [None if one is False else anything if one is True else known[id(one)] for one in inner]
        parts = self.scalars(plain.kinds)
        if plain.kinds & ARRAY:
            parts.append(self.array(plain, None if plain.most == 0 else item))
        if plain.kinds & OBJECT:
            parts.append(self.object(plain, dict(zip(plain.properties, values, strict=True)), other))
        return union_of(parts)

    def scalar(self, schema: Any, dialect: Dialect, warnings: _Warnings | None = None) -> _core.Node | None:
        """Return the expression of a schema of one scalar type, or of every value; None for any other schema.

        Without `warnings`, the result for a schema that needs a warning is None.
        """
        if not isinstance(schema, dict):
            return None
        name = schema.get("type")
        names = schema.keys()
        if isinstance(name, str) and name in _SCALARS and (len(names) == 1 or names <= _TYPED):
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
        elif isinstance(name, str) and name in _SCALARS:
            node = self._constrained(schema, dialect, warnings, advice)
        else:
            return None
        if node is not None and warnings is not None:
            warnings.note(schema, advice)
        return node

    def _constrained(
        self, schema: dict[str, Any], dialect: Dialect, warnings: _Warnings | None, advice: Advice | None
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
        return union_of(self.scalars(_SCALARS[name]))

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
        spelling, most = self._spelling, plain.most
        if item is None:
            return _core.empty() if plain.least else spelling.empty_array
        upper = None if most is None else most - 1
        more = _core.repeat(_core.concat([spelling.comma, item]), max(plain.least - 1, 0), upper)
        whole = _core.concat([spelling.open_array, item, more, spelling.close_array])
        return whole if plain.least else _core.union([spelling.empty_array, whole])

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

    def __init__(self, values: ValueEmitter) -> None:
        self._values = values
        self._document = values.solver.document
        self._nodes = PlainNodes(
            values.spelling, is_ordered=values.is_ordered, has_default_texts=self._document.has_default_texts
        )

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
        item = None if plain.most == 0 else (yield from self._inner(node, plain.items, "items"))
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


def _is_root_beside(schema: Any, root: Any, names: Set[str]) -> bool:
    """Whether a schema is the root and has, beside these keywords, definitions and its identifier alone."""
    return schema is root and assert_nothing(schema, names, None, is_root=True)


def _referred(schema: Any, root: Any, dialect: Dialect) -> tuple[Any, str] | None:
    """Return the schema to which a schema refers, by `$ref` or an `allOf` of one, and says nothing else; else None.

    Beside it stands its address: the reference, such as "#/$defs/a", or "/allOf/0" from the schema.
    """
    if type(schema) is not dict:
        return None
    if "$ref" not in schema:
        options = schema.get("allOf")
        if type(options) is not list or len(options) != 1:
            return None
        if not schema.keys() <= _WRAPPING and not _is_root_beside(schema, root, _WRAPPING):
            return None
        return (options[0], "/allOf/0") if type(options[0]) in (dict, bool) else None
    names = schema.keys()
    is_alone = dialect.is_reference_alone or names <= _REFERRING
    if not is_alone and not _is_root_beside(schema, root, _REFERRING):
        return None
    reference = str(schema["$ref"])
    first, *tokens = reference.split("/")
    found = root if first == "#" and "~" not in reference and "%" not in reference else None
    for token in tokens:
        found = found.get(token) if type(found) is dict else None
    return (found, reference) if type(found) in (dict, bool) else None


def _target(schema: Any, root: Any, dialect: Dialect) -> Any:
    """Return the schema at the end of a chain of references; a schema that is no reference as it is."""
    for _ in range(_LONGEST_CHAIN):
        found = _referred(schema, root, dialect)
        if found is None:
            break
        schema, _ = found
    return schema


def _targets(schemas: Sequence[Any], root: Any, dialect: Dialect) -> list[Any]:
    return [
        _target(one, root, dialect) if type(one) is dict and ("$ref" in one or "allOf" in one) else one
        for one in schemas
    ]


def _union(schema: Any, root: Any, dialect: Dialect) -> tuple[str, list[Any]] | None:
    """Return the keyword and the options of a schema that says nothing but anyOf, or oneOf of different kinds."""
    if type(schema) is not dict or ("anyOf" in schema) is ("oneOf" in schema):
        return None
    keyword = "anyOf" if "anyOf" in schema else "oneOf"
    options = schema[keyword]
    if (
        type(options) is not list
        or len(options) < _FEWEST_OPTIONS
        or not all(type(one) is dict and one for one in options)
    ):
        return None
    if not schema.keys() <= _UNITING and not assert_nothing(schema, _UNITING, None, is_root=schema is root):
        return None
    targets = _targets(options, root, dialect)
    if keyword == "oneOf":
        kinds = [kinds_of(target["type"]) if type(target) is dict and "type" in target else 0 for target in targets]
        return (keyword, targets) if all(kinds) and sum(kinds) == reduce(or_, kinds) else None
    scalars = [one["type"] for one in options if type(one.get("type")) is str and one["type"] in _SCALARS]
    is_valid = len(scalars) == len(set(scalars)) and all(type(target) is dict for target in targets)
    return (keyword, targets) if is_valid else None

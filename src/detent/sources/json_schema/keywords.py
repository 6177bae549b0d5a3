"""Keywords: from the JSON of one schema to its record. What is no keyword of the dialect is an annotation."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from detent.errors import SchemaError
from detent.sources.json_schema import evaluated, exclusive
from detent.sources.json_schema.json_values import (
    ARRAY,
    BOOLEAN,
    EVERY_KIND,
    INTEGER,
    NULL,
    NUMBER,
    OBJECT,
    STRING,
    canonical,
    exact,
    is_text,
    kind_of,
)
from detent.sources.json_schema.place import Choice, Place
from detent.sources.json_schema.record import Record
from detent.sources.nodes import short_repr

if TYPE_CHECKING:
    from detent.sources.json_schema.schemas import Schemas

__all__ = ["read"]

_KINDS = {
    "null": NULL,
    "boolean": BOOLEAN,
    "integer": INTEGER,
    "number": NUMBER,
    "string": STRING,
    "array": ARRAY,
    "object": OBJECT,
}
_Keyword = Callable[["Schemas", Place, Record, Any], None]


def read(schemas: Schemas, place: Place) -> Record:
    """Read the keywords of a place's schema."""
    schema, dialect, record = place.schema, place.base.dialect, Record()
    if dialect.is_reference_alone and "$ref" in schema:
        record.units.append(schemas.referred(place, schema["$ref"], "$ref"))
        return record
    for keyword, argument in schema.items():
        found = _KEYWORDS.get(keyword)
        if found is not None and found[0] <= dialect.year:
            found[1](schemas, place, record, argument)
        elif not isinstance(keyword, str):
            raise SchemaError(
                f"at {place.pointer() or 'the root'}: a keyword must be a string, got {short_repr(keyword)}",
                pointer=place.pointer(),
            )
    return record


def _type(schemas: Schemas, place: Place, record: Record, argument: Any) -> None:
    names = [argument] if isinstance(argument, str) else argument
    if not isinstance(names, list) or not names:
        raise schemas.malformed(place, "type", "the name of a type, or a list of names", argument)
    kinds = 0
    for name in names:
        kind = _KINDS.get(name) if isinstance(name, str) else None
        if kind is None:
            raise schemas.malformed(
                place, "type", "one of null, boolean, integer, number, string, array and object", name
            )
        kinds |= kind
    record.kinds &= kinds
    if place.base.dialect.year <= 4 and kinds & NUMBER == INTEGER:
        # In draft 4 an integer is a number without a fraction *part*: 1.0 is none.
        record.number.append(schemas.algebra.atom("test", "plain", None, True))


def _enum(schemas: Schemas, place: Place, record: Record, argument: Any) -> None:
    if not isinstance(argument, list):
        raise schemas.malformed(place, "enum", "a list of values", argument)
    _allow(schemas, place, record, "enum", argument)


def _const(schemas: Schemas, place: Place, record: Record, argument: Any) -> None:
    _allow(schemas, place, record, "const", [argument])


def _allow(schemas: Schemas, place: Place, record: Record, keyword: str, values: list[Any]) -> None:
    allowed: dict[Any, Any] = {}
    kinds = 0
    for value in values:
        if isinstance(value, str):
            # What UTF-8 cannot write never occurs in a text.
            if is_text(value):
                allowed[value] = value
                kinds |= STRING
            continue
        kind = kind_of(value)
        if not kind:
            raise schemas.malformed(place, keyword, "made of JSON values", value)
        kinds |= kind
        allowed.setdefault(canonical(value), value)
    if record.allowed is not None:
        allowed = {key: value for key, value in record.allowed.items() if key in allowed}
    record.allowed = allowed
    record.kinds &= kinds


# Numbers.


def _number(schemas: Schemas, place: Place, keyword: str, argument: Any) -> Decimal:
    value = exact(argument)
    if value is None:
        raise schemas.malformed(place, keyword, "a finite number", argument)
    return value


def _bound(keyword: str, exclusive_keyword: str, inclusive: tuple[str, bool], exclusive: tuple[str, bool]) -> _Keyword:
    def handle(schemas: Schemas, place: Place, record: Record, argument: Any) -> None:
        value = _number(schemas, place, keyword, argument)
        # A boolean is the way of draft 4, and of many schemas that name no draft.
        what, holds = exclusive if place.schema.get(exclusive_keyword) is True else inclusive
        record.number.append(schemas.algebra.atom("test", what, value, holds))

    return handle


def _exclusive_bound(keyword: str, exclusive: tuple[str, bool]) -> _Keyword:
    def handle(schemas: Schemas, place: Place, record: Record, argument: Any) -> None:
        if not isinstance(argument, bool):
            value = _number(schemas, place, keyword, argument)
            record.number.append(schemas.algebra.atom("test", exclusive[0], value, exclusive[1]))

    return handle


def _multiple(schemas: Schemas, place: Place, record: Record, argument: Any) -> None:
    value = _number(schemas, place, "multipleOf", argument)
    if value <= 0:
        raise schemas.malformed(place, "multipleOf", "above 0", argument)
    record.number.append(schemas.algebra.atom("test", "multiple", value, True))


# Strings.


def _count(schemas: Schemas, place: Place, keyword: str, argument: Any) -> int:
    value = exact(argument)
    if value is None or value < 0 or kind_of(argument) != INTEGER or value.adjusted() > 30:
        raise schemas.malformed(place, keyword, "a whole number from 0 on", argument)
    return int(value)


def _length(keyword: str, what: str) -> _Keyword:
    def handle(schemas: Schemas, place: Place, record: Record, argument: Any) -> None:
        count = _count(schemas, place, keyword, argument)
        if count or what == "longest":
            record.string.append(schemas.algebra.atom("test", what, count, True))

    return handle


def _pattern(schemas: Schemas, place: Place, record: Record, argument: Any) -> None:
    if not isinstance(argument, str):
        raise schemas.malformed(place, "pattern", "a string", argument)
    record.string.append(schemas.algebra.atom("test", "pattern", (argument, place), True))


def _format(schemas: Schemas, place: Place, record: Record, argument: Any) -> None:
    if not isinstance(argument, str):
        raise schemas.malformed(place, "format", "a string", argument)
    if schemas.format(argument, place) is not None:
        record.string.append(schemas.algebra.atom("test", "format", (argument, place), True))


# Objects.


def _properties(schemas: Schemas, place: Place, record: Record, argument: Any) -> None:
    if not isinstance(argument, dict):
        raise schemas.malformed(place, "properties", "an object of schemas", argument)
    value = schemas.algebra.value
    for name, schema in argument.items():
        inner = schemas.inner(place, schema, "properties", name)
        record.properties[name] = inner
        record.object.append(value(name, inner))
    record.declared = tuple(argument)


def _required(schemas: Schemas, place: Place, record: Record, argument: Any) -> None:
    if isinstance(argument, bool):
        schemas.warn(
            f"required at {place.pointer() or 'the root'} is a boolean, as in draft 3, and has no effect; "
            "list the names in `required` of the object"
        )
        return
    record.object.extend(map(schemas.algebra.has, _names(schemas, place, "required", argument)))


def _names(schemas: Schemas, place: Place, keyword: str, argument: Any) -> list[str]:
    if not isinstance(argument, list) or not all(isinstance(name, str) for name in argument):
        raise schemas.malformed(place, keyword, "a list of names", argument)
    return argument


def _patterns(schemas: Schemas, place: Place) -> dict[str, Any]:
    argument = place.schema.get("patternProperties", {})
    if not isinstance(argument, dict):
        raise schemas.malformed(place, "patternProperties", "an object of schemas", argument)
    return argument


def _pattern_properties(schemas: Schemas, place: Place, record: Record, argument: Any) -> None:
    for pattern, schema in _patterns(schemas, place).items():
        inner = schemas.inner(place, schema, "patternProperties", pattern)
        record.object.append(schemas.algebra.every(schemas.found_by(pattern), inner))
        # Read now, so that an error has its place.
        schemas.pattern(pattern, place, "patternProperties")


def _additional_properties(schemas: Schemas, place: Place, record: Record, argument: Any) -> None:
    names = place.schema.get("properties", {})
    if not isinstance(names, dict):
        raise schemas.malformed(place, "properties", "an object of schemas", names)
    inner = schemas.inner(place, argument, "additionalProperties")
    record.object.append(schemas.algebra.every(schemas.others(names, _patterns(schemas, place)), inner))


def _property_names(schemas: Schemas, place: Place, record: Record, argument: Any) -> None:
    inner = schemas.inner(place, argument, "propertyNames")
    if inner is schemas.falsity:
        record.object.append(schemas.algebra.at_most(0))
    elif inner is not schemas.truth:
        record.object.append(schemas.algebra.every(schemas.texts(inner.negative), schemas.falsity))


def _member_count(keyword: str, least: bool) -> _Keyword:
    def handle(schemas: Schemas, place: Place, record: Record, argument: Any) -> None:
        count = _count(schemas, place, keyword, argument)
        record.object.append(schemas.algebra.at_least(count) if least else schemas.algebra.at_most(count))

    return handle


def _dependent_required(schemas: Schemas, place: Place, record: Record, argument: Any) -> None:
    if not isinstance(argument, dict):
        raise schemas.malformed(place, "dependentRequired", "an object of lists of names", argument)
    for name, names in argument.items():
        _depend(schemas, record, name, _names(schemas, place, "dependentRequired", names))


def _depend(schemas: Schemas, record: Record, name: str, names: list[str]) -> None:
    algebra = schemas.algebra
    record.object.append(algebra.disjunction((algebra.lacks(name), algebra.conjunction(map(algebra.has, names)))))


def _dependent_schemas(schemas: Schemas, place: Place, record: Record, argument: Any) -> None:
    if not isinstance(argument, dict):
        raise schemas.malformed(place, "dependentSchemas", "an object of schemas", argument)
    for name, schema in argument.items():
        _depend_on_schema(schemas, record, name, schemas.inner(place, schema, "dependentSchemas", name), place)


def _depend_on_schema(schemas: Schemas, record: Record, name: str, inner: Place, place: Place) -> None:
    lacks, has = schemas.algebra.lacks(name), schemas.algebra.has(name)
    if inner is schemas.falsity:
        record.object.append(lacks)
    elif inner is not schemas.truth:
        record.choices.append(Choice(place, OBJECT, lambda: [(lacks,), (has, inner)]))


def _dependencies(schemas: Schemas, place: Place, record: Record, argument: Any) -> None:
    if not isinstance(argument, dict):
        raise schemas.malformed(place, "dependencies", "an object of schemas and lists of names", argument)
    for name, dependency in argument.items():
        if isinstance(dependency, (list, str)):
            names = [dependency] if isinstance(dependency, str) else dependency
            _depend(schemas, record, name, _names(schemas, place, "dependencies", names))
        else:
            inner = schemas.inner(place, dependency, "dependencies", name)
            _depend_on_schema(schemas, record, name, inner, place)


def _unevaluated_properties(schemas: Schemas, place: Place, record: Record, argument: Any) -> None:
    inner = schemas.inner(place, argument, "unevaluatedProperties")
    if inner is schemas.truth:
        return
    choice = Choice(place, OBJECT, lambda: evaluated.properties(schemas, place, inner))
    record.choices.append(choice)


# Arrays.


def _prefix(schemas: Schemas, place: Place) -> list[Any]:
    """Give the schemas of the first items."""
    prefix = place.schema.get("prefixItems") if place.base.dialect.year >= 2020 else None
    items = place.schema.get("items")
    if prefix is None and isinstance(items, list):
        # The way up to 2019-09; in 2020-12 it would be malformed, but it is common and has one meaning only.
        prefix = items
    if prefix is None:
        return []
    if not isinstance(prefix, list):
        raise schemas.malformed(place, "prefixItems", "a list of schemas", prefix)
    return prefix


def _prefix_items(schemas: Schemas, place: Place, record: Record, argument: Any) -> None:
    for index, schema in enumerate(_prefix(schemas, place)):
        inner = schemas.inner(place, schema, "prefixItems" if place.schema.get("prefixItems") else "items", index)
        record.array.append(schemas.algebra.item(index, inner))


def _items(schemas: Schemas, place: Place, record: Record, argument: Any) -> None:
    if isinstance(argument, list):
        if "prefixItems" not in place.schema or place.base.dialect.year < 2020:
            _prefix_items(schemas, place, record, argument)
        return
    inner = schemas.inner(place, argument, "items")
    record.array.append(schemas.algebra.rest(len(_prefix(schemas, place)), inner))


def _additional_items(schemas: Schemas, place: Place, record: Record, argument: Any) -> None:
    if isinstance(place.schema.get("items"), list):
        inner = schemas.inner(place, argument, "additionalItems")
        record.array.append(schemas.algebra.rest(len(_prefix(schemas, place)), inner))


def _item_count(keyword: str, least: bool) -> _Keyword:
    def handle(schemas: Schemas, place: Place, record: Record, argument: Any) -> None:
        count = _count(schemas, place, keyword, argument)
        record.array.append(schemas.algebra.at_least(count) if least else schemas.algebra.at_most(count))

    return handle


def _contains(schemas: Schemas, place: Place, record: Record, argument: Any) -> None:
    inner = schemas.inner(place, argument, "contains")
    least, most = 1, None
    if place.base.dialect.year >= 2019:
        if "minContains" in place.schema:
            least = _count(schemas, place, "minContains", place.schema["minContains"])
        if "maxContains" in place.schema:
            most = _count(schemas, place, "maxContains", place.schema["maxContains"])
    record.array.append(schemas.algebra.many(0, inner, least))
    if most is not None:
        record.array.append(schemas.algebra.few(0, inner, most))


def _unique_items(schemas: Schemas, place: Place, record: Record, argument: Any) -> None:
    if not isinstance(argument, bool):
        raise schemas.malformed(place, "uniqueItems", "a boolean", argument)
    if argument:
        record.array.append(schemas.algebra.atom("unique", place))


def _unevaluated_items(schemas: Schemas, place: Place, record: Record, argument: Any) -> None:
    inner = schemas.inner(place, argument, "unevaluatedItems")
    if inner is not schemas.truth:
        record.choices.append(Choice(place, ARRAY, lambda: evaluated.items(schemas, place, inner)))


# Subschemas of the same value.


def _several(schemas: Schemas, place: Place, keyword: str, argument: Any) -> list[Place]:
    if not isinstance(argument, list) or not argument:
        raise schemas.malformed(place, keyword, "a list of schemas, at least one", argument)
    return [schemas.inner(place, schema, keyword, index) for index, schema in enumerate(argument)]


def _all_of(schemas: Schemas, place: Place, record: Record, argument: Any) -> None:
    record.units.extend(_several(schemas, place, "allOf", argument))


def _any_of(schemas: Schemas, place: Place, record: Record, argument: Any) -> None:
    parts = _several(schemas, place, "anyOf", argument)
    if schemas.truth in parts:
        return
    kept = list(dict.fromkeys(part for part in parts if part is not schemas.falsity))
    if len(kept) < 2:
        record.units.append(kept[0] if kept else schemas.falsity)
    else:
        record.choices.append(Choice(place, EVERY_KIND, lambda: [(part,) for part in kept]))


def _one_of(schemas: Schemas, place: Place, record: Record, argument: Any) -> None:
    parts = [part for part in _several(schemas, place, "oneOf", argument) if part is not schemas.falsity]
    if len(parts) < 2:
        record.units.append(parts[0] if parts else schemas.falsity)
    else:
        record.choices.append(Choice(place, EVERY_KIND, lambda: exclusive.alternatives(schemas, parts)))


def _not(schemas: Schemas, place: Place, record: Record, argument: Any) -> None:
    inner = schemas.inner(place, argument, "not")
    record.units.append(schemas.algebra.opposite(inner))


def _if(schemas: Schemas, place: Place, record: Record, argument: Any) -> None:
    condition = schemas.inner(place, argument, "if")
    then = schemas.inner(place, place.schema.get("then", True), "then")
    other = schemas.inner(place, place.schema.get("else", True), "else")
    if then is not other:
        opposite = schemas.algebra.opposite(condition)
        record.choices.append(Choice(place, EVERY_KIND, lambda: [(condition, then), (opposite, other)]))


def _reference(keyword: str) -> _Keyword:
    def handle(schemas: Schemas, place: Place, record: Record, argument: Any) -> None:
        record.units.append(schemas.referred(place, argument, keyword))

    return handle


def _definitions(keyword: str) -> _Keyword:
    def handle(schemas: Schemas, place: Place, record: Record, argument: Any) -> None:
        if not isinstance(argument, dict):
            raise schemas.malformed(place, keyword, "an object of schemas", argument)

    return handle


# The first draft that has the keyword, and what it does.
_KEYWORDS: dict[str, tuple[int, _Keyword]] = {
    "type": (4, _type),
    "enum": (4, _enum),
    "const": (6, _const),
    "minimum": (4, _bound("minimum", "exclusiveMinimum", ("from", True), ("to", False))),
    "maximum": (4, _bound("maximum", "exclusiveMaximum", ("to", True), ("from", False))),
    "exclusiveMinimum": (4, _exclusive_bound("exclusiveMinimum", ("to", False))),
    "exclusiveMaximum": (4, _exclusive_bound("exclusiveMaximum", ("from", False))),
    "multipleOf": (4, _multiple),
    "minLength": (4, _length("minLength", "shortest")),
    "maxLength": (4, _length("maxLength", "longest")),
    "pattern": (4, _pattern),
    "format": (4, _format),
    "properties": (4, _properties),
    "required": (4, _required),
    "patternProperties": (4, _pattern_properties),
    "additionalProperties": (4, _additional_properties),
    "propertyNames": (6, _property_names),
    "minProperties": (4, _member_count("minProperties", True)),
    "maxProperties": (4, _member_count("maxProperties", False)),
    "dependentRequired": (2019, _dependent_required),
    "dependentSchemas": (2019, _dependent_schemas),
    "dependencies": (4, _dependencies),
    "unevaluatedProperties": (2019, _unevaluated_properties),
    "prefixItems": (2020, _prefix_items),
    "items": (4, _items),
    "additionalItems": (4, _additional_items),
    "minItems": (4, _item_count("minItems", True)),
    "maxItems": (4, _item_count("maxItems", False)),
    "contains": (6, _contains),
    "uniqueItems": (4, _unique_items),
    "unevaluatedItems": (2019, _unevaluated_items),
    "allOf": (4, _all_of),
    "anyOf": (4, _any_of),
    "oneOf": (4, _one_of),
    "not": (4, _not),
    "if": (7, _if),
    "$ref": (4, _reference("$ref")),
    "$dynamicRef": (2020, _reference("$dynamicRef")),
    "$recursiveRef": (2019, _reference("$recursiveRef")),
    "$defs": (4, _definitions("$defs")),
    "definitions": (4, _definitions("definitions")),
}

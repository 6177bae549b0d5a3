"""Plain schemas: those whose keywords decide different parts of the texts, so that nothing has to be solved.

Most schemas in use are of this form: types, members with their names, items, bounds of the number of items. Their
expressions follow from the keywords alone (`emit.plain`), without formulas. `read_plain` returns None for any other
schema and for any argument of a type that it does not expect; `SchemaDocument` then reads it, or reports the mistake.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import Any, NamedTuple, TypeAlias

from detent.sources.json_schema.assertions.keywords import KEYWORDS, SILENT, intended_keyword
from detent.sources.json_schema.assertions.scalar_keywords import KINDS
from detent.sources.json_schema.parse.values import ARRAY, EVERY_KIND, INTEGER, NUMBER, OBJECT, is_text

__all__ = ["ANNOTATIONS", "Advice", "PlainSchema", "assert_nothing", "kinds_of", "listed_strings", "read_plain"]

_OBJECT = frozenset(("properties", "required", "additionalProperties"))
_ARRAY = frozenset(("items", "additionalItems", "minItems", "maxItems", "uniqueItems"))
_IDENTIFIERS = frozenset("$schema $id id $anchor $dynamicAnchor $recursiveAnchor $vocabulary".split())
_DEFINITIONS = frozenset(("$defs", "definitions"))
_LARGEST_COUNT = 1 << 31
_SCHEMAS = {dict, bool}

ANNOTATIONS = SILENT - _IDENTIFIERS
"""Names that assert nothing, alone."""

_LISTING = ANNOTATIONS | {"type", "enum", "const"}
_PLAIN = ANNOTATIONS | _OBJECT | _ARRAY | {"type"}


Advice: TypeAlias = list[tuple[str, str]]
"""Names that resemble keywords, and what was probably meant: each needs a warning."""


class PlainSchema(NamedTuple):
    """The keywords of a plain schema. Values of its scalar kinds have no other condition."""

    kinds: int
    properties: Mapping[str, Any]
    required: Mapping[str, None]
    additional: Any
    """The schema of other members."""
    items: Any
    """The schema of the items."""
    min_items: int
    max_items: int | None


def read_plain(schema: Any, year: int, *, is_root: bool = False, advice: Advice | None = None) -> PlainSchema | None:
    """Return the keywords of a plain schema; None for any other one.

    A name that resembles a keyword needs a warning: it is added to `advice` if that is given.
    """
    if not isinstance(schema, dict):
        return None
    names = schema.keys()
    kinds = kinds_of(schema["type"]) if "type" in names else EVERY_KIND
    if not kinds or (kinds & NUMBER == INTEGER and year <= 4):
        return None
    if not names <= _PLAIN and not assert_nothing(schema, _PLAIN, advice, is_root=is_root):
        return None
    found: PlainSchema | None = PlainSchema(kinds, {}, {}, True, True, 0, None)
    if found is not None and not names.isdisjoint(_OBJECT):
        found = _with_members(found, schema)
    if found is not None and not names.isdisjoint(_ARRAY):
        found = _with_items(found, schema)
    if found is None:
        return None
    return found if kinds != EVERY_KIND or _has_condition(found) else None


def _with_members(plain: PlainSchema, schema: Mapping[str, Any]) -> PlainSchema | None:
    """Add the keywords of objects; return None if they are not plain."""
    properties, required = schema.get("properties", {}), schema.get("required", [])
    additional = schema.get("additionalProperties", True)
    if not plain.kinds & OBJECT or not isinstance(properties, dict) or not isinstance(required, list):
        return None
    if not _are_texts((*properties, *required)):
        return None
    inner = (*properties.values(), additional)
    types = set(map(type, inner))
    if not types <= _SCHEMAS and not all(isinstance(one, (dict, bool)) for one in inner):
        return None
    if bool in types and any(properties.get(name, additional) is False for name in required):
        return None  # no object is valid
    names = dict.fromkeys(required)
    return PlainSchema(plain.kinds, properties, names, additional, plain.items, plain.min_items, plain.max_items)


def _are_texts(names: Sequence[object]) -> bool:
    """Whether all are strings of Unicode characters; all at once, since there are many."""
    try:
        return is_text("".join(names))  # type: ignore[arg-type] # a TypeError tells
    except TypeError:
        return False


def _with_items(plain: PlainSchema, schema: Mapping[str, Any]) -> PlainSchema | None:
    """Add the keywords of arrays; return None if they are not plain."""
    items, min_items, max_items = schema.get("items", True), schema.get("minItems", 0), schema.get("maxItems")
    if not plain.kinds & ARRAY or not isinstance(items, (dict, bool)) or schema.get("uniqueItems", False) is not False:
        return None
    if not _is_count(min_items) or not (max_items is None or (_is_count(max_items) and max_items >= min_items)):
        return None
    return PlainSchema(plain.kinds, plain.properties, plain.required, plain.additional, items, min_items, max_items)


def _has_condition(plain: PlainSchema) -> bool:
    """Whether a schema plainly says something about the members or items of a value."""
    if plain.required or plain.min_items or plain.max_items is not None:
        return True
    inner = (*plain.properties.values(), plain.additional, plain.items)
    return not all(schema is True or schema == {} for schema in inner)


def listed_strings(schema: Mapping[str, Any], year: int, advice: Advice | None = None) -> list[str] | None:
    """Return the strings that a schema lists, sorted, if it says nothing else; else None."""
    if schema.get("type", "string") != "string":
        return None
    if not schema.keys() <= _LISTING and not assert_nothing(schema, _LISTING, advice):
        return None
    if "const" not in schema:
        listed = schema.get("enum")
    elif "enum" in schema or year < 6:
        return None
    else:
        listed = [schema["const"]]
    if not isinstance(listed, list) or not listed or not all(type(one) is str and is_text(one) for one in listed):
        return None
    return sorted(set(listed))


def kinds_of(types: Any) -> int:
    """Return the kinds of values of a type, or of several; 0 if the argument is malformed."""
    if isinstance(types, str):
        return KINDS.get(types, 0)
    found = 0
    for name in types if isinstance(types, list) else ():
        kind = KINDS.get(name, 0) if isinstance(name, str) else 0
        if not kind:
            return 0
        found |= kind
    return found


def assert_nothing(schema: Mapping[str, Any], known: Set[str], advice: Advice | None, *, is_root: bool = False) -> bool:
    """Whether the names in a schema that are not `known` assert nothing.

    A name that needs a warning is added to `advice`, in the order of the schema. Without `advice`, it makes the result
    False.
    """
    for name in schema:
        if name in known:
            continue
        if name in _DEFINITIONS:
            if not isinstance(schema[str(name)], dict):
                return False
        elif not isinstance(name, str) or name in KEYWORDS or (name in _IDENTIFIERS and not is_root):
            return False
        elif name not in _IDENTIFIERS and (intended := intended_keyword(name)):
            if advice is None:
                return False
            advice.append((name, intended))
    return True


def _is_count(argument: object) -> bool:
    return type(argument) is int and 0 <= argument < _LARGEST_COUNT

"""Plain schemas: those whose keywords decide different parts of the texts, so that nothing has to be solved.

Most schemas in use are of this form: types, members with their names, items, bounds of the number of items. Their
expressions follow from the keywords alone (`emit.plain`), without formulas. `read_plain` returns None for any other
schema and for any argument of a type that it does not expect; the general readers then decide, or report the mistake.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from detent.sources.json_schema.assertions.keywords import KEYWORDS, SILENT, intended_keyword
from detent.sources.json_schema.assertions.scalar_keywords import KINDS
from detent.sources.json_schema.parse.values import ARRAY, EVERY_KIND, INTEGER, NUMBER, OBJECT, is_text

__all__ = ["ANNOTATIONS", "PlainSchema", "listed_strings", "read_plain"]

_OBJECT = frozenset(("properties", "required", "additionalProperties"))
_ARRAY = frozenset(("items", "additionalItems", "minItems", "maxItems", "uniqueItems"))
_IDENTIFIERS = frozenset("$schema $id id $anchor $dynamicAnchor $recursiveAnchor $vocabulary".split())
_DEFINITIONS = frozenset(("$defs", "definitions"))
_LARGEST_COUNT = 1 << 31

ANNOTATIONS = SILENT - _IDENTIFIERS
"""Names that assert nothing, alone."""

_PLAIN = ANNOTATIONS | _OBJECT | _ARRAY | {"type"}


class PlainSchema(NamedTuple):
    """The keywords of a plain schema. Values of its scalar kinds have no other condition."""

    kinds: int
    properties: Mapping[str, Any]
    required: Mapping[str, None]
    additional: Any
    """The schema of other members."""
    items: Any
    """The schema of the items."""
    least: int
    """The least number of items."""
    most: int | None


def read_plain(schema: Any, year: int, *, is_root: bool = False) -> PlainSchema | None:
    """Return the keywords of a plain schema that is about some kinds of values; None for any other one."""
    kinds = _kinds(schema.get("type")) if isinstance(schema, dict) else 0
    if kinds in (0, EVERY_KIND) or (kinds & NUMBER == INTEGER and year <= 4):
        return None
    names = schema.keys()
    if not names <= _PLAIN and not all(_asserts_nothing(name, schema, is_root) for name in names - _PLAIN):
        return None
    properties: Any = {}
    required: Any = []
    additional: Any = True
    if not names.isdisjoint(_OBJECT):
        properties, required = schema.get("properties", properties), schema.get("required", required)
        additional = schema.get("additionalProperties", additional)
        if not kinds & OBJECT or not isinstance(properties, dict) or not isinstance(required, list):
            return None
        if not all(isinstance(name, str) and is_text(name) for name in (*properties, *required)):
            return None
        if not all(isinstance(inner, (dict, bool)) for inner in (*properties.values(), additional)):
            return None
    items, least, most = True, 0, None
    if not names.isdisjoint(_ARRAY):
        items, least, most = schema.get("items", items), schema.get("minItems", least), schema.get("maxItems", most)
        if not kinds & ARRAY or not isinstance(items, (dict, bool)) or schema.get("uniqueItems", False) is not False:
            return None
        if not _is_count(least) or not (most is None or (_is_count(most) and most >= least)):
            return None
    return PlainSchema(kinds, properties, dict.fromkeys(required), additional, items, least, most)


def listed_strings(schema: Mapping[str, Any], year: int) -> list[str] | None:
    """Return the strings that a schema lists, sorted, if it says nothing else; else None."""
    if schema.get("type", "string") != "string" or not schema.keys() - ANNOTATIONS <= {"type", "enum", "const"}:
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


def _kinds(types: Any) -> int:
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


def _asserts_nothing(name: object, schema: Mapping[str, Any], is_root: bool) -> bool:
    if name in _DEFINITIONS:
        return isinstance(schema[name], dict)
    if not isinstance(name, str) or name in KEYWORDS:
        return False
    return is_root if name in _IDENTIFIERS else not intended_keyword(name)


def _is_count(argument: object) -> bool:
    return type(argument) is int and 0 <= argument < _LARGEST_COUNT

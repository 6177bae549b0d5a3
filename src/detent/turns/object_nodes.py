"""Objects of simple members, as arguments of most tools are: emitted without solving, from shared nodes of the members.

A tool's schema is an object whose `properties` are all independent, and nothing else says something about its members.
Then its node is the list of members in order (`emit.objects`), and equal member schemas have equal nodes. Hundreds of
tools have a few dozen different member schemas. Each is compiled once by `json_schema`, and remembered by its text.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

from detent import _core
from detent.errors import DetentError
from detent.sources.json_schema import json_schema
from detent.sources.json_schema.emit.json_spelling import json_spelling
from detent.sources.json_schema.solve.string_sets import StringSet
from detent.sources.nodes import concat

__all__ = ["simple_object_node"]

_NOTES = frozenset({"title", "description", "examples", "default", "deprecated", "readOnly", "writeOnly"})
"""Keywords that say nothing about values."""

_OBJECT = frozenset({"type", "properties", "required", "additionalProperties"})
_MEMBER = frozenset(
    "type enum const items minLength maxLength minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minItems "
    "maxItems pattern properties required additionalProperties anyOf".split()
)
"""Keywords of members that refer to nothing outside of them."""


_LISTED = frozenset({"type", "enum"}) | _NOTES
_JSON = json_spelling("written", "line")


def simple_object_node(schema: dict[str, Any]) -> _core.Node | None:
    """Return the node of an object schema that is simple enough; else None.

    >>> schema = {"type": "object", "properties": {"a": {"type": "null"}}, "additionalProperties": False}
    >>> simple_object_node(schema) == json_schema(schema, whitespace="line")._node
    True
    """
    if schema.get("type") != "object" or schema.get("additionalProperties") is not False:
        return None
    properties, required = schema.get("properties", {}), schema.get("required", [])
    if schema.keys() - _OBJECT - _NOTES or not isinstance(properties, dict) or not isinstance(required, list):
        return None
    if not all(isinstance(name, str) and name in properties for name in required):
        return None
    members: list[tuple[_core.Node, bool]] = []
    for name, member in properties.items():
        node = _member(member) if isinstance(name, str) and name.isascii() else None
        if node is None:
            return None
        members.append((_core.concat([_JSON.name(name), _JSON.colon, node]), name in required))
    some = concat(_JSON.open_object, _core.ordered(members, None, _JSON.comma, True), _JSON.close_object)
    return some if required else _core.union([_JSON.empty_object, some])


def _member(schema: Any) -> _core.Node | None:
    if not _is_simple(schema):
        return None
    if schema.keys() <= _LISTED and schema.get("type", "string") == "string" and _are_plain(schema.get("enum")):
        return _JSON.strings(StringSet(dict.fromkeys(schema["enum"])))
    known = simple_object_node(schema) if "properties" in schema else None
    if known is not None:
        return known
    text = _json_text({key: value for key, value in schema.items() if key not in _NOTES})
    return None if text is None else _compiled(text)


def _are_plain(texts: object) -> bool:
    return isinstance(texts, list) and bool(texts) and all(isinstance(text, str) and text.isascii() for text in texts)


def _json_text(schema: dict[str, Any]) -> str | None:
    """Return a schema as JSON; None where it is no JSON, such as a tuple, or nested too deep."""
    try:
        text = json.dumps(schema)
        return text if json.loads(text) == schema else None
    except (TypeError, ValueError, RecursionError):  # the error of the whole schema says where
        return None


def _is_simple(schema: object) -> bool:
    """Whether a member schema refers to nothing outside of it, to any depth; deep ones are not simple."""
    pending: list[tuple[object, int]] = [(schema, 0)]
    while pending:
        found, depth = pending.pop()
        if not isinstance(found, dict) or depth > 4 or found.keys() - _MEMBER - _NOTES:
            return False
        inner = [*_values(found.get("properties", {})), *_items(found.get("anyOf", []))]
        inner += [found["items"]] if "items" in found else []
        if isinstance(found.get("additionalProperties", False), dict):
            inner.append(found["additionalProperties"])
        pending += [(each, depth + 1) for each in inner]
    return True


def _values(schemas: object) -> list[object]:
    return list(schemas.values()) if isinstance(schemas, dict) else [None]


def _items(schemas: object) -> list[object]:
    return schemas if isinstance(schemas, list) else [None]


@lru_cache(maxsize=1024)
def _compiled(text: str) -> _core.Node | None:
    """Return the node of a member schema; None where it is refused, or empty, so that the member is left out."""
    try:
        node = json_schema(json.loads(text), whitespace="line")._node
    except DetentError:  # the error of the whole schema says where
        return None
    return None if node == _core.empty() else node

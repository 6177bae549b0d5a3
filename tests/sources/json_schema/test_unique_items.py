"""Unique items beside keywords that combine schemas: copies of a schema are one, and their conditions cancel out."""

from __future__ import annotations

import json
from itertools import product
from typing import Any

import jsonschema
import pytest

import detent
from detent.sources.json_schema.parse.contents import Contents

OBJECT = {"type": "object", "properties": {"a": {"type": "integer", "minimum": 2}}, "required": ["a"]}
ITEMS: dict[str, tuple[Any, list[Any]]] = {
    "integer": ({"type": "integer"}, [1, 2, 3, 4]),
    "bounded": ({"type": "integer", "minimum": 3}, [2, 3, 4, 5, 6]),
    "pattern": ({"type": "string", "pattern": "^a+$"}, ["a", "aa", "aaa", "aaaa", "b"]),
    "object": (OBJECT, [{"a": 2}, {"a": 3}, {"a": 4}, {"a": 1}, {}]),
    "array": ({"type": "array", "items": {"type": "number", "maximum": 9}}, [[], [1], [1, 2], [10]]),
}
"""Schemas of items with many values, and values for arrays."""


def array(items: Any, **more: Any) -> dict[str, Any]:
    """Return the schema of an array of unique items, with a copy of the items' schema."""
    return {"type": "array", "items": json.loads(json.dumps(items)), "uniqueItems": True, **more}


def combinations(one: Any) -> dict[str, Any]:
    """Return schemas that combine arrays of unique items."""
    plain = {key: value for key, value in array(one).items() if key != "uniqueItems"}
    return {
        "oneOf, equal": {"oneOf": [array(one), array(one)]},
        "anyOf, equal": {"anyOf": [array(one), array(one)]},
        "allOf and not": {"allOf": [array(one), {"not": array(one)}]},
        "oneOf, overlapping sizes": {"oneOf": [array(one, minItems=2), array(one, maxItems=3)]},
        "oneOf, other sizes": {"oneOf": [array(one, maxItems=1), array(one, minItems=3)]},
        "anyOf, other sizes": {"anyOf": [array(one, minItems=4), array(one, maxItems=2)]},
        "not a size": {**array(one), "not": {"type": "array", "minItems": 2, "maxItems": 3}},
        "if": {"if": array(one), "then": {"maxItems": 2}, "else": False},
        "oneOf of three": {"oneOf": [array(one), {"type": "null"}, array(one, maxItems=0)]},
        "anyOf, one without": {"anyOf": [array(one), plain]},
    }


@pytest.mark.parametrize("order", ["schema", "any"])
@pytest.mark.parametrize("name", ITEMS)
def test_combinations_of_unique_items(name: str, order: Any) -> None:
    items, values = ITEMS[name]
    arrays = [list(each) for size in range(5) for each in product(values, repeat=size)]
    for how, schema in combinations(items).items():
        held = detent.json_schema(json.dumps(schema), order=order)
        validator = jsonschema.Draft202012Validator(schema)
        for value in arrays[:: 1 if how == "oneOf, overlapping sizes" else 5]:
            assert held.accepts(json.dumps(value)) == validator.is_valid(value), (how, value)
        assert held.accepts("null") == validator.is_valid(None)


def test_values_that_python_takes_for_equal_are_two() -> None:
    """In Python, True is 1: as contents of schemas they differ."""
    schema = {"oneOf": [array({"const": True}), array({"const": 1}), {"const": "1"}]}
    held = detent.json_schema(json.dumps(schema))
    assert held.accepts("[true]")
    assert held.accepts("[1]")
    assert not held.accepts("[]")  # both have it


def test_a_copy_with_an_identifier_has_references_of_its_own() -> None:
    """Two parts that are written alike, under two identifiers: their references lead to different schemas."""
    part = {"type": "array", "items": {"$ref": "#/$defs/item"}, "uniqueItems": True}
    schema = {
        "anyOf": [{"$ref": "one"}, {"$ref": "two"}],
        "$defs": {
            "one": {"$id": "http://host/one", "allOf": [part], "$defs": {"item": {"type": "integer"}}},
            "two": {"$id": "http://host/two", "allOf": [part], "$defs": {"item": {"type": "string"}}},
        },
        "$id": "http://host/root",
    }
    held = detent.json_schema(json.dumps(schema))
    assert held.accepts("[1, 2]")
    assert held.accepts('["1", "2"]')
    assert not held.accepts('[1, "2"]')
    assert not held.accepts("[1, 1]")


def test_the_order_of_members_is_that_of_each_copy() -> None:
    both = [{"a": {"type": "integer"}, "b": {"type": "integer"}}, {"b": {"type": "integer"}, "a": {"type": "integer"}}]
    objects = [{"type": "object", "properties": one, "required": ["a", "b"], "minProperties": 2} for one in both]
    tags = [{"const": number} for number in (1, 2)]
    schema = {
        "anyOf": [
            {"type": "object", "properties": {"tag": tag, "list": array(one)}, "required": ["tag", "list"]}
            for tag, one in zip(tags, objects, strict=True)
        ]
    }
    held = detent.json_schema(json.dumps(schema))
    assert held.accepts('{"tag": 1, "list": [{"a": 1, "b": 2}]}')
    assert held.accepts('{"tag": 2, "list": [{"b": 1, "a": 2}]}')
    assert not held.accepts('{"tag": 2, "list": [{"a": 1, "b": 2}]}')


def test_contents_are_numbered_without_recursion() -> None:
    def nested(last: int) -> Any:
        value: Any = {"maximum": last}
        for _ in range(100_000):
            value = {"items": value}
        return value

    contents, first, copy, other = Contents(), nested(1), nested(1), nested(2)
    assert contents.number(first) == contents.number(copy) != contents.number(other)


@pytest.mark.parametrize("pair", [(True, 1), (1, 1.0), (None, "null"), ([], {}), ({"a": 1, "b": 2}, {"b": 2, "a": 1})])
def test_contents_that_are_not_written_alike_differ(pair: tuple[Any, Any]) -> None:
    contents = Contents()
    one, other = pair
    assert contents.number([one, one]) != contents.number([one, other])
    assert contents.number({"k": one}) == contents.number({"k": json.loads(json.dumps(one))})

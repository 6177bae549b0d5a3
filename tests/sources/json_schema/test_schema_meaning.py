"""What schemas mean: values that are in and values that are out, keyword by keyword, where it is easy to be wrong.

Large-scale comparisons are in `test_differential`; these are the cases that say why.
"""

from __future__ import annotations

import json
from itertools import product
from typing import Any

import pytest

import detent

_TREE = {
    "$defs": {"node": {"properties": {"kids": {"items": {"$ref": "#/$defs/node"}}}, "required": ["kids"]}},
    "type": "object",
    "$ref": "#/$defs/node",
}
_CLOSED = {"type": "object", "additionalProperties": False}
_AB: dict[str, Any] = {"properties": {"a": {"type": "integer"}, "b": {"type": "string"}}}

CASES: dict[str, tuple[Any, list[Any], list[Any]]] = {
    "anything": (True, [1, None, {"a": [{}]}], []),
    "kinds apart": ({"type": ["integer", "null"]}, [1, -7, None], [1.5, "1", False]),
    "integers by value": ({"type": "integer"}, [1, 1.0], [1.5]),
    "true is not 1": ({"enum": [1, False]}, [1, 1.0, False], [True, 0]),
    "a string keyword says nothing of numbers": ({"minLength": 2}, [1, "ab"], ["a"]),
    "lengths in code points": ({"type": "string", "maxLength": 1}, ["😀", "é"], ["😀😀"]),
    "pattern and length": ({"type": "string", "pattern": "^a", "maxLength": 2}, ["a", "ab"], ["b", "abb"]),
    "a pattern is a search": ({"type": "string", "pattern": "b"}, ["abc"], ["ac"]),
    "no pattern": ({"type": "string", "not": {"pattern": "b"}}, ["ac", ""], ["abc"]),
    "const against a range": ({"allOf": [{"enum": [1, 5, 9]}, {"minimum": 4}, {"multipleOf": 3}]}, [9], [1, 5, 12]),
    "closed object": ({**_CLOSED, **_AB}, [{}, {"a": 1}, {"b": ""}, {"a": 1, "b": ""}], [{"c": 1}, {"a": ""}]),
    "open object": (_AB, [{"z": []}, {"a": 1, "z": 2}, 3], [{"a": "x"}]),
    "required comes after": ({"required": ["z"], **_AB}, [{"z": 1}, {"a": 1, "z": 1}], [{"a": 1}, {}]),
    "required in the middle": (
        {"properties": {"a": {}, "b": {}, "c": {}}, "required": ["b"], "additionalProperties": False},
        [{"b": 1}, {"a": 1, "b": 1, "c": 1}, {"b": 1, "c": 1}],
        [{"a": 1}, {"a": 1, "c": 1}, {}],
    ),
    "declared names are not free names": (
        {"properties": {"a": {"type": "integer"}}, "additionalProperties": {"type": "string"}},
        [{"a": 1, "b": "x"}],
        [{"a": "x"}, {"b": 1}],
    ),
    "a declared name that a pattern finds": (
        {"properties": {"xa": {"minimum": 3}}, "patternProperties": {"^x": {"type": "integer"}}},
        [{"xa": 3, "xb": 1}, {"y": "s"}],
        [{"xa": 1}, {"xa": 3.5}, {"xb": "s"}],
    ),
    "patterns that overlap": (
        {"patternProperties": {"a": {"minimum": 1}, "b": {"maximum": 3}}, "additionalProperties": False},
        [{"a": 9}, {"b": -9}, {"ab": 2}],
        [{"ab": 4}, {"ab": 0}, {"c": 2}],
    ),
    "names": ({"propertyNames": {"maxLength": 2}}, [{"ab": 1}], [{"abc": 1}]),
    "names as an enum": ({"propertyNames": {"enum": ["a", "b"]}}, [{}, {"a": 1, "b": 2}], [{"c": 1}]),
    "counts of declared": (
        {**_CLOSED, "properties": dict.fromkeys("abcd", True), "minProperties": 2, "maxProperties": 3},
        [{"a": 1, "d": 1}, {"b": 1, "c": 1, "d": 1}],
        [{}, {"a": 1}, {"a": 1, "b": 1, "c": 1, "d": 1}],
    ),
    "at least one of any": ({"type": "object", "minProperties": 1}, [{"a": 1}, {"": 1, "b": 2}], [{}]),
    "at most two of any": ({"type": "object", "maxProperties": 2}, [{}, {"a": 1, "b": 2}], [{"a": 1, "b": 2, "c": 3}]),
    "dependentRequired": ({"dependentRequired": {"a": ["b"]}}, [{}, {"b": 1}, {"a": 1, "b": 1}], [{"a": 1}]),
    "dependentSchemas": (
        {"dependentSchemas": {"a": {"properties": {"b": {"type": "null"}}}}},
        [{"b": 1}, {"b": None, "a": 1}, {"a": 1}],
        [{"b": 1, "a": 1}],
    ),
    "dependentSchemas that require": (
        {"dependentSchemas": {"a": {"required": ["b"], "description": "with b"}, "c": {"required": ["b", "d"]}}},
        [{}, 1, {"b": 1}, {"a": 1, "b": 1}, {"b": 1, "c": 1, "d": 1}, {"a": 1, "b": 2, "c": 3, "d": 4}],
        [{"a": 1}, {"a": 1, "c": 1}, {"b": 1, "c": 1}, {"a": 1, "c": 1, "d": 1}],
    ),
    "a prefix and the rest": (
        {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}], "items": {"type": "null"}},
        [[], [1], [1, "a"], [1, "a", None, None]],
        [["a"], [1, 1], [1, "a", 1]],
    ),
    "a prefix with bounds": (
        {"type": "array", "prefixItems": [{}, {}], "items": False, "minItems": 1},
        [[1], [1, 2]],
        [[], [1, 2, 3]],
    ),
    "contains": ({"type": "array", "contains": {"type": "integer"}}, [[1], ["a", 1]], [[], ["a"]]),
    "contains within counts": (
        {"type": "array", "contains": {"const": 1}, "minContains": 2, "maxContains": 3},
        [[1, 1], [0, 1, 1, 1]],
        [[1], [1, 1, 1, 1], []],
    ),
    "unique among few values": (
        {"type": "array", "items": {"enum": [1, 2, "a"]}, "uniqueItems": True},
        [[], [2, 1], ["a", 2, 1]],
        [[1, 1], [1, 2, 1], [3]],
    ),
    "unique among more values": (
        {"type": "array", "items": {"enum": list(range(9))}, "uniqueItems": True, "minItems": 2, "maxItems": 3},
        [[8, 0], [1, 2, 3]],
        [[1], [1, 1], [1, 2, 1], [1, 2, 3, 4]],
    ),
    "not unique": ({"type": "array", "items": {"type": "boolean"}, "not": {"uniqueItems": True}}, [[True, True]], [[]]),
    "anyOf": ({"anyOf": [{"minimum": 5}, {"multipleOf": 2}]}, [2, 7, "x"], [3]),
    "oneOf counts": ({"type": "integer", "oneOf": [{"minimum": 5}, {"multipleOf": 2}]}, [2, 7], [3, 6]),
    "oneOf of objects": (
        {"oneOf": [{"required": ["a"]}, {"required": ["b"]}], "type": "object"},
        [{"a": 1}, {"b": 1, "c": 1}],
        [{"a": 1, "b": 1}, {}],
    ),
    "discriminated": (
        {
            "oneOf": [
                {"properties": {"k": {"const": "i"}, "v": {"type": "integer"}}, "required": ["k"]},
                {"properties": {"k": {"const": "s"}, "v": {"type": "string"}}, "required": ["k"]},
            ],
            "type": "object",
        },
        [{"k": "i", "v": 1}, {"k": "s", "v": "x"}, {"k": "s"}],
        [{"k": "i", "v": "x"}, {"k": "t"}, {}],
    ),
    "not an object with a": ({"not": {"required": ["a"]}}, [], [{}, 1]),
    "not closed": ({"type": "object", "not": {"additionalProperties": False, **_AB}}, [{"c": 1}, {"a": ""}], [{}]),
    "some value is no string": (
        {"type": "object", "not": {"additionalProperties": {"type": "string"}}},
        [{"a": 1}, {"a": "x", "b": 1}],
        [{}, {"a": "x"}],
    ),
    "not that const": (
        {"not": {"const": {"a": [1]}}},
        [{}, {"a": [2]}, {"a": [1], "b": 1}, 1],
        [{"a": [1]}, {"a": [1.0]}],
    ),
    "not that array": ({"type": "array", "not": {"const": [1]}}, [[], [2], [1, 1]], [[1]]),
    "if and then": (
        {"type": "object", "if": {"properties": {"a": {"const": 1}}, "required": ["a"]}, "then": {"required": ["b"]}},
        [{}, {"a": 2}, {"a": 1, "b": 1}],
        [{"a": 1}],
    ),
    "if and else": (
        {"if": {"type": "string"}, "then": {"maxLength": 1}, "else": {"type": "null"}},
        ["a", None],
        ["ab", 1],
    ),
    "one schema for then and else": (
        {
            "$defs": {"a": {"const": "x"}},
            "if": {"minimum": 3},
            "then": {"$ref": "#/$defs/a"},
            "else": {"$ref": "#/$defs/a"},
        },
        ["x"],
        [3, 1, "y"],
    ),
    "neither then nor else": (
        {"anyOf": [{"if": {"minimum": 3}, "then": False, "else": False}, {"const": 1}]},
        [1],
        [3, "x"],
    ),
    "allOf of objects": (
        {"allOf": [{"properties": {"a": {"minimum": 1}}}, {"properties": {"a": {"maximum": 3}}, "required": ["a"]}]},
        [{"a": 2}, {"a": "x"}],
        [{"a": 4}, {"a": 0}, {}],
    ),
    "unevaluated members": (
        {**_AB, "allOf": [{"properties": {"c": {}}}], "unevaluatedProperties": False},
        [{"a": 1, "c": 2}],
        [{"d": 1}],
    ),
    "unevaluated by alternative": (
        {
            "type": "object",
            "anyOf": [{"properties": {"a": {"type": "integer"}}}, {"properties": {"b": {"type": "integer"}}}],
            "unevaluatedProperties": False,
        },
        [{"a": 1}, {"b": 1}, {"a": 1, "b": 1}],
        [{"a": "x", "b": "x"}, {"a": "x"}, {"c": 1}],
    ),
    "unevaluated items": (
        {"prefixItems": [{}], "contains": {"type": "null"}, "unevaluatedItems": {"type": "string"}},
        [[1, None, "a"], [None]],
        [[1, None, 2], [1]],
    ),
    "recursion": (_TREE, [{"kids": []}, {"kids": [{"kids": [{"kids": []}]}]}], [{}, {"kids": [1, {}]}]),
    "an anchor": ({"$defs": {"x": {"$anchor": "here", "const": 1}}, "$ref": "#here"}, [1], [2]),
    "an embedded resource": (
        {
            "$id": "http://example.com/a",
            "$defs": {"x": {"$id": "b", "const": 1}},
            "items": {"$ref": "b"},
            "type": "array",
        },
        [[], [1]],
        [[2]],
    ),
    "the metaschema": ({"$ref": "http://json-schema.org/draft-04/schema#/definitions/positiveInteger"}, [0, 4], [-1]),
    "a fragment as id is an anchor": (
        {
            "$schema": "http://json-schema.org/draft-07/schema#",
            "properties": {"a": {"$ref": "#whole"}, "b": {"$ref": "#/definitions/x"}},
            "definitions": {"x": {"$id": "#whole", "type": "integer"}},
        },
        [{"a": 1}, {"b": 1}],
        [{"a": "x"}, {"b": "x"}],
    ),
    "identifiers that nothing refers to": (
        {"properties": {"a": {"$id": "-b", "type": "integer"}, "b": {"$id": "%", "anyOf": [{"$id": ":"}]}}},
        [{"a": 1, "b": []}],
        [{"a": "x"}],
    ),
    "a schema of another draft inside": (
        {"items": {"id": "x:y", "$schema": "http://json-schema.org/draft-04/schema#", "const": 1}},
        [[1], [2]],
        [],
    ),
    "references to references": (
        {
            "properties": {"a": {"$ref": "#/$defs/x"}, "b": {"allOf": [{"$ref": "#/$defs/x"}]}},
            "not": {"properties": {"a": {"$ref": "#/$defs/x"}}, "required": ["b", "a"]},
            "$defs": {"x": {"description": "as y", "$ref": "#/$defs/y"}, "y": {"enum": [1, 2]}},
        },
        [{"a": 1}, {"b": 2}],
        [{"a": 3}, {"b": 3}, {"a": 1, "b": 1}],
    ),
    "one of patterns of listed values": (
        {
            "oneOf": [
                {
                    "properties": {"k": {"enum": ["ax", "bx"], "pattern": "^a"}, "v": {"type": "integer"}},
                    "required": ["k"],
                },
                {
                    "properties": {"k": {"enum": ["ax", "bx"], "pattern": "^b"}, "v": {"type": "string"}},
                    "required": ["k"],
                },
            ]
        },
        [{"k": "ax", "v": 1}, {"k": "bx", "v": "s"}],
        [{"k": "ax", "v": "s"}, {"k": "bx", "v": 1}, {"k": "c"}, {}],
    ),
    "one of objects told apart by what may be left out": (
        {
            "type": "object",
            "oneOf": [
                {"properties": {"k": {"const": "a"}, "v": {"type": "integer"}}},
                {"properties": {"k": {"const": "b"}, "v": {"type": "string"}}},
            ],
        },
        [{"k": "a"}, {"k": "b", "v": "s"}, {"v": 1}, {"v": "s"}],
        [{}, {"k": "c"}, {"k": "a", "v": "s"}, {"v": None}],
    ),
    "one of arrays that share the empty one": (
        {
            "type": "array",
            "maxItems": 3,
            "oneOf": [{"items": {"enum": ["a", "b"]}}, {"items": {"enum": ["c"]}}, {"items": {"enum": ["d", "a"]}}],
        },
        [["a", "b"], ["c", "c"], ["d"], ["a", "d"]],
        [[], ["a"], ["a", "c"], ["a", "a", "a"], ["c", "c", "c", "c"]],
    ),
    "unique items of a choice": (
        {
            "type": "array",
            "items": {"anyOf": [{"enum": ["a", "b"]}, {"type": "null"}, {"const": "a"}]},
            "uniqueItems": True,
        },
        [[], ["a", None], ["b", "a", None]],
        [["a", "a"], [None, None], ["a", None, "b", "a"]],
    ),
    "draft 4 exclusive bounds": (
        {
            "$schema": "http://json-schema.org/draft-04/schema#",
            "type": "number",
            "minimum": 3,
            "exclusiveMinimum": True,
        },
        [3.5],
        [3],
    ),
    "draft 4 has no const": ({"$schema": "http://json-schema.org/draft-04/schema#", "const": 1}, [1, 2], []),
    "draft 7 void siblings": (
        {
            "$schema": "http://json-schema.org/draft-07/schema#",
            "properties": {"a": {"$ref": "#/definitions/x", "type": "null"}},
            "definitions": {"x": {"type": "integer"}},
            "type": "object",
        },
        [{"a": 1}],
        [{"a": None}],
    ),
    "draft 7 tuples": (
        {
            "$schema": "http://json-schema.org/draft-07/schema#",
            "type": "array",
            "items": [{"type": "integer"}],
            "additionalItems": False,
        },
        [[], [1]],
        [[1, 2], ["a"]],
    ),
}


@pytest.mark.parametrize("order", ["schema", "any"])
@pytest.mark.parametrize("name", CASES)
def test_meaning(name: str, order: Any) -> None:
    schema, good, bad = CASES[name]
    if name == "not an object with a":
        good, bad = [{}, {"b": 1}], [1, {"a": 1}]
        schema = {"type": "object", **schema}
    language = detent.json_schema(schema, order=order, spelling="any")
    for value in good:
        assert language.accepts(json.dumps(value)), value
    for value in bad:
        assert not language.accepts(json.dumps(value)), value


def test_members_come_in_the_order_of_their_first_appearance() -> None:
    schema = {
        "properties": {"b": {"const": 1}, "a": {"const": 2}},
        "allOf": [{"properties": {"c": {"const": 3}, "a": {}}}],
        "required": ["z", "a"],
        "additionalProperties": {"const": 4},
        "type": "object",
    }
    language = detent.json_schema(schema, whitespace="compact")
    assert language.accepts('{"b":1,"a":2,"c":3,"z":4,"y":4}') is False  # c is an additional property, too
    schema["additionalProperties"] = True
    language = detent.json_schema(schema, whitespace="compact")
    assert language.accepts('{"b":1,"a":2,"c":3,"z":4,"y":4}')
    assert not language.accepts('{"a":2,"b":1,"z":4}')
    assert not language.accepts('{"z":4,"a":2}')
    anyhow = detent.json_schema(schema, whitespace="compact", order="any")
    assert anyhow.accepts('{"z":4,"a":2}')
    assert anyhow.accepts('{"y":0,"a":2,"x":0,"z":4,"b":1}')
    assert not anyhow.accepts('{"y":0,"a":2,"x":0,"b":1}')


def test_alternatives_keep_their_own_order() -> None:
    schema = {
        "oneOf": [
            {"properties": {"a": {}, "b": {}}, "required": ["a", "b"], "additionalProperties": False, "type": "object"},
            {"properties": {"c": {}, "a": {}}, "required": ["c", "a"], "additionalProperties": False, "type": "object"},
        ]
    }
    language = detent.json_schema(schema)
    assert language.accepts('{"a": 1, "b": 2}')
    assert language.accepts('{"c": 1, "a": 2}')
    assert not language.accepts('{"a": 1, "c": 2}')


@pytest.mark.parametrize(
    ("text", "whitespaces"),
    [
        ('{"a":[1,2]}', {"bounded", "compact", "line", "[ ]*"}),
        ('{"a": [1, 2]}', {"bounded", "single", "line", "[ ]*"}),
        ('{"a":[1, 2]}', {"bounded", "line", "[ ]*"}),
        ('{\n  "a": [\n    1,\n    2\n  ]\n}', {"bounded"}),
        ('{\r\n\t"a" : [1 , 2]\r\n}', {"bounded"}),
        ('{"a":  [1, 2]}', {"[ ]*"}),
        (' {"a":[1,2]}', set()),
        ('{"a":[1,2]} ', set()),
    ],
)
def test_white_space(text: str, whitespaces: set[str]) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "array", "items": {"type": "integer"}}}}
    for whitespace in ("bounded", "compact", "line", "single", "[ ]*"):
        language = detent.json_schema(schema, whitespace=whitespace)
        assert language.accepts(text) == (whitespace in whitespaces), whitespace


def test_white_space_that_is_none() -> None:
    with pytest.raises(detent.ArgumentError, match="b'x'"):
        detent.json_schema({}, whitespace="[ x]")
    assert detent.json_schema({}, whitespace=detent.regex(r"\t?")).accepts("[\t1\t]")


def test_strings_take_every_escape_and_names_one_spelling() -> None:
    language = detent.json_schema(
        {"properties": {"é": {"type": "string"}}, "additionalProperties": False}, spelling="any"
    )
    assert language.accepts(r'{"é": "\u00e9\/\n\ud83d\ude00"}')
    assert not language.accepts(r'{"\u00e9": ""}')
    assert not language.accepts('{"é": "\n"}')
    assert not language.accepts(r'{"é": "\ud83d"}')


def test_a_free_name_is_no_declared_name_however_it_is_spelled() -> None:
    language = detent.json_schema({"type": "object", "properties": {"a": {"type": "integer"}}}, spelling="any")
    assert language.accepts(r'{"\u0062": "x"}')
    assert not language.accepts(r'{"\u0061": "x"}')


def test_many_optional_members_are_few_nodes() -> None:
    names = [f"p{index}" for index in range(300)]
    schema = {"type": "object", "properties": {name: {"type": "integer"} for name in names}, "minProperties": 2}
    language = detent.json_schema({**schema, "additionalProperties": False})
    assert language.accepts('{"p3": 1, "p299": 2}')
    assert not language.accepts('{"p299": 2}')


def test_depth_of_schemas_and_texts() -> None:
    schema: dict[str, Any] = {"type": "null"}
    for _ in range(3000):
        schema = {"type": "array", "items": schema, "maxItems": 1}
    assert detent.json_schema(schema).accepts("[" * 1000 + "]" * 1000)
    deep = detent.json_schema({"$ref": "#/$defs/a", "$defs": {"a": {"type": "array", "items": {"$ref": "#/$defs/a"}}}})
    assert deep.accepts("[" * 2000 + "]" * 2000)


@pytest.mark.parametrize("characters", ["[a-z]", "[^a]", r"[\]x-]", r"\d", r"\S", r"[\w.]", "[a[b]", r"[\u{1F600}é]"])
def test_a_repeated_character_with_bounds_of_the_length(characters: str) -> None:
    """One count stands for both; the oracle is the intersection of the two languages."""
    for quantifier, least, most in product(["+", "*", "{2}", "{1,}", "{2,3}", "{0,1}"], [0, 1, 3], [0, 2, 4]):
        pattern = {"type": "string", "pattern": f"^{characters}{quantifier}$"}
        bounds = {"type": "string", "minLength": least, "maxLength": most}
        both = detent.json_schema(pattern) & detent.json_schema(bounds)
        assert detent.json_schema({**pattern, **bounds}) == both, (quantifier, least, most)


def test_an_error_in_a_pattern_beside_bounds_shows_the_pattern_as_written() -> None:
    with pytest.raises(detent.SchemaError, match=r"\^\[z-a\]\+\$"):
        detent.json_schema({"type": "string", "pattern": "^[z-a]+$", "maxLength": 5})

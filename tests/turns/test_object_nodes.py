"""Simple objects: their nodes are those that the solver's way gives."""

import json
from random import Random

import pytest

import detent
from detent.turns.object_nodes import simple_object_node
from detent.turns.outline import _named


def random_schema(rng, depth=0):
    kind = rng.choice(["string", "integer", "number", "boolean", "null", "enum", "array", "object", "any", "other"])
    if kind == "enum":
        return {"enum": rng.sample(["a", "b", "é", 'quote"', 1, None], 3), "description": "one"}
    if kind == "array":
        return {"type": "array", "items": random_schema(rng, depth + 1), "maxItems": rng.randrange(1, 4)}
    if kind == "object" and depth < 3:
        return random_object(rng, depth + 1)
    if kind == "any":
        return {"anyOf": [random_schema(rng, depth + 1), {"type": "null"}]}
    if kind == "other":
        return rng.choice([{}, {"$ref": "#"}, {"const": 3}, {"type": ["string", "null"]}, {"enum": []}, {"minimum": 3}])
    return {"type": kind if kind != "object" else "string", "title": "x"}


def random_object(rng, depth=0):
    names = rng.sample(["a", "b", "aa", "é", "c d", 'q"'], rng.randrange(0, 5))
    schema = {"type": "object", "properties": {name: random_schema(rng, depth) for name in names}}
    if rng.random() < 0.7:
        schema["required"] = [name for name in names if rng.random() < 0.5]
    if rng.random() < 0.9:
        schema["additionalProperties"] = rng.random() < 0.1
    return schema


@pytest.mark.parametrize("seed", range(20))
def test_node_is_that_of_json_schema(seed):
    rng, simple = Random(seed), 0
    for _ in range(60):
        schema = random_object(rng)
        node = simple_object_node(schema)
        if node is not None:
            simple += 1
            whole = detent.json_schema(schema, whitespace="line")
            assert node == whole._node or detent.Language(node, "") == whole, json.dumps(schema)
    assert simple > 5


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"a": {"type": "integer"}}},
        {"type": "object", "properties": {"a": {"$ref": "#/$defs/x"}}, "additionalProperties": False},
        {"type": "object", "properties": {}, "minProperties": 1, "additionalProperties": False},
        {"type": "object", "properties": {"a": {"format": "date"}}, "additionalProperties": False},
        {"type": "object", "properties": {"a": {"type": "strin"}}, "additionalProperties": False},
        {"type": "object", "properties": {"a": True}, "required": ["b"], "additionalProperties": False},
        {"$schema": "http://json-schema.org/draft-04/schema#", "type": "object", "additionalProperties": False},
    ],
)
def test_other_schemas_are_left_to_the_solver(schema):
    assert simple_object_node(schema) is None


@pytest.mark.parametrize(
    "member",
    [
        {"enum": 5},
        {"enum": True},
        {"enum": "ab"},
        {"enum": {"a": 1}},
        {"enum": ("a", "b")},
        {"enum": {"a"}},
        {"const": b"x"},
        {"const": {1: 2}},
        {"type": "string", "minLength": 10**30},
    ],
)
def test_malformed_members_are_left_to_the_solver(member):
    assert simple_object_node({"type": "object", "properties": {"a": member}, "additionalProperties": False}) is None


def test_deep_constants_are_left_to_the_solver():
    deep = []
    for _ in range(50_000):
        deep = [deep]
    for member in ({"const": deep}, {"enum": [deep]}):
        schema = {"type": "object", "properties": {"a": member}, "additionalProperties": False}
        assert simple_object_node(schema) is None
        with pytest.raises(detent.LimitError, match="nested over 100 deep"):
            detent.calls({"name": "f", "parameters": schema}, style="qwen3")


@pytest.mark.parametrize("seed", range(10))
def test_names_are_a_trie(seed):
    rng = Random(seed)
    names = {"".join(rng.choice("abc_é") for _ in range(rng.randrange(1, 6))) for _ in range(rng.randrange(1, 30))}
    nodes = {name.encode(): detent.literal(f"={name};")._node for name in names}
    texts = list(detent.Language(_named(nodes), "names").enumerate())
    assert texts == sorted((f"{name}={name};".encode() for name in names), key=lambda text: (len(text), text))

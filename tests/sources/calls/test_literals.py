"""Python literals of a schema: beside `jsonschema` and Python's own parser."""

from __future__ import annotations

import ast
import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

import detent
from detent.language import Language
from detent.limits import Limits
from detent.sources.calls.locate import literal_as_json
from detent.sources.calls.python_spelling import PYTHON_LITERALS
from detent.sources.json_schema.assertions.document import SchemaDocument
from detent.sources.json_schema.emit.emitter import Emitter
from detent.sources.json_schema.solve.solver import Solver
from tests.support.random_texts import texts

NODE = {
    "$defs": {
        "node": {
            "type": "object",
            "properties": {"v": {"type": "integer"}, "next": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]}},
            "required": ["v"],
            "additionalProperties": False,
        }
    },
    "$ref": "#/$defs/node",
}
SCHEMAS: list[Any] = [
    True,
    {},
    {"type": "integer", "minimum": 3, "exclusiveMaximum": 40},
    {"type": "number", "multipleOf": 0.25, "maximum": 2},
    {"type": ["boolean", "null"]},
    {"type": "string", "minLength": 2, "maxLength": 3},
    {"type": "string", "pattern": "^a+b$"},
    {"type": "string", "pattern": "b", "maxLength": 3},
    {"enum": [1, "x", None, True, [1, {"k": "v"}], "it's", 2.5]},
    {"enum": [1, "1", None], "type": ["string", "null"]},
    {"const": {"a": [], "b": {}}},
    {"type": "array", "items": {"type": ["string", "null"]}, "minItems": 1, "maxItems": 3},
    {"type": "array", "prefixItems": [{"const": 1}, {"type": "boolean"}], "minItems": 1, "maxItems": 3},
    {"type": "array", "prefixItems": [{"const": 1}], "items": False},
    {"type": "array", "prefixItems": [{}, {}], "items": {"type": "null"}, "minItems": 3},
    {"type": "array", "maxItems": 0},
    {"type": "object", "properties": {"a": {"type": "boolean"}, "b": {"const": 1}}, "required": ["b"]},
    {"type": "object", "properties": {"a": {"type": "boolean"}}, "additionalProperties": {"type": "integer"}},
    {"type": "object", "required": ["z"], "additionalProperties": {"type": "integer"}},
    {"anyOf": [{"type": "string", "pattern": "^x"}, {"const": 2.5}, {"type": "array"}]},
    {"oneOf": [{"type": "string"}, {"type": "integer"}, {"const": None}]},
    {"allOf": [{"type": "string"}]},
    {"minLength": 1, "minimum": 2},
    {"not": {"type": "string"}},
    {"not": {"enum": [True, 2]}, "type": ["boolean", "integer"]},
    {"allOf": [{"minimum": 1}, {"maximum": 2.5}]},
    {"anyOf": [{"type": "string"}, {"type": "integer"}], "minLength": 3, "minimum": 3},
    {"oneOf": [{"enum": [1, 2]}, {"enum": [2, 3]}, {"type": "string"}]},
    {"type": "array", "items": {"enum": [1, None, True]}, "uniqueItems": True},
    {"type": "array", "contains": {"type": "null"}, "maxItems": 3},
    {"type": "object", "properties": {"a": {}, "b": {}}, "additionalProperties": False, "minProperties": 2},
    {"type": "object", "properties": {"a": {}, "b": {}}, "dependentRequired": {"a": ["b"]}},
    {"type": "object", "patternProperties": {"[ab]": {"type": "boolean"}}, "propertyNames": {"maxLength": 1}},
    {"if": {"type": "string"}, "then": {"pattern": "b"}, "else": {"type": "null"}},
    NODE,
]
VALUES: list[Any] = [
    *[
        None,
        True,
        False,
        0,
        1,
        2,
        3,
        39,
        40,
        -1,
        0.25,
        1.5,
        2.5,
        0.1,
        "",
        "a",
        "ab",
        "aab",
        "abc",
        "abcd",
        "x",
        "it's",
        "1",
    ],
    *[
        '"',
        "\\",
        "\n",
        "é",
        [],
        [1],
        [1, True],
        [1, True, None],
        [1, 2],
        [None],
        ["a", None],
        [None] * 4,
        [[]],
        [0, 0, None],
    ],
    *[{}, {"a": True}, {"b": 1}, {"a": True, "b": 1}, {"a": 1}, {"c": 2}, {"a": False, "c": 2}, {"z": 3}, {"z": None}],
    *[{"v": 1}, {"v": 1, "next": None}, {"v": 1, "next": {"v": 2}}, {"v": "1"}, {"a": [], "b": {}}, [1, {"k": "v"}]],
]


def language(schema: Any) -> Language:
    return Language(Emitter(Solver(SchemaDocument(schema, False, {}, Limits())), PYTHON_LITERALS).emit(), "literal")


@pytest.mark.parametrize("schema", SCHEMAS, ids=str)
def test_what_repr_writes_is_accepted_if_it_is_valid(schema: Any) -> None:
    literals, judge = language(schema), Draft202012Validator(schema)
    for value in VALUES:
        assert literals.accepts(repr(value)) == judge.is_valid(value), value
        assert literals.accepts(repr(value).replace(", ", ",").replace(": ", ":")) == judge.is_valid(value), value


@pytest.mark.parametrize("schema", SCHEMAS, ids=str)
def test_what_is_written_is_valid(schema: Any) -> None:
    judge = Draft202012Validator(schema)
    for text in texts(language(schema), 30):
        value = ast.literal_eval(text)
        assert judge.is_valid(value), text
        written, end = literal_as_json(text)
        assert (repr(json.loads(written)), end) == (repr(value), len(text))


@pytest.mark.parametrize(
    ("text", "is_integer"), [("1", True), ("-0", False), ("1.0", False), ("1e2", False), ("01", False), ("True", False)]
)
def test_integers_are_those_of_python(text: str, is_integer: bool) -> None:
    assert language({"type": "integer"}).accepts(text) == is_integer


@pytest.mark.parametrize(
    "schema", [{"type": 5}, {"enum": 5}, {"minimum": "1"}, {"$ref": "#/nowhere"}, {"not": 5}], ids=str
)
def test_malformed_schemas_are_refused(schema: Any) -> None:
    with pytest.raises(detent.SchemaError):
        language(schema)


def test_depth_is_no_recursion() -> None:
    schema: Any = {"type": "null"}
    for _ in range(1_000):
        schema = {"type": "array", "items": schema}
    deep = language(schema)
    assert deep.accepts("[" * 1_000 + "None" + "]" * 1_000)
    assert not deep.accepts("[" * 1_000 + "True" + "]" * 1_000)
    text = "[" * 100_000 + "]" * 100_000
    assert language(True).accepts(text)
    assert literal_as_json(text) == (text, len(text))

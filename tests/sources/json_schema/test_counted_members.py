"""Counted members: minProperties over undeclared names, against jsonschema, and on the masks of a real tokenizer."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import jsonschema
import pytest

import detent

_SCHEMAS: list[dict[str, Any]] = [
    {"type": "object", "minProperties": 2},
    {"type": "object", "minProperties": 3, "maxProperties": 4, "additionalProperties": {"type": "integer"}},
    {"type": "object", "properties": {"a": {"type": "integer"}, "b": {}}, "minProperties": 3},
    {"type": "object", "properties": {"a": {}, "b": {}}, "required": ["b"], "minProperties": 3, "maxProperties": 3},
    {"type": "object", "propertyNames": {"pattern": "^[a-d]+$"}, "minProperties": 2},
    {"type": "object", "patternProperties": {"^a": {}}, "additionalProperties": False, "minProperties": 2},
    {"type": "array", "items": {"type": "object", "minProperties": 2}},
    {"type": "array", "uniqueItems": True, "items": {"type": "object", "minProperties": 2}},
    {"minProperties": 2},
    {"type": "object", "not": {"maxProperties": 1}},
    {"anyOf": [{"type": "object", "minProperties": 2}, {"type": "object", "required": ["z"]}]},
    {"oneOf": [{"type": "object", "minProperties": 2}, {"type": "object", "required": ["z"]}]},
    {
        "oneOf": [
            {"type": "object", "minProperties": 2, "properties": {"a": {"const": 1}}, "required": ["a"]},
            {"type": "object", "minProperties": 3, "additionalProperties": {"type": "integer"}},
        ]
    },
    {"if": {"minProperties": 2}, "then": {"required": ["a"]}},
]
_NAMES = ["a", "b", "c", "ab", "aa", "z", "\n", "é", ""]


def _instance(rng: Random, schema: dict[str, Any], depth: int = 0) -> Any:
    kind = rng.random()
    if schema.get("type") == "array" and depth == 0:
        items = [_instance(rng, {}, 1) for _ in range(rng.randrange(3))]
        return items * 2 if kind < 0.2 else items
    if kind < 0.1 or depth > 2:
        return rng.choice([1, "x", [], {}, True, None])
    names = rng.sample(_NAMES, rng.randrange(5))
    return {name: rng.randrange(9) if rng.random() < 0.7 else _instance(rng, {}, depth + 1) for name in names}


def _order(value: Any, schema: dict[str, Any]) -> Any:
    """Return a value in the order of texts: first the members that the schema names, last those without an integer.

    Where an undeclared member must not be an integer, because of `oneOf`, texts have it after all others.
    """
    if not isinstance(value, dict):
        return value
    named = [name for name in (*schema.get("properties", {}), *_required(schema)) if name in value]
    others = sorted(value, key=lambda name: type(value[name]) is not int)
    return {name: value[name] for name in dict.fromkeys([*named, *others])}


def _required(schema: Any) -> list[str]:
    """Return the names that a schema requires anywhere."""
    if isinstance(schema, list):
        return [name for each in schema for name in _required(each)]
    if not isinstance(schema, dict):
        return []
    return [*schema.get("required", []), *(name for each in schema.values() for name in _required(each))]


def check(count: int, seed: int) -> None:
    rng, valid, total = Random(seed), 0, 0
    for schema in _SCHEMAS:
        validator = jsonschema.Draft202012Validator(schema)
        languages = [detent.json_schema(schema)]
        if '"properties"' not in json.dumps(schema):
            languages.append(detent.json_schema(schema, order="any"))
        for _ in range(count // len(_SCHEMAS)):
            value = _order(_instance(rng, schema), schema)
            expected = validator.is_valid(value)
            for language in languages:
                assert language.accepts(json.dumps(value, ensure_ascii=rng.random() < 0.5)) == expected, (schema, value)
            valid, total = valid + expected, total + 1
    assert total // 5 < valid < total


def test_verdicts_are_those_of_jsonschema() -> None:
    check(1000, 0)


@pytest.mark.long
def test_verdicts_of_10_000_instances_are_those_of_jsonschema() -> None:
    check(10_000, 1)


@pytest.mark.parametrize("schema", _SCHEMAS, ids=lambda schema: json.dumps(schema)[:40])
@pytest.mark.parametrize("canonical", [False, True])
def test_sampled_texts_are_valid(schema: dict[str, Any], canonical: bool) -> None:
    tokenizer = Path(detent.__file__).parent / "models" / "weights" / "tokenizer.json"
    vocabulary = detent.Vocabulary.from_file(tokenizer)
    validator = jsonschema.Draft202012Validator(schema)
    guide = detent.compile(detent.json_schema(schema), vocabulary, canonical=canonical)
    shortest = None if canonical else len(guide.matcher().completion())
    rng = Random(3)
    for round_ in range(6):
        matcher = guide.matcher(None if shortest is None or round_ == 0 else shortest + rng.choice([0, 1, 5, 20]))
        while not matcher.is_finished:
            allowed = matcher.allowed().tolist()
            assert allowed
            liked = [i for i in allowed if vocabulary.token_bytes(i)[:1] in b'",:}]1ab']
            ends = [i for i in allowed if i in vocabulary.eos_token_ids]
            taken = [rng.choice(ends or liked or allowed)]
            if not ends and len(matcher.token_ids) > 60:
                taken = matcher.completion()
            for token_id in taken:
                matcher.advance(token_id)
        ids = [i for i in matcher.token_ids if i not in vocabulary.eos_token_ids]
        assert validator.is_valid(json.loads(b"".join(map(vocabulary.token_bytes, ids))))


def test_a_repeated_name_is_left_out_where_names_are_counted() -> None:
    counted = detent.json_schema({"type": "object", "minProperties": 2})
    assert not counted.accepts('{"a": 1, "a": 2}') and not counted.accepts('{"a": 1, "b": 2, "\\u0061": 3}')
    assert counted.accepts('{"a": 1, "b": 2}')
    assert detent.json_schema({"type": "object", "minProperties": 1}).accepts('{"a": 1, "a": 2}')
    assert detent.json_schema({"type": "object", "properties": {"a": {}}, "minProperties": 3}).shortest() == (
        b'{"":0," ":0,"!":0}'
    )


@pytest.mark.parametrize("options", [{}, {"order": "any"}])
def test_names_that_are_neither_few_nor_many_are_refused(options: dict[str, Any]) -> None:
    schema = {"minProperties": 2, "patternProperties": {"^[ab]{8}$": {}, "^x": {"type": "null"}}}
    schema["additionalProperties"] = False
    with pytest.raises(detent.UnsupportedSchemaError) as caught:
        detent.json_schema(schema, **options)
    assert caught.value.keyword == "minProperties"
    with pytest.warns(detent.SchemaWarning):
        lenient = detent.json_schema(schema, lenient=True, **options)
    assert lenient.accepts('{"x": null, "x": null}')


def test_members_may_contain_the_object_itself() -> None:
    schema = {"minProperties": 2, "additionalProperties": {"$ref": "#"}}
    for order in ("any", "schema"):
        language = detent.json_schema(schema, order=order)
        assert language.accepts('{"a": {"a": 1, "b": []}, "b": "x"}')
        assert not language.accepts('{"a": {"a": 1, "a": 1}, "b": "x"}')
        assert not language.accepts('{"a": {"a": 1}, "b": "x"}')
    assert detent.json_schema({**schema, "type": "object"}).is_empty()

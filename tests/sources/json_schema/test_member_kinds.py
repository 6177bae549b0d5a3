"""Members whose names are compared, and alternatives that would multiply: against jsonschema, in both orders."""

from __future__ import annotations

import json
from itertools import permutations
from random import Random
from typing import Any

import jsonschema
import pytest

import detent
from detent.sources.json_schema.assertions.formulas import Formula
from detent.sources.json_schema.solve.object_plan import ObjectPlan

_VALUES = ["b", "c", "z"]
_INTEGERS = {"additionalProperties": {"type": "integer"}}
_SCHEMAS: dict[str, dict[str, Any]] = {
    "some undeclared member is no integer": {"type": "object", "not": _INTEGERS},
    "beside declared members": {"type": "object", "properties": {"a": {}, "b": {}}, "not": _INTEGERS},
    "one of two, by the values of undeclared members": {
        "oneOf": [{"type": "object", **_INTEGERS}, {"type": "object", "properties": {"a": {"type": "string"}}}]
    },
    "two such members": {
        "type": "object",
        "allOf": [{"not": _INTEGERS}, {"not": {"additionalProperties": {"type": ["string", "integer"]}}}],
    },
    "by patterns of names": {
        "type": "object",
        "allOf": [
            {"not": {"patternProperties": {"a": {"type": "integer"}}}},
            {"not": {"patternProperties": {"b": {"type": "integer"}}}},
        ],
    },
    "by one pattern, twice": {
        "type": "object",
        "allOf": [
            {"not": {"patternProperties": {"a": {"type": "integer"}}}},
            {"not": {"patternProperties": {"a": {"type": "string"}}}},
        ],
        "maxProperties": 3,
    },
    "counts beside declared members": {"type": "object", "properties": {"a": {}, "b": {}}, "minProperties": 3},
    "counts and required": {"type": "object", "required": ["a"], "minProperties": 3, "maxProperties": 4},
    "counts beside patterns": {"type": "object", "patternProperties": {"^a": {"type": "integer"}}, "minProperties": 2},
    "counts of few names": {
        "type": "object",
        "patternProperties": {"^[a-c]$": {"type": "integer"}},
        "additionalProperties": False,
        "minProperties": 2,
    },
    "counts or a name": {"anyOf": [{"minProperties": 3}, {"required": ["z"]}], "type": "object", **_INTEGERS},
    "counts in rules": {
        "type": "object",
        "properties": {"a": {"$ref": "#"}},
        "minProperties": 2,
        "additionalProperties": {"type": "integer"},
    },
    "tags that may be missing": {
        "oneOf": [
            {
                "type": "object",
                "properties": {"a": {"enum": [i]}, _VALUES[i % 3]: {"type": ["integer", "string"][i % 2]}},
            }
            for i in range(7)
        ]
    },
    "alternatives that contain others": {
        "type": "object",
        "allOf": [
            {"anyOf": [{"required": ["a"]}, {"required": ["a", "b"]}, {"properties": {"a": {"type": "string"}}}]},
            {"not": {"required": ["z"], "properties": {"a": {"type": "integer"}, "z": {"type": "integer"}}}},
        ],
    },
    "ten alternatives of nine pairs": {
        "type": "object",
        "allOf": [
            {"anyOf": [{"required": [a]}, {"properties": {b: {"type": "integer"}}}, {"minProperties": 4}]}
            for a, b in [("a", "b"), ("b", "c"), ("c", "z"), ("z", "a"), ("ab", "a"), ("aa", "b"), ("a", "aa")]
        ],
    },
}
_NAMES = ["a", "b", "c", "ab", "aa", "z", "é", ""]


def _instance(rng: Random, depth: int = 0) -> Any:
    kind = rng.random()
    if depth and kind < 0.9:
        return rng.choice([rng.randrange(9), rng.randrange(9), rng.randrange(9), "x", [], {}, True])
    if kind > 0.95:
        return rng.choice([1, "x", [], None])
    names = rng.sample(_NAMES if rng.random() < 0.7 else _NAMES[:3], rng.randrange(4))
    return {name: _instance(rng, depth + 1) for name in names}


def _orders(value: Any) -> list[Any]:
    if not isinstance(value, dict):
        return [value]
    return [{name: value[name] for name in names} for names in permutations(value)]


def check(name: str, count: int, seed: int) -> None:
    schema = _SCHEMAS[name]
    judge = jsonschema.Draft202012Validator(schema)
    free, ordered = detent.json_schema(schema, order="any"), detent.json_schema(schema)
    rng = Random(f"{name} {seed}")
    verdicts = set()
    for _ in range(count):
        value = _instance(rng)
        is_valid = judge.is_valid(value)
        verdicts.add(is_valid)
        texts = [json.dumps(each, ensure_ascii=False) for each in _orders(value)]
        for text in texts if len(texts) <= 6 else rng.sample(texts, 6):
            assert free.accepts(text) == is_valid, (name, text)
        assert any(ordered.accepts(text) for text in texts) == is_valid, (name, texts[0])
    assert verdicts == {True, False}


@pytest.mark.parametrize("name", _SCHEMAS)
def test_verdicts(name: str) -> None:
    check(name, 150, 1)


@pytest.mark.long
@pytest.mark.parametrize("name", _SCHEMAS)
def test_many_verdicts(name: str) -> None:
    check(name, 1200, 2)


@pytest.mark.parametrize("order", ["any", "schema"])
@pytest.mark.parametrize("name", _SCHEMAS)
def test_walks_end_in_valid_texts(name: str, order: str) -> None:
    language = detent.json_schema(_SCHEMAS[name], order=order)
    tokens = [bytes([byte]) for byte in range(128)]
    tokens += [b'"a"', b'":', b'": ', b', "', b'"}', b'1, "a": 2', b'"a": 1, "a": ', b"}, ", b'{"a": 1, "b', b"true"]
    vocabulary = detent.Vocabulary([*tokens, b""], eos_token_ids=[len(tokens)])
    guide, judge, rng = detent.compile(language, vocabulary), jsonschema.Draft202012Validator(_SCHEMAS[name]), Random(3)
    shortest = len(language.shortest())
    for _ in range(12):
        matcher, text = guide.matcher(max_tokens=shortest + rng.randrange(30)), b""
        while len(tokens) not in matcher.allowed() or rng.random() < 0.5:
            allowed = [i for i in matcher.allowed() if i < len(tokens)]
            if not allowed:
                break
            i = rng.choice(allowed)
            matcher.advance(i)
            text += tokens[i]
        assert len(tokens) in matcher.allowed(), text
        assert judge.is_valid(json.loads(text)), text


def test_forty_tags_that_may_be_missing_need_little_work() -> None:
    """Each tag decides the alternatives of the others, and combinations that imply another one are left out."""
    alternatives = [
        {
            "type": "object",
            "properties": {"kind": {"enum": [f"k{i}"]}, f"v{i % 5}": {"type": ["integer", "string"][i % 2]}},
        }
        for i in range(40)
    ]
    language = detent.json_schema({"oneOf": alternatives}, order="any", limits=detent.Limits(pattern_size=5_000))
    assert language.accepts('{"v0": 1, "kind": "k0"}')
    assert not language.accepts('{"v0": "x", "kind": "k0"}')
    assert not language.accepts('{"v0": 1}')


@pytest.mark.long
def test_members_of_too_many_kinds_are_multiplied_out() -> None:
    """Nine patterns give one member 512 kinds, and the alternatives 512 sets of members."""
    letters = "abcdefghi"
    schema = {
        "type": "object",
        "properties": {"v": {"type": "string"}},
        "allOf": [
            {"anyOf": [{"properties": {"v": {"pattern": letter}}, "required": ["v"]}, {"required": [letter]}]}
            for letter in letters
        ],
    }
    language, judge = detent.json_schema(schema, order="any"), jsonschema.Draft202012Validator(schema)
    rng = Random(1)
    verdicts = set()
    for _ in range(200):
        members: list[tuple[str, object]] = [(letter, 1) for letter in letters if rng.random() < 0.7]
        members.append(("v", "".join(letter for letter in letters if rng.random() < 0.7)))
        rng.shuffle(members)
        value = dict(members)
        verdicts.add(judge.is_valid(value))
        assert language.accepts(json.dumps(value)) == judge.is_valid(value), value
    assert verdicts == {True, False}


def _with_kinds_of_one_member(letters: str) -> dict:
    """Return a schema where v has a kind for each set of letters, and u distinguishes three cases before it."""
    clauses: list[dict] = [
        {"anyOf": [{"properties": {"v": {"pattern": letter}}, "required": ["v"]}, {"required": [letter]}]}
        for letter in letters
    ]
    clauses += [{"anyOf": [{"properties": {"u": {"const": i}}}, {"required": [f"u{i}"]}]} for i in range(3)]
    return {"type": "object", "properties": {"u": {"enum": [0, 1, 2]}, "v": {"type": "string"}}, "allOf": clauses}


@pytest.mark.long
def test_a_member_is_multiplied_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    schema = _with_kinds_of_one_member("abcdefghi")
    failed: list[str] = []
    multiplied = ObjectPlan.options

    def options(plan: ObjectPlan, formula: Formula, name: str, known: list) -> list:
        try:
            return multiplied(plan, formula, name, known)
        except detent.LimitError:
            failed.append(name)
            raise

    monkeypatch.setattr(ObjectPlan, "options", options)
    language, judge = detent.json_schema(schema), jsonschema.Draft202012Validator(schema)
    assert failed == ["v"]
    rng = Random(2)
    verdicts = set()
    for _ in range(300):
        value: dict[str, object] = {"u": rng.randrange(3)} if rng.random() < 0.8 else {}
        value["v"] = "".join(letter for letter in "abcdefghi" if rng.random() < 0.8)
        value |= dict.fromkeys([letter for letter in "abcdefghi" if rng.random() < 0.8], 1)
        value |= dict.fromkeys([f"u{i}" for i in range(3) if rng.random() < 0.8], 1)
        verdicts.add(judge.is_valid(value))
        assert language.accepts(json.dumps(value)) == judge.is_valid(value), value
    assert verdicts == {True, False}


def test_a_member_of_too_many_kinds_says_how_many() -> None:
    with pytest.raises(detent.LimitError, match=r"'v' has over 1,024 combinations of schemas") as caught:
        detent.json_schema(_with_kinds_of_one_member("abcdefghijk"))
    assert (caught.value.limit, caught.value.given) == (1024, 2048)


def test_names_in_other_spellings_are_the_same() -> None:
    language = detent.json_schema({"type": "object", "not": _INTEGERS}, order="any", spelling="any")
    assert language.accepts('{"a": "x", "b": 1}')
    assert not language.accepts('{"a": "x", "\\u0061": 1}')
    assert language.accepts('{"b": 1, "a": "x", "c": 2}')


def test_python_calls_refuse_to_compare_names() -> None:
    tool = {"name": "f", "parameters": {"type": "object", "properties": {"x": {"type": "object", "not": _INTEGERS}}}}
    language = detent.calls(tool, style="llama3-pythonic")
    assert language.accepts("[f(x={'a': 'b'})]")

"""Why a text is no value of a schema, in terms of members and values; why a schema has no value."""

from __future__ import annotations

import pickle
import warnings
from random import Random
from typing import Any, Literal

import pytest

import detent
from detent.sources.json_schema.position import locate
from tests.support.random_schemas import RandomSchemas

_PERSON = {
    "type": "object",
    "properties": {
        "city": {"type": "string"},
        "age": {"type": "integer", "minimum": 0, "maximum": 99},
        "kind": {"enum": ["a", "b"]},
        "tags": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["city", "age"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"age": 3, "city": "x"}', "character 2 is 'a' where the member \"city\" is expected"),
        ('{"city": 3}', "character 9 is '3' where a string at /city is expected"),
        ('{"city": "Oslo"}', "character 15 is '}' where the member \"age\" is expected"),
        ('{"city": "", "age": 3, "x": 1}', 'one of the members "kind" and "tags" is expected'),
        ('{"city": "", "age": 3, "kind": "c"}', 'where "a" or "b" at /kind is expected'),
        ('{"city": "", "age": 3, "kind": 5}', 'where "a" or "b" at /kind is expected'),
        ('{"city": "", "age": 3, "kind": "a", "tags": ["x", 1]}', "a string at /tags/1 is expected"),
        ('{"city": "", "age": 3, "kind": "a", "tags": [], "x": 1}', "the end of the object is expected"),
        ('{"city": "", "age": "3"}', "a number at /age is expected"),
        ('{"city": "", "age": 3.0}', "of the value at /age is expected"),
        ('{"city": "", "age"= 3}', "character 18 is '=' where ':' is expected"),
        ("[1]", "character 0 is '[' where an object is expected"),
        ('{"city": "", "age": -1}', "[0-9] of the value at /age is expected, by /properties/age/"),
        ('{"city": "", "age": -1}', "/properties/age/minimum 0; for example"),
        ('{"city": "", "age": 100}', "of the value at /age is expected, by /properties/age/maximum 99;"),
        ("", "character 0 is the end of the text where an object is expected"),
    ],
)
def test_members_and_values_are_named(text: str, expected: str) -> None:
    assert expected in str(detent.json_schema(_PERSON).why(text))


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ('{"age": 3, "city": "x"}', 'json_schema(..., order="any") has this text'),
        ('{"city": "x", "age": 3.0}', 'json_schema(..., spelling="any") has this text'),
        ('{"age": 3.0, "city": "\\u0041"}', 'json_schema(..., order="any", spelling="any") has this text'),
    ],
)
def test_the_options_that_take_a_text_are_named(text: str, hint: str) -> None:
    for language in (detent.json_schema(_PERSON), pickle.loads(pickle.dumps(detent.json_schema(_PERSON)))):
        with pytest.raises(detent.ArgumentError) as caught:
            language.parse(text)
        assert str(caught.value).endswith(hint)
    found = (">" + detent.json_schema(_PERSON)).why(">" + text)
    assert found is not None
    assert found.hint == hint


def test_no_option_is_named_for_a_text_without_a_value() -> None:
    found = detent.json_schema(_PERSON).why('{"city": 3}')
    assert found is not None
    assert found.hint is None


@pytest.mark.parametrize(
    ("text", "role", "pointer"),
    [
        (b"", "value", ""),
        (b'{"a', "name", ""),
        (b'{"a"', "colon", "/a"),
        (b'{"a": {"b\\"": [1, [], {"c": tr', "value", '/a/b"/2/c'),
        (b'{"a": [1, 2], ', "name", ""),
        (b'{"a": [1, 2]', "after", ""),
        (b'[{"a": 1}, "x]', "value", "/1"),
    ],
)
def test_positions(text: bytes, role: str, pointer: str) -> None:
    assert locate(text)[:2] == (role, pointer)


@pytest.mark.parametrize("seed", range(60))
def test_every_text_that_is_no_value_is_explained(seed: int) -> None:
    rng = Random(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            language = detent.json_schema(RandomSchemas(seed).schema(), lenient=True)
        except detent.DetentError:
            return  # what cannot be enforced is refused
    texts = ["", "{", "[1", '{"a": 1}', "x", "\x00", '"\\']
    if not language.is_empty():
        sample = language.sample(seed)
        for _ in range(20):
            at, byte = rng.randrange(len(sample) + 1), bytes([rng.choice(b'"{}[],:0a\\ \xff')])
            texts.append((sample[:at] + byte + sample[at + rng.randint(0, 1) :]).decode(errors="replace"))
    for text in texts:
        found = language.why(text)
        assert (found is None) == language.accepts(text)
        assert found is None or str(found)


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ({"type": "integer", "minimum": 3, "maximum": 1}, 'type "integer", minimum 3 and maximum 1 exclude each other'),
        (
            {
                "type": "object",
                "properties": {"a": {"minLength": 5, "maxLength": 2, "type": "string"}},
                "required": ["a"],
            },
            'at /properties/a, minLength 5, maxLength 2 and type "string" exclude each other',
        ),
        ({"enum": []}, "enum [] allows no value"),
        ({"not": {}}, "not {} allows no value"),
        ({"type": "string", "pattern": "^a$", "const": "b"}, 'pattern "^a$" and const "b" exclude each other'),
        (
            {"allOf": [{"type": "string"}, {"type": "integer"}, {"minLength": 3}]},
            'type "string" of /allOf/0 and type "integer" of /allOf/1 exclude each other',
        ),
        (
            {"type": "object", "required": ["a", "b"], "properties": {"b": {}}, "additionalProperties": False},
            'type "object", required ["a"] and additionalProperties false exclude each other',
        ),
        (
            {
                "type": "object",
                "properties": {"p": {"$ref": "#/$defs/P"}},
                "required": ["p"],
                "$defs": {"P": {"type": "number", "minimum": 10, "maximum": 5}},
            },
            'at /$defs/P, type "number", minimum 10 and maximum 5 exclude each other',
        ),
        (False, "the schema is false"),
    ],
)
def test_a_schema_without_values_names_the_keywords(schema: Any, reason: str) -> None:
    vocabulary = detent.Vocabulary([bytes([byte]) for byte in range(128)] + [b""], eos_token_ids=[128])
    language = detent.json_schema(schema)
    for call in (lambda: detent.compile(language, vocabulary), language.shortest, language.sample):
        with pytest.raises(detent.EmptyLanguageError) as caught:
            call()
        assert str(caught.value).endswith(f"has no text: {reason}")


def test_parts_of_a_rule_that_exclude_each_other() -> None:
    word = detent.regex("[a-z]{3}")
    const = detent.json_schema(Literal["listen"])
    for language, reason in (
        (word & detent.without("x") & detent.regex("[0-9]+"), "regex '[a-z]{3}' and regex '[0-9]+' exclude each other"),
        (const & detent.without("listen"), "JSON schema with 'enum' and text without 'listen' exclude each other"),
        (word - detent.regex("[a-z]+"), "each text of regex '[a-z]{3}' is in regex '[a-z]+'"),
        ("x" + (word & "1"), "its part (regex '[a-z]{3}') & '1' has none"),
        (detent.regex("a(?<=b)"), "it asks for things that exclude each other"),
    ):
        with pytest.raises(detent.EmptyLanguageError) as caught:
            language.shortest()
        assert reason in str(caught.value)


def test_the_keywords_of_a_large_schema_are_found() -> None:
    properties = {f"p{i}": {"type": "integer", "minimum": 900 if i == 70 else i, "maximum": i} for i in range(200)}
    large = {"type": "object", "properties": properties, "required": list(properties)}
    deep: dict[str, Any] = {"enum": []}
    for _ in range(40):
        deep = {"type": "object", "properties": {"a": deep}, "required": ["a"]}
    for schema, reason in (
        (large, 'at /properties/p70, type "integer", minimum 900 and maximum 70 exclude each other'),
        (deep, "/properties/a, enum [] allows no value"),
    ):
        with pytest.raises(detent.EmptyLanguageError) as caught:
            detent.json_schema(schema).shortest()
        assert "has no text: at /properties/" in str(caught.value)
        assert reason in str(caught.value) or len(str(caught.value)) > 500


def test_the_search_for_keywords_ends() -> None:
    words = [f"w{i}" for i in range(3000)]
    schema = {"allOf": [{"enum": words[:1500]}, {"enum": words[1500:]}, *({"not": {"const": word}} for word in words)]}
    with pytest.raises(detent.EmptyLanguageError, match="has no text"):
        detent.json_schema(schema).shortest()


def test_an_impossible_optional_member_is_not_the_reason() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"enum": []}, "b": {"type": "string", "minLength": 2, "maxLength": 1}},
        "required": ["b"],
    }
    with pytest.raises(detent.EmptyLanguageError, match="at /properties/b, type"):
        detent.json_schema(schema).shortest()

"""Plain schemas have the expressions, errors and warnings that the general way gives them, which is the oracle."""

from __future__ import annotations

import gzip
import json
import re
import warnings
from copy import deepcopy
from itertools import combinations, islice
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import detent
from detent.errors import DetentError, SchemaError
from detent.queries import ByteDfa
from detent.sources import json_schema
from detent.sources.calls.function import read_functions
from detent.sources.json_schema.assertions.document import SchemaDocument
from detent.sources.json_schema.assertions.plain import read_plain
from detent.sources.json_schema.emit import number_automaton, numbers, scalars
from detent.sources.json_schema.emit.plain import PlainNodes
from detent.sources.json_schema.parse.dialect import DEFAULT
from detent.sources.json_schema.parse.references import References
from detent.sources.json_schema.parse.schema_text import has_one_base
from detent.turns import STYLES
from detent.turns.arguments import notation_of
from tests.support.long_tests import long
from tests.support.shared_data import FOLDER, needs_shared

DRAFT_4 = "http://json-schema.org/draft-04/schema#"
INNER: list[Any] = [
    True,
    False,
    {},
    {"type": "string", "description": "x"},
    {"type": "integer"},
    {"type": "integer", "minimum": 1},
    {"type": "integer", "minimum": True},
    {"type": "integer", "minimum": "1"},
    {"type": "integer", "multipleOf": 7},
    {"type": "string", "pattern": 3},
    {"type": "string", "pattern": "a+"},
    {"type": "string", "format": "date"},
    {"type": "string", "format": "of no specification"},
    {"type": "string", "enum": ["b", "a", "a", "é"]},
    {"enum": ["x", "\ud800"]},
    {"enum": ["\ud800"]},
    {"enum": []},
    {"const": "c"},
    {"type": "nothing"},
    {"$ref": "#"},
    {"type": "object", "properties": {"in": {"type": "null"}}},
    {"anyOf": [{"type": "null"}, {"type": "object", "required": ["z"]}]},
    {"oneOf": [{"type": "string", "format": "of no specification"}, {"type": "null"}]},
    {"type": ["integer", "null"], "enum": [1, None, "x"]},
    {"type": "object", "patternProperties": {"^p": {"type": "null"}}, "additionalProperties": False},
    {"type": "array", "uniqueItems": True, "items": {"enum": ["x", "y"]}},
    {"allOf": [{"type": "string"}, {"type": "integer"}]},
    {"format": "date"},
    {"properties": {"in": {"type": "null"}}},
    {"own": "x"},
    {"type": "string", "_format": "x", "minimun": 1},
    {"type": "number", "minimum": 0.5, "maximum": 1e2},
    {"type": "number", "minimum": 1e-300},
    3,
]
KEYWORDS: dict[str, list[Any]] = {
    "properties": [{}, {"a": {"type": "null"}, "b": {"type": "boolean"}}, {"\ud800": False}, {"a": False}, []],
    "required": [[], ["a"], ["z", "a"], ["\ud800"], ["\ud83d", "\ude00"], True, [1]],
    "additionalProperties": [*INNER],
    "items": [*INNER, [{"type": "null"}]],
    "additionalItems": [False],
    "minItems": [0, 1, 3, -1, True],
    "maxItems": [0, 2, 2.0],
    "uniqueItems": [True, False],
    "minProperties": [1],
    "title": ["x"],
    "propertees": [{}],
    "x-own": [1],
    "id": ["inner", "#a"],
    "$defs": [{}, []],
    "minLength": [2],
    "enum": [["a"], [{}, 1]],
    "_uniqueItems": [True],
}
TYPES: list[Any] = [
    None,
    "object",
    "array",
    "string",
    ["null", "object"],
    ["integer", "array", "object"],
    ["array"],
    [],
    "any",
]


def outcome(schema: Any, *, style: str | None = None, **options: Any) -> tuple[Any, ...]:
    """Return the expression or the error, and the warnings; with a style, of the arguments of a function."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            if style is None:
                found: Any = detent.json_schema(schema, **options)._node
            else:
                [function] = read_functions({"name": "f", "parameters": schema})
                found = notation_of(STYLES[style]).node(function)
        except DetentError as error:
            found = (type(error), str(error))
    return found, sorted(str(one.message) for one in seen)


def assert_as_general(schema: Any, *, has_one_fault: bool = True, **options: Any) -> None:
    """Compare with the way that all other schemas go.

    Of several faults, either way may report another one; of equal schemas with a fault, another place.
    """
    is_document = "style" not in options and not isinstance(schema, str)
    for source in (schema, json.dumps(schema)) if is_document else (schema,):
        found = outcome(source, **options)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(SchemaDocument, "plain_schema", lambda *_: None)
            patch.setattr(PlainNodes, "document", lambda *_: None)
            patch.setattr(json_schema, "read_plain_text", lambda *_, **__: None)
            expected = outcome(source, **options)
        assert_equal(found, expected, schema, has_one_fault)


def are_alike(found: Any, expected: Any) -> bool:
    """Whether two outcomes are equal, but for the order of the alternatives in their expressions."""
    if found == expected or isinstance(found, tuple) or isinstance(expected, tuple):
        return bool(found == expected)
    one, other = ByteDfa(found), ByteDfa(expected)
    return one.has_language_of(one.start, other)


def without_pointers(warned: list[str]) -> set[str]:
    return {re.sub(r" at /\S*", "", warning) for warning in warned}


def assert_equal(found: tuple[Any, ...], expected: tuple[Any, ...], schema: Any, has_one_fault: bool) -> None:
    if not has_one_fault and isinstance(found[0], tuple) and isinstance(expected[0], tuple):
        assert found[0][0] == expected[0][0], schema
    elif not has_one_fault:
        assert are_alike(found[0], expected[0]), schema
        assert without_pointers(found[1]) == without_pointers(expected[1]), schema
    else:
        are_all_shown = not any("more schema" in warning for warning in found[1])
        shown = list if are_all_shown else without_pointers  # the first of many, in an order of their own
        assert shown(found[1]) == shown(expected[1]), schema
        assert are_alike(found[0], expected[0]), schema


@pytest.mark.parametrize("types", TYPES, ids=str)
@pytest.mark.parametrize("draft", [None, long(DRAFT_4)])
def test_all_pairs_of_keywords(types: Any, draft: str | None) -> None:
    head = ({} if draft is None else {"$schema": draft}) | ({} if types is None else {"type": types})
    assert_as_general(head)
    assert_as_general({"properties": {"inner": head}, **head})
    for first, second in combinations(KEYWORDS, 2):
        for one in KEYWORDS[first]:
            for two in KEYWORDS[second][:7]:
                assert_as_general({**head, first: one, second: two}, has_one_fault=False)


@pytest.mark.parametrize("inner", INNER, ids=str)
def test_members_and_items_of_each_kind(inner: Any) -> None:
    for options in ({}, {"spelling": "any"}, {"whitespace": "compact"}, {"order": "any"}, {"lenient": True}):
        assert_as_general({"type": "object", "properties": {"a": inner, "b": {"type": "number"}}}, **options)
        assert_as_general({"type": "object", "required": ["z"], "additionalProperties": inner}, **options)
        assert_as_general({"$schema": DRAFT_4, "type": ["array", "null"], "items": inner}, **options)
        assert_as_general({"type": "array", "items": inner, "minItems": 2, "maxItems": 3}, **options)


@pytest.mark.parametrize("style", ["hermes", "llama3-pythonic", "olmo3", "qwen3-coder", "deepseek-v3.2", "gemma4"])
@pytest.mark.parametrize("inner", INNER, ids=str)
def test_notations_of_arguments(style: str, inner: Any) -> None:
    for schema in (
        {"type": "object", "properties": {"a": inner, "b": {"type": "number"}}},
        {"type": "object", "properties": {"b": {"type": "array", "items": inner}, "a": {"type": "boolean"}}},
        {"type": "object", "required": ["z"], "additionalProperties": inner},
        {"type": "object", "properties": {"in": {"type": "object", "properties": {"a": inner}, "required": ["a"]}}},
    ):
        assert_as_general(schema, style=style)


_SCALARS = st.sampled_from(INNER).map(deepcopy)  # a warning names the first of the positions of one object
_SCHEMAS = st.recursive(
    _SCALARS,
    lambda inner: st.one_of(
        st.fixed_dictionaries(
            {"type": st.sampled_from(["object", ["object", "string"]])},
            optional={
                "properties": st.dictionaries(st.sampled_from("abcé"), inner, max_size=4),
                "required": st.lists(st.sampled_from("abcdé"), max_size=3),
                "additionalProperties": inner,
                "title": st.just("x"),
                "patternProperties": st.just({"^p": {"type": "null"}}),
            },
        ),
        st.fixed_dictionaries(
            {"type": st.just("array"), "items": inner},
            optional={"minItems": st.integers(0, 3), "maxItems": st.integers(0, 3), "uniqueItems": st.booleans()},
        ),
        st.fixed_dictionaries({"oneOf": st.lists(inner, min_size=1, max_size=2)}),
    ),
    max_leaves=8,
)


_UNKNOWN = {"own": "x"}  # warned of once, at one of its places


@settings(max_examples=300, deadline=None)
@example({"properties": {"a": {"properties": {"b": _UNKNOWN}}, "b": _UNKNOWN, "c": {"uniqueItems": True}}}, None, "any")
@given(_SCHEMAS, st.sampled_from([None, DRAFT_4]), st.sampled_from(["schema", "any"]))
def test_random_schemas(schema: Any, draft: str | None, order: str) -> None:
    if isinstance(schema, dict) and draft:
        schema = {"$schema": draft, **schema}
    if isinstance(schema, (dict, bool)):
        assert_as_general(schema, has_one_fault=False, order=order)


DEFINITIONS: dict[str, Any] = {
    "plain": {"type": "array", "items": {"$ref": "#/$defs/text"}},
    "text": {"type": "string", "maxLength": 3},
    "chain": {"$ref": "#/$defs/plain", "description": "x"},
    "beside": {"$ref": "#/$defs/text", "minLength": 2},
    "loop": {"type": "object", "properties": {"loop": {"$ref": "#/$defs/loop"}}},
    "circle": {"$ref": "#/$defs/circle"},
    "never": False,
    "a/b": {"type": "null"},
    "a~1b": {"type": "boolean"},
    "other": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/plain"}]},
    "twice": {"anyOf": [{"$ref": "#/$defs/text"}, {"$ref": "#/$defs/text"}]},
    "equal": {"anyOf": [{"type": "null"}, {"type": "null", "title": "x"}]},
    "wrapped": {"allOf": [{"$ref": "#/$defs/advised"}], "description": "x"},
    "advised": {"type": "object", "properties": {"a": {"type": "string", "_format": "x"}}, "_minItems": 1},
    "kinds": {"oneOf": [{"$ref": "#/$defs/plain"}, {"$ref": "#/$defs/advised"}, {"type": ["null", "string"]}]},
    "overlapping": {"oneOf": [{"type": "integer"}, {"type": "number"}]},
    "everything": {"anyOf": [{"$ref": "#/$defs/anything"}, {"type": "null"}]},
    "anything": {},
    "again": {"anyOf": [{"$ref": "#/$defs/again"}, {"type": "null"}]},
}


@pytest.mark.parametrize("draft", [None, DRAFT_4])
@pytest.mark.parametrize("order", ["schema", "any"])
@pytest.mark.parametrize("name", [*DEFINITIONS, "a~1b", "a~01b", "missing"])
def test_references(name: str, order: str, draft: str | None) -> None:
    head = {"type": "object", "$defs": DEFINITIONS} if draft is None else {"$schema": draft, "$defs": DEFINITIONS}
    reference = {"$ref": f"#/$defs/{name}"}
    for properties in ({"a": reference}, {"a": reference, "b": reference, "c": {"$ref": "#/$defs/text"}}):
        assert_as_general({"type": "object", **head, "properties": properties, "required": ["a"]}, order=order)
        assert_as_general({"type": "object", **head, "additionalProperties": reference}, order=order)
    for root in (reference, {"anyOf": [reference, {"type": "boolean"}]}, {"oneOf": [{"type": "boolean"}, reference]}):
        assert_as_general({**head, **root, "definitions": {}}, order=order)
    del head["type" if draft is None else "$schema"]
    for beside in (
        {},
        {"$id": "https://example.org/a"},
        {"title": "x"},
        {"own": 1},
        {"minItem": 1},
        {"definitions": []},
    ):
        assert_as_general({**head, **beside, "allOf": [reference]}, order=order)
        assert_as_general({**head, "properties": {"a": {**beside, "allOf": [reference]}}}, order=order)


def test_a_document_of_too_many_schemas_goes_the_general_way() -> None:
    schema: Any = {"type": "string"}
    for _ in range(5):
        schema = {"type": "object", "properties": {"a": schema}}
    for most in (4, 5, 6):
        assert_as_general(schema, limits=detent.Limits(pattern_size=most))


def test_documents_in_use_need_no_general_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SchemaDocument, "__init__", lambda *_, **__: pytest.fail("the general way"))
    point = {"type": "object", "properties": {"x": {"type": "number"}}, "required": ["x", "y"]}
    schema = {"type": "object", "properties": {"points": {"type": "array", "items": {"$ref": "#/$defs/point"}}}}
    for order in ("schema", "any"):
        detent.json_schema(json.dumps({**schema, "$defs": {"point": point}}), order=order)


def test_closed_schemas_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Documents that share small schemas which are no plain ones need the general way for the first of them alone."""
    inner = [
        {"anyOf": [{"type": "string", "format": "date"}, {"type": "null"}]},
        {"type": ["integer", "null"], "enum": [1, 2, None]},
        {"type": "object", "patternProperties": {"^p": {"type": "null"}}},
    ]
    properties = {str(number): schema for number, schema in enumerate(inner)}
    detent.json_schema(json.dumps({"type": "object", "properties": properties}))
    detent.json_schema(json.dumps({"type": "object", "properties": properties}), order="any")
    monkeypatch.setattr(SchemaDocument, "__init__", lambda *_, **__: pytest.fail("the general way"))
    detent.json_schema(json.dumps({"type": "object", "properties": properties, "required": ["0"]}))
    equal_names = {"type": "array", "items": {"type": "string"}, "_minItems": 1}
    with pytest.warns(detent.errors.SchemaWarning, match="_minItems at /properties/names is no keyword"):
        detent.json_schema(json.dumps({"type": "object", "properties": {"names": equal_names}}))


def test_custom_formats_and_limits_are_not_shared() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string", "format": "date"}}}
    assert_as_general(schema)
    assert_as_general(schema, formats={"date": detent.literal("today")})
    pattern = {"type": "object", "properties": {"a": {"type": "string", "pattern": "a{3}b+c"}}}
    assert_as_general(pattern)
    assert_as_general(pattern, limits=detent.Limits(pattern_size=1))


@pytest.mark.parametrize("scalar", [{"type": "integer", "multipleOf": 1}, {"type": "number", "minimum": 10**300}])
def test_what_caches_keep_is_bounded(scalar: dict[str, Any]) -> None:
    """Expressions of multiples and of long bounds take megabytes, so that only a few of them are kept."""
    key = "multipleOf" if "multipleOf" in scalar else "minimum"
    before = numbers._cached.cache_info().currsize, scalars._shared.cache_info().currsize
    for number in range(400, 420):
        detent.json_schema({"type": "object", "properties": {"a": {**scalar, key: scalar[key] + number}}})
    assert (numbers._cached.cache_info().currsize, scalars._shared.cache_info().currsize) == before
    assert numbers._cached_large.cache_info().currsize <= 8
    assert number_automaton.magnitudes.cache_info().currsize <= 8


def test_most_schemas_in_use_are_plain() -> None:
    tool = {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"], "additionalProperties": False}
    assert read_plain(tool, 2020) is not None
    assert read_plain({**tool, "minProperties": 1}, 2020) is None


_NAMES = st.sampled_from(["$id", "id", "$ref", "$schema", "$dynamicRef", "$recursiveRef", "properties", "a"])
_TEXTS = st.sampled_from(["#", "#a", "a", '"id": "', "http://json-schema.org/draft-07/schema#", "$id"])
_DOCUMENTS = st.recursive(
    _TEXTS, lambda inner: st.dictionaries(_NAMES, inner, max_size=3) | st.lists(inner, max_size=2)
)


@settings(max_examples=500, deadline=None)
@given(st.dictionaries(_NAMES, _DOCUMENTS, max_size=3))
@example({"$schema": {"$ref": "http://json-schema.org/draft-07/schema#"}})
def test_the_text_tells_that_a_document_has_one_base(document: dict[str, Any]) -> None:
    text = json.dumps(document)
    try:
        searched = References(document, DEFAULT)
        needs_search = searched.has_inner_bases or searched._has_dynamic or searched._has_standard
    except SchemaError:
        needs_search = True
    assert not (needs_search and has_one_base(text, document))
    assert "$" not in text or not has_one_base(text.replace("$", "\\u0024"), document)


@needs_shared
@pytest.mark.long
def test_schemas_in_use() -> None:
    with gzip.open(FOLDER / "maskbench-dev.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in islice(lines, 0, None, 3):
            for order in ("schema", "any"):
                assert_as_general(json.dumps(json.loads(line)["schema"]), order=order)

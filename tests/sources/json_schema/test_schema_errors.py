"""What json_schema refuses: each with its type, place and remedy; and what lenient mode drops."""

from __future__ import annotations

import difflib
import json
import pickle
import warnings
from collections import ChainMap
from concurrent.futures import ThreadPoolExecutor
from time import process_time
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import detent
from detent.sources.json_schema.assertions.diagnostics import collected_warnings
from detent.sources.json_schema.assertions.keywords import KEYWORDS, SILENT, intended_keyword

_STRINGS = {"type": "array", "items": {"type": "string"}, "contains": {"maxLength": 3}, "uniqueItems": True}


@pytest.mark.parametrize(
    ("schema", "pointer", "keyword"),
    [
        ({"properties": {"a/b": {"type": "strin"}}}, "/properties/a~1b", "type"),
        ({"type": []}, "", "type"),
        ({"items": 5}, "/items", ""),
        ({"anyOf": []}, "", "anyOf"),
        ({"allOf": [{"minLength": -1}]}, "/allOf/0", "minLength"),
        ({"minItems": 1.5}, "", "minItems"),
        ({"required": "a"}, "", "required"),
        ({"enum": 1}, "", "enum"),
        ({"const": float("inf")}, "", "const"),
        ({"pattern": "("}, "", "pattern"),
        ({"patternProperties": {"(": {}}}, "", "patternProperties"),
        ({"multipleOf": 0}, "", "multipleOf"),
        ({"$ref": "#/$defs/none"}, "", "$ref"),
        ({"$ref": 1}, "", "$ref"),
        ({"items": {"$ref": "http://127.0.0.1:1/x.json"}}, "/items", "$ref"),
        ({"$ref": "/etc/passwd"}, "", "$ref"),
        ({"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"}, "/$defs/a", ""),
        ({"anyOf": [{"$ref": "#"}, {"type": "null"}]}, "", ""),
        ('{"a": ', "", ""),
        ("[]", "", ""),
    ],
)
def test_malformed(schema: Any, pointer: str, keyword: str) -> None:
    with pytest.raises(detent.SchemaError) as caught:
        detent.json_schema(schema)
    assert (caught.value.pointer, caught.value.keyword) == (pointer, keyword)
    assert len(str(caught.value).encode()) <= 512


_CLOSED = {"additionalProperties": False}


@pytest.mark.parametrize(
    ("schema", "pointer", "keyword"),
    [
        ({"properties": {"a": _STRINGS}}, "/properties/a", "uniqueItems"),
        (
            {"minProperties": 2, "patternProperties": {"^[ab]{8}$": {}, "^x": {"type": "null"}}, **_CLOSED},
            "",
            "minProperties",
        ),
        ({"type": "string", "pattern": r"(a)\1"}, "", "pattern"),
        ({"$schema": "http://json-schema.org/draft-03/schema#"}, "", "$schema"),
        ({"properties": {"host": {"format": "idn-hostname"}}}, "/properties/host", "format"),
    ],
)
def test_unsupported(schema: Any, pointer: str, keyword: str) -> None:
    with pytest.raises(detent.UnsupportedSchemaError) as caught:
        detent.json_schema(schema)
    error = caught.value
    assert (error.pointer, error.keyword) == (pointer, keyword)
    assert error.reason in str(error)
    assert error.remedy in str(error)
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
    with pytest.warns(detent.SchemaWarning, match="dropped"):
        detent.json_schema(schema, lenient=True)


def test_lenient_drops_only_that() -> None:
    with pytest.warns(detent.SchemaWarning, match="uniqueItems at /properties/a"):
        language = detent.json_schema({"type": "object", "properties": {"a": _STRINGS}}, lenient=True)
    assert language.accepts('{"a": ["x", "x"]}')
    assert not language.accepts('{"a": [1]}')


def test_unknown_formats_say_so() -> None:
    schema = {"type": "string", "format": "shoe-size"}
    with pytest.warns(detent.SchemaWarning, match="shoe-size"):
        assert detent.json_schema(schema).accepts('"x"')
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        own = detent.json_schema(schema, formats={"shoe-size": detent.regex("[34][0-9]")})
        opposite = detent.json_schema({"not": schema}, formats={"shoe-size": detent.regex("[34][0-9]")})
    assert own.accepts('"42"')
    assert not own.accepts('"x"')
    assert opposite.accepts("42")
    assert not opposite.accepts('"42"')


@pytest.mark.parametrize("source", [3, b"{}", [], 2.5])
def test_sources_of_a_wrong_type(source: Any) -> None:
    with pytest.raises(detent.ArgumentError):
        detent.json_schema(source)


@pytest.mark.parametrize(
    "arguments", [{"order": "random"}, {"whitespace": 3}, {"formats": {"x": "y"}}, {"whitespace": "("}]
)
def test_arguments_of_a_wrong_type(arguments: dict[str, Any]) -> None:
    with pytest.raises((detent.ArgumentError, detent.PatternSyntaxError)):
        detent.json_schema({}, **arguments)


def test_mappings_that_are_no_dicts_are_schemas() -> None:
    shared = MappingProxyType({"type": "integer"})
    source = MappingProxyType(
        {"type": "object", "properties": ChainMap({"a": shared}, {"b": shared}), "required": ["a"]}
    )
    language = detent.json_schema(source, order="any")
    assert language.accepts('{"a": 1, "b": 2}')
    assert not language.accepts('{"a": 1, "b": "x"}')
    assert not language.accepts('{"b": 1}')


def test_depth_counts_brackets_outside_of_strings() -> None:
    titles = [{"title": "[{" * 200 + '\\"[' * 100 + "\\\\"}, {"title": "}" * 300}]
    assert detent.json_schema(json.dumps({"anyOf": titles})).accepts("1")
    deep = '{"title": "]]}}\\\\", "items": ' * 300 + "true" + "}" * 300
    with pytest.raises(detent.LimitError, match="nested over 256 deep"):
        detent.json_schema(deep)
    assert detent.json_schema(deep, limits=detent.Limits(depth=300)).accepts("1")


def test_limits() -> None:
    with pytest.raises(detent.LimitError, match="source_bytes"):
        detent.json_schema('{"title": "' + "x" * 100 + '"}', limits=detent.Limits(source_bytes=64))
    with pytest.raises(detent.LimitError, match="depth"):
        detent.json_schema("[" * 100_000)
    many = {"allOf": [{"anyOf": [{"required": [f"{i}{j}"]} for j in range(4)]} for i in range(20)]}
    with pytest.raises(detent.LimitError):
        detent.json_schema(many, limits=detent.Limits(pattern_size=2000))


@pytest.mark.parametrize(
    "schema",
    [
        False,
        {"enum": []},
        {"allOf": [{"const": 1}, {"const": 2}]},
        {"type": "string", "minLength": 3, "maxLength": 2},
        {"type": "object", "properties": {"x": {"$ref": "#"}}, "required": ["x"]},
        {"type": "array", "items": {"$ref": "#"}, "minItems": 1},
        {"const": "\ud800"},
        {"type": "object", "required": ["\udc00"]},
    ],
)
def test_schemas_that_nothing_satisfies(schema: Any) -> None:
    assert detent.json_schema(schema).is_empty()


@pytest.mark.parametrize(
    ("schema", "advice"),
    [
        ({"propertys": {}}, "propertys at the root .* write properties"),
        ({"items": {"formt": "date"}}, "formt at /items .* write format"),
        ({"type": "string", "nullable": True}, "OpenAPI"),
        ({"divisibleBy": 2}, "multipleOf"),
        ({"type": "object", "property": {"a": {}}}, "property at the root .* write properties"),
        ({"type": "string", "max": 3}, "max at the root .* write maximum, maxLength or maxItems"),
        ({"Yes": True, "No": False}, "the schema at the root has no keyword of JSON Schema, only .'Yes', 'No'."),
        ({"properties": {"member": {"name": {"type": "string"}}}}, "the schema at /properties/member has no keyword"),
    ],
)
def test_names_without_effect_warn(schema: Any, advice: str) -> None:
    with pytest.warns(detent.SchemaWarning, match=advice) as caught:
        detent.json_schema(schema)
    assert [each.filename for each in caught] == [__file__]


@pytest.mark.parametrize("others", [{}, {"minProperties": 2}, {"description": "more"}])
@pytest.mark.parametrize("as_text", [False, True])
def test_the_same_name_at_many_places_warns_of_the_first_and_their_number(
    others: dict[str, Any], as_text: bool
) -> None:
    members = {f"m{index}": {"type": "string", "nullable": True} for index in range(40)}
    schema = {"type": "object", "properties": members, "additionalProperties": False, **others}
    with pytest.warns(detent.SchemaWarning, match="nullable") as caught:
        detent.json_schema(json.dumps(schema) if as_text else schema)
    messages = [str(each.message) for each in caught]
    assert [message.split()[2] for message in messages[:3]] == ["/properties/m0", "/properties/m1", "/properties/m2"]
    assert messages[3:] == ["nullable is no keyword and has no effect in 37 more schemas"]
    assert {each.filename for each in caught} == {__file__}


def test_warnings_of_functions_point_to_the_caller() -> None:
    function = {
        "name": "f",
        "parameters": {"type": "object", "properties": {"a": {"type": "string", "nullable": True}}},
    }
    with pytest.warns(detent.SchemaWarning, match="nullable") as caught:
        detent.calls(function, style="llama3-pythonic")
    assert {each.filename for each in caught} == {__file__}


@pytest.mark.parametrize(
    ("name", "intended"),
    [
        ("emial", "email"),
        ("e-mail", "email"),
        ("datetime", "date-time"),
        ("dateTime", "date-time"),
        ("Date", "date"),
        ("tiem", "time"),
        ("uri_reference", "uri-reference"),
        ("idn-hostnames", "idn-hostname"),
        ("ip-v4", "ipv4"),
    ],
)
@pytest.mark.parametrize("others", [{}, {"maxLength": 9}, {"minProperties": 2}])
@pytest.mark.parametrize("as_text", [False, True])
def test_a_misspelt_format_warns_of_the_one_that_is_meant(
    name: str, intended: str, others: dict[str, Any], as_text: bool
) -> None:
    schema = {"type": ["string", "object"], "format": name, **others}
    with pytest.warns(detent.SchemaWarning) as caught:
        detent.json_schema(json.dumps(schema) if as_text else schema)
    assert [str(each.message).partition("; ")[2] for each in caught] == [f"did you mean {intended!r}?"]


@pytest.mark.parametrize("name", ["uuid4", "ipv5", "uint32", "url", "guid", "timezone", "color", "sku", "", "x" * 1000])
def test_a_format_of_the_document_alone_resembles_none(name: str) -> None:
    with pytest.warns(detent.SchemaWarning, match="pass formats="):
        detent.json_schema({"type": "string", "format": name})


def test_other_unknown_names_are_annotations() -> None:
    detent.json_schema({"x-order": 1, "example": 2, "readOnly": True, "unit": "m", "enumNames": []})
    detent.json_schema({"properties": {"a": {}, "b": {"x-order": 2}}})


@pytest.mark.parametrize("schema", [{1: 2}, {"properties": {1: {}}}, {"const": {1: 2}}, {"enum": [{None: 1}]}])
def test_names_are_strings(schema: Any) -> None:
    with pytest.raises(detent.SchemaError, match="names of JSON are strings"):
        detent.json_schema(schema)


def test_questions_about_a_schema_leave_the_warnings_of_other_threads() -> None:
    misspelt = {"type": "object", "propertes": {}}
    with collected_warnings(), ThreadPoolExecutor(1) as other:
        detent.json_schema(misspelt)
        with pytest.raises(detent.SchemaWarning, match="write properties"):
            other.submit(detent.json_schema, misspelt).result()
    with pytest.raises(detent.SchemaWarning):
        detent.json_schema(misspelt)


@pytest.mark.parametrize(
    ("schema", "pointer"),
    [
        ({"type": "array", "uniqueItems": True, "items": {"$ref": "#/$defs/set"}}, "the root"),
        ({"properties": {"a/b": {"type": "array", "uniqueItems": True, "items": {"$ref": "#/$defs/set"}}}}, "a~1b"),
        ({"$ref": "#/$defs/tree"}, "/$defs/tree"),
    ],
)
def test_unique_items_inside_unique_items_that_may_be_few_are_refused_with_their_pointer(schema, pointer):
    numbers = {"type": "array", "uniqueItems": True, "items": {"type": "integer"}}
    node = {"type": "object", "properties": {"set": numbers, "next": {"$ref": "#/$defs/tree"}}}
    node["additionalProperties"] = False  # else members have free names
    tree = {"type": "array", "uniqueItems": True, "items": node}
    schema = {**schema, "$defs": {"set": numbers, "tree": tree}}
    with pytest.raises(detent.UnsupportedSchemaError, match=pointer.replace("$", r"\$")) as caught:
        detent.json_schema(schema)
    assert caught.value.keyword == "uniqueItems"
    with pytest.warns(detent.SchemaWarning, match="dropped: uniqueItems"):
        assert detent.json_schema(schema, lenient=True).shortest()


def test_unique_items_inside_unique_items_with_free_strings_are_compared():
    names = {"type": "array", "uniqueItems": True, "items": {"type": "string"}}
    language = detent.json_schema({"type": "array", "uniqueItems": True, "items": names})
    assert language.accepts('[["a"], ["b"], ["a", "b"]]')
    assert not language.accepts('[["a"], ["b"], ["a"]]')
    assert not language.accepts('[["a", "a"]]')


def test_patterns_of_names_that_overlap_in_many_ways_are_refused_soon() -> None:
    patterns = {f"{letter}.{{{8 + i}}}$": {"enum": [i]} for i, letter in enumerate("abcdefgh")}
    start = process_time()
    with pytest.raises(detent.LimitError, match=r"'a\.\{8\}\$', 'b\.\{9\}\$'.*anchor them") as caught:
        detent.json_schema({"type": "object", "patternProperties": patterns, "additionalProperties": False})
    assert process_time() - start < 3  # 0.9 s; each search by itself would reach its limit after 4 s in all
    assert caught.value.subject == "name_classes"
    apart = {f"^{letter}.{{{8 + i}}}$": {"enum": [i]} for i, letter in enumerate("abcdefgh")}
    language = detent.json_schema({"type": "object", "patternProperties": apart, "additionalProperties": False})
    assert language.accepts('{"b123456789": 1}')
    assert not language.accepts('{"b12345678": 1}')


@given(
    st.sampled_from(sorted({*KEYWORDS, *SILENT})), st.text("aeimnoprst$I", max_size=3), st.integers(0, 12), st.data()
)
def test_advice_is_that_of_the_nearest_name(keyword: str, inserted: str, place: int, data: st.DataObject) -> None:
    removed = data.draw(st.integers(0, 3))
    name = keyword[:place] + inserted + keyword[place + removed :]
    if name in ("nullable", "divisibleBy", "disallow", "extends"):  # of other dialects
        return
    nearest = difflib.get_close_matches(name, [*KEYWORDS, *SILENT], n=1, cutoff=0.8)
    expected = f"write {nearest[0]}" if nearest and nearest[0] in KEYWORDS else ""
    assert intended_keyword.__wrapped__(name) == expected


def test_a_pattern_is_refused_with_its_own_remedy() -> None:
    with pytest.raises(detent.UnsupportedSchemaError, match=r"(?s)\^\nwrite out the texts that may .*$") as caught:
        detent.json_schema({"properties": {"a": {"pattern": r"(a|b)c\1"}}})
    assert (caught.value.pointer, caught.value.keyword) == ("/properties/a", "pattern")
    assert caught.value.remedy == "write out the texts that may repeat: (?:aa|bb)"


def test_members_that_depend_on_each_other_in_a_circle_are_refused_soon() -> None:
    """Each formula of so many members has some 50 parts, so that the formulas alone would count too little work."""

    def circle(count: int) -> dict[str, Any]:
        names = [f"n{i}" for i in range(count)]
        rules = {
            name: {
                "required": [names[(7 * i + 3) % count]],
                "properties": {names[(5 * i + 1) % count]: {"minimum": i}},
            }
            for i, name in enumerate(names)
        }
        members = {name: {"type": "integer"} for name in names}
        return {"type": "object", "properties": members, "dependentSchemas": rules, "additionalProperties": False}

    language = detent.json_schema(circle(8))
    assert language.accepts("{}")
    assert not language.accepts('{"n0": 1}')
    with pytest.raises(detent.LimitError, match="parts of formulas; make fewer members depend") as caught:
        detent.json_schema(circle(24))
    assert caught.value.subject == "pattern_size"
    assert caught.value.limit == detent.Limits().pattern_size


@pytest.mark.parametrize("keyword", ["enum", "const"])
def test_a_list_that_contains_itself_is_refused(keyword: str) -> None:
    circle: list[Any] = []
    circle.append(circle)
    with pytest.raises(detent.LimitError, match="nested over 100 deep"):
        detent.json_schema({keyword: circle})


def test_a_limit_names_the_schema_that_reached_it() -> None:
    inner = {"type": "integer", "multipleOf": 65537}
    for schema in (inner, {"type": ["array", "integer"], **inner, "items": inner}):
        with pytest.raises(detent.LimitError, match=r"^at /properties/a/properties/b: multipleOf") as caught:
            detent.json_schema({"properties": {"a": {"properties": {"b": schema}}}})
        assert (caught.value.pointer, caught.value.subject) == ("/properties/a/properties/b", "remainders")
    assert pickle.loads(pickle.dumps(caught.value)) == caught.value

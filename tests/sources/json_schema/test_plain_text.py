"""The core reads the text of a plain document as Python does, its oracle, or leaves it to Python."""

from __future__ import annotations

import gzip
import json
import warnings
from collections.abc import Iterator
from itertools import combinations, islice
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import detent
from detent import _core
from detent.errors import DetentError
from detent.limits import DEFAULT_LIMITS
from detent.sources import json_schema
from detent.sources.json_schema.description import describe
from detent.sources.json_schema.emit import plain_text
from detent.sources.json_schema.emit.json_spelling import json_spelling
from detent.sources.json_schema.emit.plain_text import PlainText, open_text, read_plain_text
from detent.sources.json_schema.parse.dialect import DEFAULT, find_dialect
from detent.sources.json_schema.parse.schema_text import has_one_base, parse, read_text
from tests.sources.json_schema.test_plain import (
    _SCHEMAS,
    DEFINITIONS,
    DRAFT_4,
    INNER,
    KEYWORDS,
    TYPES,
    assert_as_general,
)
from tests.support.shared_data import FOLDER, needs_shared

SPELLINGS = [json_spelling("written", None), json_spelling("any", "compact")]


def outcome_of_python(text: str, spelling: Any, is_ordered: bool) -> tuple[Any, ...] | None:
    """Return the expression of a plain document, its warnings and its description; None for any other document."""
    try:
        schema = read_text(text, DEFAULT_LIMITS)
    except DetentError:
        return None
    if not isinstance(schema, dict) or not has_one_base(text, schema):
        return None
    dialect = find_dialect(str(schema["$schema"])) if "$schema" in schema else DEFAULT
    nodes = json_schema._plain_nodes(spelling, is_ordered, True)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        node = nodes.document(schema, dialect, DEFAULT_LIMITS.pattern_size) if dialect else None
    return None if node is None else (node.to_bytes(), messages(seen), describe(schema))


def read(text: str, spelling: Any, is_ordered: bool) -> PlainText | None:
    reader = open_text(text, spelling, is_ordered=is_ordered)
    return None if reader is None else read_plain_text(reader, text)


def outcome_of_core(text: str, spelling: Any, is_ordered: bool) -> tuple[Any, ...] | None:
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        found = read(text, spelling, is_ordered)
    if found is None:
        assert not seen
        return None
    return found.node.to_bytes(), messages(seen), found.description()


def messages(seen: list[warnings.WarningMessage]) -> list[str]:
    return [str(one.message) for one in seen]


def is_read(text: str) -> bool:
    """Compare both readers in both orders and two spellings; return whether the core reads the text."""
    found = None
    for spelling in SPELLINGS:
        for is_ordered in (True, False):
            found = outcome_of_core(text, spelling, is_ordered)
            if found is not None:
                assert found == outcome_of_python(text, spelling, is_ordered), text
    return found is not None


def documents() -> Iterator[Any]:
    """Yield documents of each pair of keywords, and of each schema inside another one."""
    for types in TYPES:
        for draft in (None, DRAFT_4):
            head = ({} if draft is None else {"$schema": draft}) | ({} if types is None else {"type": types})
            for first, second in combinations(KEYWORDS, 2):
                for one in KEYWORDS[first][::2]:
                    for two in KEYWORDS[second][:7]:
                        yield {**head, first: one, second: two}
    for inner in INNER:
        for draft in (None, DRAFT_4):
            head = {} if draft is None else {"$schema": draft}
            yield {**head, "type": "object", "properties": {"a": inner, "é/~": inner, "b": {"type": "number"}}}
            yield {**head, "type": "object", "required": ["z"], "additionalProperties": inner, "_title": "x"}
            yield {**head, "type": ["array", "null"], "items": inner, "maxItems": 4}
            yield {**head, "anyOf": [{"type": "array", "items": inner}, {"type": "boolean"}, inner]}


@pytest.mark.long
def test_all_pairs_of_keywords() -> None:
    taken = [is_read(json.dumps(document, ensure_ascii=False)) for document in documents() if is_text(document)]
    assert 0.05 < sum(taken) / len(taken) < 0.95


def is_text(document: Any) -> bool:
    """Whether there are no lone surrogates."""
    return "\\ud" not in json.dumps(document)


@pytest.mark.parametrize("draft", [None, DRAFT_4])
@pytest.mark.parametrize("name", [*DEFINITIONS, "a~1b", "missing", ""])
def test_references(name: str, draft: str | None) -> None:
    many = {str(number): {"type": "integer"} for number in range(40)}
    head: dict[str, Any] = {} if draft is None else {"$schema": draft}
    head["$defs"] = DEFINITIONS | many
    reference = {"$ref": f"#/$defs/{name}"}
    for properties in ({"a": reference}, {"a": reference, "b": reference, "c": {"$ref": "#/$defs/39"}}):
        is_read(json.dumps({**head, "type": "object", "properties": properties, "required": ["a"]}))
        is_read(json.dumps({**head, "type": "object", "additionalProperties": reference}))
    for root in (reference, {"anyOf": [reference, {"type": "boolean"}]}, {"oneOf": [{"type": "boolean"}, reference]}):
        is_read(json.dumps({**head, **root, "definitions": {}}))


@settings(max_examples=300, deadline=None)
@given(_SCHEMAS, st.sampled_from([None, DRAFT_4, "https://json-schema.org/draft/2019-09/schema#", "x", 7]))
def test_random_schemas(schema: Any, draft: Any) -> None:
    if isinstance(schema, dict) and is_text(schema):
        is_read(json.dumps(schema if draft is None else {"$schema": draft, **schema}, ensure_ascii=False))


TEXT = (
    '{"$id": "x", "type": "object", "_minProperties": 1, "properties": {"na\\"me": {"type": "string", "maxLength": 3},'
    ' "id": {"enum": ["b", "a\\n\\\\", "é\x7f"]},'
    ' "l": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/d"}},'
    ' "f": {"type": "string", "format": "none", "formatt": 1, "minimun": 2.5e+1}},'
    ' "required": ["l"], "$defs": {"d": {"oneOf": [{"type": "null"}, {"type": "number"}]}}}'
)
PIECES = ['"', "\\", "\\u0041", "\\/", "{", "}", "[", "]", ",", ":", " ", "\t", "\v", "\x00", "0", "-", "1e5", "0.0"]
PIECES += ["é", "\u2028", "\x7f", "😀", "true", "null", '"id": "', '"$id":"a",', '"type"', "NaN", "a", "\ufeff"]


def test_a_document_with_all_parts_is_read() -> None:
    assert is_read(TEXT)
    assert len(outcome_of_core(TEXT, SPELLINGS[0], True)[1]) == 4  # type: ignore[index] # it is read


@pytest.mark.long
@settings(max_examples=2000, deadline=None)
@given(st.lists(st.tuples(st.integers(0, len(TEXT)), st.integers(0, 3), st.sampled_from(PIECES)), max_size=3))
def test_changed_texts(edits: list[tuple[int, int, str]]) -> None:
    text = TEXT
    for at, removed, piece in edits:
        text = text[:at] + piece + text[at + removed :]
    is_read(text)


@settings(max_examples=300, deadline=None)
@given(st.text(), st.text(), st.booleans())
def test_names_and_listed_strings(name: str, listed: str, ascii_only: bool) -> None:
    schema = {"type": "object", "properties": {name: {"enum": [listed, name]}}, "required": [name, listed]}
    is_read(json.dumps(schema, ensure_ascii=ascii_only))


@pytest.mark.parametrize(
    "text",
    [
        "", "{", "{}", "3", "true", '"a"', "\ufeff{}", "{} x", '{"type": "string"}\x00', '{"type": "\ud800"}',
        '{"type": "string", "type": "object"}', '{"a": "\\ud800", "type": "object"}', "[" * 200, '{"items": ' * 200,
        '{"minItems": 1e999999999999, "type": "array"}', '{"type": "array", "minItems": 01}', '{"type": "array",}',
    ],
)  # fmt: skip
def test_texts_that_are_left_to_python(text: str) -> None:
    assert read(text, SPELLINGS[0], True) is None


@pytest.mark.parametrize("name", ["$id", "id"])
def test_identifiers_below_the_root_are_left_to_python(name: str) -> None:
    root = {"$id": "a", "type": "object", "$defs": {"b": {"type": "null"}}, "properties": {"b": {"$ref": "#/$defs/b"}}}
    assert is_read(json.dumps(root))
    inner = {**root, "$defs": {"b": {"type": "null"}, "c": {name: "c"}}}
    assert not is_read(json.dumps(inner))
    assert not is_read(json.dumps(inner).replace('": "', '"\n\t: "'))


def test_errors_and_size() -> None:
    for text in ('{"type": "strin"}', '{"type": "object", "properties": {"a": {"pattern": "("}}}', '{"type": '):
        with pytest.raises(DetentError):
            detent.json_schema(text)
    with pytest.raises(detent.LimitError):
        detent.json_schema('{"description": "' + "a" * DEFAULT_LIMITS.source_bytes + '"}')


def test_large_schemas_and_expressions_are_not_kept() -> None:
    reader = plain_text._core_reader(SPELLINGS[0], True)
    calls: list[str] = []

    def make(text: str, _: str) -> _core.Node:
        calls.append(text)
        return _core.union([_core.literal(str(number).encode()) for number in range(10_000 if "99" in text else 1)])

    made = plain_text.make_reader(SPELLINGS[0], is_ordered=True, constrained=make, closed=make)
    for inner in ('"maxLength": 9', '"maxLength": 99', f'"pattern": "{"a" * 1001}"'):
        text = f'{{"type": "object", "properties": {{"a": {{"type": "string", {inner}}}}}}}'
        calls.clear()
        assert document_of(made, text, 100) and document_of(made, text, 100)
        assert len(calls) == (1 if inner.endswith(" 9") else 2)
    assert document_of(reader, text, 0) is None  # more schemas than allowed


def document_of(schemas: _core.PlainSchemas, text: str, max_schemas: int) -> Any:
    reader = schemas.open(text, max_schemas)
    assert reader is not None
    return reader.document()


NAMES = ["a", "a/b", "a~b", "~1", "~0", "", "é", "%41", "0", "many"]


def test_plain_schemas_of_documents_that_are_not_plain() -> None:
    """The core makes the expressions of the plain schemas, at each pointer; the general way reads the others."""
    point = {"type": "object", "properties": {"x": {"type": "number"}, "l": {"$ref": "#/$defs/~01"}}, "required": ["x"]}
    advised = {"type": "object", "properties": {"x": {"type": "string", "_format": "x"}}}
    loop = {"type": "array", "items": {"$ref": "#/$defs/a"}}
    many = {"type": "object", "properties": {str(number): point for number in range(20)}}
    for inner in (point, advised, {"type": "array", "items": advised}, loop, {"type": "array", "items": loop}):
        members = {name: {**inner, "title": name} for name in NAMES}
        definitions = {"~1": {"type": "array", "items": {"type": "null"}}, "a": inner, "many": many}
        text = {"$defs": definitions, "type": "object", "properties": members, "minProperties": 1}
        assert_as_general(json.dumps(text), has_one_fault=False)
        for combination in (
            {"not": {"required": ["a"]}, "properties": members},
            {"anyOf": [{"required": ["a"]}, {**inner, "properties": members}], "properties": {"a/b": many}},
            {"oneOf": [{"const": {"type": "object", "properties": {}}}, {"type": "object", "properties": members}]},
            {"allOf": [{"properties": members}, {"properties": {"a": many, "%41": inner}}]},
            {"patternProperties": {name + "$": inner for name in NAMES}, "additionalProperties": many},
            {"prefixItems": [inner, many], "items": inner, "uniqueItems": True},
        ):
            for order in ("schema", "any"):
                assert_as_general(json.dumps({"$defs": definitions, **combination}), has_one_fault=False, order=order)


def test_the_core_reads_what_is_plain() -> None:
    text = json.dumps(
        {
            "minProperties": 1,
            "properties": {"a/b": {"oneOf": [{"type": "array"}, {"type": "null"}]}, "%": {"type": "object"}},
            "$defs": {
                "plain": {"type": "object", "properties": {"a": {"$ref": "#/$defs/list"}}},
                "list": {"type": "array", "items": {"type": "null"}},
                "advised": {"type": "array", "items": {"type": "string", "_format": "x"}},
                "around": {"type": "array", "items": {"$ref": "#/$defs/advised"}},
                "loop": {"type": "array", "items": {"$ref": "#/$defs/loop"}},
                "sized": {"type": "array", "items": {"minProperties": 1, "items": {"$ref": "#"}}},
            },
        }
    )
    reader = open_text(text, SPELLINGS[0], is_ordered=True)
    assert reader is not None and reader.document() is None
    plain = ["/$defs/plain", "/$defs/list", "/properties/a~1b", "/properties/a~1b/oneOf/0"]
    others = ["/$defs/advised", "/$defs/around", "/$defs/loop", "/$defs/sized", "", "/properties", "/properties/%"]
    others += ["/$defs", "/$defs/none", "/properties/a~1b/oneOf/2", "/properties/a~1b/oneOf/x", "/minProperties/0"]
    for _ in range(2):
        assert [pointer for pointer in plain + others if reader.schema_at(pointer) is not None] == plain
    assert reader.schema_at("/$defs/list") == detent.json_schema('{"type": "array", "items": {"type": "null"}}')._node


def test_the_source_of_a_language_is_parsed_when_it_is_asked_for() -> None:
    text = '{"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}'
    languages = detent.json_schema(text), detent.json_schema(json.loads(text))
    assert languages[0]._origin.source.schema == parse(text)
    errors = []
    for language in languages:
        with pytest.raises(DetentError) as error:
            language.parse('{"b": 1}')
        errors.append(str(error.value))
    assert errors[0] == errors[1]
    assert languages[0].description == languages[1].description


@needs_shared
def test_schemas_in_use() -> None:
    with gzip.open(FOLDER / "maskbench-dev.jsonl.gz", "rt", encoding="utf-8") as lines:
        taken = [
            is_read(json.dumps(json.loads(line)["schema"], ensure_ascii=False)) for line in islice(lines, 0, None, 20)
        ]
    assert sum(taken) / len(taken) > 0.6


@needs_shared
@pytest.mark.long
def test_all_schemas_in_use() -> None:
    with gzip.open(FOLDER / "maskbench-dev.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            text = json.dumps(json.loads(line)["schema"], ensure_ascii=False)
            if is_read(text):
                assert_as_general(text)

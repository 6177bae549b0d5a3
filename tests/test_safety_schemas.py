"""Schemas and grammars of strangers: the json_schema, lark and gbnf cases of the hostile corpus, as it expects them.

Everything runs in a thread with a small stack, where a recursion over what a user nests would end the process.
"""

from __future__ import annotations

import socket
from typing import Any

import pytest

import detent
from tests.support.hostile_corpus import expand, hostile_cases
from tests.support.shared_data import needs_shared
from tests.support.small_stack import in_a_small_stack

_KINDS = {"json_schema": "json_schema", "lark": "grammar", "gbnf": "gbnf"}
_TOKENS = [bytes([byte]) for byte in range(256)]
_VOCABULARY = detent.Vocabulary([*_TOKENS, b""], eos_token_ids=[256])


def accepts(guide: detent.Guide, text: str) -> bool:
    matcher = guide.matcher()
    try:
        matcher.advance_bytes(text.encode("utf-8", "surrogatepass"))
    except detent.StateError:
        return False
    return matcher.is_accepting


@needs_shared
@pytest.mark.parametrize("case", hostile_cases(*_KINDS), ids=lambda case: case["id"])
def test_case(case: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "socket", _no_connection)
    source = getattr(detent, _KINDS[case["kind"]])
    asked = {expand(text): kind == "accept" for kind in ("accept", "reject") for text in case.get(kind, ())}
    outcome: list[dict[str, bool] | detent.DetentError] = []

    def work() -> None:
        try:
            guide = detent.compile(source(expand(case["input"])), _VOCABULARY)
            guide.matcher().allowed()
            outcome.append({text: accepts(guide, text) for text in asked})
        except detent.DetentError as error:
            outcome.append(error)

    in_a_small_stack(work)
    (found,) = outcome
    if isinstance(found, detent.DetentError):
        assert len(str(found).encode()) <= 512
        assert case["expect"] in ("clean_error", "bounded"), found
    else:
        assert case["expect"] in ("compiles", "bounded")
        assert found == asked


def _no_connection(*_: object, **__: object) -> None:
    raise AssertionError("a source opened a connection")


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "http://127.0.0.1:9/schema.json"},
        {"$ref": "file:///etc/hostname"},
        {"$ref": "other.json#/$defs/a"},
        {"$schema": "http://127.0.0.1:9/meta"},
        {"$id": "http://127.0.0.1:9/here", "$ref": "there"},
        {"$dynamicRef": "http://127.0.0.1:9/x#y"},
        {"allOf": [{"$ref": "urn:uuid:0"}]},
    ],
)
def test_nothing_is_fetched(schema: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "socket", _no_connection)
    monkeypatch.setattr("builtins.open", _no_file)
    with pytest.raises(detent.DetentError) as raised:
        detent.json_schema(schema)
    assert len(str(raised.value).encode()) <= 512


def _no_file(*_: object, **__: object) -> None:
    raise AssertionError("a source opened a file")


_FAMILIES = {
    "properties": lambda n: {"properties": {f"p{i}": {"type": "integer"} for i in range(n)}},
    "required": lambda n: {"properties": {f"p{i}": True for i in range(n)}, "required": [f"p{i}" for i in range(n)]},
    "enum": lambda n: {"enum": [f"word{i}" for i in range(n)]},
    "anyOf": lambda n: {"anyOf": [{"const": f"{i}!"} for i in range(n)]},
    "prefixItems": lambda n: {"type": "array", "prefixItems": [{"const": i} for i in range(n)]},
    "allOf": lambda n: {"allOf": [{"properties": {f"p{i}": {"type": "null"}}} for i in range(n)]},
    "items": lambda n: {"type": "array", "minItems": n, "items": {"type": "boolean"}},
    "maxLength": lambda n: {"type": "string", "maxLength": n},
}


@pytest.mark.parametrize("family", _FAMILIES)
def test_what_a_schema_costs_grows_with_its_length(family: str) -> None:
    """Twice the length: at most 2.5 times the states and bytes."""

    def cost(n: int) -> tuple[int, int]:
        guide = detent.compile(detent.json_schema(_FAMILIES[family](n)), _VOCABULARY)
        matcher = guide.matcher()
        for _ in range(60):
            allowed = matcher.allowed()
            if allowed[-1] == 256 and len(allowed) == 1:
                break
            matcher.advance(int(allowed[0]))
        return guide.state_count, guide.memory_bytes

    for small, large in zip(cost(50), cost(100), strict=True):
        assert large <= 2.5 * small + 500


def test_messages_are_short_and_say_where() -> None:
    name = "x" * 5_000
    for schema in (
        {"properties": {name: {"type": "strange"}}},
        {"properties": {name: {"pattern": "(" + name}}},
        {"properties": {name: {"$ref": "#/$defs/" + name}}},
    ):
        with pytest.raises(detent.DetentError) as raised:
            detent.json_schema(schema)
        assert len(str(raised.value).encode()) <= 512
        assert "properties" in str(raised.value)

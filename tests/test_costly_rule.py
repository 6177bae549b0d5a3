"""A rule that reaches a limit: the message names the part that costs most."""

from __future__ import annotations

from typing import Any

import pytest

import detent
from detent.core_errors import from_core
from detent.errors import LimitError
from detent.serve.errors import from_detent

VOCABULARY = detent.load_model().vocabulary
_DEFINITIONS = {f"a{n}": {"anyOf": [{"$ref": f"#/$defs/a{n + 1}"} for _ in range(2)]} for n in range(25)}
COSTLY = {
    "type": "object",
    "$defs": {**_DEFINITIONS, "a25": {"type": "null"}},
    "properties": {"ok": {"type": "string"}, "bad": {"type": "array", "items": {"$ref": "#/$defs/a0"}}},
}


@pytest.mark.parametrize(
    ("rule", "named"),
    [
        (detent.json_schema(COSTLY), "/properties/bad/items (JSON schema 'a0')"),
        (detent.json_schema(COSTLY) | "x", "/properties/bad/items (JSON schema 'a0')"),
        (detent.json_schema(COSTLY) & detent.without("x"), "/properties/bad/items (JSON schema 'a0')"),
        (
            detent.turn({"name": "f", "parameters": COSTLY}, style="qwen3", thinking="none"),
            "the arguments of 'f' /properties/bad/items (JSON schema 'a0')",
        ),
    ],
)
def test_the_costly_subschema_is_named(rule: Any, named: str) -> None:
    with pytest.raises(LimitError) as raised:
        detent.compile(rule, VOCABULARY)
    assert str(raised.value).startswith(named)
    assert raised.value.subject == "work"


def test_a_server_gives_no_advice_to_programs() -> None:
    """Who sends a request cannot raise the limits."""
    for subject in ("work", "memory_bytes", "states", "compiled_states", "compiled_bytes", "compiled_work"):
        error = from_core("limit", subject, 9, 5)
        assert " or raise Limits(" in str(error)
        answer = from_detent(error, "response_format")
        assert "Limits" not in answer.message
        assert "simplify" in answer.message
        assert answer.code == "limit_exceeded"


def test_a_table_of_a_rule_that_calls_itself_is_not_advised_to_be_larger() -> None:
    guide = detent.compile(detent.gbnf('root ::= "(" root ")" | "a"'), VOCABULARY)
    with pytest.raises(LimitError, match="max_states=50; keep to a guide's matcher where a rule calls itself"):
        guide.to_table(max_states=50)


def test_a_grammar_in_a_string_is_named_with_what_to_write() -> None:
    text = """start: NAME ("OR"i NAME)*
    NAME: /[a-z]+/
    %ignore " "
    """
    schema = {"type": "string", "format": "q"}
    with pytest.raises(LimitError, match="the format 'q' stands in a JSON string"):
        detent.compile(detent.json_schema(schema, formats={"q": detent.grammar(text)}), VOCABULARY)
    free = detent.json_schema(schema, formats={"q": detent.grammar(text, lexer="dynamic_complete")})
    detent.compile(free, VOCABULARY)
    assert free.accepts('"x or y"')

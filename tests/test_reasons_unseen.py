"""Named reasons of refusals drawn from real schemas and patterns, against judges that share no code with them."""

from __future__ import annotations

import itertools
from random import Random

import pytest

import detent
from benchmarks.reasons import GRAMMARS, Case, grammar_cases, pattern_cases, patterns, schema_cases, schemas
from detent.reason import Reason
from tests.support.refusal_oracles import NotJudgedError, Rows, judge_grammar, judge_pattern, judge_schema
from tests.support.shared_data import needs_shared

COUNT = 60
PERSON = {
    "type": "object",
    "properties": {"name": {"type": "string", "maxLength": 3}, "age": {"type": "integer", "maximum": 120}},
    "required": ["name", "age"],
    "additionalProperties": False,
}


def check(kind: str, cases: itertools.islice[Case]) -> None:
    seen = 0
    for rule, started, following, reasons, judge in cases:
        try:
            wrong = judge()
        except NotJudgedError:
            continue
        assert not wrong, (kind, rule, started, following, reasons, wrong)
        seen += 1
    assert seen > COUNT // 2


@pytest.mark.long
def test_grammars() -> None:
    check("grammars", itertools.islice(grammar_cases(Random(21)), COUNT))


@needs_shared
@pytest.mark.long
@pytest.mark.filterwarnings("ignore::detent.errors.SchemaWarning", "ignore::FutureWarning")
@pytest.mark.parametrize("kind", ["regexes", "schemas"])
def test_patterns_and_schemas(kind: str) -> None:
    found = schemas()
    rng = Random(22)
    cases = pattern_cases(patterns(found), rng) if kind == "regexes" else schema_cases(found, rng)
    check(kind, itertools.islice(cases, COUNT))


def test_the_judges_find_what_is_wrong() -> None:
    """A reason that is left out, one too many, or another one."""
    rng = Random(0)
    text = "(?:a|b)c|d"
    a, b, c, d = (Reason("pattern", item, text, text.index(item)) for item in "abcd")
    assert judge_pattern(text, "", "x", [a, b, d], rng) == ""
    assert "another location" in judge_pattern(text, "", "x", [a, b], rng)
    assert "cannot read" in judge_pattern(text, "", "x", [a, b, c, d], rng)
    assert "reads the character" in judge_pattern(text, "", "a", [a, b, d], rng)
    age, name = Reason("keyword", "/properties/age/maximum"), Reason("keyword", "/properties/name/maxLength")
    partial = '{"name":"Ada","age":12'
    assert judge_schema(PERSON, partial, "1", [age], rng) == ""
    assert judge_schema(PERSON, partial, "1", [name], rng) != ""
    assert judge_schema(PERSON, partial, "1", [age, name], rng) != ""
    assert judge_schema(PERSON, partial, "1", [Reason("syntax", "JSON")], rng) != ""
    rows = Rows(GRAMMARS["moves"])
    named = detent.gbnf(GRAMMARS["moves"]).why("Kx!").reasons
    assert judge_grammar(rows, "Kx", "!", named) == ""
    assert judge_grammar(rows, "Kx", "!", []) != ""
    assert judge_grammar(rows, "K", "!", named) != ""

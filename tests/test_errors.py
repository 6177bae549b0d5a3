"""Errors as values: their facts are attributes, and they survive pickling, copying and comparison."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import re
from pathlib import Path

import pytest

import detent
from detent.core_errors import CORE_SENTENCES, from_core
from tests.support.mask_walk import VOCABULARY, masks_of

RAISED: dict[str, detent.DetentError] = {
    "argument": detent.ArgumentError("give a text"),
    "syntax": detent.PatternSyntaxError("not closed", position=5, source="a\nb\n(c"),
    "schema": detent.SchemaError("a type is a name", pointer="/properties/a", keyword="type"),
    "unsupported schema": detent.UnsupportedSchemaError("/a", "$ref", "it is remote", "inline it"),
    "limit": detent.LimitError("too many", subject="states", limit=7, given=9, position=3, source="abcd"),
    "a long message": detent.LimitError("x" * 2000, subject="work", limit=1),
    "the core's": from_core("state", "token", 3, 0),
}


@pytest.mark.parametrize("name", RAISED)
def test_errors_survive_pickling_and_copying(name: str) -> None:
    error = RAISED[name]
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        again = pickle.loads(pickle.dumps(error, protocol))
        assert (type(again), str(again), vars(again)) == (type(error), str(error), vars(error))
        assert again == error
        assert hash(again) == hash(error)
    assert copy.copy(error) == error == copy.deepcopy(error)


def test_errors_with_other_facts_differ() -> None:
    different = [*RAISED.values(), detent.LimitError("too many", subject="states", limit=7, given=8)]
    different += [
        detent.LimitError("too many", subject="states"),
        detent.StateError("too many"),
        ValueError("too many"),
    ]  # type: ignore[list-item]
    assert [[a == b for b in different] for a in different] == [[a is b for b in different] for a in different]


@pytest.mark.parametrize(("position", "place"), [(0, (1, 1)), (1, (1, 2)), (2, (2, 1)), (4, (3, 1)), (6, (3, 3))])
def test_lines_and_columns_begin_at_one(position: int, place: tuple[int, int]) -> None:
    error = detent.PatternSyntaxError("wrong", position=position, source="a\nb\n(c")
    assert (error.position, error.line, error.column) == (position, *place)


def test_where_a_pattern_or_grammar_is_wrong() -> None:
    with pytest.raises(detent.PatternSyntaxError) as of_pattern:
        detent.regex("ab\n  [c")
    assert (of_pattern.value.position, of_pattern.value.line, of_pattern.value.column) == (5, 2, 3)
    with pytest.raises(detent.PatternSyntaxError) as of_grammar:
        detent.grammar('start: "a"\n  | (')
    assert (of_grammar.value.position, of_grammar.value.line) == (15, 2)


@pytest.mark.parametrize(
    ("limits", "pattern"),
    [
        ({"source_bytes": 3}, "abcd"),
        ({"depth": 2}, "(((a)))"),
        ({"pattern_size": 3}, "abcdef"),
        ({"states": 5}, ".*a.{17}"),
        ({"memory_bytes": 25_000}, "(?:ab{1,9}){1,9}[a-z]{3,90}" * 9),
        ({"work": 500}, "|".join(f"word {n}" for n in range(3000))),
    ],
)
def test_a_limit_says_which_field_to_raise(limits: dict[str, int], pattern: str) -> None:
    """`subject` is the field of `Limits`: the caller can raise it without reading the message."""
    small = detent.Limits(**limits)
    with pytest.raises(detent.LimitError) as caught:
        guide = detent.compile(detent.regex(pattern, limits=small), VOCABULARY, limits=small)
        masks_of(guide, seed=0, steps=200)
    error = caught.value
    assert {error.subject: error.limit} == limits
    assert error.given is None or error.limit is None or error.given > error.limit
    assert dataclasses.replace(small, **{error.subject: 10**6}) != small


def test_a_budget_that_is_too_small_says_what_is_needed() -> None:
    guide = detent.compile(detent.regex("[0-9]{9}"), VOCABULARY)
    with pytest.raises(detent.LimitError) as caught:
        guide.matcher(max_tokens=4)
    needed = len(guide.matcher().completion())
    assert (caught.value.subject, caught.value.limit, caught.value.given) == ("max_tokens", 4, needed)
    assert guide.matcher(max_tokens=needed).completion()


def test_each_error_of_the_core_has_a_sentence() -> None:
    sources = [path.read_text() for path in (Path(__file__).parents[1] / "cpp").rglob("*.[ch]*")]
    thrown = {found for text in sources for found in re.findall(r'ErrorKind::(\w+),\s*"(\w+)"', text)}
    assert len(thrown) > 80
    assert thrown <= set(CORE_SENTENCES)
    texts = {found for text in sources for found in re.findall(r'"(\w+)"', text)}
    assert {subject for _, subject in CORE_SENTENCES} <= texts

"""Values of texts with parts: concatenations, captures, lists; and why a text has none."""

from __future__ import annotations

import pickle
from datetime import date
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import detent
from detent.language import Language

THOUGHT = "<think>" + detent.text() + "</think>"
NUMBER = detent.regex(r"[0-9]+(\.[0-9]+)?")
SCHEMA = detent.json_schema({"properties": {"a": {"type": "integer"}}})
CUT_ONCE = "<think>" + (detent.text() & detent.without("</think>")) + "</think>"


@pytest.mark.parametrize(
    ("language", "text", "value"),
    [
        (THOUGHT + detent.integer(), "<think>6 * 7</think>42", ("6 * 7", 42)),
        (THOUGHT + detent.integer(), "<think></think></think>1", ("</think>", 1)),
        (detent.integer() + "!", "7!", 7),
        (detent.integer() + "-" + detent.integer(), "1-2", (1, 2)),
        (detent.integer() + detent.text(), "123abc", (123, "abc")),
        (detent.date() + " " + detent.boolean(), "2024-02-29 true", (date(2024, 2, 29), True)),
        ("(" + (detent.integer() + ",").repeat() + ")", "(1,22,)", [1, 22]),
        (detent.integer().repeat(2), "77", [7, 7]),
        (detent.integer(0, 9).repeat(2, None), "123", [1, 2, 3]),
        (detent.regex("a+") + "b", "aab", "aab"),
        (detent.regex("a").repeat(2), "aa", "aa"),
        ("x" + (detent.integer() | "none") + ";", "xnone;", "none"),
        ("é" + detent.integer() + "é", "é5é", 5),
        ((detent.integer() + " ") + ("kg " + detent.boolean()), "3 kg true", (3, True)),
    ],
)
def test_the_value_of_parts(language: Language[Any], text: str, value: object) -> None:
    assert language.parse(text) == value
    assert pickle.loads(pickle.dumps(language)).parse(text) == value


@pytest.mark.parametrize(
    ("language", "text", "value"),
    [
        (THOUGHT + detent.integer().capture("answer"), "<think>a</think>5", {"answer": 5}),
        (detent.text().capture("a") + "=" + detent.integer().capture("b"), "x=y=1", {"a": "x=y", "b": 1}),
        (detent.text().capture("a") + "=" + detent.text().capture("b"), "x=y=1", {"a": "x", "b": "y=1"}),
        ((detent.integer().capture("n") + ";").repeat(), "1;2;", [{"n": 1}, {"n": 2}]),
        (("a" + detent.integer().capture("n")) | detent.literal("b").capture("m"), "b", {"m": "b"}),
        ((detent.integer() + "!").capture("all") + "?", "1!?", {"all": 1}),
        (detent.regex("a").capture("x") + (detent.integer().capture("y") + ";").optional(), "a", {"x": "a"}),
    ],
)
def test_captures(language: Language[Any], text: str, value: object) -> None:
    assert language.parse(text) == value
    assert pickle.loads(pickle.dumps(language)).parse(text) == value


@pytest.mark.parametrize("name", ["", None, 3])
def test_a_capture_needs_a_name(name: Any) -> None:
    with pytest.raises(detent.ArgumentError, match="capture needs a name"):
        detent.text().capture(name)


@pytest.mark.parametrize(
    ("language", "text", "value"),
    [
        (detent.join(", ", detent.integer(), minimum=1), "1, 2, 30", [1, 2, 30]),
        (detent.join(", ", detent.integer(), minimum=0), "", []),
        (detent.join(", ", detent.text(), minimum=1), "a, b, c", ["a", "b", "c"]),
        (detent.join(", ", detent.text(), minimum=1, maximum=2), "a, b, c", ["a", "b, c"]),
        (detent.join("", detent.regex("[ab]"), minimum=0), "aba", ["a", "b", "a"]),
        (detent.join(detent.regex(" *"), detent.integer(), maximum=3), "1  2", [1, 2]),
        (detent.join("-", detent.integer(), detent.text(), detent.integer()), "1-a-b-2", (1, "a-b", 2)),
        (detent.join("-", detent.regex("a"), detent.regex("b")), "a-b", "a-b"),
    ],
)
def test_the_value_of_a_list(language: Language[Any], text: str, value: object) -> None:
    assert language.parse(text) == value


@settings(max_examples=100)
@given(st.lists(st.integers(0, 999), min_size=1, max_size=6), st.sampled_from([", ", ";", "\n", "é"]))
def test_lists_of_integers_come_back(numbers: list[int], separator: str) -> None:
    text = separator.join(map(str, numbers))
    assert detent.join(separator, detent.integer(), minimum=1).parse(text) == numbers
    assert (detent.integer() + detent.text()).parse(f"{numbers[0]}{separator}x") == (numbers[0], f"{separator}x")


def test_a_text_with_values_has_a_limit_of_parts() -> None:
    whole: Language[Any] = detent.integer()
    for _ in range(999):
        whole = whole + "b"
    assert whole.parse("7" + "b" * 999) == 7
    with pytest.raises(detent.LimitError, match="at most 1000 parts"):
        whole + "b"


# --- Why a text is not in a language


@pytest.mark.parametrize(
    ("language", "text", "position", "expected", "part"),
    [
        (detent.regex("[0-9]{3}"), "12x", 2, "[0-9]", None),
        (detent.regex("[0-9]{3}"), "12", 2, "[0-9]", None),
        (detent.regex("[0-9]{3}"), "1234", 3, "the end", None),
        (detent.regex("a*"), "aab", 2, "'a' or the end", None),
        (detent.regex("éa"), "éb", 1, "'a'", None),
        (detent.regex("é"), "è", 0, "'é'", None),
        (CUT_ONCE + detent.integer(), "<think>x</think>no", 16, "[\\-0-9]", "part 4 of 4 (integer)"),
        (CUT_ONCE + detent.integer(), "<think>x</think>12.", 18, "[0-9] or the end", "part 4 of 4 (integer)"),
        (THOUGHT + detent.integer(), "<think>x</think>no", 18, "any character", None),
        (detent.integer() + "!", "12?", 2, "[!0-9]", None),
        (detent.integer() + "!", "12!?", 3, "the end", None),
        (detent.integer(0, 9) + "!", "2?", 1, "'!'", "part 2 of 2 ('!')"),
        (NUMBER + "kg", "8.kg", 2, "[0-9]", "part 1 of 2 (regex '[0-9]+(\\\\.[0-9]+)?')"),
        (detent.regex("(ab)*") + detent.regex("!?"), "abac", 3, "'b'", "part 1 of 2 (regex '(ab)*')"),
        (SCHEMA + "!", '{"a": "x"}', 6, "a number at /a", "part 1 of 2 (JSON schema with 'properties')"),
        (detent.regex("[a-z]+") & detent.regex(".{2}"), "abc", 2, "the end", "regex '.{2}'"),
        (detent.regex("[a-z]+") - "no", "no", 2, "[a-z]", "the rule without 'no'"),
        (detent.regex("a") & detent.regex("b"), "a", 0, "nothing at all (the rule has no text)", None),
    ],
)
def test_why(language: Language[Any], text: str, position: int, expected: str, part: str | None) -> None:
    mismatch = language.why(text)
    assert mismatch is not None
    assert (mismatch.position, mismatch.expected, mismatch.part) == (position, expected, part)
    assert mismatch.example is None or language.accepts(mismatch.example) or part is not None
    with pytest.raises(detent.ArgumentError, match=f"character {position} is "):
        language.parse(text)


def test_a_text_of_the_language_has_no_mismatch() -> None:
    assert detent.integer().why("12") is None
    assert detent.integer().why(b"12") is None


def test_the_message_has_a_caret() -> None:
    lines = str(detent.integer().why("12a4")).splitlines()
    assert lines[1] == "  12a4"
    assert lines[2] == "    ^"


# --- Truth and samples


def test_a_language_is_neither_true_nor_false() -> None:
    for ask in (lambda: bool(detent.regex("a")), lambda: detent.regex("a") and detent.regex("b")):
        with pytest.raises(detent.ArgumentError, match="a & b"):
            ask()


RECURSIVE = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "children": {"type": "array", "items": {"$ref": "#"}}},
    "required": ["name"],
}


@pytest.mark.parametrize(
    "language",
    [
        detent.json_value(),
        detent.json_schema({"type": "object"}),
        detent.json_schema(RECURSIVE),
        detent.json_schema({"type": "array", "items": {"type": "string", "format": "email"}}),
        detent.gbnf('root ::= "(" root ")" | [a-z]+ (" " root)?'),
        detent.grammar('start: e\ne: e /[+*]/ e | /[0-9]+/ | "(" e ")"\n%ignore / /'),
        detent.text() & detent.without("the", "and"),
    ],
    ids=["json", "object", "recursive", "emails", "gbnf", "lark", "ban"],
)
def test_samples_of_languages_with_many_states(language: Language[Any]) -> None:
    rng = Random(1)
    drawn = {language.sample(rng) for _ in range(20)}
    assert all(language.accepts(text) for text in drawn)
    assert len(drawn) > 5
    assert all(len(language.sample(rng, 20)) <= 20 for _ in range(5))


def test_counts_without_a_length() -> None:
    assert detent.regex("[ab]{0,3}").count() == 15
    assert (detent.regex("a") & detent.regex("b")).count() == 0
    assert detent.regex("").count() == 1
    assert detent.text(0, 1).count() == 0x110000 - 0x800 + 1
    with pytest.raises(detent.ArgumentError, match="infinitely many"):
        detent.regex("a+").count()


def test_two_captures_of_one_name_are_refused() -> None:
    word = detent.regex("[a-z]+")
    with pytest.raises(detent.ArgumentError, match=r"two parts are captured as 'a'.*join or repeat"):
        word.capture("a") + " " + word.capture("a")
    with pytest.raises(detent.ArgumentError, match="two parts are captured as 'a'"):
        detent.join(" ", word.capture("a"), "x", word.capture("a"))
    with pytest.raises(detent.ArgumentError, match="two parts are captured as 'b'"):
        (word.capture("a") + word.capture("b")) + ("x" + word.capture("b").optional())
    either = "<" + (word.capture("a") | detent.integer().capture("a")) + ">"
    assert [either.parse(text) for text in ("<x>", "<7>")] == [{"a": "x"}, {"a": 7}]


def test_captures_in_a_list_are_a_list_of_dicts() -> None:
    person = detent.regex("[a-z]+").capture("name") + " " + detent.integer().capture("age")
    people = detent.join(", ", person, minimum=1)
    value = [{"name": "ann", "age": 3}, {"name": "bob", "age": 4}]
    assert people.parse("ann 3, bob 4") == value
    assert ("people: " + people).parse("people: ann 3, bob 4") == value
    title = detent.regex("[A-Z]+").capture("title") + ": "
    assert (title + people.capture("people")).parse("ALL: ann 3, bob 4") == {"title": "ALL", "people": value}


@pytest.mark.parametrize("make", [lambda part: part.repeat(1, 3), lambda part: detent.join(";", part, minimum=1)])
def test_captures_of_a_list_beside_others_are_not_lost(make: Any) -> None:
    item = detent.regex("[a-z]").capture("item")
    with pytest.raises(detent.ArgumentError, match=r"the capture 'item' is in a repeat.*capture the list too"):
        detent.integer().capture("n") + ":" + make(item)
    assert (detent.integer().capture("n") + ":" + make(item).capture("items")).parse("1:a") == {
        "n": 1,
        "items": [{"item": "a"}],
    }


def test_an_optional_part_that_is_not_there_has_no_capture() -> None:
    rule = detent.regex("[a-z]+").capture("word") + ("=" + detent.integer().capture("number")).optional()
    assert [rule.parse(text) for text in ("a=1", "a")] == [{"word": "a", "number": 1}, {"word": "a"}]

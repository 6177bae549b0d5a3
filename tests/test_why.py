"""Language.why: the example is a text of the language, also where several parts decide together."""

from __future__ import annotations

import pickle
from datetime import datetime
from functools import reduce
from itertools import product
from operator import add
from random import Random
from typing import Any

import pytest

import detent
from detent.expected import expected_after

TWO = detent.regex("[a-z]{2}")
GREEDY = 'start: A "b" | A "c"\nA: /[ab]+/'
DYNAMIC = 'grammar(..., lexer="dynamic_complete") has this text'
WITHOUT_AB = TWO & detent.without("ab")


@pytest.mark.parametrize(
    ("language", "text", "position"),
    [
        (detent.date() & detent.regex("2024.*"), "2023-01-01", 3),
        (WITHOUT_AB, "ab", 1),
        ((detent.regex("[a-z]+").capture("a") + "!") & detent.without("b"), "ab!", 1),
        (detent.date() + " " + WITHOUT_AB, "2024-01-01 ab", 12),
        (TWO - detent.literal("ab"), "ab", 1),
    ],
)
def test_examples_are_texts_of_the_language(language: detent.Language, text: str, position: int) -> None:
    mismatch = language.why(text)
    assert mismatch is not None
    assert mismatch.position == position
    assert mismatch.example is not None
    assert language.accepts(mismatch.example)


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        (detent.special_token("<x>") + detent.regex("a*"), "b", "'a' or the end"),
        (detent.literal("x") + detent.regex("a{1,2}"), "xab", "'a' or the end"),
        (detent.literal("x") + detent.regex("a{1,2}"), "xaab", "the end"),
    ],
)
def test_the_last_part_may_go_on(language: detent.Language, text: str, expected: str) -> None:
    mismatch = language.why(text)
    assert mismatch is not None and mismatch.expected == expected


PARTS = ["(ab)*", "a|ab", "b*", "[ab]c?", "", "c{1,2}", "(a|b)*c", "(aab)?", "a(b(a|c))*", "[^a]"]


def parts_that_go_on(parts: list[detent.Language], text: str) -> set[int]:
    """Return the parts that a beginning of a text may be in; every split of the text is tried."""
    found: set[int] = set()
    splits = {0}
    for index, part in enumerate(parts):
        for start in splits:
            state = part._dfa().after(text[start:].encode())
            if state and part._dfa().expected(state):
                found.add(index)
        splits = {end for start in splits for end in range(start, len(text) + 1) if part.accepts(text[start:end])}
    return found


@pytest.mark.parametrize("seed", [*range(8), *(pytest.param(seed, marks=pytest.mark.long) for seed in range(8, 60))])
def test_a_concatenation_says_what_one_pattern_says(seed: int) -> None:
    rng = Random(seed)
    named = 0
    for _ in range(10):
        patterns = rng.choices(PARTS, k=rng.randrange(2, 5))
        parts = [detent.regex(pattern) for pattern in patterns]
        language, one = reduce(add, parts), detent.regex("".join(f"({pattern})" for pattern in patterns))
        for letters in (letters for length in range(5) for letters in product("abc", repeat=length)):
            text = "".join(letters)
            mismatch, plain = language.why(text), one.why(text)
            assert (mismatch is None) == (plain is None)
            if mismatch is None or plain is None:
                continue
            found = (mismatch.position, mismatch.expected, mismatch.example)
            assert found == (plain.position, plain.expected, plain.example)
            open_parts = parts_that_go_on(parts, text[: mismatch.position])
            named += len(open_parts) == 1
            if len(open_parts) == 1:
                assert (mismatch.part or "").startswith(f"part {min(open_parts) + 1} of {len(parts)}")
            else:
                assert mismatch.part is None
    assert named > 100


def draw_language(rng: Random, depth: int) -> detent.Language:
    if depth == 0:
        return detent.regex(rng.choice(PARTS))
    left, right = draw_language(rng, depth - 1), draw_language(rng, rng.randrange(depth))
    return rng.choice([left + right, left + right, left & right, left - right, left | right])


@pytest.mark.parametrize("seed", [*range(8), *(pytest.param(seed, marks=pytest.mark.long) for seed in range(8, 60))])
def test_a_text_is_followed_as_far_as_it_goes(seed: int) -> None:
    rng = Random(seed)
    asked = 0
    while asked < 400:
        language = draw_language(rng, rng.randrange(1, 4))
        if language.is_empty():
            continue
        for _ in range(20):
            text = "".join(rng.choices("abc", k=rng.randrange(8)))
            mismatch = language.why(text)
            if mismatch is None:
                continue
            asked += 1
            dfa = language._dfa()
            position, _ = dfa.longest_prefix(text.encode())
            assert mismatch.position == position
            assert mismatch.expected == expected_after(dfa, text[:position].encode())
            assert language.accepts(mismatch.example or "") and (mismatch.example or "").startswith(text[:position])


def test_an_empty_language_says_so() -> None:
    assert "the rule has no text" in str((TWO & "abc").why("x"))


def test_a_seed_or_a_source_of_chance_draws_a_text() -> None:
    assert TWO.sample(3) == TWO.sample(seed=3)
    assert TWO.accepts(TWO.sample(Random(3)))
    with pytest.raises(detent.ArgumentError, match=r"seed must be an int or a random\.Random, got '3'"):
        TWO.sample("3")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("language", "text", "hint"),
    [
        (detent.datetime(), "2024-01-01T10:00:00", "datetime(offset=False) has this text"),
        (detent.time(), "10:00:00Z", "time(offset=True) has this text"),
        (detent.choice("yes", "no"), "Yes", "choice(..., ignore_case=True) has this text"),
        (detent.choice("yes", "Yes"), "YES", None),
        (detent.choice("yes", "no"), "perhaps", None),
        (detent.join(", ", detent.integer()), "1, 2", "join(..., minimum=0) has this text"),
        (detent.join(", ", detent.integer()), "x", None),
        (
            detent.grammar(GREEDY),
            "ab",
            'grammar(..., lexer="dynamic_complete") has this text',
        ),
        (detent.grammar(GREEDY), "c", None),
        (
            detent.grammar(GREEDY, lexer="dynamic"),
            "ab",
            'grammar(..., lexer="dynamic_complete") has this text',
        ),
        (detent.gbnf('root ::= "a"'), "b", None),
    ],
)
def test_a_language_that_was_meant_is_named(language: detent.Language, text: str, hint: str | None) -> None:
    for each in (language, pickle.loads(pickle.dumps(language))):
        mismatch = each.why(text)
        assert mismatch is not None
        assert mismatch.hint is None if hint is None else str(mismatch).endswith(hint)


@pytest.mark.parametrize(
    ("bound", "advice"),
    [
        ("2022-01-31", r"write datetime\.date\(2022, 1, 31\)"),
        ("%d.%m.%Y", r"write date\(format='%d.%m.%Y'\)"),
        (datetime(2022, 1, 1), r"write its \.date\(\)"),
        (5, r"write datetime\.date"),
    ],
)
def test_wrong_bounds_of_dates_are_advised(bound: Any, advice: str) -> None:
    with pytest.raises(detent.ArgumentError, match=advice):
        detent.date(bound)


ESCAPED = r'["li\u0073ten"]'
STRINGS = detent.json_schema(list[str], spelling="any")
CODES = {
    "type": "object",
    "properties": {"n": {"type": "number", "exclusiveMinimum": 0, "multipleOf": 0.5}},
    "patternProperties": {"^[A-Z]{2}$": {}},
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("language", "text", "said"),
    [
        (detent.text() & detent.without("damn", "heck"), "Oh heck!", "is expected, by the excluded word 'heck';"),
        (STRINGS & detent.without("listen"), ESCAPED, "is expected, by the excluded word 'listen';"),
        (STRINGS - detent.containing("listen"), ESCAPED, "with 'listen' is expected, by the excluded word"),
        (detent.json_schema(CODES), '{"n": 0}', "'.' of the value at /n is expected, by /properties/n/exclusive"),
        (detent.json_schema(CODES), '{"ABC": 0}', "'\"' of a name is expected, by /additionalProperties false;"),
        (detent.json_schema(CODES), '{"AB": 0, "n": 1}', "of a name is expected, by the order of properties"),
    ],
)
def test_what_refuses_the_bytes_is_named(language: detent.Language, text: str, said: str) -> None:
    mismatch = language.why(text)
    assert mismatch is not None and said in str(mismatch)


def test_a_message_about_a_long_text_shows_the_place_whole() -> None:
    """In 80 columns, with the keyword, and the example from there on; errors of `parse` are not clipped."""
    members = {f"a_member_with_a_long_name_{number}": {"type": "string", "maxLength": 3} for number in range(9)}
    language = detent.json_schema({"type": "object", "properties": members})
    text = "{" + ", ".join(f'"{name}": "abc"' for name in members).replace('_7": "abc', '_7": "abcd') + "}"
    with pytest.raises(detent.ArgumentError) as caught:
        language.parse(text)
    said, line, caret = str(caught.value).split("\n")
    assert said.endswith(
        "where '\"' of the value at /a_member_with_a_long_name_7 is expected, "
        'by /properties/a_member_with_a_long_name_7/maxLength 3; for example \'…a_long_name_7": "abc"}\''
    )
    assert len(line) <= 80 and line[len(caret) - 1] == "d"


def test_an_example_has_readable_characters_where_they_are_as_good() -> None:
    line = detent.choice("INFO", "WARN") + ": " + detent.text(1, 80)
    mismatch = line.why("INFX")
    assert mismatch is not None and mismatch.example == "INFO: a"
    control = detent.regex("x[\x00-\x1f]").why("y")
    assert control is not None and control.example == "x\x00"


def test_the_order_of_members_refuses_together_with_keywords() -> None:
    names = {"properties": {"a": {}, "b": {}}, "type": "object", "additionalProperties": False}
    surplus = detent.json_schema(names).why('{"b": 1, "c": 2}')
    assert surplus is not None
    assert [str(each) for each in surplus.reasons] == ["the order of properties", "/additionalProperties false"]
    missing = detent.json_schema({**names, "required": ["a"]}).why('{"b": 1}')
    assert missing is not None
    assert [str(each) for each in missing.reasons] == ["the order of properties", '/required/0 "a"']

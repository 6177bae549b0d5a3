"""Completions of byte automata: the steps of a completion end, each one nearer to it, whatever the language."""

from __future__ import annotations

import re
from itertools import islice, product
from pathlib import Path
from random import Random
from typing import Any

import pytest

import detent
from detent import _core
from tests.support.long_tests import mostly_long
from tests.support.toy_languages import random_pattern
from tests.support.toy_tokenizers import of_bytes, opened

LIMITS = {"states": 250_000, "memory_bytes": 256 << 20, "steps": 20_000_000}


def automaton(language: detent.Language) -> _core.Automaton:
    return _core.Automaton(language._node, **LIMITS)


def check_steps(dfa: _core.Automaton, state: int) -> bytes:
    """Follow the steps of a completion: the length falls by one with each. Return the text."""
    text = bytearray()
    left = None
    while step := dfa.completion_step(state):
        byte, after, length = step
        assert left is None or length == left - 1
        assert after == dfa.advance(state, bytes([byte]))
        left = length
        text.append(byte)
        state = after
    assert dfa.accepting(state)
    assert left is None or left == 1
    return bytes(text)


def states_of(dfa: _core.Automaton, most: int) -> list[int]:
    """Return the first states, breadth first."""
    found = {dfa.start: None}
    pending = [dfa.start]
    for state in pending:
        for after in dfa.row(state):
            if after and after not in found and len(found) < most:
                found[after] = None
                pending.append(after)
    return [state for state in found if state]


def random_language(rng: Random, letters: str) -> detent.Language:
    """Draw a combination of patterns with the operators whose completions take a search."""
    anywhere = f"[{letters}]*"
    patterns = []
    for _ in range(rng.randint(1, 4)):
        inner = random_pattern(rng, letters)
        patterns.append(rng.choice([inner, f"{anywhere}(?:{inner}){anywhere}", f"{anywhere}(?:{inner})"]))
    language = detent.regex(patterns[0])
    for pattern in patterns[1:]:
        other = detent.regex(pattern)
        kind = rng.random()
        language = language & other if kind < 0.45 else language | other if kind < 0.7 else language - other
    if rng.random() < 0.3:
        language = detent.regex(f"(?:{random_pattern(rng, letters)})?") + language.repeat(1, rng.choice([2, None]))
    if rng.random() < 0.3:
        language = language & detent.regex(f"[{letters}]{{{rng.randint(0, 4)},{rng.randint(4, 12)}}}")
    return language


@pytest.mark.parametrize("seed", mostly_long(range(12), always=3))
def test_each_step_of_a_completion_is_nearer_to_its_end(seed: int) -> None:
    rng = Random(seed)
    for _ in range(60):
        letters = rng.choice(["ab", "abc", "abcd"])
        language = random_language(rng, letters)
        dfa = automaton(language)
        texts = {"".join(word) for length in range(7) for word in product(letters, repeat=length)}
        assert dfa.start or not any(map(language.accepts, texts))
        states = states_of(dfa, 150) if dfa.start else []
        rng.shuffle(states)  # what is known of a state depends on those that were asked before
        for state in states:
            completion = check_steps(dfa, state)
            assert dfa.accepting(state) == (dfa.completion_bound(state) == 0)
            assert dfa.accepting(dfa.advance(state, completion))
            assert dfa.accepting(dfa.advance(state, dfa.some_completion(state)))


MANY = [
    "|".join(f"[^{letter}]*{letter}.{{{count}}}" for letter, count in zip("etaoin", range(7, 13), strict=True)),
    ".*a.{30}",
]


@pytest.mark.parametrize("pattern", [f"(?:{MANY[0]})*!", MANY[1], f"(?={MANY[1]})(?={MANY[0]})[a-z]{{1,90}}"])
def test_completions_of_languages_with_very_many_states(pattern: str) -> None:
    dfa = automaton(detent.regex(pattern))
    state = dfa.start
    matches = re.compile(pattern).fullmatch
    rng = Random(1)
    text = ""
    for _ in range(40):
        completion = check_steps(dfa, state)
        assert matches(text + completion.decode())
        for letter in rng.sample("etaoinsrhl", 10):
            if after := dfa.advance(state, letter.encode()):
                state, text = after, text + letter
                break


def test_completions_of_lists_and_strings() -> None:
    schemas = [
        {"type": "array", "items": {"enum": ["a", "b", 1, [2]]}, "uniqueItems": True, "minItems": 3},
        {"type": "string", "pattern": "a.{9}b", "not": {"pattern": "^[^c]*c.{5}$"}, "maxLength": 40},
        {"type": "array", "items": {"type": "string", "pattern": "^[ab]*a.{3}$"}, "uniqueItems": True, "minItems": 2},
    ]
    for schema in schemas:
        dfa = automaton(detent.json_schema(schema))
        for state in islice(states_of(dfa, 80), 80):
            assert dfa.accepting(dfa.advance(state, dfa.some_completion(state)))


@pytest.mark.parametrize("seed", mostly_long(range(8), always=3))
def test_a_completion_fits_the_budget_and_is_allowed(seed: int) -> None:
    rng = Random(seed)
    tokens = [b"a", b"b", b"c", b"d", b"ab", b"ba", b"abc", b"cdd", b"aab", b"bbbb", b"</s>"]
    vocabulary = detent.Vocabulary(tokens, eos_token_ids=[len(tokens) - 1])
    for _ in range(40):
        language = random_language(rng, "abcd")
        try:
            guide = detent.compile(language, vocabulary)
        except detent.EmptyLanguageError:
            continue
        least = language.min_tokens(vocabulary)
        for extra in (0, 1, 3):
            matcher = guide.matcher(least + extra)
            for left in range(least + extra, -1, -1):
                completion = matcher.completion()
                assert len(completion) <= left
                if matcher.is_finished or (matcher.is_accepting and not completion):
                    break
                allowed = [int(token) for token in matcher.allowed()]
                assert completion[0] in allowed
                matcher.advance(completion[0] if rng.random() < 0.4 else rng.choice(allowed))


@pytest.mark.parametrize("canonical", [False, True])
def test_following_completions_token_by_token_ends(canonical: bool, tmp_path: Path) -> None:
    for seed in range(20):
        rng = Random(seed)
        vocabulary, _ = opened(of_bytes(rng, "ab "), tmp_path / "tokenizer.json")
        guide = detent.compile(detent.regex("[ab ]*a[ab ]{5}(?:b|a b)*"), vocabulary, canonical=canonical)
        matcher = guide.matcher()
        for _ in range(rng.randint(0, 6)):
            if matcher.is_finished:
                break
            matcher.advance(int(rng.choice(list(matcher.allowed()))))
        length = None
        while not matcher.is_finished and (completion := matcher.completion()):
            assert length is None or len(completion) < length
            length = len(completion)
            matcher.advance(completion[0])


_SPELLED = [
    ("^[a-z]{4}$", True),
    ("^\\u00e9{2}\\ud83d\\ude00$", True),
    ("^(ab|c){2}$", True),
    ("^[^a]{3}$", True),
    ('^["\\\\]{2}$', False),
    ('^(a"|b){1,3}$', False),
    ('^a"b$', False),
    ("^\\n?x{3}\\t$", False),
    ("^(\\u00e9|\\n){2}$", False),
]


@pytest.mark.parametrize("spelling", ["any", "written"])
@pytest.mark.parametrize("unwanted", [None, "^ab|^xx", "^.{1,2}$"])
@pytest.mark.parametrize(("pattern", "is_plain"), _SPELLED)
def test_bounds_inside_json_strings(pattern: str, is_plain: bool, unwanted: str | None, spelling: Any) -> None:
    """A character that needs no escape counts as its own bytes, also where escapes may be written."""
    schema = {"type": "string", "pattern": pattern} | ({"not": {"pattern": unwanted}} if unwanted else {})
    dfa = automaton(detent.json_schema(schema, spelling=spelling))
    for state in states_of(dfa, 400):
        shortest = dfa.shortest_completion(state)
        assert len(shortest) <= dfa.completion_bound(state), dfa.state_text(state)
    if is_plain and not unwanted:
        assert dfa.completion_bound(dfa.start) == len(dfa.shortest_completion(dfa.start))


def test_a_known_path_of_one_alternative_serves_the_union():
    """The nearest alternative after "1" is the state after "0", whose path is known; the union has other states."""
    dfa = automaton(detent.regex("0abcd|1(?:abcd|ab[x-z]{9})"))
    assert check_steps(dfa, dfa.advance(dfa.start, b"0")) == b"abcd"
    assert check_steps(dfa, dfa.advance(dfa.start, b"1")) == b"abcd"


@pytest.mark.parametrize("canonical", [False, True])
def test_each_token_of_a_completion_may_follow_within_a_budget(canonical: bool) -> None:
    """The states along a completion may know others, which are too long."""
    vocabulary = detent.load_model().vocabulary
    schema = {
        "type": "object",
        "properties": {
            "a": {"type": "array", "items": {"type": "boolean"}, "maxItems": 3},
            "é": {"type": "object", "properties": {"b": {"enum": ["a", "b", "ab"]}}},
        },
        "required": ["a", "é"],
        "additionalProperties": False,
    }
    guide = detent.compile(detent.json_schema(schema), vocabulary, canonical=canonical)
    shortest, rng = len(guide.matcher().completion()), Random(0)
    for _ in range(60):
        budget = shortest + rng.randrange(7)
        matcher = guide.matcher(budget)
        while not matcher.is_accepting:
            completion = matcher.completion()
            assert len(matcher) + len(completion) <= budget
            assert matcher.validate(completion) == len(completion)
            matcher.advance(int(rng.choice(matcher.allowed().tolist())))


@pytest.mark.parametrize("pattern", [".*é", "[ß-ü]{12}", ".*é.{9}b"])
def test_each_token_of_a_mask_may_be_taken_within_a_canonical_budget(pattern: str) -> None:
    """What is known of the length of a completion counts the rest of it, too."""
    vocabulary = detent.load_model().vocabulary
    guide = detent.compile(detent.regex(pattern), vocabulary, canonical=True)
    odd = {token for token in range(len(vocabulary)) if vocabulary.token_bytes(token)[-1:] >= b"\x80"}
    for budget, seed in product((6, 9, 12), range(6)):
        matcher, rng = guide.matcher(budget), Random(seed)
        while not matcher.is_finished:
            allowed = matcher.allowed().tolist()
            matcher.advance(rng.choice([token for token in allowed if token in odd] or allowed))

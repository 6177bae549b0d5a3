"""Grammars that split a text in very many ways: few states, and the same language."""

from __future__ import annotations

from itertools import product
from random import Random

import pytest

import detent
from detent import _core
from tests.support.long_tests import mostly_long


def guide_of(rule: detent.Language) -> detent.Guide:
    tokens = [b"a", b"b", b"aa", b"ab", b"aaaaaaaa", b""]
    return detent.compile(rule, detent.Vocabulary(tokens, eos_token_ids=[5]))


@pytest.mark.parametrize(
    "grammar", ['start: start start | "a"', 'start: s s s | s\ns: s s | "a" | "a" s', 'start: l l\nl: | "a" l | "aa" l']
)
def test_a_text_of_many_derivations_takes_few_states(grammar: str) -> None:
    guide = guide_of(detent.grammar(grammar))
    matcher = guide.matcher()
    for _ in range(100):
        matcher.advance(4)
        assert {0, 2, 4} <= set(map(int, matcher.allowed()))
    assert guide.state_count < 300


def random_rounds(rng: Random) -> list[str]:
    return sorted({"".join(rng.choices("ab", k=rng.randint(1, 3))) for _ in range(rng.randint(1, 3))})


@pytest.mark.parametrize("seed", range(30))
def test_a_right_recursive_loop_is_a_repeat(seed: int) -> None:
    rng = Random(seed)
    rounds, others = random_rounds(rng), random_rounds(rng)
    loop = detent.gbnf("root ::= " + " | ".join([f'"{text}" root' for text in rounds]) + ' | ""')
    assert loop == detent.choice(*rounds).repeat(0, None)
    two = detent.gbnf(
        'root ::= r s r\nr ::= "" | s r\ns ::= ' + " | ".join(f'"{text}"' for text in rounds) + ' | "(" t ")"\n'
        't ::= "" | ' + " | ".join(f'"{text}" t' for text in others)
    )
    item = detent.choice(*rounds) | detent.literal("(") + detent.choice(*others).repeat(0, None) + detent.literal(")")
    assert two == item.repeat(1, None)


def test_a_loop_inside_its_own_rounds() -> None:
    rule = detent.gbnf('root ::= "" | "(" root ")" root')
    for text, expected in (("", True), ("()", True), ("(())()", True), ("(()", False), (")(", False), ("()()()", True)):
        assert rule.accepts(text) == expected


AMBIGUOUS = [
    "root ::= r0 r1 r2 r3 r4\n"
    + "\n".join(f'r{i} ::= [a-d] r{i + 1} [b-e] | r{i + 2} | ""' for i in range(6))
    + '\nr6 ::= [a-e]\nr7 ::= [ab] r7 [cd] | ""',
    'root ::= e0 e1 e2 e3 root "a" | "b"\n'
    + "\n".join(f'e{i} ::= "{c}" | "{c}" e{i} | ""' for i, c in enumerate("abcd")),
    'root ::= [a-e]* root? [a-e]* "a" [a-e]{4}',
    'root ::= root root | "a" root "b" | [c-e]+ | "ab"',
]


@pytest.mark.parametrize("seed", mostly_long(range(4), always=1))
@pytest.mark.parametrize("grammar", AMBIGUOUS)
def test_masks_by_sequences_are_those_of_the_automaton(grammar: str, seed: int) -> None:
    """A guide that has done much work walks sequences; a state that was just reached is followed byte by byte."""
    texts = [bytes(letters) for length in range(1, 6) for letters in product(b"abcde", repeat=length)]
    vocabulary = detent.Vocabulary([*texts, b""], eos_token_ids=[len(texts)])
    language = detent.gbnf(grammar)
    rng = Random(seed)
    matcher = detent.compile(language, vocabulary).matcher()
    dfa = _core.Automaton(language._node, states=250_000, memory_bytes=256 << 20, steps=20_000_000)
    state = dfa.start
    for _ in range(8):
        allowed = set(map(int, matcher.allowed()))
        expected = {token for token, text in enumerate(texts) if dfa.advance(state, text)}
        assert allowed - {len(texts)} == expected
        if not expected:
            break
        token = rng.choice([token for token in sorted(expected) if len(texts[token]) < 4])
        matcher.advance(token)
        state = dfa.advance(state, texts[token])


def levels(count: int) -> str:
    """Return a grammar of levels that each begin with one of three rules of the next level."""
    rules = ['root ::= "(" x0y0']
    for level in range(count):
        for kind in range(3):
            rows = [f'x{level + 1}y{other} "{"abc"[(kind + other) % 3]}"?' for other in range(3)]
            rules.append(f"x{level}y{kind} ::= {' | '.join(rows)}")
    return "\n".join([*rules, *(f'x{count}y{kind} ::= "{kind}"' for kind in range(3))])


def texts_of_levels(count: int) -> set[str]:
    """Return the texts of `levels`, by trying every choice."""
    texts = {kind: {str(kind)} for kind in range(3)}
    for _ in range(count):
        texts = {
            kind: {text + end for other in range(3) for text in texts[other] for end in ("", "abc"[(kind + other) % 3])}
            for kind in range(3)
        }
    return {"(" + text for text in texts[0]}


def test_rules_that_begin_in_many_ways_are_expanded_once() -> None:
    automaton = _core.Automaton(detent.gbnf(levels(24))._node, 250_000, 1 << 28, 200_000)
    state = automaton.advance(automaton.start, b"(")
    automaton.row(state)
    assert automaton.work < 50_000


@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_rules_that_begin_in_many_ways_keep_their_texts(count: int) -> None:
    language = detent.gbnf(levels(count))
    expected = texts_of_levels(count)
    texts = [
        "(" + kind + "".join(rest) for kind in "012" for n in range(count + 1) for rest in product("abc", repeat=n)
    ]
    assert {text for text in texts if language.accepts(text)} == expected

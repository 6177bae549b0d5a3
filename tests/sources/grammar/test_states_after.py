"""The states of a terminal's automaton after its texts without some: found in one automaton, and in the product."""

from __future__ import annotations

import random

import pytest

import detent
from detent.queries import ByteDfa
from detent.sources.grammar.extensions import states_after, states_besides

PATTERNS = ["[a-c]+", "[a-c]*b", "a(b|c)*|ca?", "(ab|ba)+c?", "a{1,3}|b+", "(a|b)(c|a(b|c))*", "abc|ab|a", "[a-c]{2,4}"]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_states_besides_some_texts(pattern: str) -> None:
    rng = random.Random(pattern)
    language = detent.regex(pattern)
    within = ByteDfa(language._node)
    for _ in range(60):
        excluded = ["".join(rng.choices("abc", k=rng.randint(1, 4))) for _ in range(rng.randint(0, 5))]
        rest = language - detent.choice(*excluded) if excluded else language
        expected = states_after(ByteDfa(rest._node), within)
        assert states_besides(within, [text.encode() for text in excluded]) == expected, excluded

"""A set of languages answers as an automaton of each language alone."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

import detent
from detent import _core
from detent.queries import ByteDfa
from detent.sources.grammar.language_set import LanguageSet

PATTERNS = ["[a-c]+", r"\w*", "a(b|c)*|ca?", "[b-z]é?", "(ab|ba)+c?", "a{1,3}|b+", r"\d+", "[^a]", "x|yz", r"\s"]
NODES = [detent.regex(pattern)._node for pattern in PATTERNS]
WAYS = [
    _core.union,
    _core.concat,
    _core.intersection,
    lambda nodes: _core.intersection([nodes[0], _core.complement(nodes[-1])]),
]


@given(st.data())
def test_questions_to_one_set(data: st.DataObject) -> None:
    """With the nodes of a few patterns at the start, so that other patterns begin new sets."""
    languages = LanguageSet(NODES[: data.draw(st.integers(0, 4))])
    for _ in range(6):
        nodes = data.draw(st.lists(st.sampled_from(NODES), min_size=1, max_size=3))
        node = data.draw(st.sampled_from(WAYS))(nodes)
        alone, shared = ByteDfa(node), languages.dfa(node)
        assert languages.is_empty(node) == alone.is_empty()
        assert (
            languages.is_within(node, nodes[0])
            == ByteDfa(_core.intersection([node, _core.complement(nodes[0])])).is_empty()
        )
        assert shared.first_bytes() == alone.first_bytes()
        assert shared.shortest() == alone.shortest()
        text = "".join(random.Random(len(nodes)).choices("abcxyz1 é", k=4)).encode()
        assert [shared.accepts(text[:length]) for length in range(6)] == [
            alone.accepts(text[:length]) for length in range(6)
        ]


def test_states_after_texts() -> None:
    languages = LanguageSet(NODES)
    for node in NODES:
        dfa = languages.dfa(node)
        reached = {dfa.start}
        waiting = [*reached]
        for state in waiting:
            new = set(dfa.row(state)) - reached - {0}
            reached |= new
            waiting += new
        assert set(dfa.reachable([dfa.start], len(reached)) or ()) == reached
        assert dfa.reachable([dfa.start], len(reached) - 1) is None
        for states in [[dfa.start], [*reached], []]:
            ends, goes_on = dfa.bytes_after(states)
            for byte in range(256):
                targets = [dfa.step(state, byte) for state in states]
                assert (byte in ends) == bool(targets and all(map(dfa.is_accepting, targets)))
                assert (byte in goes_on) == (byte not in ends and any(targets))


def test_a_state_has_the_language_of_another_automaton() -> None:
    word = LanguageSet(NODES).dfa(detent.regex(r"[a-z]\w*")._node)
    around = LanguageSet().dfa(detent.regex(r"\w*")._node)  # of another set
    assert word.has_language_of(word.after(b"a"), around)
    assert not word.has_language_of(word.start, around)
    assert not word.has_language_of(word.after("é".encode()[:1]), around)

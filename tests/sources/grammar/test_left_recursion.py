"""Left recursion removed: the same texts, and no rule that reaches itself by its left edge."""

from __future__ import annotations

from functools import cache
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from detent import LimitError, _core
from detent.queries import ByteDfa
from detent.sources.grammar.left_recursion import left_edges, without_left_recursion
from detent.sources.grammar.productions import Grammar, RepeatedRule, Terminal
from detent.sources.grammar.strongly_connected import strongly_connected_components
from tests.support.derivation import derived

LENGTH = 5
A = Terminal(_core.literal(b"a"), False)
B = Terminal(_core.literal(b"b"), False)
MAYBE_A = Terminal(_core.repeat(_core.literal(b"a"), 0, 1), True)


WORDS = ["".join(letters) for length in range(LENGTH + 1) for letters in product("ab", repeat=length)]


@cache
def texts_of_node(node):
    dfa = ByteDfa(node)
    return {text for text in WORDS if dfa.accepts(text.encode())}


def texts_of(terminal):
    return texts_of_node(terminal.node)


def meaning(grammar):
    """The texts of the start, up to a length."""
    rules = {str(rule): [] for rule in range(len(grammar.rules))}
    for rule, rows in enumerate(grammar.rules):
        for row in rows:
            names = []
            for symbol in row:
                if isinstance(symbol, int):
                    names.append(str(symbol))
                elif isinstance(symbol, RepeatedRule):
                    name = f"repeated {symbol}"
                    most = LENGTH + 1 if symbol.maximum is None else min(symbol.maximum, LENGTH + 1)
                    least = min(symbol.minimum, most)
                    rules[name] = [[str(symbol.rule)] * count for count in range(least, most + 1)]
                    names.append(name)
                else:
                    name = f"terminal {sorted(texts_of(symbol))}"
                    rules[name] = [[text] for text in sorted(texts_of(symbol))]
                    names.append(name)
            rules[str(rule)].append(names)
    return derived(rules, LENGTH)[str(grammar.start)]


def has_left_recursion(grammar):
    edges = left_edges(grammar)
    return any(len(members) > 1 or members[0] in edges[members[0]] for members in strongly_connected_components(edges))


def check(rows_of_rules):
    grammar = Grammar()
    for rows in rows_of_rules:
        grammar.add(rows)
    before = meaning(grammar)
    after = without_left_recursion(grammar.pruned())
    assert not has_left_recursion(after)
    assert meaning(after) == before


SYMBOLS = st.one_of(
    st.integers(0, 3),
    st.sampled_from([A, B, MAYBE_A]),
    st.builds(
        lambda rule, least, more: RepeatedRule(rule, least, None if more is None else max(1, least + more)),
        st.integers(0, 3),
        st.integers(0, 2),
        st.none() | st.integers(0, 2),
    ),
)
GRAMMARS = st.lists(st.lists(st.lists(SYMBOLS, max_size=3).map(tuple), max_size=3), min_size=4, max_size=4)


@settings(max_examples=300)
@given(GRAMMARS)
def test_random_grammars(rules):
    check(rules)


@pytest.mark.parametrize(
    "rules",
    [
        pytest.param([[(0, A), (B,)]], id="direct"),
        pytest.param([[(1, A), (B,)], [(0, B), (A,)]], id="indirect"),
        pytest.param([[(1, 0, A), (B,)], [(), (A,)]], id="hidden by a rule"),
        pytest.param([[(MAYBE_A, 0, B), (A,)]], id="hidden by a terminal"),
        pytest.param([[(0, 0), (A,), ()]], id="ambiguous and empty"),
        pytest.param([[(1,), (A,)], [(0,), (B,)]], id="unit cycle"),
        pytest.param([[(RepeatedRule(0, 0, None), B), (A,)]], id="through a repeat"),
        pytest.param([[(RepeatedRule(0, 2, 3),), (A,), ()]], id="a counted repeat of itself"),
        pytest.param([[(0,)]], id="no text"),
        pytest.param([[(1, 0), (1,)], [(0, A), ()]], id="two at once"),
        pytest.param([[(0, 1), (A,)], [(), (B,)]], id="what follows may be empty"),
    ],
)
def test_kinds(rules):
    check(rules)


def test_a_limit():
    grammar = Grammar(limit=3000)
    for rule in range(40):
        grammar.add([(other, A) for other in range(0, 40, 3)] + [(B,), ((rule + 1) % 40,)])
    with pytest.raises(LimitError, match="3000 symbols"):
        without_left_recursion(grammar)

"""Common parts of productions taken out: the same texts, and few productions of a rule that begin alike."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings

import detent
from detent.queries import ByteDfa
from detent.sources.grammar.factoring import factored
from detent.sources.grammar.productions import Grammar
from tests.sources.grammar.test_left_recursion import GRAMMARS, MAYBE_A, A, B, meaning


def check(rows_of_rules):
    grammar = Grammar()
    for rows in rows_of_rules:
        grammar.add(rows)
    after = factored(grammar)
    assert meaning(after) == meaning(grammar)
    return after


@settings(max_examples=500)
@given(GRAMMARS)
def test_random_grammars(rules):
    check(rules)


@pytest.mark.parametrize(
    "rules",
    [
        pytest.param([[(0, A), (B,)]], id="left"),
        pytest.param([[(0, B, 0), (A,)]], id="both sides"),
        pytest.param([[(0, B, 0), (0, A), (B, 0), (A,)]], id="all sides"),
        pytest.param([[(0, 0), (A,), ()]], id="nothing between"),
        pytest.param([[(0, A, 0, B, 0), (A,), (B, MAYBE_A)]], id="in the middle"),
        pytest.param([[(0, 0, 0), (0,), (A,)]], id="itself"),
        pytest.param([[(1, A), (1, B), (1, A, A), (1,)], [(A,), (B,), (A, B)]], id="beginnings"),
        pytest.param([[(A, 1), (B, 1), (A, A, 1), (1,)], [(A,), (B, B)]], id="ends"),
        pytest.param([[(1, 0, 1), (1, 0), (1, 1), (A, 0, 1)], [(A,), (B,)]], id="beginnings and ends"),
        pytest.param([[(0, A)]], id="no text"),
    ],
)
def test_small_grammars(rules):
    for rows in check(rules).rules:
        assert len({row[:1] for row in rows}) == len(rows)


def test_shorthands_that_were_written_out():
    # A rule of (A | B)+ that is there or not, between A and B, as Lark's parser has it.
    after = check([[(A, B), (A, 1, B)], [(A,), (B,), (1, A), (1, B)]])
    ((begin, helper, end),) = after.rules[0]
    assert (begin, end) == (A, B)
    assert (helper.minimum, helper.maximum) == (0, None)


def test_long_productions_and_many():
    rows = [(A,) * count for count in range(1, 2000)]
    after = factored(Grammar([rows], limit=10**7))
    assert len(after.rules) < 4001


def test_states_do_not_grow_with_the_nesting_of_options():
    text = """
        start: sum
        ?sum: product (("+" | "-") product)*
        ?product: power (("*" | "/") power)*
        ?power: atom ("^" power)?
        ?atom: NAME | NAME "(" (sum ("," sum)*)? ")" | "(" sum ")"
        NAME: /[a-z]+/
        %ignore " "
    """
    dfa = ByteDfa(detent.grammar(text, lexer="contextual")._node)
    lengths = [len(dfa.state_text(b"(" * depth + b"a", 10**6)) for depth in (2, 12)]
    assert lengths[1] < 8 * lengths[0]


def test_states_do_not_depend_on_what_was_visited_before():
    rules = [f'r{i} ::= [ab] r{(i + 1) % 6} [bc] | r{i + 2} | ""' for i in range(4)]
    rules += [f'r{i} ::= [ab] r{(i + 1) % 6} [bc] | ""' for i in (4, 5)]
    language = detent.gbnf("\n".join(['root ::= "(" r0 ")" | "-" r0', *rules]))
    visited, fresh = ByteDfa(language._node), ByteDfa(language._node)
    for letters in product("abc", repeat=4):
        visited.state_text(b"-" + "".join(letters).encode())
    for text in (b"(bbb", b"(bbbbb", b"(bbbbbbbb", b"(abababababab"):
        # Operands are in the order in which they were made, so that only their letters are compared.
        assert sorted(visited.state_text(text, 10**6)) == sorted(fresh.state_text(text, 10**6))

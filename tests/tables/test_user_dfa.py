"""A user's own automata: read in every form, checked, minimised, drawn, and held to as they are written."""

from __future__ import annotations

import itertools
import random
from typing import Any

import numpy as np
import pytest

import detent
from tests.support.hostile_corpus import expand, hostile_cases
from tests.support.shared_data import needs_shared

# The automaton of the blog post that asked for these: the numbers 1, 2, 3 in this order, again and again.
ONE_TWO_THREE = [(1, 1, 2), (2, 2, 3), (3, 3, 1)]
DIGITS = detent.Vocabulary([b"0", b"1", b"2", b"3", b"4", b"<tool>", b""], eos_token_ids=[6], special_token_ids=[5])


def allowed_along(matcher: Any, tokens: list[int]) -> list[list[int]]:
    masks = [matcher.allowed().tolist()]
    for token in tokens:
        matcher.advance(token)
        masks.append(matcher.allowed().tolist())
    return masks


def test_one_two_three() -> None:
    table = detent.compile(detent.token_table(ONE_TWO_THREE, initial=1, accepting=[1]), DIGITS)
    assert isinstance(table, detent.TokenDfa)
    assert allowed_along(table.matcher(), [1, 2, 3, 1]) == [[1, 6], [2], [3], [1, 6], [2]]
    assert allowed_along(table.matcher(max_tokens=3), [1, 2, 3, 6]) == [[1, 6], [2], [3], [6], [6]]
    with pytest.raises(detent.StateError, match="token id 3 leads out"):
        table.matcher().advance(3)


def test_all_forms_are_one() -> None:
    sparse = pytest.importorskip("scipy.sparse")
    dense = np.full((3, 7), -1)
    dense[[0, 1, 2], [1, 2, 3]] = [1, 2, 0]
    forms = [
        [(0, 1, 1), (1, 2, 2), (2, 3, 0)],
        ((source, (symbol, symbol), target) for source, symbol, target in [(0, 1, 1), (1, 2, 2), (2, 3, 0)]),
        [(0, 1, 1), (1, 2, 2), (2, 3, 0)] * 2,
        dense,
        dense.astype(np.int16),
        sparse.coo_array(([1, 2, 0], ([0, 1, 2], [1, 2, 3])), shape=(3, 7)),
        sparse.csr_matrix(([1, 2, 0], ([0, 1, 2], [1, 2, 3])), shape=(3, 7)),
    ]
    for form in forms:
        automaton = detent.token_table(form, 0, [0])
        assert automaton.transitions == [(0, (1, 1), 1), (1, (2, 2), 2), (2, (3, 3), 0)]
        assert automaton.accepting == (0,)


def test_special_tokens_may_be_used() -> None:
    table = detent.token_table([("a", 5, "b"), ("b", (1, 3), "b")], "a", ["b"]).table(DIGITS)
    assert allowed_along(table.matcher(), [5, 2, 6]) == [[5], [1, 2, 3, 6], [1, 2, 3, 6], [6]]


def test_equal_states_are_merged() -> None:
    moves = [("s", 1, "a"), ("s", 2, "b"), ("a", 3, "end"), ("b", 3, "stop"), ("end", 0, "a"), ("stop", 0, "b")]
    automaton = detent.token_table(moves, "s", ["end", "stop"])
    assert automaton.names == ("s", "a", "end")
    assert automaton.transitions == [("s", (1, 2), "a"), ("a", (3, 3), "end"), ("end", (0, 0), "a")]


def test_random_automata_are_minimal_and_mean_the_same() -> None:
    rng = random.Random(2)
    texts = [list(text) for length in range(6) for text in itertools.product(range(3), repeat=length)]
    for _ in range(150):
        count = rng.randint(1, 7)
        moves = {(s, t): rng.randrange(count) for s in range(count) for t in range(3) if rng.random() < 0.7}
        accepting = {s for s in range(count) if rng.random() < 0.4}

        def accepts(text: list[int], state: int | None) -> bool:
            for token in text:
                state = moves.get((state, token)) if state is not None else None  # type: ignore[arg-type]  # noqa: B023
            return state in accepting  # noqa: B023

        given = [(source, token, target) for (source, token), target in moves.items()]
        if not any(accepts(text, 0) for text in texts):
            continue
        automaton = detent.token_table(given, 0, accepting, states=count, trim=True)
        table = automaton.table(DIGITS)
        for text in texts:
            state = table.start()
            for token in text:
                state = int(table.next[state, table.token_class[token]])
            assert (table.distance[state] == 0) == accepts(text, 0)
        # Myhill and Nerode: as many states as sets of continuations, but for the empty set.
        kinds = {frozenset(tuple(text) for text in texts if accepts(text, state)) for state in range(count)}
        reached = {0}
        while more := {moves[s, t] for s in reached for t in range(3) if (s, t) in moves} - reached:
            reached |= more
        kinds = {frozenset(tuple(text) for text in texts if accepts(text, state)) for state in reached} - {frozenset()}
        assert len(automaton.names) == len(kinds)


def test_over_text() -> None:
    quoted = detent.token_table([(0, '"', 1), (1, ("a", "é"), 1), (1, '"', 2)], 0, [2], over="characters")
    assert [quoted.language().accepts(text) for text in ('"aé"', '""', '"A"', '"a')] == [True, True, False, False]
    assert (quoted & detent.regex('"...."')).shortest() == b'"aaaa"'
    vocabulary = detent.Vocabulary([bytes([byte]) for byte in range(256)] + [b'"a', b""], eos_token_ids=[257])
    guide = detent.compile(quoted, vocabulary)
    assert isinstance(guide, detent.Guide)
    assert guide.matcher().allowed().tolist() == [34, 256]
    assert guide.to_table().matcher().allowed().tolist() == [34, 256]
    by_bytes = detent.token_table([(0, (0, 255), 1), (1, 0, 0)], 0, [1], over="bytes")
    assert [by_bytes.language().accepts(text) for text in (b"\xff", b"\xff\x00x", b"\xff\x01x")] == [True, True, False]
    json_text = detent.token_table([(0, ("0", "9"), 0), (0, ("[", "]"), 0)], 0, [0], over="characters")
    assert (json_text & detent.json_value()).shortest() == b"0"


MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({"transitions": [(1, 1, 2), (1, 1, 3)]}, "not deterministic: from state 1, symbol 1 leads to 2 and to 3"),
    ({"transitions": [(1, (0, 100), 2), (1, 5, 2), (1, 50, 1)]}, "from state 1, symbol 50 leads to 2 and to 1"),
    ({"transitions": [(1, -1, 2)]}, "transition 0: symbol -1 is not from 0"),
    ({"transitions": [(1, (3, 2), 2)]}, r"transition 0: symbol \(3, 2\) is reversed"),
    ({"transitions": [(1, "a", 2)]}, "transition 0: a symbol must be a token id, got 'a'"),
    ({"transitions": [(1, True, 2)]}, "must be a token id"),
    ({"transitions": [(1, 1, 2), (1, 2)]}, r"transition 1 must be \(state, symbol, next state\), got \(1, 2\)"),
    ({"transitions": [([], 1, 2)]}, "a state must be hashable"),
    ({"transitions": "abc"}, "got str"),
    ({"transitions": None}, "got NoneType"),
    ({"transitions": [(1, 1, 1)], "accepting": [7]}, "accepting state 7 is in no transition"),
    ({"transitions": [(1, 1, 1)], "accepting": [[]]}, "a state must be hashable"),
    ({"transitions": [(1, 1, 1)], "accepting": 1}, "accepting must be a collection"),
    ({"transitions": [(1, 1, 1)], "initial": 7}, "the initial state 7 is in no transition"),
    ({"transitions": [(1, 1, 1), (8, 1, 1)], "accepting": [1]}, "state 8 cannot be reached from the initial state 1"),
    ({"transitions": [(1, 1, 1), (1, 2, 9)], "accepting": [1]}, "state 9 is dead"),
    ({"transitions": [(1, 1, 5)], "states": 3}, "names state 5, but there are 3 states"),
    ({"transitions": [(1, 1, 1)], "over": "words"}, "over must be"),
    ({"transitions": [(1, 256, 1)], "over": "bytes"}, "symbol 256 is not from 0 to 255"),
    ({"transitions": [(1, "ab", 1)], "over": "characters"}, "one character or a pair"),
    ({"transitions": np.zeros((2, 2))}, "must be of integers"),
    ({"transitions": np.zeros((0, 2), int)}, "have no states"),
    ({"transitions": np.array([[5, -1]])}, "state 0 has next state 5 under symbol 0"),
    ({"transitions": np.array([[0, -2]])}, "state 0 has next state -2 under symbol 1"),
]


@pytest.mark.parametrize(("given", "said"), MISTAKES, ids=lambda case: case if isinstance(case, str) else "")
def test_mistakes_are_said(given: dict[str, Any], said: str) -> None:
    with pytest.raises(detent.ArgumentError, match=said):
        detent.token_table(**{"initial": 1, "accepting": [2], **given})


def test_mistakes_of_sparse_matrices() -> None:
    sparse = pytest.importorskip("scipy.sparse")
    twice = sparse.coo_array(([0, 1], ([0, 0], [3, 3])), shape=(2, 5))
    with pytest.raises(detent.ArgumentError, match="from state 0, symbol 3 leads to 0 and to 1"):
        detent.token_table(twice, 0, [1])
    with pytest.raises(detent.ArgumentError, match="state 0 has next state 4 under symbol 1"):
        detent.token_table(sparse.coo_array(([4], ([0], [1])), shape=(2, 5)), 0, [1])


def test_what_a_vocabulary_does_not_have() -> None:
    with pytest.raises(detent.ArgumentError, match=r"state 1 has a transition by token 7, but .* among its 7 ids"):
        detent.compile(detent.token_table([(1, 7, 1)], 1, [1]), DIGITS)
    with pytest.raises(detent.ArgumentError, match="by token 6, but in the vocabulary that id ends a text"):
        detent.compile(detent.token_table([(1, (2, 9), 1)], 1, [1]), DIGITS)
    with pytest.raises(detent.EmptyLanguageError, match="no accepting state can be reached from the initial state 0"):
        detent.token_table([(0, 1, 1)], 0, [])


def test_limits() -> None:
    limits = detent.Limits(states=10)
    with pytest.raises(detent.LimitError, match="above the limit of 10"):
        detent.token_table([(k, 0, k + 1) for k in range(20)], 0, [20], limits=limits)
    with pytest.raises(detent.LimitError, match="memory_bytes"):
        detent.token_table([(k, k, k + 1) for k in range(500)], 0, [500], limits=detent.Limits(memory_bytes=100_000))
    with pytest.raises(detent.LimitError, match="over 5 transitions"):
        detent.token_table(((0, k, 0) for k in itertools.count()), 0, [0], limits=detent.Limits(work=5))


def _automaton(given: Any) -> detent.UserDfa:
    """Build the automaton of a case: transitions are [state, low, high, next state], or of token ids."""
    given = given if isinstance(given, dict) else {"transitions": given}
    moves, over = given.get("transitions"), "bytes"
    if "token_transitions" in given:
        moves, over = given["token_transitions"], "tokens"
    elif isinstance(moves, list):
        moves = [(source, (low, high), target) for source, low, high, target in moves]
    return detent.token_table(
        moves,
        given.get("start"),
        given.get("accept"),
        over=over,
        states=given.get("states"),
        trim=True,  # type: ignore[arg-type]
    )


@needs_shared
@pytest.mark.parametrize("case", hostile_cases("dfa"), ids=lambda case: case["id"])
def test_hostile_automata(case: dict[str, Any]) -> None:
    given = expand(case["input"])
    vocabulary = detent.Vocabulary([*(bytes([byte]) for byte in range(256)), b""], eos_token_ids=[256])
    try:
        automaton = _automaton(given)
        detent.compile(automaton, vocabulary).matcher().allowed()
    except detent.DetentError:
        assert case["expect"] in ("clean_error", "bounded")
        return
    assert case["expect"] in ("compiles", "bounded")
    for text in case.get("accept", []):
        assert automaton.language().accepts(text)
    for text in case.get("reject", []):
        assert not automaton.language().accepts(text)

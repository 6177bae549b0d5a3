"""Tables say what matchers say: masks, steps, budgets, errors; and they are as small as can be."""

from __future__ import annotations

import random

import numpy as np
import pytest

import detent
from detent.tables import reference
from detent.tables.product import intersect
from tests.support.table_constraints import FEW_BYTES, PATTERNS, TWO_ENDS, VOCABULARIES, WITH_END, random_tables


def walk_together(guide: detent.Guide, table: detent.tables.TokenDfa, seed: int, max_tokens: int | None) -> None:
    rng = random.Random(seed)
    try:
        matcher = guide.matcher(max_tokens)
    except detent.LimitError:
        with pytest.raises(detent.LimitError, match="is too few: the shortest known text"):
            table.matcher(max_tokens)
        return
    other = table.matcher(max_tokens)
    for _ in range(25):
        row, other_row = detent.allocate_mask(2, len(guide.vocabulary))
        matcher.fill_mask(row)
        other.fill_mask(other_row)
        assert np.array_equal(row, other_row)
        assert (matcher.is_accepting, matcher.is_finished) == (other.is_accepting, other.is_finished)
        if max_tokens is None:
            assert np.array_equal(row, table.mask(1 if other.is_finished else other._state_key[0]))
        wrong = rng.randrange(-1, len(guide.vocabulary) + 1)
        for each in (matcher, other):
            if wrong not in matcher.allowed():
                with pytest.raises(detent.StateError):
                    each.advance(wrong)
        if matcher.is_finished or not row.any():
            break
        if len(matcher) and rng.random() < 0.2:
            steps = rng.randint(1, len(matcher))
            matcher.rollback(steps)
            other.rollback(steps)
        token = int(rng.choice(matcher.allowed()))
        matcher.advance(token)
        before, other = other, other.fork()
        other.advance(token)
        assert len(before) == len(other) - 1
    assert matcher.token_ids == other.token_ids


@pytest.mark.parametrize("name", VOCABULARIES)
def test_tables_and_matchers_agree(name: str) -> None:
    vocabulary = VOCABULARIES[name]
    pairs = random_tables(vocabulary, seed=1, count=15)
    for pattern in PATTERNS:
        try:
            guide = detent.compile(detent.regex(pattern), vocabulary)
        except detent.EmptyLanguageError:
            continue
        pairs.append((guide, guide.to_table()))
    for seed, (guide, table) in enumerate(pairs):
        for max_tokens in (None, 3, 12):
            walk_together(guide, table, seed, max_tokens)


def test_a_vocabulary_without_an_end() -> None:
    vocabulary = detent.Vocabulary([b"a", b"b"], eos_token_ids=None)
    guide = detent.compile(detent.regex("(ab)*"), vocabulary)
    table = guide.to_table()
    walk_together(guide, table, seed=0, max_tokens=None)
    walk_together(guide, table, seed=0, max_tokens=6)


def test_states_are_merged_and_tokens_classed() -> None:
    # The residuals of these two are written differently, and are equal: refused, finished, start, and two more.
    plain = detent.compile(detent.regex("a(b|c)|d(c|b)"), WITH_END).to_table()
    assert plain.size.states == 5
    assert plain.token_class[WITH_END.eos_token_ids[0]] != 0
    assert plain.token_class[256] == plain.token_class[260] != plain.token_class[ord("a")]  # two ids of b"ab"
    assert plain.token_class[ord("!")] == plain.token_class[299] == 0
    assert plain.token_class[ord("b")] == plain.token_class[ord("c")] != plain.token_class[ord("a")]
    assert plain.size.nbytes == sum(
        array.nbytes for array in (plain.next, plain.token_class, plain.masks, plain.mask_row, plain.distance)
    )


def test_a_table_is_immutable() -> None:
    table = detent.compile(detent.regex("ab"), WITH_END).to_table()
    for array in (table.next, table.masks, table.mask(table.start())):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0


def test_limits_are_named() -> None:
    guide = detent.compile(detent.regex("[ab]*a[ab]{11}"), WITH_END)
    with pytest.raises(detent.LimitError, match="max_states=100"):
        guide.to_table(max_states=100)
    with pytest.raises(detent.LimitError, match="max_bytes=1000"):
        guide.to_table(max_bytes=1000)
    with pytest.raises(detent.LimitError, match=r"needs \d+ bytes .*limit of 1400"):
        detent.compile(detent.regex("ab"), WITH_END).to_table(max_bytes=1400)
    with pytest.raises(detent.ArgumentError, match="max_states must be"):
        guide.to_table(max_states=0)
    recursive = detent.compile(detent.ebnf('root ::= "(" root ")" | "a"'), WITH_END)
    with pytest.raises(detent.LimitError, match="max_states=50"):
        recursive.to_table(max_states=50)


def test_a_cancelled_guide_stops() -> None:
    stop = detent.CancellationToken()
    guide = detent.compile(detent.regex("a*"), WITH_END, cancel=stop)
    stop.cancel()
    with pytest.raises(detent.CancelledError):
        guide.to_table()


def test_mistakes_are_said() -> None:
    table = detent.compile(detent.regex("ab"), WITH_END).to_table()
    end = WITH_END.eos_token_ids[0]
    for state, token, said in [
        (table.start(), ord("b"), "leads out of the language"),
        (table.start(), end, "before the text is complete"),
        (table.start(), 300, "outside the vocabulary"),
        (table.start(), -1, "outside the vocabulary"),
        (1, end, "end-of-text"),
        (99, 0, "none of the table's"),
    ]:
        with pytest.raises(detent.StateError, match=said):
            table.step(state, token)
    with pytest.raises(detent.ArgumentError, match="holds 1 constraints"):
        table.start(1)
    matcher = table.matcher()
    with pytest.raises(detent.StateError, match="cannot roll back 1 steps"):
        matcher.rollback()
    with pytest.raises(detent.ArgumentError, match="int32"):
        matcher.fill_mask(np.zeros(3, np.int64))


def test_a_product_is_the_intersection() -> None:
    rng = random.Random(3)
    pairs = random_tables(TWO_ENDS, seed=5, count=12)
    for k in range(30):
        (a, table_a), (b, table_b) = rng.sample(pairs, 2)
        both = a.language & b.language
        try:
            guide = detent.compile(both, TWO_ENDS)
        except detent.EmptyLanguageError:
            with pytest.raises(detent.EmptyLanguageError):
                table_a & table_b
            continue
        walk_together(guide, table_a & table_b, seed=k, max_tokens=None)
    with pytest.raises(detent.LimitError, match="max_states=1"):
        intersect(pairs[0][1], pairs[0][1], max_states=1)
    with pytest.raises(detent.ArgumentError, match="different vocabularies"):
        pairs[0][1] & detent.compile(detent.regex("x"), FEW_BYTES).to_table()


def test_a_stack_holds_each_constraint() -> None:
    pairs = random_tables(WITH_END, seed=7, count=9)
    stack = detent.stack_tables([table for _, table in pairs])
    for k, (guide, _) in enumerate(pairs):
        matcher, other = guide.matcher(max_tokens=9), stack.matcher(max_tokens=9, constraint=k)
        rng = random.Random(k)
        while not matcher.is_finished:
            allowed = matcher.allowed()
            assert np.array_equal(allowed, other.allowed())
            matcher.advance(token := int(rng.choice(allowed)))
            other.advance(token)
    again = detent.stack_tables([stack, pairs[0][1]])
    assert len(again.starts) == 10
    assert np.array_equal(again.mask(again.start(4)), stack.mask(stack.start(4)))
    with pytest.raises(detent.LimitError, match="above the limit of 3000"):
        detent.stack_tables([stack, stack], max_bytes=3000)
    with pytest.raises(detent.ArgumentError, match="one at least"):
        detent.stack_tables([])


def test_the_reference_follows_matchers() -> None:
    pairs = random_tables(TWO_ENDS, seed=11, count=6)
    stack = detent.stack_tables([table for _, table in pairs])
    rng = np.random.default_rng(0)
    for batch in (1, 5, 64):
        rows = rng.integers(0, len(pairs), batch)
        matchers = [pairs[k][0].matcher(max_tokens=10) for k in rows if stack.distance[stack.starts[k]] <= 10]
        rows = np.array([k for k in rows if stack.distance[stack.starts[k]] <= 10])
        states, left = stack.starts[rows], np.full(len(rows), 10, np.int32)
        for _ in range(12):
            logits = rng.normal(size=(len(rows), len(TWO_ENDS) + 3)).astype(np.float32)
            masked = reference.apply(stack, logits, states, left)
            tokens = masked.argmax(axis=1)
            for row, matcher in enumerate(matchers):
                assert np.array_equal(np.flatnonzero(np.isfinite(masked[row])), matcher.allowed())
                if not matcher.is_finished:
                    matcher.advance(int(tokens[row]))
            states, left = reference.advance(stack, states, tokens), left - 1
        assert all(matcher.is_finished for matcher in matchers)
        assert (states == 1).all()
        assert (reference.advance(stack, states, np.full(len(rows), 7)) == 1).all()

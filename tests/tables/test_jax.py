"""Tables in JAX: as the reference, step for step, and inside loops that never leave the device."""

from __future__ import annotations

import numpy as np
import pytest

import detent
from detent.tables import reference
from tests.support.table_constraints import TWO_ENDS, VOCABULARIES, random_tables

jax = pytest.importorskip("jax")
import jax.numpy as jnp  # noqa: E402

from detent.jax import init, process  # noqa: E402


def stack(vocabulary: detent.Vocabulary, seed: int) -> detent.TokenDfa:
    return detent.stack_tables([table for _, table in random_tables(vocabulary, seed, 6)])


@pytest.mark.parametrize("batch", [1, 64])
@pytest.mark.parametrize("name", VOCABULARIES)
def test_as_the_reference(name: str, batch: int) -> None:
    table = stack(VOCABULARIES[name], seed=batch)
    rng = np.random.default_rng(batch)
    width = len(table.token_class) + 3
    step = jax.jit(process)
    for budget in (None, 11):
        fitting = np.flatnonzero(table.distance[table.starts] <= 11)
        rows = rng.choice(fitting, batch)
        states = table.starts[rows]
        state = init(table, rows.tolist(), max_tokens=budget)
        left = None if budget is None else np.full(batch, budget, np.int32)
        tokens = rng.integers(-5, width, batch)
        for count in range(13):
            if count:
                states = reference.advance(table, states, tokens)
                left = None if left is None else left - 1
            logits = rng.normal(size=(batch, width)).astype(np.float32)
            masked, state = step(state, logits, tokens)
            expected = reference.apply(table, logits, states, left)
            assert np.array_equal(states, state.states)
            assert np.array_equal(expected, masked)
            tokens = expected.argmax(axis=1)
            if count == 9 and budget is None:
                tokens[: batch // 2] = rng.integers(-3, width + 40, batch // 2)
        if budget is not None:
            assert state.finished.all()


def test_one_trace_serves_all_constraints_and_states() -> None:
    table = stack(TWO_ENDS, seed=4)
    traces = 0

    @jax.jit
    def step(state: object, logits: object, last: object) -> object:
        nonlocal traces
        traces += 1
        return process(state, logits, last)

    for rows in ([0, 1, 2], [5, 5, 0]):
        for budget in (15, 20):
            state, last = init(table, rows, max_tokens=budget), jnp.zeros(3, jnp.int32)
            for _ in range(6):
                logits, state = step(state, jnp.zeros((3, len(TWO_ENDS))), last)
                last = logits.argmax(axis=1)
    assert traces == 1


def test_a_row_goes_back_to_an_earlier_state() -> None:
    table = stack(TWO_ENDS, seed=4)
    state, last, seen = init(table, [0, 1, 2], max_tokens=15), jnp.zeros(3, jnp.int32), []
    for _ in range(5):
        logits, state = process(state, jnp.zeros((3, len(TWO_ENDS))), last)
        last = logits.argmax(axis=1)
        seen.append((logits, state, last))
    steps = jnp.array([0, 1, 3])
    states = jnp.stack([state.states for _, state, _ in seen])[4 - steps, jnp.arange(3)]
    left = jnp.stack([state.left for _, state, _ in seen])[4 - steps, jnp.arange(3)]
    last = jnp.stack([last for _, _, last in seen])[4 - steps, jnp.arange(3)]
    _, after = process(seen[4][1]._replace(states=states, left=left), jnp.zeros((3, len(TWO_ENDS))), last)
    expected = [seen[place + 1][1] if place < 4 else None for place in (4, 3, 1)]
    for row, known in enumerate(expected):
        if known is not None:
            assert int(after.states[row]) == int(known.states[row])
            assert int(after.left[row]) == int(known.left[row])


def test_a_loop_on_the_device() -> None:
    table = stack(TWO_ENDS, seed=4)
    rows, steps = list(range(6)), 30

    @jax.jit
    def decode(state: object, key: object) -> object:
        tokens = jnp.zeros((len(rows), steps), jnp.int32)

        def go_on(carry: tuple) -> object:
            place, _, _, state, _ = carry
            return (place < steps) & ~state.finished.all()

        def step(carry: tuple) -> tuple:
            place, last, tokens, state, key = carry
            key, draw = jax.random.split(key)
            logits, state = process(state, jax.random.normal(draw, (len(rows), len(TWO_ENDS))), last)
            last = logits.argmax(axis=1).astype(jnp.int32)
            return place + 1, last, tokens.at[:, place].set(last), state, key

        first = (jnp.asarray(0), jnp.zeros(len(rows), jnp.int32), tokens, state, key)
        return jax.lax.while_loop(go_on, step, first)[2]

    state, key = init(table, rows, max_tokens=20), jax.random.key(0)
    decode(state, key)
    with jax.transfer_guard("disallow"):
        tokens = decode(state, key)
    for row, ids in zip(rows, np.asarray(tokens), strict=True):
        matcher = table.matcher(constraint=row)
        for token in ids.tolist():
            if matcher.is_finished:
                break
            matcher.advance(token)
        assert matcher.is_finished
        assert len(matcher) <= 21


def test_mistakes_are_said() -> None:
    table = stack(TWO_ENDS, seed=4)
    with pytest.raises(detent.ArgumentError, match="needs a detent"):
        init(detent.regex("a"), 1)
    with pytest.raises(detent.ArgumentError, match="there is no number 6"):
        init(table, [0, 6])
    with pytest.raises(detent.ArgumentError, match="one row at least"):
        init(table, 0)
    with pytest.raises(detent.ArgumentError, match="the logits have 3 ids, but the mask has"):
        process(init(table, 1), jnp.zeros((1, 3)), jnp.array([0]))
    with pytest.raises(detent.LimitError, match="max_tokens=0 is too few"):
        init(detent.compile(detent.regex("a"), TWO_ENDS).to_table(), 1, max_tokens=0)

"""Tables in JAX: pure functions for `jax.jit` and `lax.while_loop`, which hold a batch to a table on the device.

    state = init(table, batch)                               # outside the loop: puts the table on the device
    logits, state = process(state, logits, last_token)       # inside: once a step, before a token is chosen

The two functions correspond to the callbacks of a stateful logits processor in Bumblebee. The state is a tree of arrays
of fixed shapes, the table's among them, so a loop can carry it. Nothing can be raised on a device: a token that the
state does not allow and an id outside the vocabulary lead to state 0, which allows nothing. States are immutable: to
return to an earlier step, use its state. To return with some rows only, take their `states` and `left` from it.
`detent.tables.reference` has the same steps in NumPy.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

try:
    import jax
    import jax.numpy as jnp
except ModuleNotFoundError as error:
    raise ModuleNotFoundError("detent.jax needs JAX: pip install 'detent[jax]'", name=error.name) from error

from detent.errors import ArgumentError, LimitError
from detent.mask import check_words
from detent.tables import TokenDfa
from detent.tables.minimize import FINISHED

__all__ = ["TableArrays", "TableState", "init", "process"]


class TableArrays(NamedTuple):
    """The arrays of a `TokenDfa`, on the device."""

    next: jax.Array
    token_class: jax.Array
    masks: jax.Array
    mask_row: jax.Array
    distance: jax.Array


class TableState(NamedTuple):
    """The states of the rows of a batch: a tree of arrays of fixed shapes.

    Attributes
    ----------
    table : TableArrays
        The table that the rows are held to; the same at all steps.
    states : int32[batch]
        The present states; 1 is after end-of-text.
    started : bool[]
        Whether `process` was called: its first call has no token after it.
    left : int32[batch] or None
        Tokens that a row's text may still take, without end-of-text.
    """

    table: TableArrays
    states: jax.Array
    started: jax.Array
    left: jax.Array | None

    @property
    def finished(self) -> jax.Array:
        """Which rows have taken end-of-text, bool[batch]."""
        return self.states == FINISHED


def init(table: TokenDfa, batch: int | Sequence[int], *, max_tokens: int | None = None) -> TableState:
    """Return the state before the first token.

    >>> import detent, jax.numpy as jnp
    >>> vocabulary = detent.Vocabulary([b"a", b"b", b""], eos_token_ids=[2])
    >>> state = init(detent.compile(detent.regex("ab"), vocabulary).to_table(), batch=1)
    >>> logits, state = process(state, jnp.zeros((1, 3)), jnp.array([7]))  # the last id of the prompt is not looked at
    >>> logits.tolist()
    [[0.0, -inf, -inf]]
    >>> logits, state = process(state, jnp.zeros((1, 3)), jnp.array([0]))
    >>> logits.tolist()
    [[-inf, 0.0, -inf]]

    Parameters
    ----------
    table : TokenDfa
        One constraint, or several from `detent.stack_tables`.
    batch : int or sequence of int
        The number of rows, all held to the first constraint; or for each row the constraint that it is held to.
    max_tokens : int, optional
        The text of each row has at most this many tokens, end-of-text not counted.

    Raises
    ------
    ArgumentError
        The table does not hold a constraint that is asked for.
    LimitError
        A constraint has no text as short as `max_tokens`.
    """
    if not isinstance(table, TokenDfa):
        raise ArgumentError(f"init needs a detent.TokenDfa (guide.to_table()), got {type(table).__name__}")
    rows = [0] * batch if isinstance(batch, int) else list(batch)
    if not rows:
        raise ArgumentError("a batch has one row at least")
    starts = [table.start(constraint) for constraint in rows]
    shortest = max(int(table.distance[start]) for start in starts)
    if max_tokens is not None and shortest > max_tokens:
        raise LimitError(
            f"max_tokens={max_tokens} is too few: a row's shortest text takes {shortest} tokens",
            subject="max_tokens",
            limit=max_tokens,
            given=shortest,
        )
    names = TableArrays._fields
    return TableState(
        TableArrays(*(jnp.asarray(getattr(table, name)) for name in names)),
        jnp.asarray(starts, jnp.int32),
        jnp.asarray(False),
        None if max_tokens is None else jnp.full(len(starts), max_tokens, jnp.int32),
    )


def process(state: TableState, logits: jax.Array, last_token: jax.Array) -> tuple[jax.Array, TableState]:
    """Take the last token of each row, but for the first call, and mask the logits of the next.

    Parameters
    ----------
    state : TableState
        From `init`, or from the last call.
    logits : float[batch, L]
        What the table does not allow becomes -inf, and so does what is past the vocabulary.
    last_token : int[batch]
        The tokens chosen after the last call. After end-of-text, any id is padding.
    """
    table, states, started, left = state
    check_words(logits.shape[1], table.masks.shape[1])
    states = jnp.where(started, _after(table, states, last_token), states)
    rows = table.masks[table.mask_row[states]]
    bits = (rows[:, :, None] >> jnp.arange(32, dtype=jnp.int32)) & 1
    allowed = bits.reshape(len(states), -1).astype(bool)
    if left is not None:
        left = jnp.where(started, left - 1, left)
        after = table.next[states]
        in_time = (table.distance[after] < left[:, None]) | (states == FINISHED)[:, None]
        spread = in_time[:, table.token_class]
        allowed = allowed[:, : spread.shape[1]] & spread
    allowed = allowed[:, : logits.shape[1]]
    allowed = jnp.pad(allowed, ((0, 0), (0, logits.shape[1] - allowed.shape[1])))
    masked = jnp.where(allowed, logits, -jnp.inf).astype(logits.dtype)
    return masked, TableState(table, states, jnp.ones_like(started), left)


def _after(table: TableArrays, states: jax.Array, tokens: jax.Array) -> jax.Array:
    width = len(table.token_class)
    known = (tokens >= 0) & (tokens < width)
    part = jnp.where(known, table.token_class[jnp.clip(tokens, 0, width - 1)], 0)
    after = jnp.where(states == FINISHED, FINISHED, table.next[states, part])
    return after.astype(jnp.int32)

"""The steps of a batch in a table, in NumPy: the functions that `detent.torch` and `detent.jax` are tested against.

States, tokens and budgets are int32[batch]. A token that a state does not allow, and an id outside the vocabulary,
lead to state 0, which allows nothing: on a device nothing can be raised, and a wrong token must not pass unnoticed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from detent.tables.minimize import FINISHED, REFUSED, Ints
from detent.tables.token_dfa import TokenDfa

__all__ = ["advance", "apply"]


def advance(table: TokenDfa, states: Ints, tokens: npt.NDArray[Any]) -> Ints:
    """Return the states after one token each. After end-of-text, any id is padding.

    >>> import detent
    >>> vocabulary = detent.Vocabulary([b"a", b"b", b""], eos_token_ids=[2])
    >>> table = detent.compile(detent.regex("ab"), vocabulary).to_table()
    >>> advance(table, np.repeat(table.starts, 3), np.array([0, 1, -1]))
    array([3, 0, 0], dtype=int32)
    """
    width = len(table.token_class)
    known = (tokens >= 0) & (tokens < width)
    after = table.next[states, np.where(known, table.token_class[np.clip(tokens, 0, width - 1)], 0)]
    return np.where(states == FINISHED, np.int32(FINISHED), after)


def apply(table: TokenDfa, logits: npt.NDArray[Any], states: Ints, left: Ints | None = None) -> npt.NDArray[Any]:
    """Return a copy of logits[batch, L] with -inf where the states do not allow the token.

    Logits past the vocabulary become -inf too. `left` is the number of tokens that each row may still take, without
    end-of-text: a token without a completion within them is not allowed.
    """
    bits = np.unpackbits(table.masks[table.mask_row[states]].view(np.uint8), axis=1, bitorder="little")
    allowed = np.zeros(logits.shape, bool)
    width = min(logits.shape[1], bits.shape[1])
    allowed[:, :width] = bits[:, :width]
    if left is not None:
        width = min(logits.shape[1], len(table.token_class))
        after = table.next[states]
        in_time = (table.distance[after] < left[:, None]) | (after == REFUSED) | (states == FINISHED)[:, None]
        allowed[:, :width] &= in_time[:, table.token_class[:width]]
    return np.where(allowed, logits, logits.dtype.type(-np.inf))

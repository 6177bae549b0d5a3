"""Exploration: all states of a guide that tokens lead to, from the core, as a compressed automaton."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from detent.errors import ArgumentError, EmptyLanguageError
from detent.tables.compress import REFUSED, START, Moves, compress, distances

if TYPE_CHECKING:
    from detent import _core
    from detent.tables.table import TokenDfa

__all__ = ["explore"]


def explore(guide: _core.Guide, max_states: int, max_bytes: int, held: TokenDfa | None = None) -> Moves:
    """Return the automaton over tokens of a guide; with a table, the automaton of what both allow.

    Raises
    ------
    EmptyLanguageError
        Nothing that the table allows is a text of the guide.
    LimitError
        There are more than `max_states` states, or `next` would take more than `max_bytes`.
    """
    for name, value in (("max_states", max_states), ("max_bytes", max_bytes)):
        if not isinstance(value, int) or isinstance(value, bool) or not 0 < value < 1 << 31:
            raise ArgumentError(f"{name} must be an integer from 1 to 2**31 - 1, got {value!r}")
    also = None
    if held is not None:
        ends = (held.distance <= 0).astype(np.uint32)
        arrays = (held.next.tobytes(), held.token_class.tobytes(), ends.tobytes())
        also = (held.start(), held.size.classes, *arrays)
    found = guide.explore(max_states, max_bytes, also)
    token_class, next_state, accepting = (np.frombuffer(raw, np.int32) for raw in found)
    next_state = next_state.reshape(-1, int(token_class.max()) + 1)
    moves, number = compress(next_state, token_class, distances(next_state, accepting))
    if number[START] == REFUSED:
        raise EmptyLanguageError("no row of tokens that the table allows is a text of the language")
    return moves

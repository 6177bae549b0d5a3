"""Exploration: all states of a guide that tokens lead to, from the core, as a compressed automaton."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from detent.errors import ArgumentError
from detent.tables.compress import Moves, compress, distances

if TYPE_CHECKING:
    from detent import _core

__all__ = ["explore"]


def explore(guide: _core.Guide, max_states: int, max_bytes: int) -> Moves:
    """Return the automaton over tokens of a guide.

    Raises
    ------
    LimitError
        There are more than `max_states` states, or `next` would take more than `max_bytes`.
    """
    for name, value in (("max_states", max_states), ("max_bytes", max_bytes)):
        if not isinstance(value, int) or isinstance(value, bool) or not 0 < value < 1 << 31:
            raise ArgumentError(f"{name} must be an integer from 1 to 2**31 - 1, got {value!r}")
    token_class, next_state, accepting = (np.frombuffer(raw, np.int32) for raw in guide.explore(max_states, max_bytes))
    next_state = next_state.reshape(-1, int(token_class.max()) + 1)
    return compress(next_state, token_class, distances(next_state, accepting))[0]

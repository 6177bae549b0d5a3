"""Exploration: every state of a machine that tokens lead to, from the core, as a minimal automaton."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from detent.errors import ArgumentError, EmptyLanguageError
from detent.tables.minimize import REFUSED, START, Dfa, compress, distances

if TYPE_CHECKING:
    from detent import _core
    from detent.tables.token_dfa import TokenDfa

__all__ = ["explore"]


def explore(machine: _core.TokenMachine, max_states: int, max_bytes: int, table: TokenDfa | None = None) -> Dfa:
    """Return the automaton over tokens of a machine; with a table, that of their product.

    Raises
    ------
    EmptyLanguageError
        Nothing that the table allows is a text of the machine.
    LimitError
        There are more than `max_states` states, or `next` would take more than `max_bytes`.
    """
    for name, value in (("max_states", max_states), ("max_bytes", max_bytes)):
        if not isinstance(value, int) or isinstance(value, bool) or not 0 < value < 1 << 31:
            raise ArgumentError(f"{name} must be an integer from 1 to 2**31 - 1, got {value!r}")
    if table is None:
        found = machine.explore(max_states, max_bytes)
    else:
        found = machine.explore(max_states, max_bytes, table._arrays(), table.start())
    token_class, next_state, accepting = (np.frombuffer(raw, np.int32) for raw in found)
    next_state = next_state.reshape(-1, int(token_class.max()) + 1)
    dfa, number = compress(next_state, token_class, distances(next_state, accepting))
    if number[START] == REFUSED:
        raise EmptyLanguageError("no sequence of tokens that the table allows is a text of the language")
    return dfa

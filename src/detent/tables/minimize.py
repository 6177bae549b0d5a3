"""Minimisation: the smallest automaton that is equivalent to one given as arrays.

An automaton is a matrix `next[state, class]`. State 0 is where refused tokens lead, 1 where end-of-text leads, 2 the
start. States without a completion are dropped; equivalent states are merged (Hopcroft, in the core), then classes
with equal columns.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from detent import _core

__all__ = ["FINISHED", "REFUSED", "START", "UNREACHABLE", "Dfa", "compress", "distances"]

Ints = npt.NDArray[np.int32]

REFUSED, FINISHED, START = 0, 1, 2
UNREACHABLE = np.iinfo(np.int32).max


class Dfa(NamedTuple):
    """An automaton: where each class of symbols leads from each state.

    The column of class 0 is `REFUSED` throughout; `symbol_class` gives the class of each symbol. `distance` is the
    least number of symbols to an accepting state, 0 where it accepts. That of `FINISHED` is -1: one less than any.
    """

    next: Ints  # [states, classes]
    symbol_class: Ints  # [symbols]
    distance: Ints  # [states]


def distances(next_state: Ints, accepting: npt.ArrayLike) -> Ints:
    """Return for each state the least number of steps to an accepting one, or `UNREACHABLE`. O(edges).

    A step to `FINISHED` from a state that does not accept is an end-of-text token that the text itself contains.
    """
    states = len(next_state)
    live = next_state > FINISHED
    source = np.broadcast_to(np.arange(states)[:, None], next_state.shape)[live].astype(np.int64)
    pairs = np.unique(next_state[live] * np.int64(states) + source)  # by target
    target, source = pairs // states, pairs % states
    begin = np.searchsorted(target, np.arange(states + 1)).tolist()
    sources = source.tolist()
    distance = [int(UNREACHABLE)] * states
    distance[FINISHED] = -1
    queue = np.unique(np.asarray(accepting, np.int64)).tolist()
    for state in queue:
        distance[state] = 0
    for state in np.flatnonzero((next_state == FINISHED).any(axis=1)).tolist():
        if distance[state] == UNREACHABLE:
            distance[state] = 1
            queue.append(state)
    for state in queue:  # the list grows in the loop
        for before in sources[begin[state] : begin[state + 1]]:
            if distance[before] > distance[state] + 1:
                distance[before] = distance[state] + 1
                queue.append(before)
    return np.array(distance, np.int32)


def compress(next_state: Ints, symbol_class: Ints, distance: Ints) -> tuple[Dfa, Ints]:
    """Return the smallest equivalent automaton, and the new number of each state.

    States keep the order of their first members, and lead to the start with number `START`.
    """
    classes = next_state.shape[1]
    live = np.where(distance[next_state] != UNREACHABLE, next_state, np.int32(REFUSED)).astype(np.int32)
    labels = np.where(distance == UNREACHABLE, 0, distance + np.int64(2)).astype(np.uint32)
    part = _core.merge_states(np.ascontiguousarray(live, np.uint32).tobytes(), labels.tobytes(), classes)
    _, first, number = np.unique(np.frombuffer(part, np.uint32), return_index=True, return_inverse=True)
    order = np.argsort(first)
    renumbered: Ints = np.argsort(order)[number].astype(np.int32)
    first = first[order]
    # Class 0, of the tokens that no state allows, comes first: its column is the least.
    used, kind = np.unique(symbol_class, return_inverse=True)
    columns = np.concatenate([np.zeros((len(first), 1), np.int32), renumbered[live[first]][:, used]], axis=1)
    columns, merged = np.unique(columns, axis=1, return_inverse=True)
    dfa = Dfa(np.ascontiguousarray(columns), merged.reshape(-1)[kind + 1].astype(np.int32), distance[first])
    return dfa, renumbered

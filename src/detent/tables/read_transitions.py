"""Transitions: the automaton of a user in one form, checked.

The form is a list of moves (source, low, high, target): every symbol from low to high leads from source to target.
Symbols are token ids, code points or bytes; states are numbered in the order of their first mention, and keep their
names.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from operator import index
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from detent.errors import ArgumentError, LimitError
from detent.limits import Limits

__all__ = ["Over", "Transitions", "read_transitions", "shown_name", "shown_symbols"]

Over = Literal["tokens", "characters", "bytes"]
_LARGEST = {"tokens": (1 << 24) - 1, "characters": 0x10FFFF, "bytes": 255}
Longs = npt.NDArray[np.int64]


class Transitions(NamedTuple):
    """A deterministic automaton, sorted by source and symbol; the symbols of one source do not overlap."""

    names: list[Hashable]
    source: Longs
    low: Longs
    high: Longs
    target: Longs


def read_transitions(given: object, over: Over, states: int | None, limits: Limits) -> Transitions:
    """Read tuples, a dense array or a sparse matrix.

    Raises
    ------
    ArgumentError
        A transition has the wrong shape, symbol or state, or two of them contradict each other.
    LimitError
        There are more states than `Limits.states`.
    """
    if states is not None and (not isinstance(states, int) or isinstance(states, bool) or states < 1):
        raise ArgumentError(f"states must be an integer from 1 on, got {states!r}")
    if hasattr(given, "tocoo"):
        return _from_sparse(given, over, states, limits)
    if isinstance(given, np.ndarray):
        return _from_dense(given, over, states, limits)
    return _from_tuples(given, over, states, limits)


def shown_name(name: object) -> str:
    """Show a state's name in a message."""
    try:
        text = repr(name)
    except (ValueError, RecursionError):  # an integer of thousands of digits, deep nesting
        text = f"a very large {type(name).__name__}"
    return text if len(text) <= 60 else text[:59] + "…"


def shown_symbols(low: int, high: int, over: Over) -> str:
    """Show a range of symbols, such as ``7``, ``'a'-'z'`` or ``0x00-0x1f``."""
    bounds = (low,) if low == high else (low, high)
    if over == "tokens":
        return "-".join(map(str, bounds))
    return "-".join(repr(chr(end)) if over == "characters" else f"0x{end:02x}" for end in bounds)


def _from_tuples(given: object, over: Over, states: int | None, limits: Limits) -> Transitions:
    if isinstance(given, (str, bytes, dict)) or not isinstance(given, Iterable):
        raise ArgumentError(
            "transitions must be (state, symbol, next state) tuples, a two-dimensional integer array or a sparse matrix"
            f", got {type(given).__name__}"
        )
    numbers: dict[Hashable, int] = {}
    moves = []
    for number, item in enumerate(given):
        if number >= limits.work:
            raise LimitError(
                f"over {limits.work} transitions, which is the limit; raise Limits(work=...)",
                subject="work",
                limit=limits.work,
            )
        if not isinstance(item, (tuple, list)) or len(item) != 3:
            raise ArgumentError(f"transition {number} must be (state, symbol, next state), got {shown_name(item)}")
        low, high = _symbols(item[1], over, number)
        endpoints = []
        for name in (item[0], item[2]):
            if states is not None and not (isinstance(name, int) and 0 <= name < states):
                raise ArgumentError(
                    f"transition {number} names state {shown_name(name)}, but there are {states} states"
                )
            try:
                endpoints.append(numbers.setdefault(name, len(numbers)))
            except TypeError:
                raise ArgumentError(f"transition {number}: a state must be hashable, got {shown_name(name)}") from None
        _check_count(len(numbers), limits)
        moves.append((endpoints[0], low, high, endpoints[1]))
    names = list(numbers)
    table = np.array(sorted(set(moves)), np.int64).reshape(-1, 4)
    return Transitions(names, *_merged(table, names, over).T)


def _symbols(given: Any, over: Over, number: int) -> tuple[int, int]:
    bounds = given if isinstance(given, (tuple, list)) else (given, given)
    if len(bounds) != 2:
        raise ArgumentError(f"transition {number}: a range of symbols has two bounds, got {shown_name(given)}")
    if over == "characters":
        if not all(isinstance(end, str) and len(end) == 1 for end in bounds):
            raise ArgumentError(
                f"transition {number}: a symbol must be one character or a pair of them, got {shown_name(given)}"
            )
        low, high = (ord(end) for end in bounds)
    else:
        try:
            if any(isinstance(end, bool) for end in bounds):
                raise TypeError
            low, high = (index(end) for end in bounds)
        except TypeError:
            noun = "a token id" if over == "tokens" else "a byte value"
            raise ArgumentError(f"transition {number}: a symbol must be {noun}, got {shown_name(given)}") from None
    if not 0 <= low <= high <= _LARGEST[over]:
        problem = "is reversed" if low > high else f"is not from 0 to {_LARGEST[over]}"
        raise ArgumentError(f"transition {number}: symbol {shown_name(given)} {problem}")
    return low, high


def _from_dense(given: npt.NDArray[Any], over: Over, states: int | None, limits: Limits) -> Transitions:
    if given.ndim != 2 or given.dtype.kind not in "iu":
        raise ArgumentError(
            "a dense array of transitions must be of integers, [states, symbols], with -1 where nothing leads on; "
            f"got {given.dtype}{list(given.shape)}"
        )
    count, width = given.shape
    _check_shape(count, width, over, states, limits)
    wrong = np.argwhere((given < -1) | (given >= count)) if given.size else np.empty((0, 2), np.int64)
    if len(wrong):
        row, column = wrong[0].tolist()
        raise ArgumentError(
            f"state {row} has next state {given[row, column]} under symbol {column}; "
            f"it must be from 0 to {count - 1}, or -1 for none"
        )
    source, low = np.nonzero(given != -1)
    return _runs(list(range(count)), source, low, given[source, low].astype(np.int64))


def _from_sparse(given: Any, over: Over, states: int | None, limits: Limits) -> Transitions:
    """Read a sparse matrix of scipy: each stored entry, zeros included, is a next state."""
    entries = given.tocoo()
    if entries.ndim != 2 or entries.data.dtype.kind not in "iu":
        raise ArgumentError(
            f"a sparse matrix of transitions must be of integers, [states, symbols]; got {entries.data.dtype}"
        )
    count, width = entries.shape
    _check_shape(count, width, over, states, limits)
    moves = np.stack([entries.row, entries.col, entries.data], axis=1).astype(np.int64)
    wrong = np.flatnonzero((moves[:, 2] < 0) | (moves[:, 2] >= count))
    if wrong.size:
        row, column, value = moves[wrong[0]].tolist()
        raise ArgumentError(
            f"state {row} has next state {value} under symbol {column}; it must be from 0 to {count - 1}"
        )
    moves = np.unique(moves, axis=0)
    twice = np.flatnonzero((moves[1:, :2] == moves[:-1, :2]).all(axis=1))
    if twice.size:
        row, column, value = moves[twice[0]].tolist()
        _contradict(row, shown_symbols(column, column, over), value, int(moves[twice[0] + 1, 2]))
    return _runs(list(range(count)), moves[:, 0], moves[:, 1], moves[:, 2])


def _check_shape(count: int, width: int, over: Over, states: int | None, limits: Limits) -> None:
    if not count:
        raise ArgumentError("the transitions have no states; give one row for each")
    if states is not None and states != count:
        raise ArgumentError(f"the transitions have {count} rows, but states={states}")
    if width > _LARGEST[over] + 1:
        raise ArgumentError(f"the transitions have {width} columns, but there are {_LARGEST[over] + 1} {over} at most")
    _check_count(count, limits)


def _check_count(count: int, limits: Limits) -> None:
    if count > limits.states:
        raise LimitError(
            f"the automaton has {count} states or more, above the limit of {limits.states}; raise Limits(states=...)",
            subject="states",
            limit=limits.states,
            given=count,
        )


def _runs(names: list[Hashable], source: Longs, symbol: Longs, target: Longs) -> Transitions:
    """Join neighbouring symbols that lead from the same state to the same, in sorted arrays."""
    new = np.ones(len(source), bool)
    new[1:] = (np.diff(source) != 0) | (np.diff(symbol) != 1) | (np.diff(target) != 0)
    first = np.flatnonzero(new)
    last = np.append(first[1:], len(source)) - 1 if len(source) else first
    return Transitions(names, source[first], symbol[first], symbol[last], target[first])


def _merged(moves: Longs, names: list[Hashable], over: Over) -> Longs:
    """Join intervals that overlap or adjoin and lead to the same state; raise for a contradiction."""
    merged: list[list[int]] = []
    for source, low, high, target in moves.tolist():
        last = merged[-1] if merged and merged[-1][0] == source else None
        if last and low <= last[2] and target != last[3]:
            both = shown_symbols(low, min(high, last[2]), over)
            _contradict(names[source], both, names[last[3]], names[target])
        if last and low <= last[2] + 1 and target == last[3]:
            last[2] = max(last[2], high)
        else:
            merged.append([source, low, high, target])
    return np.array(merged, np.int64).reshape(-1, 4)


def _contradict(state: object, symbol: str, one: object, other: object) -> None:
    raise ArgumentError(
        f"not deterministic: from state {shown_name(state)}, symbol {symbol} leads to {shown_name(one)} and to "
        f"{shown_name(other)}; keep one"
    )

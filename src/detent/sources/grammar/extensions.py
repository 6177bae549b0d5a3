"""The bytes that the regex of a token reads on after the texts of the token: they make its match longer."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from detent.errors import LimitError
from detent.queries import ByteDfa

__all__ = ["Extensions", "states_after", "states_besides"]

_STATES = 2_000


class Extensions(NamedTuple):
    """The bytes that the entry of a path reads on after the texts of the path.

    Attributes
    ----------
    states : frozenset of int
        The states of the entry's automaton after the texts; they determine the bytes.
    ends : set of int
        The bytes of which each, after every text of the path, makes a longer text of the entry.
    goes_on : set of int
        The other bytes that begin a longer text of the entry after some text of the path.
    """

    states: frozenset[int]
    ends: frozenset[int]
    goes_on: frozenset[int]


def states_besides(within: ByteDfa, excluded: list[bytes]) -> frozenset[int]:
    """Return the states of an automaton after its texts, except the excluded texts."""
    following: dict[bytes, set[int]] = {}
    for text in excluded:
        for length, byte in enumerate(text):
            following.setdefault(text[:length], set()).add(byte)
    texts, sizes = set(excluded), Counter(within.class_of)
    reached = set() if following else {within.start}
    found: set[int] = set()
    for prefix, after in following.items():
        state = within.after(prefix)
        if within.is_accepting(state) and prefix not in texts:
            found.add(state)
        row = [*within.row(state)]
        for number, count in Counter(within.class_of[byte] for byte in after).items():
            if count == sizes[number]:
                row[number] = 0
        reached.update(row)
        ends = (prefix + bytes([byte]) for byte in after if prefix + bytes([byte]) not in following)
        for end in ends:  # the excluded text itself does not count, longer texts do
            reached.update(within.row(within.after(end)))
    beyond = within.reachable(reached, _STATES)
    if beyond is None:
        raise LimitError("the automaton of a terminal is too large", subject="states", limit=_STATES)
    return frozenset(found.union(filter(within.is_accepting, beyond)))


def states_after(texts: ByteDfa, within: ByteDfa) -> frozenset[int]:
    """Return the states of one automaton after the texts of another; goes through both in step."""
    pairs = sorted(set(zip(texts.class_of, within.class_of, strict=True)))
    seen = {(texts.start, within.start)}
    waiting = list(seen)
    found: set[int] = set()
    for first, second in waiting:
        if texts.is_accepting(first):
            found.add(second)
        left, right = texts.row(first), within.row(second)
        for target in {(left[a], right[b]) for a, b in pairs}:
            if target[0] and target not in seen:
                if len(seen) > _STATES:
                    raise LimitError("the automata of two terminals are too large", subject="states", limit=_STATES)
                seen.add(target)
                waiting.append(target)
    return frozenset(found)

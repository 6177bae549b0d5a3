r"""The tentative texts of a pattern, by an automaton whose states are lists of threads in order of priority.

`leftmost_match` writes them with a negative lookahead before each choice. Under a loop these lookaheads pile up: the
comment `(?:.|\n|\r)*?\*/` has thousands of states. The automaton of RE2's leftmost-first search (Cox 2010) has five:

1. A thread is a state of the Thompson automaton of the pattern. A state of the DFA is the list of the threads, those
   that `re` would try first at the front, each once.
2. A thread that matches drops all threads after it: `re` never returns to them.
3. So a text is tentative if and only if a thread of its list matches.
4. The DFA becomes an expression by the elimination of its states (Brzozowski & McCluskey 1963).

An assertion about one character is decided with that character: a lookbehind by the character read last, a lookahead by
a restriction of the thread's next character. Other patterns, and large ones, have no such automaton here.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

from detent import _core
from detent.code_points import EVERYTHING, Ranges, complement, normalise
from detent.sources.regex.classes import class_ranges
from detent.sources.regex.parser import ONE_CHARACTER, Item, Operator, Tree, op
from detent.sources.trampoline import trampoline

__all__ = ["leftmost_first"]

# Sizes up to which an automaton pays: states of the Thompson automaton and of the DFA, character classes, edges.
_THREADS, _STATES, _CLASSES, _SIZE = 400, 60, 64, 4_000

_NEWLINE: Ranges = ((10, 10),)


class _TooLargeError(Exception):
    """The pattern is too large, or not one of those that the automaton reads."""


class _State(NamedTuple):
    """A state of the Thompson automaton: the next states in order, after a character or a condition on one."""

    kind: str
    characters: int
    nexts: tuple[int, ...]


_Thread: TypeAlias = tuple[int, int | None]
"""A state of the Thompson automaton, and the classes of its next character where an assertion restricts them."""

_Walk: TypeAlias = "Generator[tuple[Tree, int, int], int, int]"


def leftmost_first(tree: Tree, flags: int) -> _core.Node | None:
    """Return the texts that `re.match` takes in full when nothing follows; None if the automaton is not for them.

    Takes time of the size of the automaton, at most some 20 ms.
    """
    try:
        return _expression(_Threads(tree, flags).dfa())
    except _TooLargeError:
        return None


class _Threads:
    """The Thompson automaton of a pattern, and the DFA over its lists of threads."""

    def __init__(self, tree: Tree, flags: int) -> None:
        self.sets: dict[Ranges, int] = {}
        self.states: list[_State] = []
        self.start = trampoline(self.sequence, (tree, flags, self.add("match", 0)))
        self.classes = _partition(list(self.sets))

    def add(self, kind: str, characters: int, *nexts: int) -> int:
        if len(self.states) >= _THREADS:
            raise _TooLargeError
        self.states.append(_State(kind, characters, nexts))
        return len(self.states) - 1

    def sequence(self, task: tuple[Tree, int, int]) -> _Walk:
        """Return the first state of some items, before the state `task[2]`."""
        items, flags, after = task
        for item in reversed(list(items)):
            after = yield from self.item(item, flags, after)
        return after

    def item(self, item: Item, flags: int, after: int) -> _Walk:
        kind, value = item
        if kind in ONE_CHARACTER:
            return self.add("read", self.characters(kind, value, flags), after)
        if kind is op.SUBPATTERN:
            _, added, removed, body = value
            inner = ((flags & ~op.TYPE_FLAGS if added & op.TYPE_FLAGS else flags) | added) & ~removed
            return (yield body.data, inner, after)
        if kind is op.BRANCH:
            starts: list[int] = []
            for body in value[1]:
                starts.append((yield body.data, flags, after))
            return self.add("split", 0, *starts)
        if kind in (op.MAX_REPEAT, op.MIN_REPEAT):
            return (yield from self.loop(kind is op.MIN_REPEAT, value, flags, after))
        if kind in (op.ASSERT, op.ASSERT_NOT):
            return self.condition(kind is op.ASSERT_NOT, value, flags, after)
        raise _TooLargeError

    def loop(self, is_lazy: bool, value: Any, flags: int, after: int) -> _Walk:
        least, most, body = value
        # `re` leaves a loop after a round without text; a list of threads cannot distinguish such rounds.
        if int(body.getwidth()[0]) == 0 or least > _THREADS or (most != op.MAXREPEAT and int(most) > _THREADS):
            raise _TooLargeError
        if most == op.MAXREPEAT:
            head = self.add("split", 0)
            around = yield body.data, flags, head
            self.states[head] = _State("split", 0, (after, around) if is_lazy else (around, after))
            start = head
        else:
            start = after
            for _ in range(int(most) - least):
                around = yield body.data, flags, start
                start = self.add("split", 0, *((after, around) if is_lazy else (around, after)))
        for _ in range(least):
            start = yield body.data, flags, start
        return start

    def condition(self, is_negative: bool, value: Any, flags: int, after: int) -> int:
        direction, body = value
        if len(body.data) != 1 or body.data[0][0] not in ONE_CHARACTER:
            raise _TooLargeError
        character, operand = body.data[0]
        characters = self.characters(character, operand, flags)
        kind = ("before" if direction < 0 else "next") + (" not" if is_negative else "")
        return self.add(kind, characters, after)

    def characters(self, kind: Operator, value: Any, flags: int) -> int:
        """Return the number of the set of characters that an item reads."""
        if kind is op.ANY:
            ranges = EVERYTHING if flags & op.SRE_FLAG_DOTALL else complement(_NEWLINE)
        else:
            if kind is op.IN:
                items: tuple[Item, ...] = tuple(value)
            else:
                items = ((op.NEGATE, None),) * (kind is op.NOT_LITERAL) + ((op.LITERAL, value),)
            ranges, _ = class_ranges(items, bool(flags & re.IGNORECASE), bool(flags & re.ASCII))
        return self.sets.setdefault(ranges, len(self.sets))

    def dfa(self) -> _Dfa:
        """Return the DFA over lists of threads, without states that lead to no match."""
        class_sets = [0] * len(self.sets)
        for number, (members, _) in enumerate(self.classes):
            for index in members:
                class_sets[index] |= 1 << number
        first = self.closed([(self.start, None)], None, class_sets)
        numbers = {first: 0}
        waiting = [first]
        edges: list[dict[int, int]] = []
        for threads, _ in waiting:
            row: dict[int, int] = {}
            for number in range(len(self.classes)):
                bit = 1 << number
                after: list[_Thread] = [
                    (self.states[state].nexts[0], None)
                    for state, allowed in threads
                    if class_sets[self.states[state].characters] & bit and (allowed is None or allowed & bit)
                ]
                target = self.closed(after, bit, class_sets)
                if target[0] or target[1]:
                    if target not in numbers:
                        if len(numbers) >= _STATES:
                            raise _TooLargeError
                        numbers[target] = len(waiting)
                        waiting.append(target)
                    row[numbers[target]] = row.get(numbers[target], 0) | bit
            edges.append(row)
        return _Dfa(edges, [matches for _, matches in waiting], [ranges for _, ranges in self.classes])

    def closed(
        self, threads: list[_Thread], last: int | None, class_sets: list[int]
    ) -> tuple[tuple[_Thread, ...], bool]:
        """Return the threads that read a character next, in order, and whether one matches, which ends the list."""
        found: list[_Thread] = []
        seen: set[_Thread] = set()
        waiting = threads[::-1]
        while waiting:
            thread = waiting.pop()
            if thread in seen:
                continue
            seen.add(thread)
            number, allowed = thread
            state = self.states[number]
            if state.kind == "match":
                if allowed is not None:  # an assertion that looks beyond the pattern
                    raise _TooLargeError
                return tuple(found), True
            if state.kind == "read":
                found.append(thread)
            elif state.kind == "split":
                waiting.extend((target, allowed) for target in reversed(state.nexts))
            elif state.kind.startswith("before"):
                if last is None:
                    raise _TooLargeError
                if bool(class_sets[state.characters] & last) != state.kind.endswith("not"):
                    waiting.append((state.nexts[0], allowed))
            else:
                every = (1 << len(self.classes)) - 1
                mine = class_sets[state.characters]
                mine = every & ~mine if state.kind.endswith("not") else mine
                waiting.append((state.nexts[0], mine if allowed is None else mine & allowed))
        return tuple(found), False


class _Dfa(NamedTuple):
    """The edges of each state, as target and set of classes; which states accept; the code points of each class."""

    edges: list[dict[int, int]]
    accepting: list[bool]
    classes: list[list[tuple[int, int]]]


def _partition(sets: list[Ranges]) -> list[tuple[list[int], list[tuple[int, int]]]]:
    """Return the classes of characters that no set distinguishes: the sets that hold one, and its code points."""
    changes: dict[int, list[int]] = {}
    for index, ranges in enumerate(sets):
        for first, last in ranges:
            changes.setdefault(first, []).append(index)
            changes.setdefault(last + 1, []).append(index)
    found: dict[frozenset[int], list[tuple[int, int]]] = {}
    inside: set[int] = set()
    points = sorted(changes)
    for point, end in pairwise(points):
        inside.symmetric_difference_update(_odd(changes[point]))
        if inside:
            found.setdefault(frozenset(inside), []).append((point, end - 1))
    if len(found) > _CLASSES:
        raise _TooLargeError
    return [(sorted(members), ranges) for members, ranges in found.items()]


def _odd(numbers: list[int]) -> set[int]:
    """Return the numbers that are there an odd number of times."""
    found: set[int] = set()
    for number in numbers:
        found ^= {number}
    return found


_START, _END = -1, -2

_Edge: TypeAlias = tuple[_core.Node, int]
"""The texts of an edge, and the number of edges of the DFA in its expression."""


def _expression(dfa: _Dfa) -> _core.Node:
    """Return the expression of a DFA: its states are eliminated, those with the fewest paths through them first."""
    useful = _useful(dfa)
    if 0 not in useful:
        return _core.empty()
    edges = _labelled(dfa, useful)
    into: dict[int, set[int]] = {state: set() for state in [*useful, _END]}
    for state, row in edges.items():
        for target in row:
            into[target].add(state)
    left = set(useful)
    while left:
        state = min(left, key=lambda each: (len(into[each]) * len(edges[each]), each))
        left.discard(state)
        _eliminate(state, edges, into)
    return edges[_START][_END][0]


def _labelled(dfa: _Dfa, useful: list[int]) -> dict[int, dict[int, _Edge]]:
    """Return the edges between the useful states, from `_START` and to `_END`."""
    edges: dict[int, dict[int, _Edge]] = {_START: {0: (_core.epsilon(), 0)}}
    nodes: dict[int, _core.Node] = {}
    for state in useful:
        row = edges[state] = {}
        for target, classes in dfa.edges[state].items():
            if classes not in nodes:
                chosen = (ranges for number, ranges in enumerate(dfa.classes) if classes >> number & 1)
                nodes[classes] = _core.chars(list(normalise(span for ranges in chosen for span in ranges)))
            row[target] = (nodes[classes], 1)
        for target in row.keys() - set(useful):
            del row[target]
        if dfa.accepting[state]:
            row[_END] = (_core.epsilon(), 0)
    return edges


def _eliminate(state: int, edges: dict[int, dict[int, _Edge]], into: dict[int, set[int]]) -> None:
    """Replace the paths through a state by edges."""
    row = edges.pop(state)
    loop = row.pop(state, None)
    into[state].discard(state)
    for before in into.pop(state):
        first, first_size = edges[before].pop(state)
        if loop is not None:
            first, first_size = _core.concat([first, _core.repeat(loop[0], 0, None)]), first_size + loop[1]
        for target, (second, second_size) in row.items():
            node, size = _core.concat([first, second]), first_size + second_size
            if target in edges[before]:
                other, other_size = edges[before][target]
                node, size = _core.union([other, node]), size + other_size
            if size > _SIZE:
                raise _TooLargeError
            edges[before][target] = (node, size)
            into[target].add(before)
    for target in row:
        into[target].discard(state)


def _useful(dfa: _Dfa) -> list[int]:
    """Return the states from which the DFA can accept."""
    into: dict[int, list[int]] = {}
    for state, row in enumerate(dfa.edges):
        for target in row:
            into.setdefault(target, []).append(state)
    found = [state for state, accepts in enumerate(dfa.accepting) if accepts]
    seen = set(found)
    for state in found:
        for before in into.get(state, ()):
            if before not in seen:
                seen.add(before)
                found.append(before)
    return sorted(found)

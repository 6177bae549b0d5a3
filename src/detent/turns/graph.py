"""Graph: the automaton of an outline.

The vertices are fixed texts, special tokens, parts, names and arguments of calls, choices and repetitions. `positions`
reads texts along them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from detent import _core
from detent.queries import ByteDfa
from detent.turns.outline import Calls, EndOfTurn, Fixed, Gap, Outline, Part, Repeat, Sequence, Tag

__all__ = ["Graph", "PartDfa", "Vertex"]


class PartDfa:
    """The automaton of a part, with the facts of each state that reading needs."""

    def __init__(self, node: _core.Node, tags: list[bytes]) -> None:
        self._dfa = ByteDfa(_core.without_special(_core.special_as_text(node, tags)))
        self.has_special = node.has_special
        self.class_of = self._dfa.class_of
        self.first_bytes = self._dfa.first_bytes
        self._states: dict[int, tuple[list[int], bool, bool]] = {}
        self.start = self._dfa.start

    def state(self, number: int) -> tuple[list[int], bool, bool]:
        """Return the transition row, whether the part may end here, and whether it must."""
        found = self._states.get(number)
        if found is None:
            row = self._dfa.row(number)
            accepting = self._dfa.is_accepting(number)
            found = self._states[number] = (row, accepting, accepting and not any(row))
        return found


@dataclass
class Vertex:
    """A vertex of the graph; the fields that a kind does not use are empty."""

    kind: Literal["literal", "special", "part", "name", "arguments", "split", "loop", "round", "end"]
    next: int = 0
    data: bytes = b""  # literal: the text; special: the name
    part: Part | None = None
    calls: Calls | None = None
    options: tuple[int, ...] = ()  # split, in order of priority; loop: first round, later round, exit
    minimum: int = 0
    maximum: int | None = None


class Graph:
    """The automaton of an outline, built once for each rule; the automata of parts are built when a text visits them.

    Parameters
    ----------
    outline : Outline
        The outline.
    tags : tuple of str
        All tags.
    special : frozenset of str
        The tags that are special tokens. The others are letters.
    """

    def __init__(self, outline: Outline, tags: tuple[str, ...] = (), special: frozenset[str] = frozenset()) -> None:
        self.vertices: list[Vertex] = [Vertex("end")]
        self._tags = sorted(tag.encode() for tag in tags)
        self._special = special
        self._dfas: dict[tuple[int, int], PartDfa] = {}
        self._names: dict[int, _NameTrie] = {}
        self._callable: dict[tuple[int, int], bool] = {}
        self._exits: dict[int, frozenset[int] | None] = {}
        self.start = self._add(outline, 0)

    def _new(self, vertex: Vertex) -> int:
        self.vertices.append(vertex)
        return len(self.vertices) - 1

    def _add(self, outline: Outline, after: int) -> int:
        """Add the vertices of an outline that `after` follows; return the first."""
        if isinstance(outline, Fixed):
            return self._new(Vertex("literal", after, outline.text.encode())) if outline.text else after
        if isinstance(outline, Gap):
            return self._add_gap(outline, after)
        if isinstance(outline, (Tag, EndOfTurn)):
            return self._add_tag(outline, after)
        if isinstance(outline, Part):
            return self._new(Vertex("part", after, part=outline))
        if isinstance(outline, Calls):
            arguments = self._new(Vertex("arguments", after, calls=outline))
            return self._new(Vertex("name", self._add(outline.between, arguments), calls=outline))
        if isinstance(outline, Sequence):
            for part in reversed(outline.parts):
                after = self._add(part, after)
            return after
        if isinstance(outline, Repeat):
            return self._add_repeat(outline, after)
        return self._new(Vertex("split", options=tuple(self._add(option, after) for option in outline.options)))

    def _add_gap(self, outline: Gap, after: int) -> int:
        for character in reversed(outline.text):
            taken = self._new(Vertex("literal", after, character.encode()))
            after = self._new(Vertex("split", options=(taken, after)))
        return after

    def _add_tag(self, outline: Tag | EndOfTurn, after: int) -> int:
        is_special, name = outline.name in self._special, outline.name.encode()
        if isinstance(outline, Tag):
            return self._new(Vertex("special" if is_special else "literal", after, name))
        if not is_special:
            return after
        return self._new(Vertex("split", options=(self._new(Vertex("special", after, name)), after)))

    def _add_repeat(self, outline: Repeat, after: int) -> int:
        loop = self._new(Vertex("loop", minimum=outline.minimum, maximum=outline.maximum))
        body = self._add(outline.body, self._new(Vertex("round", loop)))
        self.vertices[loop].options = (body, self._add(outline.separator, body), after)
        return loop

    def dfa(self, vertex: int, function: int) -> PartDfa:
        """Return the automaton of a part, or of the arguments of a function."""
        at = self.vertices[vertex]
        key = (vertex, function if at.calls is not None else 0)
        found = self._dfas.get(key)
        if found is None:
            node = at.part.node if at.part is not None else at.calls.arguments[function - at.calls.first]  # type: ignore[union-attr]
            found = self._dfas[key] = PartDfa(node, self._tags)
        return found

    def names(self, vertex: int) -> _NameTrie:
        """Return the names of calls."""
        if vertex not in self._names:
            self._names[vertex] = _NameTrie(self.vertices[vertex].calls)  # type: ignore[arg-type]
        return self._names[vertex]

    def is_callable(self, vertex: int, function: int) -> bool:
        """Return whether a function that is named at a vertex has valid arguments."""
        found = self._callable.get((vertex, function))
        if found is None:
            calls = self.vertices[vertex].calls
            before = (number for number in range(vertex - 1, 0, -1) if self.vertices[number].calls is calls)
            arguments = next(number for number in before if self.vertices[number].kind == "arguments")  # see _add
            found = self._callable[vertex, function] = self.dfa(arguments, function).start != 0
        return found

    def exits(self, vertex: int) -> frozenset[int] | None:
        """Return the bytes that may follow a part or arguments; None if they are not known."""
        at = self.vertices[vertex]
        if vertex not in self._exits:
            self._exits[vertex] = self._first_bytes(at.next, set())
        return self._exits[vertex]

    def _first_bytes(self, vertex: int, seen: set[int]) -> frozenset[int] | None:
        if vertex in seen:
            return frozenset()
        seen.add(vertex)
        at = self.vertices[vertex]
        if at.kind == "literal":
            return frozenset(at.data[:1])
        if at.kind in ("special", "end"):
            return frozenset()
        if at.kind in ("name", "arguments"):
            return None
        following = at.options or (at.next,)
        found: set[int] = set()
        if at.kind == "part":
            is_empty, first = self.dfa(vertex, 0).first_bytes()
            found |= set(first)
            following = (at.next,) if is_empty else ()
        for each in following:
            more = self._first_bytes(each, seen)
            if more is None:
                return None
            found |= more
        return frozenset(found)


class _NameTrie:
    """The names of calls, as a trie over bytes; state 0 is its root."""

    def __init__(self, calls: Calls) -> None:
        self.children: list[dict[int, int]] = [{}]
        self.function: list[int | None] = [None]
        for index, (name, node) in enumerate(zip(calls.names, calls.arguments, strict=True), calls.first):
            if node == _core.empty():
                continue  # no arguments are valid, so that the function is never called
            state = 0
            for byte in name.encode():
                if byte not in self.children[state]:
                    self.children[state][byte] = len(self.children)
                    self.children.append({})
                    self.function.append(None)
                state = self.children[state][byte]
            self.function[state] = index

    def longer(self, state: int) -> Iterator[int]:
        """Yield the functions whose names go on after a state."""
        pending = list(self.children[state].values())
        for child in pending:  # the list grows in the loop
            function = self.function[child]
            if function is not None:
                yield function
            pending.extend(self.children[child].values())

"""Positions: where a text may be in a graph, and what of it is certain.

A position of a text is a vertex of the graph, the state of the automaton inside of this vertex, and two registers: the
function that is called, and the number of rounds of the repetition. A text may be at several positions at once, such as
in free text and in a partial tag. Each position has a trail: the marks where parts begin and end, since the
last mark that all positions share. The order of positions is their priority, as in a Pike machine (Thompson 1968; Pike
1987): of two positions that are equal, the first stays.

What all positions agree on is certain. All else is held back: exactly the bytes that may yet be a tag.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

from detent.turns.graph import Graph
from detent.turns.outline import Role

__all__ = ["Mark", "OpenPart", "Positions", "Run"]


class Mark(NamedTuple):
    """A part begins or ends before the byte at `offset`, or the name of function number `value` is complete."""

    kind: Literal["begin", "end", "name"]
    role: Role
    offset: int
    value: int = 0


_Trail: TypeAlias = tuple[Mark, ...]


class Run(NamedTuple):
    """Bytes of one part."""

    role: Role
    data: bytes


class OpenPart(NamedTuple):
    """A vertex of the graph that the next byte may belong to; `start` is the offset at which its part begins."""

    vertex: int
    function: int
    start: int


class _Position(NamedTuple):
    vertex: int
    state: int
    function: int
    rounds: int
    trail: _Trail

    def at(self, state: int) -> _Position:
        """Return the position in another state of the same vertex."""
        return _Position(self.vertex, state, self.function, self.rounds, self.trail)


class Positions:
    """The positions of a text that is fed in pieces.

    Cost: a step of the automaton for each byte and position; there is one position, except where a tag may begin.
    """

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._offset = 0
        self._certain = 0
        self._role: Role = "none"
        self._bytes = bytearray()  # from offset _certain on
        self._positions: list[_Position] = []
        self._enter(graph.start, 0, 0, (), 0, self._positions)

    @property
    def offset(self) -> int:
        """The bytes read so far; those of special tokens are the letters of their names."""
        return self._offset

    @property
    def role(self) -> Role:
        """The part in which the certain text ends."""
        return self._role

    @property
    def is_in_name(self) -> bool:
        """Whether the text is in the name of a call, wherever it is."""
        return all(self._graph.vertices[position.vertex].kind == "name" for position in self._positions)

    def feed(self, data: bytes) -> bool:
        """Read bytes; return False where no text of the rule goes on with the byte at `offset`."""
        index, size = 0, len(data)
        while index < size:
            if len(self._positions) == 1:
                index = self._run(data, index)
                if index == size:
                    break
            byte = data[index]
            found: list[_Position] = []
            for position in self._positions:
                self._step(position, byte, found)
            if not found:
                return False
            self._bytes.append(byte)
            self._offset += 1
            self._positions = _distinct(found)
            index += 1
        return True

    def feed_special(self, name: str) -> bool:
        """Read a special token; return False where no text of the rule goes on with it."""
        found: list[_Position] = []
        for position in self._positions:
            self._step_special(position, name, found)
        if not found:
            return False
        self._bytes += name.encode()
        self._offset += len(name.encode())
        self._positions = _distinct(found)
        return True

    def take_certain(self) -> list[Mark | Run]:
        """Return the marks and bytes that became certain since the last call."""
        first = self._positions[0].trail
        shared = len(first)
        for position in self._positions[1:]:
            trail = position.trail
            shared = min(shared, len(trail))
            while trail[:shared] != first[:shared]:
                shared -= 1
        end = min([self._offset, *(p.trail[shared].offset for p in self._positions if len(p.trail) > shared)])
        items: list[Mark | Run] = []
        for mark in first[:shared]:
            self._take_bytes(mark.offset, items)
            items.append(mark)
            if mark.kind != "name":
                self._role = mark.role if mark.kind == "begin" else "none"
        self._take_bytes(end, items)
        if shared:
            self._positions = [position._replace(trail=position.trail[shared:]) for position in self._positions]
        return items

    def finish(self) -> bool:
        """End the text here; return whether it is complete. Then all of it is certain."""
        for position in self._positions:
            found: list[_Position] = [position]
            if self._graph.vertices[position.vertex].kind in ("part", "arguments", "name"):
                found = []
                self._exit(position, found)
            for each in found:
                if self._graph.vertices[each.vertex].kind == "end":
                    self._positions = [each]
                    return True
        return False

    def open_parts(self) -> list[OpenPart]:
        """Return the parts in which the text may go on, the end of the text among them.

        Precondition: `take_certain` was not called, so that the trails have the starts of all parts.
        """
        pending = list(self._positions)
        found: dict[OpenPart, None] = {}
        for position in pending:  # the list grows in the loop
            vertex, state = self._graph.vertices[position.vertex], position.state
            if vertex.kind == "name":
                names = self._graph.names(position.vertex)
                is_open = any(self._graph.is_callable(position.vertex, longer) for longer in names.longer(state))
                may_end = names.function[state] is not None
            elif vertex.kind in ("part", "arguments"):
                row, may_end, _ = self._graph.dfa(position.vertex, position.function).state(state)
                is_open = any(row)
            else:
                is_open, may_end = True, False
            if is_open:
                starts = [mark.offset for mark in position.trail if mark.kind == "begin"]
                found[OpenPart(position.vertex, position.function, starts[-1] if starts else 0)] = None
            if may_end:
                following: list[_Position] = []
                self._exit(position, following)
                pending += [each for each in following if each not in pending]
        return list(found)

    def _take_bytes(self, end: int, items: list[Mark | Run]) -> None:
        if end > self._certain:
            data = bytes(self._bytes[: end - self._certain])
            del self._bytes[: end - self._certain]
            self._certain = end
            if self._role != "none":
                items.append(Run(self._role, data))

    # Steps.

    def _run(self, data: bytes, index: int) -> int:
        """Read bytes inside the vertex of the only position; return the index of the first byte that is not read."""
        position = self._positions[0]
        graph, state = self._graph, position.state
        kind = graph.vertices[position.vertex].kind
        if kind == "literal":
            return self._run_literal(data, index)
        if kind not in ("part", "arguments"):
            return index
        dfa, exits = graph.dfa(position.vertex, position.function), graph.exits(position.vertex)
        start, size, class_of, is_last = index, len(data), dfa.class_of, False
        row, accepting, _ = dfa.state(state)
        while index < size:
            byte = data[index]
            target = row[class_of[byte]]
            if not target or (accepting and (exits is None or byte in exits)):
                break
            index += 1
            if target != state:
                state = target
                row, accepting, is_last = dfa.state(state)
                if is_last:
                    break
        if index == start:
            return index
        self._bytes += data[start:index]
        self._offset += index - start
        if state != position.state:
            self._positions = [position.at(state)]
        if is_last:
            found: list[_Position] = []
            self._exit(self._positions[0], found)
            self._positions = found
        return index

    def _run_literal(self, data: bytes, index: int) -> int:
        """Read bytes of the literal of the only position, as far as they are equal."""
        position = self._positions[0]
        vertex = self._graph.vertices[position.vertex]
        rest = vertex.data[position.state :]
        if len(rest) == 1:
            return index
        taken = data[index : index + len(rest)]
        if not rest.startswith(taken):
            taken = taken[: next(i for i, (one, other) in enumerate(zip(rest, taken, strict=False)) if one != other)]
        elif len(taken) == len(rest):
            taken = taken[:-1]  # the last byte may lead to several positions, or to none: a step of its own
        if taken:
            self._bytes += taken
            self._offset += len(taken)
            self._positions = [position.at(position.state + len(taken))]
        return index + len(taken)

    def _step(self, position: _Position, byte: int, found: list[_Position]) -> None:
        """Add the positions that a byte leads to."""
        vertex = self._graph.vertices[position.vertex]
        if vertex.kind == "literal":
            if vertex.data[position.state] == byte:
                if position.state + 1 < len(vertex.data):
                    found.append(position.at(position.state + 1))
                else:
                    self._enter(
                        vertex.next, position.function, position.rounds, position.trail, self._offset + 1, found
                    )
        elif vertex.kind in ("part", "arguments"):
            self._step_part(position, byte, found)
        elif vertex.kind == "name":
            self._step_name(position, byte, found)

    def _step_part(self, position: _Position, byte: int, found: list[_Position]) -> None:
        dfa, exits = self._graph.dfa(position.vertex, position.function), self._graph.exits(position.vertex)
        row, accepting, _ = dfa.state(position.state)
        if accepting and (exits is None or byte in exits):
            self._step_after(position, byte, found)
        target = row[dfa.class_of[byte]]
        if target:
            moved = position.at(target)
            if dfa.state(target)[2]:
                self._exit(moved, found, self._offset + 1)
            else:
                found.append(moved)

    def _step_name(self, position: _Position, byte: int, found: list[_Position]) -> None:
        names = self._graph.names(position.vertex)
        if names.function[position.state] is not None:
            self._step_after(position, byte, found)
        target = names.children[position.state].get(byte, 0)
        if target:
            moved = position.at(target)
            if names.children[target]:
                found.append(moved)
            else:
                self._exit(moved, found, self._offset + 1)

    def _step_after(self, position: _Position, byte: int, found: list[_Position]) -> None:
        following: list[_Position] = []
        self._exit(position, following)
        for each in following:
            self._step(each, byte, found)

    def _step_special(self, position: _Position, name: str, found: list[_Position]) -> None:
        vertex = self._graph.vertices[position.vertex]
        if vertex.kind == "special":
            if vertex.data == name.encode():
                offset = self._offset + len(vertex.data)
                self._enter(vertex.next, position.function, position.rounds, position.trail, offset, found)
        elif vertex.kind in ("part", "arguments", "name"):
            if vertex.kind != "name":
                self._step_tag_inside(position, name.encode(), found)
            following: list[_Position] = []
            self._exit(position, following)
            for each in following:
                self._step_special(each, name, found)

    def _step_tag_inside(self, position: _Position, name: bytes, found: list[_Position]) -> None:
        """Read a special token inside a part that has special tokens; its automaton is over their letters."""
        dfa = self._graph.dfa(position.vertex, position.function)
        state = position.state if dfa.has_special else 0
        for byte in name:
            state = dfa.state(state)[0][dfa.class_of[byte]] if state else 0
        if state:
            moved = position.at(state)
            if dfa.state(state)[2]:
                self._exit(moved, found, self._offset + len(name))
            else:
                found.append(moved)

    def _exit(self, position: _Position, found: list[_Position], offset: int | None = None) -> None:
        """Add the positions after a part, arguments or a name, if they may end at `offset`."""
        offset = self._offset if offset is None else offset
        graph, trail, function = self._graph, position.trail, position.function
        vertex = graph.vertices[position.vertex]
        if vertex.kind == "name":
            named = graph.names(position.vertex).function[position.state]
            if named is None or not graph.is_callable(position.vertex, named):
                return
            function = named
            trail = (*trail, Mark("name", "none", offset, named))
        else:
            if not graph.dfa(position.vertex, function).state(position.state)[1]:
                return
            role = vertex.part.role if vertex.part is not None else "arguments"
            if role != "none":
                trail = (*trail, Mark("end", role, offset, vertex.part.index if vertex.part else function))
        self._enter(vertex.next, function, position.rounds, trail, offset, found)

    def _enter(self, at: int, function: int, rounds: int, trail: _Trail, offset: int, found: list[_Position]) -> None:
        """Add the positions before a vertex."""
        vertex = self._graph.vertices[at]
        if vertex.kind == "split":
            for option in vertex.options:
                self._enter(option, function, rounds, trail, offset, found)
        elif vertex.kind == "round":
            loop = self._graph.vertices[vertex.next]
            most = max(loop.minimum, 1) if loop.maximum is None else loop.maximum
            self._enter(vertex.next, function, min(rounds + 1, most), trail, offset, found)
        elif vertex.kind == "loop":
            first, later, after = vertex.options
            is_open = vertex.maximum is None or rounds < vertex.maximum
            if is_open:
                self._enter(later if rounds else first, function, rounds, trail, offset, found)
            if rounds >= vertex.minimum:
                self._enter(after, function, 0, trail, offset, found)
        elif vertex.kind in ("part", "arguments"):
            self._enter_part(at, function, rounds, trail, offset, found)
        else:
            found.append(_Position(at, 0, function, rounds, trail))

    def _enter_part(
        self, at: int, function: int, rounds: int, trail: _Trail, offset: int, found: list[_Position]
    ) -> None:
        vertex = self._graph.vertices[at]
        dfa = self._graph.dfa(at, function)
        if not dfa.start:
            return  # the part has no text
        role = vertex.part.role if vertex.part is not None else "arguments"
        if role != "none":
            trail = (*trail, Mark("begin", role, offset, vertex.part.index if vertex.part else function))
        position = _Position(at, dfa.start, function, rounds, trail)
        if dfa.state(dfa.start)[2]:
            self._exit(position, found, offset)
        else:
            found.append(position)


def _distinct(positions: list[_Position]) -> list[_Position]:
    """Return the first of equal positions."""
    if len(positions) == 1:
        return positions
    found: dict[tuple[int, ...], _Position] = {}
    for position in positions:
        found.setdefault(position[:4], position)
    return list(found.values())

"""ByteDfa: a language as an automaton over bytes, and questions about it; no vocabulary, no model.

States are the core's integers. State 0 is dead; every other state is live.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from detent import _core
from detent.errors import LimitError
from detent.limits import Limits
from detent.text_counts import TextCounts

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["ByteDfa"]

_MAX_BOUND = 1 << 14
"""The bytes of a known text that a sample may be as long as; a longer one is not taken for a short text."""

_READABLE = bytes(sorted(range(0x20, 0x7F), key=lambda byte: (not chr(byte).islower(), not chr(byte).isalnum())))
"""Printable characters: small letters first, then other letters and digits."""

_NO_LIMIT = 2**63 - 1


class ByteDfa:
    """The deterministic automaton of one node, built as far as a question visits it.

    `core` is the automaton, if there is one already.
    """

    def __init__(self, node: _core.Node, limits: Limits | None = None, core: _core.Automaton | None = None) -> None:
        self._node = node
        self._limits = limits or Limits()
        self._core = core or self._build()
        self._first_bytes = self._core.memory_bytes
        self._of_texts = self._core
        self._rows: dict[int, list[int]] = {}
        self._only_text: tuple[bytes | None] | None = None

    def _build(self) -> _core.Automaton:
        return _core.Automaton(self._node, self._limits.states, self._limits.memory_bytes, self._limits.work)

    @property
    def memory_bytes(self) -> int:
        """The bytes of the automaton, as far as it is built."""
        return self._core.memory_bytes

    @property
    def is_filled(self) -> bool:
        """Whether questions have taken so much of the memory that another one may lack it."""
        return self._core.memory_bytes > max(self._first_bytes, self._limits.memory_bytes // 4)

    def _begin_text(self) -> int:
        """Return the state before a text; states of lists of distinct items are those of one text, and given up."""
        if self._node.has_distinct and self.is_filled:
            self._core = self._build()
            self._rows.clear()
            self.__dict__.pop("counts", None)
        return self._core.start

    @cached_property
    def counts(self) -> TextCounts:
        """Questions that count texts."""
        return TextCounts(self)

    @cached_property
    def class_of(self) -> bytes:
        """The class of each byte."""
        return self._core.class_of

    @cached_property
    def _members(self) -> list[bytes]:
        """The bytes of each class, ascending."""
        members: list[list[int]] = [[] for _ in range(max(self.class_of) + 1)]
        for byte, number in enumerate(self.class_of):
            members[number].append(byte)
        return [bytes(values) for values in members]

    @property
    def start(self) -> int:
        """The state before the first byte."""
        return self._core.start

    def row(self, state: int, max_work: int = _NO_LIMIT) -> list[int]:
        """Return the next state for each byte class; raise `LimitError` where that takes over `max_work`."""
        row = self._rows.get(state)
        if row is None:
            row = self._rows[state] = self._core.row(state, max_work)
        return row

    def reachable(self, states: Iterable[int], most: int) -> list[int] | None:
        """Return the live states that some text leads to from one of `states`; None where they are more than `most`."""
        return self._core.reachable([*states], most)

    def bytes_after(self, states: Iterable[int]) -> tuple[bytes, bytes]:
        """Return the bytes that lead from each state to acceptance, and the others that some state goes on with."""
        return self._core.bytes_after([*states])

    def has_language_of(self, state: int, other: ByteDfa) -> bool:
        """Whether the form of a state shows that the texts from there on are the language of `other`."""
        return self._core.hash(state) == other._core.hash(other.start)

    def step(self, state: int, byte: int) -> int:
        """Return the state after one more byte; 0 if no text of the language begins like that."""
        if self._node.has_distinct:
            return self._core.advance(state, bytes([byte]))
        return self.row(state)[self.class_of[byte]] if state else 0

    def is_empty(self) -> bool:
        """Return whether the language has no string."""
        return self._core.start == 0

    def accepts(self, text: bytes) -> bool:
        """Return whether `text` is in the language."""
        core = self._of_texts
        before = core.memory_bytes
        if before <= max(self._first_bytes, self._limits.memory_bytes // 4):
            try:
                return core.accepts(text)
            except LimitError:
                if before == self._first_bytes:
                    raise  # the text alone reaches the limit
        # States of earlier texts are given up. `_core` stays, since callers know its states.
        self._of_texts = core = self._build()
        return core.accepts(text)

    def first_bytes(self) -> tuple[bool, bytes]:
        """Return whether the empty string is a member, and the first bytes of members; equal for equal languages."""
        start = self._core.start
        if start == 0:
            return False, b""
        row = self.row(start)
        return self._core.accepting(start), bytes(byte for byte in range(256) if row[self.class_of[byte]])

    def shortest(self) -> bytes | None:
        """Return the shortest member, of several the first in byte order, or None."""
        return None if self.is_empty() else self._core.shortest_completion(self._core.start)

    def length_of_short_text(self) -> int | None:
        """Return a length that some member does not exceed, found without a search for the shortest one.

        None if there is no member, or if the bound is so large that the shortest one had better be searched for.
        """
        bound = _MAX_BOUND + 1 if self.is_empty() else self._core.completion_bound(self._core.start)
        return bound if bound <= _MAX_BOUND else None

    def state_text(self, text: bytes = b"", max_bytes: int = 200) -> str:
        """Return the expression of the state after `text`, cut at `max_bytes` bytes.

        >>> import detent
        >>> ByteDfa(detent.regex("abc|ad")._node).state_text(b"a")
        '[d]|"bc"'
        """
        return self._core.state_text(self.after(text), max_bytes)

    def dump(self, max_states: int = 20) -> str:
        """Return the states, breadth first, with their expressions and transitions.

        >>> import detent
        >>> print(ByteDfa(detent.regex("a*b")._node).dump())
        s0: [a]* [b]
          [a] -> s0
          [b] -> s1
        s1: ε (accepting)
        """
        numbers = {self._core.start: 0}
        order = [self._core.start]
        lines: list[str] = []
        for state in order:
            if len(lines) and numbers[state] == max_states:
                return "\n".join([*lines, f"... {len(order) - max_states} more states seen"])
            mark = " (accepting)" if state and self._core.accepting(state) else ""
            lines.append(f"s{numbers[state]}: {self._core.state_text(state)}{mark}")
            targets: dict[int, bytes] = {}
            for members, target in zip(self._members, self.row(state) if state else [], strict=bool(state)):
                if target:
                    targets[target] = targets.get(target, b"") + members
            for target, values in targets.items():
                if target not in numbers:
                    numbers[target] = len(order)
                    order.append(target)
                lines.append(f"  {_core.byte_set(values).text()} -> s{numbers[target]}")
        return "\n".join(lines)

    def after(self, text: bytes) -> int:
        """Return the state after a text; 0 if no member begins with it."""
        start = self._begin_text()  # first: it may replace the core
        return self._core.advance(start, text)

    def ends(self, text: bytes, start: int) -> list[int]:
        """Return the positions at which a member that begins at `start` may end, ascending."""
        return self.read(text, start)[0]

    def read(self, text: bytes, start: int) -> tuple[list[int], int, int]:
        """Read a text from `start` on, as long as a member may begin like that.

        Return the positions at which a member may end, ascending; the state at the end of the text, 0 if no member
        goes so far; and the number of bytes that were read.
        """
        found: list[int] = []
        state = self._begin_text()
        for position in range(start, len(text)):
            if state == 0:
                return found, 0, position - start
            if self._core.accepting(state):
                found.append(position)
            state = self._core.advance(state, text[position : position + 1])
        if self.is_accepting(state):
            found.append(len(text))
        return found, state, len(text) - start

    def only_text(self) -> bytes | None:
        """Return the member if there is exactly one, else None."""
        if self._only_text is None:
            self._only_text = (self._find_only_text(),)
        return self._only_text[0]

    def _find_only_text(self) -> bytes | None:
        state, text = self._core.start, bytearray()
        while state:
            steps = [index for index, target in enumerate(self.row(state)) if target]
            if self._core.accepting(state):
                return None if steps else bytes(text)
            if len(steps) != 1 or len(self._members[steps[0]]) != 1:
                return None
            text += self._members[steps[0]]
            state = self.row(state)[steps[0]]
        return None

    def first_sets(self, most: int) -> list[frozenset[int]]:
        """Return the bytes that members have at their first positions, as long as all lead to one state.

        At most `most` positions, none where the empty text is a member.

        >>> import detent
        >>> [bytes(sorted(each)) for each in ByteDfa(detent.regex("(?a:(?i:a))bc|(?a:(?i:a))bd+")._node).first_sets(9)]
        [b'Aa', b'b', b'cd']
        """
        state, found = self._core.start, list[frozenset[int]]()
        while state and len(found) < most and not self._core.accepting(state):
            steps = [index for index, target in enumerate(self.row(state)) if target]
            found.append(frozenset(byte for index in steps for byte in self._members[index]))
            targets = {self.row(state)[index] for index in steps}
            if len(targets) > 1:
                break
            state = targets.pop()
        return found

    def longest_prefix(self, text: bytes) -> tuple[int, int]:
        """Return how many bytes of `text` begin a member, and the state after them."""
        state = self._core.start
        for position, byte in enumerate(text):
            target = self.step(state, byte)
            if target == 0:
                return position, state
            state = target
        return len(text), state

    def expected(self, state: int) -> bytes:
        """Return the bytes that may follow in a live state, ascending."""
        row = self.row(state)
        return bytes(byte for byte in range(256) if row[self.class_of[byte]])

    def completion(self, state: int) -> bytes:
        """Return the shortest string that leads from a live state to acceptance; some string if that is far to seek."""
        try:
            return self._core.shortest_completion(state)
        except LimitError:
            return self._core.some_completion(state)

    def readable(self, text: bytes) -> bytes:
        r"""Return a text with other bytes for control characters: the first ones that lead to the same states.

        >>> import detent
        >>> detent.regex(".{3}|0")._dfa().readable(b"\x00\x00\x00")
        b'aaa'
        """
        classes = {byte: self._members[self.class_of[byte]] for byte in text if byte < 0x20 or byte == 0x7F}
        replaced = {
            byte: next((each for each in _READABLE if each in members), byte) for byte, members in classes.items()
        }
        return bytes(replaced.get(byte, byte) for byte in text)

    def some_completion(self, state: int) -> bytes:
        """Return a string that leads from a live state to acceptance; unlike `completion`, without a search."""
        return self._core.some_completion(state)

    def is_accepting(self, state: int) -> bool:
        """Return whether a text may end in `state`."""
        return state != 0 and self._core.accepting(state)

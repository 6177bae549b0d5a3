"""ByteDfa: a language as an automaton over bytes, and questions about it; no vocabulary, no model.

States are the core's integers. State 0 is dead; every other state is live. Counting and sampling are dynamic programs
over (state, remaining bytes) with Python's unbounded integers. (Flajolet, Zimmermann & Van Cutsem 1994, for uniform
sampling.)
"""

from __future__ import annotations

from collections import Counter
from functools import cached_property
from typing import TYPE_CHECKING

from detent import _core
from detent.errors import LimitError
from detent.limits import Limits

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from random import Random

__all__ = ["ByteDfa"]

# How much an exact sample may visit: some 0.2 seconds.
_MAX_PAIRS = 20_000
_MAX_STATES = 2_000
_MAX_SAMPLE_WORK = 400_000

_WORK_PER_ROW = 50
"""Units of work for each row that Python reads, beside the core's own."""

_WORK_PER_COUNT = 15
"""Units of work for each pair of a state and a length whose strings are counted."""

_MAX_BOUND = 1 << 14
"""The bytes of a known text that a sample may be as long as; a longer one is not taken for a short text."""

_MAX_COUNTED = 4_000_000
"""The transitions that a count may follow, once for each length: about a second."""

_READABLE = bytes(sorted(range(0x20, 0x7F), key=lambda byte: (not chr(byte).islower(), not chr(byte).isalnum())))
"""Printable characters: small letters first, then other letters and digits."""

_NO_LIMIT = 2**63 - 1

_MAX_COUNTS = 150_000
"""The pairs of a state and a length that are kept from one question to the next."""


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
        self._counts: dict[tuple[int, int], int] = {}
        self._edges: dict[int, list[tuple[int, int]]] = {}
        self._small: dict[int, bool] = {}
        self._begin_question()

    def _begin_question(self, work: int | None = None) -> None:
        """Start the count of the work that one question may take, in all calls of the core together."""
        self._max_work = min(self._limits.work, max(2_000_000, self._limits.work // 10)) if work is None else work
        if len(self._counts) > _MAX_COUNTS:
            self._counts.clear()
        self._work_before = self._core.work + self._own_work()

    def _exceeds_work(self) -> bool:
        return self._core.work + self._own_work() - self._work_before > self._max_work

    def _own_work(self) -> int:
        return _WORK_PER_ROW * len(self._rows) + _WORK_PER_COUNT * len(self._counts)

    def _refuse_long_question(self) -> None:
        if self._exceeds_work():
            raise self._long_question()

    def _long_question(self) -> LimitError:
        return LimitError(
            f"the question takes over {self._max_work} units of work; ask about a simpler language, or for shorter "
            "texts",
            subject="question_work",
            limit=self._max_work,
        )

    def _row_of_question(self, state: int) -> list[int]:
        """Return the next state for each byte class; raise `LimitError` where the question has taken too much."""
        row = self._rows.get(state)
        if row is None:
            work_left = self._work_before + self._max_work - self._core.work - self._own_work()
            try:
                row = self.row(state, max(work_left, 0))
            except LimitError as error:
                raise self._long_question() if error.subject == "work" else error from None
            self._refuse_long_question()
        return row

    def _edges_of(self, state: int) -> list[tuple[int, int]]:
        """Return the states that follow, each with the number of bytes that lead to it."""
        edges = self._edges.get(state)
        if edges is None:
            numbers: Counter[int] = Counter()
            for members, target in zip(self._members, self._row_of_question(state), strict=True):
                if target:
                    numbers[target] += len(members)
            edges = self._edges[state] = list(numbers.items())
        return edges

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
            self._counts.clear()
            self._edges.clear()
        return self._core.start

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

    def count(self, max_bytes: int) -> int:
        """Count the members of at most `max_bytes` bytes."""
        self._begin_question()
        return sum(self._counts_by_length(max_bytes))

    def longest(self) -> int | None:
        """Return the length of the longest member, or None if lengths are unbounded; -1 for the empty language.

        Visits every state: raises `LimitError` where there are too many.
        """
        self._begin_question()
        lengths: dict[int, int] = {}
        open_states: set[int] = set()
        stack = [self._core.start] if self._core.start else []
        while stack:
            state = stack[-1]
            if state in lengths:
                stack.pop()
                open_states.discard(state)
                continue
            targets = {target for target, _ in self._edges_of(state)}
            if state not in open_states:
                open_states.add(state)
                if targets & open_states:
                    return None  # every state is live, so that the cycle is on the way to a member
                missing = [target for target in targets if target not in lengths]
                if missing:
                    stack.extend(missing)
                    continue
            lengths[state] = max((lengths[target] + 1 for target in targets), default=0)
            open_states.discard(state)
            stack.pop()
        return lengths.get(self._core.start, -1)

    def _counts_by_length(self, max_bytes: int) -> Iterator[int]:
        """Yield the number of members of each length from 0 on, up to the longest."""
        ways: Counter[int] = Counter({self._core.start: 1}) if self._core.start else Counter()
        visited = 0
        for length in range(max_bytes + 1):
            if not ways:
                return
            visited += sum(len(self._edges_of(state)) for state in ways)
            if visited > _MAX_COUNTED:
                raise LimitError(
                    f"counting the texts of up to {length} bytes follows over {_MAX_COUNTED} transitions; count texts "
                    f"of fewer than {length} bytes",
                    subject="max_bytes",
                    limit=length - 1,
                    given=max_bytes,
                )
            yield sum(number for state, number in ways.items() if self._core.accepting(state))
            after: Counter[int] = Counter()
            for state, number in ways.items():
                for target, weight in self._edges_of(state):
                    after[target] += number * weight
            ways = after

    def enumerate(self) -> Iterator[bytes]:
        """Yield every member, shorter ones first, equal lengths in byte order.

        Raises `LimitError` where finding the next text takes too much.
        """
        self._begin_question()
        reached = {self._core.start} - {0}
        length = 0
        while reached:
            yield from self._of_length(length)
            reached = {target for state in reached for target, _ in self._edges_of(state)}
            length += 1

    def _of_length(self, length: int) -> Iterator[bytes]:
        # Depth first with an explicit stack: (state, text so far), entered only where the length can be met.
        stack = [(self._core.start, b"")] if self._count_from(self._core.start, length) else []
        while stack:
            state, text = stack.pop()
            left = length - len(text)
            if left == 0:
                yield text
                self._begin_question()
                continue
            row = self._row_of_question(state)
            for byte in range(255, -1, -1):
                target = row[self.class_of[byte]]
                if target and self._count_from(target, left - 1):
                    stack.append((target, text + bytes([byte])))

    def _count_from(self, state: int, length: int) -> int:
        """Count the strings of exactly `length` bytes that lead from `state` to acceptance."""
        known = self._counts.get((state, length))
        if known is not None:
            return known
        pending = [(state, length)]
        while pending:
            at, left = pending[-1]
            if (at, left) in self._counts:
                pending.pop()
            elif left == 0:
                self._counts[at, left] = int(self._core.accepting(at))
            elif self._core.least_length(at) > left:
                self._counts[at, left] = 0
            else:
                edges = self._edges_of(at)
                missing = [(target, left - 1) for target, _ in edges if (target, left - 1) not in self._counts]
                if missing:
                    pending.extend(missing)
                    self._refuse_long_question()
                    continue
                self._counts[at, left] = sum(weight * self._counts[target, left - 1] for target, weight in edges)
        return self._counts[state, length]

    def sample(self, rng: Random, max_bytes: int) -> bytes | None:
        """Draw a member of at most `max_bytes` bytes; None if there is none.

        Where at most `_MAX_PAIRS` pairs of state and length are visited: a length among those that occur, then a member
        of that length, each uniformly. Elsewhere a random walk: at each step one of the byte classes that leave a
        completion within `max_bytes`, or the end, each with equal chance; then a byte of the class.
        """
        if self.is_empty():
            return None
        if max_bytes not in self._small:  # asked of a new automaton, since what this one knows depends on its history
            self._small[max_bytes] = ByteDfa(self._node, self._limits)._visits_few(max_bytes)
        self._begin_question()
        return self._sample_exactly(rng, max_bytes) if self._small[max_bytes] else self._walk(rng, max_bytes)

    def _visits_few(self, max_bytes: int) -> bool:
        """Return whether texts of up to `max_bytes` bytes visit few states; for an automaton without history."""
        self._begin_question(_MAX_SAMPLE_WORK)
        reached = {self._core.start} - {0}
        pairs = 0
        for _ in range(max_bytes + 1):
            pairs += len(reached)
            if pairs > _MAX_PAIRS:
                return False
            following: set[int] = set()
            for state in reached:
                if len(self._rows) > _MAX_STATES or self._exceeds_work():
                    return False
                following.update(target for target in self.row(state) if target)
            if not following:
                break
            reached = following
        return True

    def _walk(self, rng: Random, max_bytes: int) -> bytes | None:
        state, text = self._core.start, bytearray()
        if self._core.completion_bound(state) > max_bytes:
            shortest = self._core.shortest_completion(state)
            return shortest if len(shortest) <= max_bytes else None
        while True:
            row = self._row_of_question(state)
            left = max_bytes - len(text)
            fits = {target: self._core.completion_bound(target) < left for target in set(row) if target}
            choices = [index for index, target in enumerate(row) if target and fits[target]]
            if self._core.accepting(state):
                choices.append(len(row))
            if not choices:  # bounds need not fall from a state to the next
                text += self._core.some_completion(state)
                return bytes(text) if len(text) <= max_bytes else None
            choice = rng.choice(choices)
            if choice == len(row):
                return bytes(text)
            text.append(rng.choice(self._members[choice]))
            state = row[choice]

    def _sample_exactly(self, rng: Random, max_bytes: int) -> bytes | None:
        lengths = [length for length, number in enumerate(self._counts_by_length(max_bytes)) if number]
        if not lengths:
            return None
        length = rng.choice(lengths)
        state, text = self._core.start, bytearray()
        for left in range(length, 0, -1):
            index = rng.randrange(self._count_from(state, left))
            for members, target in zip(self._members, self.row(state), strict=True):
                weight = self._count_from(target, left - 1) if target else 0
                if index < weight * len(members):
                    text.append(members[index // weight])
                    state = target
                    break
                index -= weight * len(members)
        return bytes(text)

"""TextCounts: how many texts an automaton accepts, of which lengths; its texts in order, and at random.

Counting and sampling are dynamic programs over (state, remaining bytes) with Python's unbounded integers. (Flajolet,
Zimmermann & Van Cutsem 1994, for uniform sampling.) All steps of one question share one count of work.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from detent import _core
from detent.errors import LimitError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from random import Random

    from detent.queries import ByteDfa

__all__ = ["TextCounts"]

# How much an exact sample may visit: some 0.2 seconds.
_MAX_PAIRS = 20_000
_MAX_STATES = 2_000
_MAX_SAMPLE_WORK = 400_000

_WORK_PER_ROW = 50
"""Units of work for each row that Python reads, beside the core's own."""

_WORK_PER_COUNT = 15
"""Units of work for each pair of a state and a length whose strings are counted."""

_MAX_COUNTED = 4_000_000
"""The transitions that a count may follow, once for each length: about a second."""

_MAX_COUNTS = 150_000
"""The pairs of a state and a length that are kept from one question to the next."""


class TextCounts:
    """Questions about the texts of an automaton; what one of them has counted serves the next ones.

    Parameters
    ----------
    dfa : ByteDfa
        The automaton.
    """

    def __init__(self, dfa: ByteDfa) -> None:
        self._dfa = dfa
        self._counts: dict[tuple[int, int], int] = {}
        self._edges: dict[int, list[tuple[int, int]]] = {}
        self._small: dict[int, bool] = {}
        self._begin_question()

    @property
    def _core(self) -> _core.Automaton:
        return self._dfa._core

    def _begin_question(self, work: int | None = None) -> None:
        """Start the count of the work that one question may take, in all calls of the core together."""
        most = self._dfa._limits.work
        self._max_work = min(most, max(2_000_000, most // 10)) if work is None else work
        if len(self._counts) > _MAX_COUNTS:
            self._counts.clear()
        self._work_before = self._core.work + self._own_work()

    def _exceeds_work(self) -> bool:
        return self._core.work + self._own_work() - self._work_before > self._max_work

    def _own_work(self) -> int:
        return _WORK_PER_ROW * len(self._dfa._rows) + _WORK_PER_COUNT * len(self._counts)

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
        row = self._dfa._rows.get(state)
        if row is None:
            work_left = self._work_before + self._max_work - self._core.work - self._own_work()
            try:
                row = self._dfa.row(state, max(work_left, 0))
            except LimitError as error:
                raise self._long_question() if error.subject == "work" else error from None
            self._refuse_long_question()
        return row

    def _edges_of(self, state: int) -> list[tuple[int, int]]:
        """Return the states that follow, each with the number of bytes that lead to it."""
        edges = self._edges.get(state)
        if edges is None:
            numbers: Counter[int] = Counter()
            for members, target in zip(self._dfa._members, self._row_of_question(state), strict=True):
                if target:
                    numbers[target] += len(members)
            edges = self._edges[state] = list(numbers.items())
        return edges

    def count(self, max_bytes: int) -> int:
        """Count the members of at most `max_bytes` bytes."""
        self._begin_question()
        return sum(self.by_length(max_bytes))

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

    def by_length(self, max_bytes: int) -> Iterator[int]:
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
                target = row[self._dfa.class_of[byte]]
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
        if self._dfa.is_empty():
            return None
        if max_bytes not in self._small:  # asked of a new automaton, since what this one knows depends on its history
            self._small[max_bytes] = type(self._dfa)(self._dfa._node, self._dfa._limits).counts._visits_few(max_bytes)
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
                if len(self._dfa._rows) > _MAX_STATES or self._exceeds_work():
                    return False
                following.update(target for target in self._dfa.row(state) if target)
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
            text.append(rng.choice(self._dfa._members[choice]))
            state = row[choice]

    def _sample_exactly(self, rng: Random, max_bytes: int) -> bytes | None:
        lengths = [length for length, number in enumerate(self.by_length(max_bytes)) if number]
        if not lengths:
            return None
        length = rng.choice(lengths)
        state, text = self._core.start, bytearray()
        for left in range(length, 0, -1):
            index = rng.randrange(self._count_from(state, left))
            for members, target in zip(self._dfa._members, self._dfa.row(state), strict=True):
                weight = self._count_from(target, left - 1) if target else 0
                if index < weight * len(members):
                    text.append(members[index // weight])
                    state = target
                    break
                index -= weight * len(members)
        return bytes(text)

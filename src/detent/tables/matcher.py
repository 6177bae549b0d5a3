"""TableMatcher: one sequence's place in a table, with the interface of `detent.Matcher`."""

from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING, Any, SupportsIndex, final

import numpy as np

from detent.errors import ArgumentError, LimitError, from_core
from detent.mask import check_mask
from detent.tables.compress import FINISHED, REFUSED, Ints

if TYPE_CHECKING:
    from detent.tables.table import Table

__all__ = ["TableMatcher"]


@final
class TableMatcher:
    """One sequence's place in a `Table`: a list of states, as `detent.Matcher` is one in a guide.

    Made by `Table.matcher`. A call that raises leaves the state as it was.

    >>> import detent
    >>> vocabulary = detent.Vocabulary([b"a", b"b", b"ab", b""], eos_token_ids=[3])
    >>> matcher = detent.compile(detent.regex("(ab)+"), vocabulary).to_table().matcher(max_tokens=2)
    >>> matcher.advance(0)
    >>> matcher.allowed(), matcher.fork().is_accepting
    (array([1], dtype=int32), False)
    """

    __slots__ = ("_max_tokens", "_states", "_tokens", "table")

    def __init__(self, table: Table, start: int, max_tokens: int | None = None) -> None:
        if max_tokens is not None:
            if not isinstance(max_tokens, int) or isinstance(max_tokens, bool) or not 0 <= max_tokens < 1 << 31:
                raise ArgumentError(f"max_tokens must be an integer from 0 to 2**31 - 1, got {max_tokens!r}")
            shortest = int(table.distance[start])
            if shortest > max_tokens:
                raise LimitError(
                    f"max_tokens={max_tokens} is too few: the shortest text takes {shortest}; raise it to that at least"
                )
        self.table = table
        self._states = [start]
        self._tokens: list[int] = []
        self._max_tokens = max_tokens

    @property
    def state(self) -> int:
        """The number of the present state."""
        return self._states[-1]

    @property
    def token_ids(self) -> list[int]:
        """The tokens so far."""
        return list(self._tokens)

    @property
    def is_accepting(self) -> bool:
        """Whether the text may end here, or has ended."""
        return self.table.is_accepting(self.state)

    @property
    def is_finished(self) -> bool:
        """Whether end-of-text was taken."""
        return self.state == FINISHED

    def fill_mask(self, row: Any) -> None:
        """Write the tokens that are allowed next to a row int32[ceil(V / 32)], NumPy or torch, on the CPU."""
        check_mask(row, self.table.masks.shape[1:])[:] = self._mask()

    def allowed(self) -> Ints:
        """Return the allowed token ids, ascending."""
        bits = np.unpackbits(np.ascontiguousarray(self._mask()).view(np.uint8), bitorder="little")
        return np.flatnonzero(bits).astype(np.int32)

    def advance(self, token_id: SupportsIndex) -> None:
        """Take a token; raise `StateError` where it is not allowed."""
        token = index(token_id)
        after = self.table.step(self.state, token)
        left = self._left()
        if left is not None and self.table.distance[after] >= left:
            raise from_core("state", "budget", token, left)
        self._states.append(after)
        self._tokens.append(token)

    def rollback(self, steps: SupportsIndex = 1) -> None:
        """Undo steps, end-of-text included."""
        count = index(steps)
        if not 0 <= count <= len(self._tokens):
            raise from_core("state", "rollback", count, len(self._tokens))
        keep = len(self._tokens) - count
        del self._states[keep + 1 :], self._tokens[keep:]

    def fork(self) -> TableMatcher:
        """Return an independent copy at the same place."""
        copy = TableMatcher(self.table, self._states[0], self._max_tokens)
        copy._states, copy._tokens = list(self._states), list(self._tokens)
        return copy

    def _left(self) -> int | None:
        return None if self._max_tokens is None else self._max_tokens - len(self._tokens)

    def _mask(self) -> Ints:
        table, left = self.table, self._left()
        if left is None or self.is_finished:
            return table.mask(self.state)
        after = table.next[self.state]
        in_time = (after != REFUSED) & (table.distance[after] < left)
        bits = np.zeros(table.masks.shape[1] * 32, bool)
        bits[: len(table.token_class)] = in_time[table.token_class]
        return np.packbits(bits, bitorder="little").view(np.int32)

    def __len__(self) -> int:
        return len(self._tokens)

    def __repr__(self) -> str:
        state = "finished" if self.is_finished else "accepting" if self.is_accepting else "open"
        return f"TableMatcher({len(self)} steps, {state})"

"""TableMatcher: one sequence's place in a table, with the interface of `detent.Matcher`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, SupportsIndex, final

import numpy as np

from detent.errors import ArgumentError, LimitError, from_core
from detent.mask import check_mask
from detent.matcher import index_of
from detent.tables.compress import FINISHED, REFUSED, Ints

if TYPE_CHECKING:
    from detent.tables.table import TokenDfa

__all__ = ["TableMatcher", "text_tokens"]


def text_tokens(max_tokens: int | None, count_eos: bool, headroom: int, shortest: int) -> int | None:
    """Return how many tokens a text may take; the arguments are those of `Guide.matcher`, `shortest` is a text's."""
    if max_tokens is None:
        if count_eos or headroom:
            raise ArgumentError("count_eos and headroom say how max_tokens is spent; pass max_tokens too")
        return None
    for name, value in (("max_tokens", max_tokens), ("headroom", headroom)):
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 1 << 31:
            raise ArgumentError(f"{name} must be an integer from 0 to 2**31 - 1, got {value!r}")
    if shortest > max_tokens - count_eos:
        needed = f"{shortest}{' and end-of-text' if count_eos else ''}"
        raise LimitError(
            f"max_tokens={max_tokens} is too few: the shortest text takes {needed}; "
            f"raise max_tokens to at least {shortest + count_eos}",
            subject="max_tokens",
            limit=max_tokens,
            given=shortest + count_eos,
        )
    return max(max_tokens - count_eos - headroom, shortest)


@final
class TableMatcher:
    """One sequence's place in a `TokenDfa`: a list of states, with the methods of `detent.Matcher`.

    Made by `TokenDfa.matcher`. A call that raises leaves the state as it was.

    >>> import detent
    >>> vocabulary = detent.Vocabulary([b"a", b"b", b"ab", b""], eos_token_ids=[3])
    >>> matcher = detent.compile(detent.regex("(ab)+"), vocabulary).to_table().matcher(max_tokens=2)
    >>> matcher.advance(0)
    >>> matcher.allowed(), matcher.fork().is_accepting
    (array([1], dtype=int32), False)

    Attributes
    ----------
    guide : TokenDfa
        What the matcher walks in.
    budget_bound_at : int or None
        How many tokens there were when `max_tokens` first took away a token of a mask.
    """

    __slots__ = ("_max_tokens", "_states", "_tokens", "budget_bound_at", "guide")

    def __init__(self, table: TokenDfa, start: int, max_tokens: int | None = None) -> None:
        self.guide = table
        self.budget_bound_at: int | None = None
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
        return self.guide.is_accepting(self.state)

    @property
    def is_finished(self) -> bool:
        """Whether end-of-text was taken."""
        return self.state == FINISHED

    def fill_mask(self, row: Any) -> None:
        """Write the tokens that are allowed next to a row int32[ceil(V / 32)], NumPy or torch, on the CPU."""
        check_mask(row, self.guide.masks.shape[1:])[:] = self._mask()

    def allowed(self) -> Ints:
        """Return the allowed token ids, ascending."""
        return _ids(self._mask())

    def expected_bytes(self) -> bytes:
        """Return the bytes that the text of a token may begin with that is allowed next, whatever the budget."""
        texts = (self.guide.vocabulary.decode([token]) for token in _ids(self.guide.mask(self.state)).tolist())
        return bytes(sorted({text[0] for text in texts if text}))

    def advance(self, token_id: SupportsIndex) -> None:
        """Take a token; raise `StateError` where it is not allowed."""
        token = index_of(token_id)
        after = self.guide.step(self.state, token)
        left = self._left()
        if left is not None and self.guide.distance[after] >= left:
            raise from_core("state", "budget", token, left)
        self._states.append(after)
        self._tokens.append(token)

    def rollback(self, steps: SupportsIndex = 1) -> None:
        """Undo steps, end-of-text included."""
        count = index_of(steps)
        if not 0 <= count <= len(self._tokens):
            raise from_core("state", "rollback", count, len(self._tokens))
        keep = len(self._tokens) - count
        del self._states[keep + 1 :], self._tokens[keep:]
        if self.budget_bound_at is not None and self.budget_bound_at > keep:
            self.budget_bound_at = None

    def fork(self) -> TableMatcher:
        """Return an independent copy at the same place."""
        copy = TableMatcher(self.guide, self._states[0], self._max_tokens)
        copy._states, copy._tokens, copy.budget_bound_at = list(self._states), list(self._tokens), self.budget_bound_at
        return copy

    def completion(self) -> list[int]:
        """Return a shortest row of tokens that completes the text, of several the one of the lowest ids."""
        table, state, tokens = self.guide, self.state, []
        while table.distance[state] > 0:
            nearer = table.distance[table.next[state]] == table.distance[state] - 1
            tokens.append(int(nearer[table.token_class].argmax()))
            state = int(table.next[state, table.token_class[tokens[-1]]])
        return tokens

    def forced(self) -> list[int]:
        """Return the tokens that every way on begins with; it does not take them."""
        ahead = self.fork()
        while not ahead.is_accepting and len(allowed := ahead.allowed()) == 1:
            ahead.advance(int(allowed[0]))
        return ahead._tokens[len(self) :]

    def explain(self, token_id: SupportsIndex) -> str:
        """Say why a token is allowed or refused here.

        >>> import detent
        >>> vocabulary = detent.Vocabulary([b"a", b"b", b""], eos_token_ids=[2])
        >>> print(detent.compile(detent.regex("ab"), vocabulary).to_table().matcher().explain(1))
        token 1 b'b' refused: the table does not allow it here; the shortest completion is b'ab'
        """
        token, vocabulary = index_of(token_id), self.guide.vocabulary
        name = f"token {token} {vocabulary.token_bytes(token)[:80]!r}"
        if self.is_finished:
            return f"{name} refused: the text has ended"
        if token in self.allowed():
            return f"{name} allowed"
        shortest = vocabulary.decode(self.completion())
        rest = f"; the shortest completion is {shortest[:80]!r}" if shortest else ""
        if token in vocabulary.eos_token_ids:
            return f"{name} refused: the text is not complete{rest}"
        if self.guide.next[self.state, self.guide.token_class[token]] != REFUSED:
            return f"{name} refused: it leaves no way to complete the text in the tokens left{rest}"
        return f"{name} refused: the table does not allow it here{rest}"

    def _left(self) -> int | None:
        return None if self._max_tokens is None else self._max_tokens - len(self._tokens)

    def _mask(self) -> Ints:
        table, left = self.guide, self._left()
        if left is None or self.is_finished:
            return table.mask(self.state)
        after = table.next[self.state]
        in_time = table.distance[after] < left
        if in_time[after != REFUSED].all():
            return table.mask(self.state)
        if self.budget_bound_at is None:
            self.budget_bound_at = len(self._tokens)
        bits = np.zeros(table.masks.shape[1] * 32, bool)
        bits[: len(table.token_class)] = (in_time & (after != REFUSED))[table.token_class]
        return np.packbits(bits, bitorder="little").view(np.int32)

    def __len__(self) -> int:
        return len(self._tokens)

    def __repr__(self) -> str:
        state = "finished" if self.is_finished else "accepting" if self.is_accepting else "open"
        return f"TableMatcher({len(self)} steps, {state})"


def _ids(mask: Ints) -> Ints:
    bits = np.unpackbits(np.ascontiguousarray(mask).view(np.uint8), bitorder="little")
    return np.flatnonzero(bits).astype(np.int32)

"""EngineMatcher: the state of one request in an engine, which fails closed.

Engines call a constraint where an exception is lost, or ends the requests of everybody: on worker threads, in callbacks
from C. So nothing that goes wrong here lets a token through. The error is kept, from then on only end-of-text
is allowed, and the adapter raises the error where its engine can take it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from detent.errors import ArgumentError, DetentError, StateError
from detent.generation.eos_mask import eos_mask
from detent.guide import Guide
from detent.matcher import Matcher

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["EngineMatcher"]


class EngineMatcher:
    """One request's tokens in a guide, for the mask rows of an engine.

    >>> import detent
    >>> vocabulary = detent.Vocabulary([b"a", b"b", b"ab", b""], eos_token_ids=[3])
    >>> state = EngineMatcher(detent.compile(detent.regex("(ab)+"), vocabulary))
    >>> rows = np.zeros((2, 2), dtype=np.int32)                 # the engine's logits are wider: 64 ids
    >>> state.fill(rows, 1)
    >>> rows.tolist(), state.validate([2, 1]), state.accept([2, 3]), state.is_terminated
    ([[0, 0], [5, 0]], [2], True, True)
    >>> state.rollback(1)
    >>> state.is_terminated
    False

    Parameters
    ----------
    guide : Guide
        The constraint.
    max_tokens : int, optional
        The budget: the text is complete when this many tokens are written.
    count_eos, prompt_tokens : optional
        As in `Guide.matcher`.
    stop_token_ids : collection of int
        Further ids at which the engine ends the request. They are allowed where the text may end, and nowhere else.

    Attributes
    ----------
    failure : Exception or None
        What went wrong. Since then, masks allow end-of-text alone.
    """

    def __init__(
        self,
        guide: Guide,
        max_tokens: int | None = None,
        *,
        count_eos: bool = False,
        prompt_tokens: Sequence[int] = (),
        stop_token_ids: Collection[int] = (),
    ) -> None:
        vocabulary = guide.vocabulary
        if not vocabulary.eos_token_ids:
            raise ArgumentError("an engine ends a request with an end-of-text id, and the guide's vocabulary has none")
        self.failure: Exception | None = None
        self.guide = guide
        self._start = partial(
            guide.matcher,
            max_tokens,
            count_eos=count_eos and max_tokens is not None,
            prompt_tokens=tuple(prompt_tokens),
        )
        self._stops = frozenset(stop_token_ids) - set(vocabulary.eos_token_ids)
        if wrong := sorted(token_id for token_id in self._stops if token_id < 0):
            raise ArgumentError(f"stop_token_ids must be ids, which are at least 0, got {wrong[0]}")
        self._ends = eos_mask(vocabulary)
        self._words = len(self._ends)
        self._matcher = self._start()

    @property
    def matcher(self) -> Matcher:
        """The matcher; whoever moves it must leave it as it was."""
        return self._matcher

    @property
    def is_terminated(self) -> bool:
        """Whether the text has ended: end-of-text, or one of the stop ids, was accepted."""
        return self._matcher.is_finished

    @property
    def is_complete(self) -> bool:
        """Whether the text may end here, or has."""
        return self._matcher.is_accepting

    def fill(self, rows: Any, index: int | None = None) -> None:
        """Write the mask of the next token to a row of the engine, in place.

        Parameters
        ----------
        rows : int32[rows, words] or int32[words], NumPy array or torch tensor on the CPU
            At least as many words as the vocabulary needs; the bits beyond it become 0.
        index : int, optional
            The row.
        """
        row = rows if index is None else rows[index]
        words: NDArray[np.int32] = row.numpy() if hasattr(row, "data_ptr") else row
        if words.ndim != 1 or len(words) < self._words or words.dtype != np.int32:
            raise ArgumentError(
                f"a mask row must be int32[{self._words}] or longer for the guide's vocabulary, got {words.dtype} "
                f"of the shape {words.shape}"
            )
        own, beyond = words[: self._words], words[self._words :]
        try:
            if self.failure is None:
                self._matcher.fill_mask(own)
                if self._stops:
                    self._add_stops(words)
                    beyond = words[:0]
        except Exception as error:  # nothing may get through; the adapter raises it
            self._fail(error)
        if self.failure is not None:
            own[:] = self._ends
            beyond = words[self._words :]
        beyond[:] = 0

    def _add_stops(self, words: NDArray[np.int32]) -> None:
        """Allow the stop ids just where the text may end."""
        words[self._words :] = 0
        ends = self._matcher.is_accepting
        for token_id in self._stops:
            if token_id >> 5 >= len(words):
                continue  # the engine has no logit for it
            bit = np.int32(np.uint32(1 << (token_id & 31)).view(np.int32))
            words[token_id >> 5] = words[token_id >> 5] | bit if ends else words[token_id >> 5] & ~bit
        if not words.any():
            raise StateError(
                f"all that the rule allows after {len(self._matcher)} tokens are the request's own stop tokens "
                f"{sorted(self._stops)}, at which the engine would cut the text off; leave these out"
            )

    def accept(self, token_ids: Sequence[int]) -> bool:
        """Take tokens; return whether all of them may follow. If not, nothing has changed.

        Whatever follows the end means nothing: it is not looked at, and `rollback` does not count it.
        """
        before = len(self._matcher)
        try:
            if self.failure is not None:
                return False
            for token_id in token_ids:
                if self._matcher.is_finished:
                    break
                if not self._take(token_id):
                    self._matcher.rollback(len(self._matcher) - before)
                    return False
        except Exception as error:
            self._fail(error)
            return False
        return True

    def _take(self, token_id: int) -> bool:
        try:
            self._matcher.advance(self.guide.vocabulary.eos_token_ids[0] if token_id in self._stops else token_id)
        except (StateError, ArgumentError):  # not allowed, or no id
            return False
        return True

    def validate(self, token_ids: Sequence[int]) -> list[int]:
        """Return the longest beginning of the tokens that may follow, without moving."""
        if self.failure is not None or self._matcher.is_finished:
            return []
        end = self.guide.vocabulary.eos_token_ids[0]
        try:
            known = [end if token_id in self._stops else token_id for token_id in token_ids]
            return list(token_ids[: self._matcher.validate(known)])
        except Exception as error:
            self._fail(error)
            return []

    def forced(self) -> list[int]:
        """Return the tokens with which every continuation of the text begins: drafts that are always right."""
        try:
            return [] if self.failure is not None else self._matcher.forced()
        except Exception as error:
            self._fail(error)
            return []

    def rollback(self, count: int) -> None:
        """Undo the last `count` tokens of the text, its end included. To undo more than there are is a failure."""
        try:
            self._matcher.rollback(count)
        except Exception as error:
            self._fail(error)

    def reset(self) -> None:
        """Forget the tokens and the failure: the next token is the first of a text."""
        self._matcher = self._start()
        self.failure = None

    def fork(self) -> EngineMatcher:
        """Return an independent copy in the same state."""
        copied = object.__new__(EngineMatcher)
        copied.__dict__.update(self.__dict__)
        copied._matcher = self._matcher.fork()
        return copied

    def raise_failure(self) -> None:
        """Raise what went wrong, if anything has."""
        if self.failure is not None:
            raise self.failure

    def _fail(self, error: Exception) -> None:
        if self.failure is None:
            self.failure = error if isinstance(error, DetentError) else StateError(f"the constraint failed: {error!r}")

"""Matcher: one sequence's place in a guide. BatchMatcher: many of them, masked together."""

from __future__ import annotations

import operator
import os
from typing import TYPE_CHECKING, final

import numpy as np

from detent import _core
from detent.errors import ArgumentError, StateError
from detent.mask import allocate_mask, check_mask_row, check_mask_rows

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import SupportsIndex

    import numpy.typing as npt

    from detent.guide import Guide
    from detent.mask import MaskLike

__all__ = ["BatchMatcher", "Matcher"]


@final
class Matcher:
    """One sequence's place in a guide: what is allowed next, step by step.

    A matcher belongs to one thread at a time; `fork` gives another thread its own. A call that raises leaves the
    state as it was.

    >>> import detent
    >>> vocabulary = detent.Vocabulary([b"a", b"b", b"ab", b""], eos_token_ids=[3])
    >>> matcher = detent.compile(detent.regex("ab+"), vocabulary).matcher()
    >>> matcher.advance(2)
    >>> matcher.allowed(), matcher.is_accepting
    (array([1, 3], dtype=int32), True)
    >>> matcher.advance(3)
    >>> matcher.is_finished
    True
    """

    __slots__ = ("_core", "_guide")

    def __init__(self, core: _core.Matcher, guide: Guide) -> None:
        self._core = core
        self._guide = guide

    @property
    def guide(self) -> Guide:
        """The guide that the matcher walks in."""
        return self._guide

    def fill_mask(self, row: MaskLike) -> None:
        """Write the tokens that are allowed next.

        Parameters
        ----------
        row : int32[ceil(V / 32)], CPU, C-contiguous
            NumPy array or torch tensor, overwritten: bit ``t & 31`` of word ``t >> 5`` is 1 for each allowed token id.
            End-of-text is allowed exactly where the text may end; after it, nothing else is.

        Raises
        ------
        ArgumentError
            The row has another type, shape or device.
        LimitError
            A limit of the guide was reached.
        """
        self._core.fill(check_mask_row(row, self._guide.vocabulary))

    def advance(self, token_id: SupportsIndex) -> None:
        """Take a token. Costs a table look-up per byte of it.

        Raises
        ------
        StateError
            The token is not allowed here; the state is as it was.
        """
        self._core.advance(_index(token_id))

    def advance_bytes(self, text: bytes) -> None:
        """Take text that is not tied to tokens, as one step. Raises `StateError` if it leads out of the language."""
        self._core.advance_bytes(text)

    def rollback(self, steps: SupportsIndex = 1) -> None:
        """Undo the last `steps` steps, end-of-text included. Raises `StateError` if fewer were taken."""
        self._core.rollback(_index(steps))

    def fork(self) -> Matcher:
        """Return an independent copy at the same place. Linear in the number of steps so far."""
        return Matcher(self._core.fork(), self._guide)

    def allowed(self) -> npt.NDArray[np.int32]:
        """Return the allowed token ids, ascending. For looking at; decoding wants `fill_mask`."""
        row = allocate_mask(1, len(self._guide.vocabulary))[0]
        self._core.fill(row)
        bits = np.unpackbits(row.view(np.uint8), bitorder="little")
        return np.flatnonzero(bits).astype(np.int32)

    @property
    def is_accepting(self) -> bool:
        """Whether the text so far is in the language."""
        return self._core.accepting

    @property
    def is_finished(self) -> bool:
        """Whether end-of-text was taken."""
        return self._core.finished

    @property
    def token_ids(self) -> list[int]:
        """The steps so far, oldest first: token ids, and -1 for each `advance_bytes`."""
        return self._core.token_ids

    def __len__(self) -> int:
        return self._core.step_count

    def __repr__(self) -> str:
        state = "finished" if self.is_finished else "accepting" if self.is_accepting else "open"
        return f"Matcher({len(self)} steps, {state})"


@final
class BatchMatcher:
    """Fills the masks of many matchers at once, on several threads, with the GIL released.

    Parameters
    ----------
    matchers : sequence of Matcher
        One for each row; they may belong to different guides over vocabularies of equal size.
    threads : int, optional
        At most this many; the number of usable cores by default. Threads live for one call only.

    >>> import detent
    >>> vocabulary = detent.Vocabulary([b"a", b"b", b""], eos_token_ids=[2])
    >>> rows = detent.allocate_mask(2, len(vocabulary))
    >>> detent.BatchMatcher([detent.compile(detent.regex(p), vocabulary).matcher() for p in ("a", "b")]).fill_mask(rows)
    >>> rows.tolist()
    [[1], [2]]
    """

    __slots__ = ("_cores", "_vocabulary", "matchers", "threads")

    def __init__(self, matchers: Sequence[Matcher], *, threads: int | None = None) -> None:
        if threads is not None and threads < 1:
            raise ArgumentError(f"BatchMatcher needs threads >= 1, got {threads}")
        if not matchers:
            raise ArgumentError("BatchMatcher needs at least one matcher")
        self.matchers = list(matchers)
        self.threads = threads or _usable_cores()
        self._cores = [matcher._core for matcher in self.matchers]
        self._vocabulary = self.matchers[0].guide.vocabulary

    def fill_mask(self, rows: MaskLike) -> None:
        """Write row i for matcher i; see `Matcher.fill_mask`.

        Parameters
        ----------
        rows : int32[batch, ceil(V / 32)], CPU, C-contiguous
            NumPy array or torch tensor, overwritten.
        """
        _core.fill_batch(self._cores, check_mask_rows(rows, len(self._cores), self._vocabulary), self.threads)


def _usable_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _index(value: SupportsIndex) -> int:
    try:
        index = operator.index(value)
    except TypeError:
        raise StateError(f"expected an integer, got {value!r} of type {type(value).__name__}; the state is unchanged") from None
    if not -(1 << 63) <= index < 1 << 63:
        raise StateError(f"{index} is out of range; the state is unchanged")
    return index

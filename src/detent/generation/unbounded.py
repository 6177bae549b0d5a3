"""Unbounded: the masks of a text without its budget, to tell whether the budget decided a choice.

The masks are computed only after the budget has removed a token from a mask, so they cost nothing before.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from detent import _core
from detent.generation.token_buffer import TokenBuffer
from detent.mask import allocate_mask
from detent.matcher import Matcher

__all__ = ["Unbounded"]


class Unbounded:
    """A matcher without a budget, kept at the position of a token buffer.

    Parameters
    ----------
    start : callable
        Returns the matcher at the start of the text; its argument says whether banned words are masked.
    vocab_size : int
        The width of the masks.
    """

    def __init__(self, start: Callable[[bool], Matcher], vocab_size: int) -> None:
        self._start = start
        self._mask = allocate_mask(1, vocab_size)[0]
        self._is_strict: bool | None = None
        self._matcher: Matcher | None = None
        self._token_ids: list[int] = []

    def prefers_other(self, buffer: TokenBuffer, mask: NDArray[np.int32], logits: NDArray[np.float32] | None) -> bool:
        """Return whether the most likely token without the budget is not in the mask with the budget.

        Without `logits` the model was not asked, and any token more counts.
        """
        self._move_to(buffer).fill_mask(self._mask)
        if logits is None:
            return bool((self._mask & ~mask).any())
        masked = np.empty(logits.size, dtype=np.float32)
        _core.copy_masked(np.ascontiguousarray(logits), self._mask, masked)
        best = int(masked.argmax())
        return not int(mask[best >> 5]) >> (best & 31) & 1

    def _move_to(self, buffer: TokenBuffer) -> Matcher:
        is_strict = buffer.masked_from is not None
        if self._matcher is None or is_strict != self._is_strict:
            self._matcher, self._is_strict, self._token_ids = self._start(is_strict), is_strict, []
        common = next(
            (
                index
                for index, (old, new) in enumerate(zip(self._token_ids, buffer.token_ids, strict=False))
                if old != new
            ),
            min(len(self._token_ids), len(buffer.token_ids)),
        )
        self._matcher.rollback(len(self._token_ids) - common)
        for token_id in buffer.token_ids[common:]:
            self._matcher.advance(token_id)
        self._token_ids = list(buffer.token_ids)
        return self._matcher

"""PromptTracker: where the prompt ends, told from the token ids that a logits processor is shown.

`generate` of transformers never says where the prompt ends, nor when a new call begins. But within one call the ids
move in three ways only, and anything else is a new call, whose first ids are its prompt:

* step: one id more than last time, behind rows that were there last time (beams permute and repeat rows);
* second look: the last ids or their beginning (assisted generation verifies a draft when it is written);
* turn: one id that departs from a draft, behind the place where a second look at it began.

What cannot be told apart: a new call with as many rows whose prompt is the last call's ids and exactly one more (such as
its own output, handed back in), or that makes a turn as above. It is taken to continue the last call.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["PromptTracker"]

Ids = NDArray[np.int64]


class PromptTracker:
    """Follows the ids of successive calls, int64[rows, length], and tells the length of their prompt.

    >>> tracker = PromptTracker()
    >>> [tracker.prompt_length(np.array([ids])) for ids in ([7, 8], [7, 8, 1], [7, 8, 1, 2], [7, 9, 5])]
    [2, 2, 2, 3]

    Holds the last call's ids; a call costs O(rows x length).
    """

    def __init__(self) -> None:
        self._last: Ids | None = None
        self._prompt_length = 0
        self._draft: Ids | None = None  # ids at which a second look was begun, until it departs from them
        self._looked_from = 0

    def prompt_length(self, ids: Ids) -> int:
        """Return how many leading ids of each row are the prompt."""
        if not self._continues(ids):
            self._prompt_length = ids.shape[1]
            self._draft = None
        self._last = ids
        return self._prompt_length

    def _continues(self, ids: Ids) -> bool:
        last = self._last
        if last is None or len(ids) != len(last):
            return False
        length, last_length, prompt = ids.shape[1], last.shape[1], self._prompt_length
        if not prompt <= length <= last_length + 1 or not np.array_equal(ids[:, :prompt], last[:, :prompt]):
            return False
        if length == last_length + 1:
            if self._draft is not None and not _agree(ids, self._draft):
                self._draft = None  # the same prompt anew rather than a second look, or a turn right behind it
            return _agree(last, ids) or _rows(ids[:, :-1]) <= _rows(last)
        if _agree(ids, last):
            self._draft, self._looked_from = last, length
            return True
        return self._draft is not None and length > self._looked_from and _agree(ids[:, :-1], last)


def _agree(ids: Ids, others: Ids) -> bool:
    """Whether both are the same as far as both go."""
    length = min(ids.shape[1], others.shape[1])
    return np.array_equal(ids[:, :length], others[:, :length])


def _rows(ids: Ids) -> set[bytes]:
    return {row.tobytes() for row in ids}

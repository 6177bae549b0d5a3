"""PromptTracker: infers where the prompt ends from the token ids that a logits processor is shown.

`generate` of transformers never says where the prompt ends, nor when a new call begins. But within one call the ids
change in three ways only. Any other change is a new call, whose first ids are its prompt:

* step: one id more than last time, after rows that were there last time (beams permute and repeat rows);
* second look: last time's ids or their beginning; assisted generation begins to verify a draft like this, and goes
  on with longer and longer views of one tensor;
* turn: after such a verification, one id that departs from the draft.

One new call looks like a step. It has as many rows as the last call, and its prompt is the ids of that call, cut or
with just one id more; output that is passed in again is such a prompt. It is taken to continue the last call.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from detent import _core

__all__ = ["PromptTracker"]

Ids = NDArray[np.int64]


class PromptTracker:
    """Follows the ids of successive calls, int64[rows, length], and tells the length of their prompt.

    >>> tracker = PromptTracker()
    >>> [tracker.prompt_length(np.array([ids])) for ids in ([7, 8], [7, 8, 1], [7, 8, 1, 2], [7, 9, 5])]
    [2, 2, 2, 3]

    Holds the last call's ids. A call compares rows x length ids and copies none.
    """

    def __init__(self) -> None:
        self._last: Ids | None = None
        self._prompt_length = 0
        self._looked_from = 0  # length of the last second look
        self._verified = False  # whether the last call went on with a verification

    def prompt_length(self, ids: Ids, *, same_tensor: bool = False) -> int:
        """Return how many leading ids of each row are the prompt.

        `same_tensor` says that the ids are a view of the tensor that last time's were a view of.
        """
        if not self._continues(ids, same_tensor):
            self._prompt_length = self._looked_from = ids.shape[1]
        self._last = ids
        self._verified = same_tensor
        return self._prompt_length

    def _continues(self, ids: Ids, same_tensor: bool) -> bool:
        last = self._last
        if last is None or len(ids) != len(last):
            return False
        length, last_length, prompt = ids.shape[1], last.shape[1], self._prompt_length
        if not prompt <= length <= last_length + 1 or not _agree(ids[:, :prompt], last[:, :prompt]):
            return False
        if same_tensor:
            return True
        if length == last_length + 1:
            return _agree(last, ids) or _are_among(ids[:, :-1], last)
        if _agree(ids, last):
            self._looked_from = length
            return True
        return self._verified and length > self._looked_from and _agree(ids[:, :-1], last)


def _agree(ids: Ids, others: Ids) -> bool:
    """Whether the rows are equal up to the length of the shorter ones."""
    length = min(ids.shape[1], others.shape[1])
    return all(_core.equal_ids(*pair) for pair in zip(ids[:, :length], others[:, :length], strict=True))


def _are_among(ids: Ids, others: Ids) -> bool:
    """Whether each row is one of the other rows, which are as long."""
    by_last_id: dict[int, list[Ids]] = {}
    for other in others:
        by_last_id.setdefault(_last_id(other), []).append(other)
    return all(any(_core.equal_ids(row, other) for other in by_last_id.get(_last_id(row), ())) for row in ids)


def _last_id(ids: Ids) -> int:
    return int(ids[-1]) if ids.size else -1

"""Allowed: what a mask leaves of a row of logits, reading as little of the row as tells it.

A pass of a large model pushes everything else out of the processor's caches, so that what a mask costs is how much
memory it makes the processor touch again. Where few ids are allowed, their logits alone are gathered; where the choice
is greedy and the model's favourite is allowed, it is all that is needed. What is left is a copy of the row, masked.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from detent import _core
from detent.mask import WORD_BITS

__all__ = ["few_allowed", "narrow"]


def few_allowed(mask: NDArray[np.int32], most: int) -> NDArray[np.uint32] | None:
    """Return the ids that a mask row allows, ascending; None if they are more than `most`."""
    found = _core.few_allowed(mask, most)
    return None if found is None else np.frombuffer(found, dtype=np.uint32)


def narrow(
    logits: NDArray[np.float32], mask: NDArray[np.int32], few: NDArray[np.uint32] | None, best: int | None
) -> tuple[NDArray[np.float32], NDArray[np.unsignedinteger[Any]] | None]:
    """Return the logits among which is to be chosen, and their ids, ascending; None for all of the row's.

    Parameters
    ----------
    logits : float32[V]
        The model's, NaN and infinities included; left as they are.
    mask : int32[ceil(V / 32)]
        What is allowed.
    few : uint32[k] or None
        The same as ids, where they are few.
    best : int or None
        For a greedy choice, ``logits.argmax()``.
    """
    if best is not None and (int(mask[best // WORD_BITS]) >> best % WORD_BITS) & 1:
        return logits[best : best + 1], np.array([best], dtype=np.uint32)
    if few is not None:
        return logits[few], few
    masked = np.empty(logits.size, dtype=np.float32)
    _core.copy_masked(np.ascontiguousarray(logits), mask, masked)
    return masked, None

"""The logits that a mask allows, with as few memory reads as possible.

A pass of a large model evicts all else from the processor's caches, so the cost of a mask is the memory that it
touches. There are three cases. A greedy choice needs the model's best token alone, if the mask allows it. If the mask
allows few ids, their logits are gathered. Otherwise the logits are copied and masked.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from detent import _core
from detent.mask import WORD_BITS

__all__ = ["few_allowed", "narrow"]


def few_allowed(mask: NDArray[np.int32], most: int) -> NDArray[np.uint32] | None:
    """Return the ids that a mask row allows, ascending, or None if there are more than `most`."""
    found = _core.few_allowed(mask, most)
    return None if found is None else np.frombuffer(found, dtype=np.uint32)


def narrow(
    logits: NDArray[np.float32], mask: NDArray[np.int32], few: NDArray[np.uint32] | None, best: int | None
) -> tuple[NDArray[np.float32], NDArray[np.unsignedinteger[Any]] | None]:
    """Return the candidates of a choice: their logits, and their ids, ascending; None for all ids.

    Parameters
    ----------
    logits : float32[V]
        The model's, NaN and infinities included; not written to.
    mask : int32[ceil(V / 32)]
        The allowed ids as bits.
    few : uint32[k] or None
        The allowed ids, if `few_allowed` found few.
    best : int or None
        ``logits.argmax()`` for a greedy choice.
    """
    if best is not None and (int(mask[best // WORD_BITS]) >> best % WORD_BITS) & 1:
        return logits[best : best + 1], np.array([best], dtype=np.uint32)
    if few is not None:
        return logits[few], few
    masked = np.empty(logits.size, dtype=np.float32)
    _core.copy_masked(np.ascontiguousarray(logits), mask, masked)
    return masked, None

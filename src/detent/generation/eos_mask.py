"""The mask row that allows only end-of-text: the mask of a text that is complete and cannot be extended."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from detent.vocabulary import Vocabulary

__all__ = ["eos_mask"]


def eos_mask(vocabulary: Vocabulary) -> NDArray[np.int32]:
    """Return int32[ceil(V/32)] with the bits of the end-of-text ids set (bit t & 31 of word t >> 5)."""
    row = np.zeros(-(-len(vocabulary) // 32), dtype=np.uint32)
    for token_id in vocabulary.eos_token_ids:
        row[token_id >> 5] |= np.uint32(1 << (token_id & 31))
    return row.view(np.int32)

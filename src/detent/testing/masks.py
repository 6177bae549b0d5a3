"""Masks in words, for test failures and golden files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from detent.vocabulary import Vocabulary

__all__ = ["describe_mask"]


def describe_mask(mask: npt.NDArray[np.int32], vocabulary: Vocabulary, max_tokens: int = 20) -> str:
    """Return the tokens that a mask row allows, in text.

    >>> import detent
    >>> vocabulary = detent.Vocabulary([b"a", b"b", b"ab", b"</s>"], eos_token_ids=[3])
    >>> describe_mask(np.array([0b1101], np.int32), vocabulary)
    "3 of 4: 'a' 'ab' <eos>"

    Parameters
    ----------
    mask : int32[ceil(V / 32)]
        One mask row of the vocabulary.
    vocabulary : Vocabulary
        The vocabulary of the mask.
    max_tokens : int
        Tokens that are listed; the others are counted.
    """
    bits = np.unpackbits(np.ascontiguousarray(mask).view(np.uint8), bitorder="little")
    ids = [int(token_id) for token_id in np.flatnonzero(bits)]
    shown = [_describe(token_id, vocabulary) for token_id in ids[:max_tokens]]
    more = [f"and {len(ids) - max_tokens} more"] if len(ids) > max_tokens else []
    return f"{len(ids)} of {len(vocabulary)}: {' '.join([*shown, *more])}".rstrip(": ")


def _describe(token_id: int, vocabulary: Vocabulary) -> str:
    if token_id in vocabulary.eos_token_ids:
        return "<eos>"
    token = vocabulary.token_bytes(token_id)
    try:
        return repr(token.decode())
    except UnicodeDecodeError:
        return repr(token)

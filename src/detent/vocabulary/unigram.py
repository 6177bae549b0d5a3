"""Unigram encoders of the core (Kudo 2018): a text becomes the sequence of pieces with the largest sum of scores.

Source: tokenizers/src/models/unigram of https://github.com/huggingface/tokenizers.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Any

import numpy as np

from detent.errors import VocabularyError
from detent.vocabulary.encoder_config import BuiltEncoder, build_encoder
from detent.vocabulary.file_io import expect
from detent.vocabulary.loaded_tokens import shown
from detent.vocabulary.sentencepiece_pieces import read_piece_tables
from detent.vocabulary.unsupported import unsupported

__all__ = ["of_pieces"]

_UNKNOWN_PENALTY = 10.0
"""The score of an unknown character is the least score minus this penalty."""

_LEAST_SCORE = -1e5
"""Sums of lower scores have larger rounding errors than cpp/bpe/score_pairs.cc allows."""

_LONGEST_PIECE = 256
"""Bytes of a piece: the search for pairs takes quadratic time for each piece, and cubic time after a piece."""


def of_pieces(model: dict[str, Any], taken: Collection[str], size: int, *, words: bool) -> BuiltEncoder:
    """Return the encoder of a Unigram model; the names in `taken` are not pieces."""
    entries = expect(model.get("vocab"), list, "model.vocab")
    scores = np.zeros(size, dtype=np.float64)
    for number, (piece, score) in enumerate(entries):
        if isinstance(score, bool) or not isinstance(score, (int, float)) or not score <= math.inf:
            raise VocabularyError(f"model.vocab: the score of {shown(piece)} is {shown(score)}, not a number")
        if score > 0:  # then a run of unknown characters could score above a piece
            raise unsupported(
                f"the score of {shown(piece)} is {shown(score)}, but logarithms of probabilities are at most 0"
            )
        if score < _LEAST_SCORE:
            raise unsupported(
                f"the score of {shown(piece)} is {shown(score)}, and sums of such scores have large rounding errors"
            )
        if len(piece.encode()) > _LONGEST_PIECE:
            raise unsupported(
                f"a piece has {len(piece.encode())} bytes, and at most {_LONGEST_PIECE} are looked through"
            )
        scores[number] = score
    unknown = model.get("unk_id")
    plain = {
        piece: number for number, (piece, _) in enumerate(entries) if number != unknown and piece not in taken and piece
    }
    byte_fallback = bool(model.get("byte_fallback")) and unknown is not None
    given = read_piece_tables(plain, size, byte_fallback=byte_fallback, either=True)
    texts = [b"" if words and b" " in text[1:] else text for text in given.texts]
    return build_encoder(
        True, texts, b"", given.byte_pieces, b"", False, given.ranges, given.class_count, given.program, True,
        scores.tobytes(), float(scores[: len(entries)].min(initial=0.0)) - _UNKNOWN_PENALTY, words,
    )  # fmt: skip

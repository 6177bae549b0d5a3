"""EncoderConfig: the arguments of the core's encoder as plain data, so that a vocabulary can be saved with it."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from detent import _core

__all__ = ["BuiltEncoder", "EncoderConfig", "build_encoder"]


class EncoderConfig(NamedTuple):
    """The arguments of `_core.Encoder`; `texts` are joined, and `text_ends` (int64) says where each ends."""

    pieces: bool
    texts: bytes
    text_ends: bytes
    base_symbols: bytes
    byte_tokens: bytes
    merges: bytes
    ignore_merges: bool
    class_ranges: list[tuple[int, int]]
    class_count: int
    pretokenizer: list[tuple[int, int, int, int]]
    single_pretoken: bool
    scores: bytes
    unknown_score: float
    split_at_spaces: bool

    def build(self) -> _core.Encoder:
        """Return the encoder."""
        ends = np.frombuffer(self.text_ends, np.int64).tolist()
        texts = [self.texts[start:end] for start, end in pairwise([0, *ends])]
        return _core.Encoder(self.pieces, texts, *self[3:])


class BuiltEncoder(NamedTuple):
    """An encoder and its arguments."""

    encoder: _core.Encoder
    config: EncoderConfig


def build_encoder(
    pieces: bool,
    texts: list[bytes],
    base_symbols: bytes,
    byte_tokens: bytes,
    merges: bytes,
    ignore_merges: bool,
    *rest: Any,
) -> BuiltEncoder:
    """Return the encoder of the arguments of `_core.Encoder`, with these as data."""
    encoder = _core.Encoder(pieces, texts, base_symbols, byte_tokens, merges, ignore_merges, *rest)
    ends = np.cumsum([len(text) for text in texts], dtype=np.int64).tobytes()
    defaults = (b"", 0.0, False)[len(rest) - 4 :]
    config = EncoderConfig(
        pieces, b"".join(texts), ends, base_symbols, byte_tokens, merges, ignore_merges, *rest, *defaults
    )
    return BuiltEncoder(encoder, config)

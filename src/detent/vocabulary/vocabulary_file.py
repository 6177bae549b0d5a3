"""Saved vocabularies: the tokens, the trie and the core's encoder in one file, read through a memory map.

The trie is copied and checked, which takes a twentieth of the time to build it; tokens are cut from the map when they
are asked for; the encoder is built at its first use. The tokenizer of another package is not saved.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, overload

import numpy as np

from detent._core import Vocabulary as CoreVocabulary
from detent.errors import UnsupportedError, VocabularyError
from detent.saved_file import SavedFile, read_saved, write_saved
from detent.vocabulary.core_encoder import CoreEncoder
from detent.vocabulary.core_tables import CoreTables
from detent.vocabulary.encoder_config import EncoderConfig

__all__ = ["SavedTokens", "SavedVocabulary", "load_vocabulary", "save_vocabulary"]

_KIND = "vocabulary"
_BYTE_FIELDS = ("texts", "text_ends", "base_symbols", "byte_tokens", "merges", "scores")
_TEXT_FIELDS = ("literals", "strip_before", "strip_after", "words")


class SavedTokens(Sequence[bytes]):
    """The bytes of each id, cut from a memory map."""

    def __init__(self, pool: memoryview, ends: memoryview) -> None:
        self._pool = pool
        self._ends = ends.cast("i")

    def __len__(self) -> int:
        return len(self._ends)

    @overload
    def __getitem__(self, index: int) -> bytes: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[bytes, ...]: ...
    def __getitem__(self, index: int | slice) -> bytes | tuple[bytes, ...]:
        if isinstance(index, slice):
            return tuple(self)[index]
        end = self._ends[index]
        position = index if index >= 0 else len(self) + index
        return bytes(self._pool[self._ends[position - 1] if position else 0 : end])

    def __iter__(self) -> Iterator[bytes]:
        pool = bytes(self._pool)
        return (pool[start:end] for start, end in pairwise([0, *self._ends]))


class SavedVocabulary(NamedTuple):
    """The parts of a vocabulary that a file stores."""

    tables: CoreTables
    leading_space: bool
    fingerprint: str


def save_vocabulary(path: object, tables: CoreTables, leading_space: bool, fingerprint: str) -> None:
    """Write a vocabulary to a file."""
    sections: dict[str, Any] = {
        "pool": b"".join(tables.tokens),
        "ends": np.cumsum([len(token) for token in tables.tokens], dtype=np.int32).tobytes(),
        "trie": tables.core.save_trie(),
    }
    meta: dict[str, Any] = {
        "size": len(tables.tokens),
        "eos": list(tables.eos_token_ids),
        "special": sorted(tables.special_token_ids),
        "leading_space": leading_space,
        "fingerprint": fingerprint,
        "encoder": None,
        "no_encoder": None,
    }
    try:
        encoder = tables.encoder if tables.has_encoder else None
    except (UnsupportedError, VocabularyError) as error:
        encoder = None
        meta["no_encoder"] = str(error)
    if encoder is not None and encoder.config is not None:
        config = encoder.config._asdict()
        sections |= {name: config.pop(name) for name in _BYTE_FIELDS}
        meta["encoder"] = {
            "config": config,
            "differs": encoder.differs,
            "undecided": encoder.undecided,
            **{name: list(getattr(encoder, name)) for name in _TEXT_FIELDS},
        }
    write_saved(path, _KIND, meta, sections)


def load_vocabulary(path: object) -> SavedVocabulary:
    """Read a file that `save_vocabulary` has written."""
    file = read_saved(path, _KIND)
    meta = file.meta
    try:
        size, eos, special = int(meta["size"]), tuple(meta["eos"]), frozenset(meta["special"])
        pool, ends, trie = (file.sections[name] for name in ("pool", "ends", "trie"))
        core = CoreVocabulary.from_arrays(pool, ends.cast("i"), sorted(special), list(eos), size, trie)
        tokens = SavedTokens(pool, ends)
        if len(tokens) != size:
            raise ValueError(f"it has {len(tokens)} tokens for {size} ids")
        leading_space, fingerprint = bool(meta["leading_space"]), str(meta["fingerprint"])
        known = meta["encoder"] is not None or meta["no_encoder"] is not None
    except (KeyError, TypeError, ValueError, VocabularyError) as error:
        raise file.damaged(error) from None
    open_encoder = (lambda _: _open_encoder(file)) if known else None
    return SavedVocabulary(CoreTables(core, tokens, special, eos, open_encoder), leading_space, fingerprint)


def _open_encoder(file: SavedFile) -> CoreEncoder:
    saved = file.meta["encoder"]
    if saved is None:
        raise UnsupportedError(str(file.meta["no_encoder"]))
    try:
        fields = dict(saved["config"])
        fields |= {name: bytes(file.sections[name]) for name in _BYTE_FIELDS}
        for name in ("class_ranges", "pretokenizer"):
            fields[name] = [tuple(each) for each in fields[name]]
        config = EncoderConfig(**fields)
        texts = {name: tuple(saved[name]) for name in _TEXT_FIELDS}
        return CoreEncoder(
            config.build(), differs=saved["differs"], undecided=saved["undecided"], config=config, **texts
        )
    except (KeyError, TypeError, ValueError) as error:
        raise file.damaged(error) from None

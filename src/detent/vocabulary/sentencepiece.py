"""Loader: SentencePiece models, from their file or from a `sentencepiece.SentencePieceProcessor`.

A model file is a protobuf message `ModelProto`. The few fields that matter are read here and not by the package: then
nothing has to be installed, and bytes of unknown origin never reach native code. 32,000 pieces take 70 ms.

    ModelProto         1 pieces (repeated), 2 trainer_spec, 3 normalizer_spec, 5 denormalizer_spec
    SentencePiece      1 piece, 2 score, 3 type: 1 normal, 2 unknown, 3 control, 4 user-defined, 5 unused, 6 byte
    TrainerSpec        24 treat_whitespace_as_suffix, 47 eos_piece
    NormalizerSpec     2 precompiled_charsmap, 3 add_dummy_prefix

Normal and user-defined pieces are text in which U+2581 is a space; unused ones too, as the package decodes them. What
the normalizer does to a text before it is encoded does not concern the bytes of tokens.

Source: src/sentencepiece_model.proto and src/sentencepiece_processor.cc of https://github.com/google/sentencepiece.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from typing import Any

from detent.errors import ArgumentError, VocabularyError
from detent.vocabulary.attached_tokenizer import AttachedTokenizer, TokenizerCalls
from detent.vocabulary.file_io import as_path, read_source, require
from detent.vocabulary.loaded_tokens import MAX_IDS, RAW_REMEDY, LoadedTokens, shown
from detent.vocabulary.protobuf import fields
from detent.vocabulary.sentencepiece_pieces import METASPACE, byte_of

__all__ = ["read_sentencepiece", "table_of_model"]

_NORMAL, _UNKNOWN, _CONTROL, _USER_DEFINED, _UNUSED, _BYTE = range(1, 7)
_TEXT_TAG, _SCORE_TAG, _TYPE_TAG = 0x0A, 0x15, 0x18
_OTHER_KINDS = (
    (
        re.compile(rb"[A-Za-z0-9+/]+=* [0-9]+\r?\n"),
        "holds the ranks of tiktoken, without the pattern and the special tokens of its encoding. Name the model's "
        "tokenizer.json, or pass Vocabulary.from_tiktoken a tiktoken.Encoding of these ranks",
    ),
    (re.compile(rb"#version"), "holds the merges of a tokenizer without its tokens. Name the tokenizer.json beside it"),
    (re.compile(rb"\x1f\x8b|PK\x03\x04"), "is compressed. Unpack it, and name the tokenizer's file"),
    (
        re.compile(rb"[\t\n\r -~]{16}|[\t\n\r -~]+\Z"),
        "is a text, and no tokenizer's file. Name a tokenizer.json, tekken.json, tokenizer.model or .gguf file",
    ),
)
"""The first bytes of files that are taken for SentencePiece models, and what they are."""
_LONG = 0x80
"""A byte of an integer from here on is followed by another byte."""


def read_sentencepiece(model: Any) -> LoadedTokens:
    """Read a model file or a processor."""
    if isinstance(model, (str, os.PathLike)):
        source = read_source(as_path(model))
        return table_of_model(source.data, source.path.name)
    if not hasattr(model, "serialized_model_proto"):
        raise ArgumentError(
            f"expected the path of a SentencePiece model or a SentencePieceProcessor, got {shown(model)}"
        )
    proto = model.serialized_model_proto()
    if not proto:
        raise VocabularyError("the SentencePieceProcessor has no model: call its load() first")
    attached = AttachedTokenizer(lambda: _bind(model))
    table = table_of_model(proto, "the processor's model", attached)
    attached.check(table.tokens, table.special_token_ids)
    return table


def table_of_model(data: bytes, name: str, attached: AttachedTokenizer | None = None) -> LoadedTokens:
    """Return the table of a serialized `ModelProto`."""
    try:
        return _read_model(data).table(attached or AttachedTokenizer(lambda: _open_processor(data)))
    except VocabularyError as error:
        for start, kind in _OTHER_KINDS:
            if start.match(data):
                raise VocabularyError(f"{name} {kind}") from None
        raise VocabularyError(f"{name} is not a SentencePiece model that can be read: {error}") from None


@dataclass
class _Model:
    """The fields of a model that have been read so far."""

    tokens: list[bytes | None] = field(default_factory=list)
    special: set[int] = field(default_factory=set)
    controls: dict[bytes, int] = field(default_factory=dict)
    eos_piece: bytes = b"</s>"
    leading_space: bool = True

    def table(self, attached: AttachedTokenizer) -> LoadedTokens:
        if not self.tokens:
            raise VocabularyError("it has no pieces")
        eos = (self.controls[self.eos_piece],) if self.eos_piece in self.controls else ()
        return LoadedTokens(self.tokens, frozenset(self.special), lambda: eos, self.leading_space, attached)


def _read_model(data: bytes) -> _Model:
    model = _Model()
    for number, _, start, end in fields(data, 0, len(data)):
        if number == 1:
            _add_piece(model, *_read_piece(data, start, end))
        elif number == 2:
            _read_trainer(model, data, start, end)
        elif number == 3:
            for part in fields(data, start, end):
                if part.number == 3:
                    model.leading_space = part.value != 0
        elif number == 5 and any(part.number == 2 and part.end > part.start for part in fields(data, start, end)):
            raise VocabularyError(f"it changes texts after decoding (denormalizer_spec). {RAW_REMEDY}")
    return model


def _read_trainer(model: _Model, data: bytes, start: int, end: int) -> None:
    for part in fields(data, start, end):
        if part.number == 24 and part.value:
            raise VocabularyError(f"it writes spaces at the end of words (treat_whitespace_as_suffix). {RAW_REMEDY}")
        if part.number == 47:
            model.eos_piece = data[part.start : part.end]


def _usual_piece(data: bytes, start: int, end: int) -> tuple[bytes, int] | None:
    """Read a piece of the usual form, at half the time: a short text, a score, and a type or none."""
    if end - start < 7 or data[start] != _TEXT_TAG or data[start + 1] >= _LONG:
        return None
    score = start + 2 + data[start + 1]
    if score + 5 == end and data[score] == _SCORE_TAG:
        return data[start + 2 : score], _NORMAL
    if score + 7 == end and data[score] == _SCORE_TAG and data[score + 5] == _TYPE_TAG and data[score + 6] < _LONG:
        return data[start + 2 : score], data[score + 6]
    return None


def _read_piece(data: bytes, start: int, end: int) -> tuple[str, int]:
    text, kind = _usual_piece(data, start, end) or (b"", _NORMAL)
    if not text:
        for part in fields(data, start, end):
            if part.number == 1:
                text = data[part.start : part.end]
            elif part.number == 3:
                kind = part.value
    if not _NORMAL <= kind <= _BYTE:
        raise VocabularyError(f"piece {shown(text)} is of type {shown(kind)}, which is not known")
    try:
        return text.decode(), kind
    except UnicodeDecodeError:
        raise VocabularyError(f"piece {shown(text)} is not UTF-8") from None


def _add_piece(model: _Model, piece: str, kind: int) -> None:
    number = len(model.tokens)
    if number == MAX_IDS:
        raise VocabularyError(f"it has more than {MAX_IDS} pieces")
    if kind in (_UNKNOWN, _CONTROL):
        raw_tokens = piece.encode()
        model.special.add(number)
        if kind == _CONTROL:
            model.controls.setdefault(raw_tokens, number)
    elif kind == _BYTE:
        byte = byte_of(piece)
        if byte is None:
            raise VocabularyError(f"byte piece {shown(piece)} does not name a byte as <0x00> to <0xFF> do")
        raw_tokens = byte
    else:
        raw_tokens = piece.replace(METASPACE, " ").encode()
    model.tokens.append(raw_tokens)


def _open_processor(data: bytes) -> TokenizerCalls:
    package = require("sentencepiece", "encoding with a SentencePiece model")
    try:
        return _bind(package.SentencePieceProcessor(model_proto=data))
    except Exception as error:  # the package raises RuntimeError and others
        raise VocabularyError(f"the sentencepiece package cannot read the model: {error}") from error


def _bind(processor: Any) -> TokenizerCalls:
    return TokenizerCalls(
        lambda text: processor.encode(text, add_bos=False, add_eos=False, out_type=int),
        lambda ids: str(processor.decode(list(ids))),
    )

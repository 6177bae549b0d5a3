"""Loader: the tokenizer inside a GGUF model file.

The metadata at the start of the file is read here, in plain Python, with every length checked; weights are not touched.
The package `gguf` makes array objects of every string: 11 s for the 408,000 of Llama 3, against 0.3 s here.

    "gpt2"     byte-level BPE                      U+0120 is a space, and so on
    "llama"    SentencePiece BPE                   U+2581 is a space, byte tokens <0x00> to <0xFF>
    "t5"       SentencePiece Unigram               the same
    "bert"     WordPiece                           U+2581 begins a word (the converter removes ##)

Token types: 1 normal, 2 unknown, 3 control, 4 user-defined (literal text), 5 unused (no text), 6 byte.

Source: docs/gguf.md of https://github.com/ggml-org/ggml, src/llama-vocab.cpp of https://github.com/ggml-org/llama.cpp.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from detent.errors import VocabularyError
from detent.vocabulary import byte_level
from detent.vocabulary.file_io import expect, open_binary
from detent.vocabulary.loaded_tokens import MAX_IDS, RAW_REMEDY, LoadedTokens, shown, token_id
from detent.vocabulary.sentencepiece_pieces import METASPACE, byte_of, bytes_of_pieces

__all__ = ["MAGIC", "is_gguf", "read_gguf", "read_gguf_chat_template"]

MAGIC = b"GGUF"

_NORMAL, _UNKNOWN, _CONTROL, _USER_DEFINED, _UNUSED, _BYTE = range(1, 7)

_EOS_KEYS = ("eos_token_id", "eot_token_id", "eom_token_id")
_PREFIX = "tokenizer.ggml."
_WANTED = frozenset(_PREFIX + key for key in ("model", "tokens", "token_type", "add_space_prefix", *_EOS_KEYS))
_TEMPLATES = {"tokenizer.chat_template": "default", "tokenizer.chat_template.tool_use": "tool_use"}
_TEMPLATE_TOKENS = {"bos": "bos", "eos": "eos", "unknown": "unk", "padding": "pad"}
"""The special tokens in the keys of GGUF files, and in the variables of chat templates."""

_SCALARS = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d"}
_STRING, _ARRAY = 8, 9
_BLOCK = 1 << 22
_MAX_METADATA_BYTES = 1 << 28


def read_gguf(path: Path) -> LoadedTokens:
    """Read the tokenizer of a GGUF file."""
    metadata = {key.removeprefix(_PREFIX): value for key, value in _metadata_of(path, _WANTED).items()}
    model = expect(metadata.get("model"), str, f"{path.name}: tokenizer.ggml.model")
    tokens: list[str] = expect(metadata.get("tokens"), list, f"{path.name}: tokenizer.ggml.tokens")
    kinds: list[int] = expect(metadata.get("token_type"), list, f"{path.name}: tokenizer.ggml.token_type")
    if len(tokens) != len(kinds) or set(map(type, tokens)) - {str} or set(kinds) - set(range(1, 7)):
        raise VocabularyError(
            f"{path.name}: token_type must give a type from 1 to 6 for each of the {len(tokens)} tokens"
        )
    raw_tokens = _bytes_of_tokens(model, tokens, kinds)
    special = frozenset(index for index, kind in enumerate(kinds) if kind in (_UNKNOWN, _CONTROL))
    leading_space = metadata.get("add_space_prefix", model != "gpt2") is not False
    return LoadedTokens(raw_tokens, special, partial(_end_of_text, metadata), leading_space)


def is_gguf(path: Path) -> bool:
    """Return whether a file begins as GGUF files do."""
    with open_binary(path) as file:
        return file.read(len(MAGIC)) == MAGIC


def read_gguf_chat_template(path: Path) -> tuple[dict[str, str], dict[str, str]]:
    """Return the chat templates of a GGUF file by name, and its special tokens by the names that templates have."""
    id_keys = {f"{_PREFIX}{key}_token_id": f"{name}_token" for key, name in _TEMPLATE_TOKENS.items()}
    metadata = _metadata_of(path, frozenset({*_TEMPLATES, *id_keys, _PREFIX + "tokens"}))
    tokens = expect(metadata.get(_PREFIX + "tokens"), list, f"{path.name}: {_PREFIX}tokens")
    special = {}
    for key, name in id_keys.items():
        if key in metadata and 0 <= (number := token_id(metadata[key], key)) < len(tokens):
            special[name] = tokens[number]
    templates = {
        name: expect(metadata[key], str, f"{path.name}: {key}") for key, name in _TEMPLATES.items() if key in metadata
    }
    return templates, special


def _metadata_of(path: Path, wanted: frozenset[str]) -> dict[str, Any]:
    with open_binary(path) as file:
        try:
            return _read_metadata(_MetadataReader(file), wanted)
        except VocabularyError as error:
            raise VocabularyError(f"{path.name} is not a GGUF file that can be read: {error}") from None


def _end_of_text(metadata: dict[str, Any]) -> set[int]:
    return {token_id(metadata[key], _PREFIX + key) for key in _EOS_KEYS if key in metadata}


def _bytes_of_tokens(model: str, tokens: list[str], kinds: Sequence[int]) -> list[bytes | None]:
    raw_tokens: list[bytes | None]
    if model == "gpt2":
        found, foreign = byte_level.bytes_of_tokens(tokens)
        for index in foreign:
            if kinds[index] == _NORMAL:
                raise VocabularyError(
                    f"token {index} {shown(tokens[index])} is not written in byte-level characters. {RAW_REMEDY}"
                )
        raw_tokens = list(found)
    elif model in ("llama", "t5", "bert"):
        raw_tokens = list(bytes_of_pieces(tokens, [(METASPACE, " ")], byte_pieces=False))
    else:
        raise VocabularyError(
            f"tokenizer.ggml.model {shown(model)} is not known: gpt2, llama, t5 and bert are. {RAW_REMEDY}"
        )
    for index, kind in enumerate(kinds):
        if kind == _NORMAL:
            continue
        if kind == _BYTE:
            byte = byte_of(tokens[index])
            if byte is None:
                raise VocabularyError(
                    f"byte token {index} {shown(tokens[index])} does not name a byte as <0x00> to <0xFF> do"
                )
            raw_tokens[index] = byte
        else:
            raw_tokens[index] = None if kind == _UNUSED else tokens[index].encode()
    return raw_tokens


class _MetadataReader:
    """A cursor over the metadata at the start of a file, read in blocks; every length is checked."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._size = min(os.fstat(file.fileno()).st_size, _MAX_METADATA_BYTES)
        self._data = b""
        self._at = 0

    def _need(self, count: int) -> int:
        """Make `count` more bytes available; return where they start, and step over them."""
        start = self._at
        end = start + count
        if end > len(self._data):
            if end > self._size:
                raise VocabularyError(
                    f"{shown(count)} bytes are announced at byte {start}, past the end. Is the file complete?"
                )
            self._data += self._file.read(max(end - len(self._data), _BLOCK))
            if end > len(self._data):
                raise VocabularyError(f"it ends at byte {len(self._data)}. Is the file complete?")
        self._at = end
        return start

    def number(self, layout: str) -> Any:
        """Read one number."""
        start = self._need(struct.calcsize(layout))
        return struct.unpack_from(layout, self._data, start)[0]

    def string(self) -> str:
        """Read a string."""
        start = self._need(self.number("<Q"))
        try:
            return self._data[start : self._at].decode()
        except UnicodeDecodeError:
            raise VocabularyError(f"the string at byte {start} is not UTF-8") from None

    def numbers(self, layout: str, count: int) -> list[Any]:
        """Read `count` numbers of one type."""
        start = self._need(count * struct.calcsize(layout))
        return list(struct.unpack_from(f"<{count}{layout[1:]}", self._data, start))

    def strings(self, count: int) -> list[str]:
        """Read `count` strings."""
        if count > MAX_IDS * 4:
            raise VocabularyError(f"an array of {shown(count)} strings is announced")
        return [self.string() for _ in range(count)]

    def skip_strings(self, count: int) -> None:
        """Step over `count` strings."""
        if count > self._size // 8:
            raise VocabularyError(
                f"an array of {shown(count)} strings is announced, past the end. Is the file complete?"
            )
        for _ in range(count):
            self._need(self.number("<Q"))

    def skip_numbers(self, layout: str, count: int) -> None:
        """Step over `count` numbers."""
        self._need(count * struct.calcsize(layout))


def _read_metadata(reader: _MetadataReader, wanted: frozenset[str]) -> dict[str, Any]:
    """Return the values of some keys."""
    if reader.number("<I") != int.from_bytes(MAGIC, "little"):
        raise VocabularyError("it does not begin with GGUF")
    version = reader.number("<I")
    if version not in (2, 3):
        raise VocabularyError(f"version {version} is not known: 2 and 3, little-endian, are")
    reader.number("<Q")  # the number of tensors
    found: dict[str, Any] = {}
    for _ in range(reader.number("<Q")):
        key = reader.string()
        value = _read_value(reader, reader.number("<I"), keep=key in wanted)
        if key in wanted:
            found[key] = value
    return found


def _read_value(reader: _MetadataReader, kind: int, *, keep: bool) -> Any:
    if kind in _SCALARS:
        return reader.number(_SCALARS[kind])
    if kind == _STRING:
        return reader.string()
    if kind != _ARRAY:
        raise VocabularyError(f"value type {kind} is not known")
    kind, count = reader.number("<I"), reader.number("<Q")
    if kind == _STRING:
        return reader.strings(count) if keep else reader.skip_strings(count)
    if kind not in _SCALARS:
        raise VocabularyError(f"an array of type {kind} is not known")
    return reader.numbers(_SCALARS[kind], count) if keep else reader.skip_numbers(_SCALARS[kind], count)

"""BPE encoders of the core: byte-level with a pre-tokenizer, and over SentencePiece pieces.

An unknown step of a tokenizer is appended to `doubts`, and the nearest known one is used: the last pre-tokenizer regex
that can be read, no normalizer.

Source: tokenizers/src/{models/bpe,pre_tokenizers,normalizers} of https://github.com/huggingface/tokenizers.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any

from detent import _core
from detent.errors import ArgumentError, UnsupportedError, VocabularyError
from detent.vocabulary import byte_level
from detent.vocabulary.encoder_config import BuiltEncoder, build_encoder
from detent.vocabulary.file_io import expect
from detent.vocabulary.loaded_tokens import shown
from detent.vocabulary.pretokenizer_regex import GPT2_PATTERN, NUMERIC_CHARACTER, WHOLE, Split, read_splits
from detent.vocabulary.sentencepiece_pieces import METASPACE, numbers, read_piece_tables
from detent.vocabulary.unsupported import unsupported

__all__ = ["of_bytes", "of_pieces"]


def of_bytes(
    model: dict[str, Any],
    merges_json: bytes | None,
    taken: Collection[str],
    normalizers: list[dict[str, Any]],
    parts: list[dict[str, Any]],
    size: int,
    doubts: list[str],
) -> BuiltEncoder:
    """Return a byte-level encoder; the names in `taken` are not among its tokens."""
    plain, merges = _read_model(model, merges_json, taken, doubts)
    for part in normalizers:
        if part["type"] != "NFC":
            doubts.append(str(unsupported(f"normalizer {shown(part['type'])} changes texts")))
    raw_tokens, foreign = byte_level.bytes_of_tokens(list(plain))
    texts = [b""] * size
    for text, number in zip(raw_tokens, plain.values(), strict=True):
        texts[number] = text
    names = list(plain)
    for index in foreign:
        texts[plain[names[index]]] = b""
    symbols = ((byte, plain.get(character)) for byte, character in enumerate(byte_level.CHARACTER_OF_BYTE))
    base = numbers([(byte, token) for byte, token in symbols if token is not None])

    def encoder(split: Split) -> BuiltEncoder:
        return build_encoder(
            False, texts, base, b"", merges, bool(model.get("ignore_merges")),
            split.ranges, split.class_count, split.program, split.single_pretoken,
        )  # fmt: skip

    try:
        return encoder(_known_split(parts))
    except UnsupportedError as error:
        doubts.append(str(error))
    try:
        return encoder(_nearest_split(parts))
    except UnsupportedError:
        return encoder(WHOLE)


def of_pieces(
    model: dict[str, Any],
    merges_json: bytes | None,
    taken: Collection[str],
    size: int,
    doubts: list[str],
    *,
    words: bool,
) -> BuiltEncoder:
    """Return an encoder over pieces; with `words`, a text is split before each space."""
    plain, merges = _read_model(model, merges_json, taken, doubts, words=words)
    if model.get("ignore_merges"):
        doubts.append(str(unsupported("its model has ignore_merges without a split")))
    given = read_piece_tables(plain, size, byte_fallback=bool(model.get("byte_fallback")), either=False)
    return build_encoder(
        True, given.texts, given.base, given.byte_pieces, merges, False,
        given.ranges, given.class_count, given.program, True,
    )  # fmt: skip


def _read_model(
    model: dict[str, Any],
    merges_json: bytes | None,
    taken: Collection[str],
    doubts: list[str],
    *,
    words: bool = False,
) -> tuple[dict[str, int], bytes]:
    """Return the ids of the tokens by name, and the merges."""
    for name in ("continuing_subword_prefix", "end_of_word_suffix"):
        if model.get(name):
            raise unsupported(f"its model has {name} = {shown(model[name])}")
    if model.get("dropout"):
        doubts.append(str(unsupported(f"its model has dropout = {shown(model['dropout'])}")))
    ids: dict[str, int] = expect(model.get("vocab"), dict, "model.vocab")
    plain = {token: number for token, number in ids.items() if token not in taken and token != model.get("unk_token")}
    if merges_json is None:
        merges_json = json.dumps(expect(model.get("merges"), list, "model.merges")).encode()
    try:  # with words, no merge joins a space to the piece before it
        return plain, _core.read_merges(ids, merges_json, METASPACE if words else "")
    except ArgumentError as error:
        raise VocabularyError(f"model.merges: {error}") from None


def _known_split(parts: list[dict[str, Any]]) -> Split:
    patterns = _patterns(parts)
    return read_splits(*patterns) if patterns else WHOLE


def _patterns(parts: list[dict[str, Any]]) -> list[str]:
    """Return the regexes of the pre-tokenizers: each isolates its matches in the pieces of the one before."""
    *before, last = parts
    if last["type"] != "ByteLevel":
        raise unsupported(f"the last of its pre-tokenizers is {shown(last['type'])}, not 'ByteLevel'")
    if last.get("add_prefix_space"):
        raise unsupported("it puts a space before each text")
    return [*map(_pattern, before), *([GPT2_PATTERN] if last.get("use_regex", True) else [])]


def _pattern(part: dict[str, Any]) -> str:
    kind = part["type"]
    if kind == "Digits":
        return NUMERIC_CHARACTER + ("" if part.get("individual_digits") else "+")
    if kind != "Split":
        raise unsupported(f"pre-tokenizer {shown(kind)} is not a split at a regular expression")
    if part.get("behavior") != "Isolated":
        raise unsupported(f"its split behaves as {shown(part.get('behavior'))}")
    pattern = part.get("pattern")
    if isinstance(pattern, dict) and isinstance(pattern.get("Regex"), str):
        return str(pattern["Regex"])
    if isinstance(pattern, dict) and isinstance(pattern.get("String"), str):
        return "".join(
            "\\" + letter if letter.isascii() and letter.isprintable() and not letter.isalnum() else letter
            for letter in pattern["String"]
        )
    raise unsupported("it has a split without a pattern")


def _nearest_split(parts: list[dict[str, Any]]) -> Split:
    """Return the split of the last pre-tokenizer whose regex can be read."""
    for part in reversed(parts):
        if part["type"] == "ByteLevel" and part.get("use_regex", True):
            return read_splits(GPT2_PATTERN)
        try:
            return read_splits(_pattern(part))
        except UnsupportedError:
            continue
    return WHOLE

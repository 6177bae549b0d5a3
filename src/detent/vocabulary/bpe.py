"""How a `tokenizer.json` tokenizes, as far as the core does it too: byte-level BPE, and BPE over SentencePiece pieces.

    byte-level     [Split at a known pattern] ByteLevel; no normalizer but NFC
    pieces         space to U+2581, by a normalizer or Metaspace without a split; byte pieces for unknown characters

Everything else raises `UnsupportedError`, with the reason. Two things are not part of it. NFC is left to the host: the
core tokenizes a text as it stands. Special tokens are never found in a text, as with `encode_ordinary`; the literals of
added tokens that are not special are listed, since the tokenizer finds these in any text.

Source: tokenizers/src/{models/bpe,pre_tokenizers,normalizers} of https://github.com/huggingface/tokenizers.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import add
from typing import Any, NamedTuple

import numpy as np

from detent import _core
from detent.errors import UnsupportedError, VocabularyError
from detent.vocabulary import byte_level
from detent.vocabulary.decoder import components
from detent.vocabulary.files import expect
from detent.vocabulary.pieces import METASPACE, byte_of
from detent.vocabulary.split_pattern import (
    GPT2_PATTERN,
    GPT2_WITH_NUMBERS_APART,
    NUMBERS_APART,
    WHOLE,
    Split,
    read_split,
)
from detent.vocabulary.token_table import shown

__all__ = ["Bpe", "bpe_of"]

_NO_CLASS = 255


class Bpe(NamedTuple):
    """A tokenizer in the core, and the texts that it finds before it tokenizes."""

    encoder: _core.Encoder
    literals: tuple[str, ...] = ()


def bpe_of(data: dict[str, Any], size: int) -> Bpe:
    """Return the tokenizer of a parsed `tokenizer.json` that a vocabulary of `size` ids was read from."""
    model = expect(data.get("model"), dict, "model")
    kind = model.get("type") or ("BPE" if "merges" in model else "another")
    if kind != "BPE":
        raise _refusal(f"its model is {shown(kind)}: only BPE's pairs say exactly which tokens may follow each other")
    for name in ("dropout", "continuing_subword_prefix", "end_of_word_suffix"):
        if model.get(name):
            raise _refusal(f"its model has {name} = {shown(model[name])}")
    ids: dict[str, int] = expect(model.get("vocab"), dict, "model.vocab")
    added = expect(data.get("added_tokens", []), list, "added_tokens")
    taken = {token["content"] for token in added}
    plain = {token: number for token, number in ids.items() if token not in taken and token != model.get("unk_token")}
    literals = tuple(token["content"] for token in added if not token.get("special") and token["content"])
    merges = _read_merges(expect(model.get("merges"), list, "model.merges"), ids)
    parts = components(data.get("pre_tokenizer"), "pretokenizers", "pre_tokenizer")
    normalizers = components(data.get("normalizer"), "normalizers", "normalizer")
    if any(part["type"] == "ByteLevel" for part in parts):
        encoder = _byte_level(
            plain, merges, _read_byte_level(normalizers, parts), size, bool(model.get("ignore_merges"))
        )
    else:
        _check_pieces(normalizers, parts)
        if model.get("ignore_merges"):
            raise _refusal("its model has ignore_merges without a split")
        encoder = _pieces(plain, merges, size, byte_fallback=bool(model.get("byte_fallback")))
        literals = tuple({text for literal in literals for text in (literal, literal.replace(METASPACE, " "))})
    return Bpe(encoder, literals)


def _refusal(reason: str) -> UnsupportedError:
    return UnsupportedError(f"the tokenizer cannot be followed token by token: {reason}")


def _read_merges(merges: list[Any], ids: dict[str, int]) -> bytes:
    pairs: Sequence[Sequence[str]] = [pair.split(" ") if isinstance(pair, str) else pair for pair in merges]
    rows = np.empty((len(pairs), 4), dtype=np.uint32)
    try:
        lefts, rights = [left for left, _ in pairs], [right for _, right in pairs]
        for column, names in ((0, lefts), (1, rights), (3, map(add, lefts, rights))):
            rows[:, column] = np.fromiter(map(ids.__getitem__, names), np.uint32, len(pairs))
    except (KeyError, ValueError, TypeError, OverflowError) as error:
        raise VocabularyError(
            f"model.merges: each must be two tokens that join to a third: {shown(str(error))}"
        ) from None
    rows[:, 2] = np.arange(len(rows), dtype=np.uint32)
    return rows.tobytes()


def _read_byte_level(normalizers: list[dict[str, Any]], parts: list[dict[str, Any]]) -> Split:
    for part in normalizers:
        if part["type"] != "NFC":
            raise _refusal(f"normalizer {shown(part['type'])} changes texts")
    *before, last = parts
    if last["type"] != "ByteLevel" or len(before) > 1:
        raise _refusal(f"its pre-tokenizers are {', '.join(str(part['type']) for part in parts[:9])}")
    if last.get("add_prefix_space"):
        raise _refusal("it puts a space before each text")
    if not before:
        return read_split(GPT2_PATTERN) if last.get("use_regex", True) else WHOLE
    split = before[0]
    pattern = split.get("pattern")
    if last.get("use_regex", True):
        if split == NUMBERS_APART:
            return read_split(GPT2_WITH_NUMBERS_APART)
        raise _refusal("it splits twice")
    if split["type"] != "Split" or not isinstance(pattern, dict) or not isinstance(pattern.get("Regex"), str):
        raise _refusal(f"pre-tokenizer {shown(split['type'])} is not a split at a regular expression")
    if split.get("behavior") != "Isolated" or split.get("invert"):
        raise _refusal(f"its split behaves as {shown(split.get('behavior'))}")
    return read_split(pattern["Regex"])


def _byte_level(ids: dict[str, int], merges: bytes, split: Split, size: int, ignore_merges: bool) -> _core.Encoder:
    spelled, foreign = byte_level.spell(list(ids))
    texts = [b""] * size
    for text, number in zip(spelled, ids.values(), strict=True):
        texts[number] = text
    names = list(ids)
    for index in foreign:
        texts[ids[names[index]]] = b""
    missing = [byte for byte, character in enumerate(byte_level.CHARACTER_OF_BYTE) if character not in ids]
    if missing:
        raise _refusal(f"{len(missing)} bytes have no token, {missing[0]:#04x} the first")
    base = [(byte, ids[character]) for byte, character in enumerate(byte_level.CHARACTER_OF_BYTE)]
    return _core.Encoder(
        False, texts, _numbers(base), b"", merges, ignore_merges,
        split.ranges, split.class_count, split.program, split.one_chunk,
    )  # fmt: skip


def _check_pieces(normalizers: list[dict[str, Any]], parts: list[dict[str, Any]]) -> None:
    replaced = False
    for part in normalizers:
        replaces = (
            part["type"] == "Replace" and part.get("pattern") == {"String": " "} and part.get("content") == METASPACE
        )
        if not replaces and not (part["type"] == "Prepend" and part.get("prepend") == METASPACE):
            raise _refusal(f"normalizer {shown(part['type'])} changes texts in a way that is not known")
        replaced |= replaces
    for part in parts:
        whole = part["type"] == "Metaspace" and part.get("replacement") == METASPACE and part.get("split") is False
        idle = part["type"] == "Split" and replaced and part.get("pattern") == {"String": " "}  # there is none left
        if not whole and not idle:
            raise _refusal(f"pre-tokenizer {shown(part['type'])} is not known to leave texts whole")
        replaced |= whole
    if not replaced:
        raise _refusal("it does not write spaces as U+2581")


def _pieces(ids: dict[str, int], merges: bytes, size: int, *, byte_fallback: bool) -> _core.Encoder:
    if METASPACE not in ids:
        raise _refusal("no token stands for a space alone, so that its bytes would be those of U+2581")
    bytes_of = {number: byte for piece, number in ids.items() if (byte := byte_of(piece)) is not None}
    byte_pieces = [number for number, _ in sorted(bytes_of.items(), key=lambda item: item[1])]
    if not byte_fallback or len(set(bytes_of.values())) != 256 or len(byte_pieces) != 256:
        byte_pieces = []
    texts = [b""] * size
    base: list[tuple[int, int]] = []
    for piece, number in ids.items():
        if " " in piece or number in bytes_of:
            continue
        texts[number] = piece.replace(METASPACE, " ").encode()
        if len(piece) == 1:
            base.append((ord(piece), number))
            if piece == METASPACE:
                base.append((ord(" "), number))
    known = {point for point, _ in base}
    ranges: list[tuple[int, int]] = []
    for point in sorted({0, *known, *(each + 1 for each in known), ord(METASPACE), ord(METASPACE) + 1} - {0x110000}):
        number = _NO_CLASS if point == ord(METASPACE) else 0 if point in known else 1 if byte_pieces else _NO_CLASS
        if not ranges or ranges[-1][1] != number:
            ranges.append((point, number))
    program = [(operation, 3 * mask, first, second) for operation, mask, first, second in WHOLE.program]
    return _core.Encoder(
        True, texts, _numbers(base), _numbers(byte_pieces), merges, False, ranges, 2, program, True
    )  # fmt: skip


def _numbers(values: Sequence[object]) -> bytes:
    return np.array(values, dtype=np.uint32).tobytes()

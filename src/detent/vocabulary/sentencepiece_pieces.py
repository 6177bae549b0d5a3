"""SentencePiece pieces: the bytes of each piece, and the tables by which the core encodes text into pieces.

A piece is text in which U+2581 stands for a space. `<0x41>` may stand for the byte 0x41: such byte pieces encode the
characters that are no piece, in vocabularies that have all 256 of them. U+2581 itself cannot be encoded.

Source: Kudo & Richardson 2018, https://github.com/google/sentencepiece.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from detent.errors import UnsupportedError
from detent.vocabulary.loaded_tokens import shown
from detent.vocabulary.pretokenizer_regex import WHOLE
from detent.vocabulary.unsupported import unsupported

__all__ = [
    "METASPACE",
    "PieceTables",
    "byte_of",
    "bytes_of_pieces",
    "numbers",
    "read_piece_input",
    "read_piece_tables",
]

METASPACE = "\u2581"

_BYTE_PIECE = re.compile(r"<0x([0-9A-Fa-f]{2})>")
_NO_CLASS = 255
_PIECES, _BYTES, _EITHER = range(3)
"""The pieces that encode a character, as in `cpp/bpe/encoder.h`."""


def byte_of(piece: str) -> bytes | None:
    """Return the byte that a piece such as `<0x0A>` names, or None (`<0xZZ>` names none)."""
    match = _BYTE_PIECE.fullmatch(piece)
    return bytes.fromhex(match[1]) if match else None


def bytes_of_pieces(
    pieces: Sequence[str], replacements: Sequence[tuple[str, str]], *, byte_pieces: bool
) -> list[bytes]:
    """Return the bytes of each piece: `replacements` in order, then, with `byte_pieces`, the bytes that pieces name."""
    raw_tokens: list[bytes] = []
    for text in pieces:
        for old, new in replacements:
            text = text.replace(old, new)
        byte = byte_of(text) if byte_pieces and text.startswith("<0x") else None
        raw_tokens.append(text.encode() if byte is None else byte)
    return raw_tokens


class PieceTables(NamedTuple):
    """The arguments of `_core.Encoder` that follow from the pieces."""

    texts: list[bytes]
    base: bytes
    byte_pieces: bytes
    ranges: list[tuple[int, int]]
    class_count: int
    program: list[tuple[int, int, int, int]]


def read_piece_input(normalizers: list[dict[str, Any]], parts: list[dict[str, Any]], doubts: list[str]) -> bool:
    """Return whether a text is split before each space; append each unknown step to `doubts`."""
    replaced = words = False
    for part in normalizers:
        replaces = (
            part["type"] == "Replace" and part.get("pattern") == {"String": " "} and part.get("content") == METASPACE
        )
        if not replaces and not (part["type"] == "Prepend" and part.get("prepend") == METASPACE):
            doubts.append(str(unsupported(f"normalizer {shown(part['type'])} changes texts in an unknown way")))
        replaced |= replaces
    for part in parts:
        metaspace = part["type"] == "Metaspace" and part.get("replacement") == METASPACE
        idle = (
            part["type"] == "Split" and replaced and part.get("pattern") == {"String": " "}
        )  # no space is left to split at
        if not metaspace and not idle:
            doubts.append(str(unsupported(f"pre-tokenizer {shown(part['type'])} is not known to leave texts whole")))
        replaced |= metaspace
        words |= metaspace and part.get("split") is not False
    if not replaced:
        raise UnsupportedError(doubts[0]) if doubts else unsupported("it does not write spaces as U+2581")
    return words


def read_piece_tables(ids: Mapping[str, int], size: int, *, byte_fallback: bool, either: bool) -> PieceTables:
    """Return the tables for pieces by name; with `either`, a character inside pieces may be encoded by bytes too."""
    if METASPACE not in ids:
        raise unsupported("no token stands for a space alone, so that its bytes would be those of U+2581")
    bytes_of = {number: byte for piece, number in ids.items() if (byte := byte_of(piece)) is not None}
    byte_pieces = [number for number, _ in sorted(bytes_of.items(), key=lambda item: item[1])]
    if not byte_fallback or len(set(bytes_of.values())) != 256 or len(byte_pieces) != 256:
        byte_pieces = []
    texts = [b""] * size
    base: list[tuple[int, int]] = []
    classes: dict[int, int] = {}
    for piece, number in ids.items():
        if " " in piece or number in bytes_of:
            continue
        texts[number] = piece.replace(METASPACE, " ").encode()
        if len(piece) == 1:
            base.append((ord(piece), number))
            if piece == METASPACE:
                base.append((ord(" "), number))
        elif either and byte_pieces:
            classes.update((ord(character), _EITHER) for character in piece)
    classes |= {point: _PIECES for point, _ in base} | {ord(METASPACE): _NO_CLASS}
    others = _BYTES if byte_pieces else _NO_CLASS
    program = [(operation, 7 * mask, first, second) for operation, mask, first, second in WHOLE.program]
    return PieceTables(texts, numbers(base), numbers(byte_pieces), _ranges(classes, others), 3, program)


def _ranges(classes: Mapping[int, int], others: int) -> list[tuple[int, int]]:
    ranges: list[tuple[int, int]] = []
    for point in sorted({0, *classes, *(each + 1 for each in classes)} - {0x110000}):
        number = classes.get(point, others)
        if not ranges or ranges[-1][1] != number:
            ranges.append((point, number))
    return ranges


def numbers(values: Sequence[object]) -> bytes:
    """Return numbers as the core's array of 32-bit integers."""
    return np.array(values, dtype=np.uint32).tobytes()

"""SentencePiece spelling: a piece is text in which U+2581 stands for a space; `<0x41>` may stand for the byte 0x41.

Source: Kudo & Richardson 2018, https://github.com/google/sentencepiece.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

__all__ = ["METASPACE", "byte_of", "spell"]

METASPACE = "\u2581"

_BYTE_PIECE = re.compile(r"<0x([0-9A-Fa-f]{2})>")


def byte_of(piece: str) -> bytes | None:
    """Return the byte that a piece such as `<0x0A>` names, or None (`<0xZZ>` names none)."""
    match = _BYTE_PIECE.fullmatch(piece)
    return bytes.fromhex(match[1]) if match else None


def spell(pieces: Sequence[str], replacements: Sequence[tuple[str, str]], *, byte_pieces: bool) -> list[bytes]:
    """Return the bytes of each piece: `replacements` in order, then, with `byte_pieces`, the bytes that pieces name."""
    spelled: list[bytes] = []
    for text in pieces:
        for old, new in replacements:
            text = text.replace(old, new)
        byte = byte_of(text) if byte_pieces and text.startswith("<0x") else None
        spelled.append(text.encode() if byte is None else byte)
    return spelled

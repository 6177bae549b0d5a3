"""The wire format of protobuf messages, as much as reading a SentencePiece model needs.

A message is a list of fields: a tag (number and wire type) and a value. Lengths are never trusted: every field must end
within its message. Source: https://protobuf.dev/programming-guides/encoding.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from detent.errors import VocabularyError
from detent.vocabulary.loaded_tokens import shown

__all__ = ["Field", "fields"]

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


class Field(NamedTuple):
    """One field: an integer in `value`, or bytes from `start` to `end`."""

    number: int
    value: int
    start: int
    end: int


def fields(data: bytes, start: int, end: int) -> Iterator[Field]:
    """Yield the fields of the message that lies in `data` from `start` to `end`."""
    at = start
    while at < end:
        tag, at = _varint(data, at, end)
        number, wire = tag >> 3, tag & 7
        start, value = at, 0
        if wire == _VARINT:
            value, at = _varint(data, at, end)
        elif wire == _BYTES:
            size, start = _varint(data, at, end)
            at = start + size
        elif wire == _FIXED32:
            at += 4
        elif wire == _FIXED64:
            at += 8
        else:
            raise VocabularyError(f"wire type {wire} at byte {at} is not protobuf. Is it another kind of file?")
        if at > end:
            raise VocabularyError(f"field {number} ends at byte {shown(at)}, past byte {end}. Is the file complete?")
        yield Field(number, value, start, at)


def _varint(data: bytes, at: int, end: int) -> tuple[int, int]:
    """Return the integer at `at`, seven bits a byte, and where it ends."""
    if at < end and data[at] < 0x80:  # most integers have one byte
        return data[at], at + 1
    value = shift = 0
    while at < end and shift < 64:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
    raise VocabularyError(f"an integer ends past byte {end}, or is longer than 64 bits. Is the file complete?")

"""Position: where in a value a character of a JSON text is."""

from __future__ import annotations

import json
from typing import Literal, NamedTuple, TypeAlias

from detent.sources.diagnostics import json_pointer

__all__ = ["Position", "locate"]

Role: TypeAlias = Literal["name", "colon", "value", "after"]

_QUOTE, _BACKSLASH = b'"\\'
_SINGLE = b"{}[],: \t\r\n"
"""The tokens of one byte, and white space."""


class Position(NamedTuple):
    """The state after the beginning of a JSON text."""

    role: Role
    """The part of the text that begins or continues here; "after": a value is complete."""
    pointer: str
    """The JSON pointer of the value; in a name, that of its object; after a value, that of the container."""
    start: int
    """Where the name or the value begins."""
    is_in_object: bool


def locate(text: bytes) -> Position:
    """Return the state after the beginning of a valid JSON text.

    >>> locate(b'{"a": [1, tr')
    Position(role='value', pointer='/a/1', start=10, is_in_object=False)
    >>> locate(b'{"a": 1, "b')
    Position(role='name', pointer='', start=9, is_in_object=True)
    """
    scanner = _Scanner()
    at = 0
    while at < len(text):
        start, at = at, scanner.token_end(text, at)
        if at > len(text):
            return scanner.position(start)
        scanner.take(text[start:at])
    return scanner.position(len(text))


class _Scanner:
    """The state between two tokens of a JSON text."""

    def __init__(self) -> None:
        self._role: Role = "value"
        self._path: list[str | int | None] = []  # for each container the name or index of its value; None before a name

    def position(self, start: int) -> Position:
        """Return the position of a token that begins at `start`."""
        path = self._path
        pointer = json_pointer(path if self._role in ("colon", "value") else path[:-1])
        return Position(self._role, pointer, start, bool(path) and not isinstance(path[-1], int))

    @staticmethod
    def token_end(text: bytes, start: int) -> int:
        """Return where the token at `start` ends; more than the length of the text if it is not complete."""
        at = start + 1
        if text[start] == _QUOTE:
            while at < len(text) and text[at] != _QUOTE:
                at += 2 if text[at] == _BACKSLASH else 1
            return at + 1
        if text[start] in _SINGLE:
            return at
        while at < len(text) and text[at] not in _SINGLE:
            at += 1
        return at if at < len(text) else at + 1

    def take(self, token: bytes) -> None:
        """Go on after a token."""
        if token.isspace():
            return
        if token == b",":
            index = self._path[-1]
            self._path[-1], self._role = (index + 1, "value") if isinstance(index, int) else (None, "name")
        elif token == b":":
            self._role = "value"
        elif token in (b"{", b"["):
            self._path.append(None if token == b"{" else 0)
            self._role = "name" if token == b"{" else "value"
        elif token in (b"}", b"]"):
            self._path.pop()
            self._role = "after"
        elif self._role == "name":
            self._path[-1], self._role = json.loads(token.decode(errors="replace"), strict=False), "colon"
        else:
            self._role = "after"

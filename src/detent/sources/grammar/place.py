"""Places in a grammar's text: line and column, the line with a caret under it, and what to write instead."""

from __future__ import annotations

from typing import NoReturn

from detent.errors import LimitError, PatternSyntaxError, UnsupportedError

__all__ = ["Source"]

# Columns shown on each side of the caret; with four bytes a column a message stays within its 512 bytes.
_SIDE = 24
_TEXT_BYTES = 130


class Source:
    """The text of a grammar, and the errors that point into it."""

    def __init__(self, text: str) -> None:
        self.text = text

    def malformed(self, what: str, offset: int, remedy: str) -> NoReturn:
        """Raise what a text that is no grammar deserves."""
        raise PatternSyntaxError(self.show(what, offset, remedy), position=offset, source=self.text)

    def unsupported(self, what: str, offset: int, remedy: str) -> NoReturn:
        """Raise what a well formed grammar deserves that cannot be held."""
        raise UnsupportedError(self.show(what, offset, remedy), position=offset, source=self.text)

    def excessive(self, what: str, offset: int, remedy: str) -> NoReturn:
        """Raise what a grammar beyond a limit deserves."""
        raise LimitError(self.show(what, offset, remedy), position=offset, source=self.text)

    def show(self, what: str, offset: int, remedy: str) -> str:
        r"""Compose a message of at most 512 bytes.

        >>> print(Source('root ::= "a"\n  | (').show("a group is not closed", 17, "close it with )"))
        a group is not closed, at line 2, column 5:
          | (
            ^
        close it with )
        """
        before = self.text[:offset]
        line, start = before.count("\n") + 1, before.rfind("\n") + 1
        end = self.text.find("\n", offset)
        shown = self.text[start : len(self.text) if end < 0 else end]
        column = offset - start
        first = max(0, column - _SIDE)
        head = _printable(("…" if first else "") + shown[first:column]).lstrip(" ")
        tail = _printable(shown[column : column + _SIDE]) + ("…" if len(shown) > column + _SIDE else "")
        place = f"at line {line}, column {column + 1}:\n  {head}{tail}\n  {' ' * len(head)}^"
        return f"{_clip(what)}, {place}\n{_clip(remedy)}"


def _printable(text: str) -> str:
    return "".join(character if character.isprintable() else "·" for character in text)


def _clip(text: str) -> str:
    raw = text.encode("utf-8", "backslashreplace")
    return text if len(raw) <= _TEXT_BYTES else raw[:_TEXT_BYTES].decode("utf-8", "ignore") + "…"

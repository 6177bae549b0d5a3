"""Error messages that show the position in the source: a caret in a pattern, line and column, or a JSON pointer.

A message says what is wrong, where, and what to write instead. It has at most 512 bytes, however long the source is.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from typing import Any, NoReturn, TypeVar

from detent.errors import DetentError, LimitError, PatternSyntaxError, UnsupportedError

__all__ = ["GrammarText", "json_pointer", "pattern_error", "pattern_message", "pointer_phrase"]

_Error = TypeVar("_Error", bound=DetentError)

_SIDE_COLUMNS = 28
"""Columns shown on each side of the caret; a column takes at most four bytes."""

_CLAUSE_BYTES = 130
"""Bytes of each of the two sentences around the excerpt."""


def pattern_message(problem: str, pattern: str, position: int, remedy: str) -> str:
    r"""Return a message about a position in a pattern of one line.

    >>> print(pattern_message("a backreference is not regular", r"(a+)\1", 4, "write the text out"))
    a backreference is not regular, at character 4 of the pattern:
      (a+)\1
          ^
    write the text out
    """
    return _message(problem, f"character {position} of the pattern", pattern, position, remedy)


def pattern_error(kind: type[_Error], problem: str, pattern: str, position: int, remedy: str, **data: Any) -> _Error:
    """Return an error about a position in a pattern, with its message; `data` are further attributes of the error."""
    return kind(pattern_message(problem, pattern, position, remedy), position=position, source=pattern, **data)


class GrammarText:
    """The text of a grammar, and the errors that point into it."""

    def __init__(self, text: str) -> None:
        self.text = text

    def malformed(self, problem: str, position: int, remedy: str) -> NoReturn:
        """Raise `PatternSyntaxError`: the text is not a grammar of its notation."""
        raise PatternSyntaxError(self.message(problem, position, remedy), position=position, source=self.text)

    def unsupported(self, problem: str, position: int, remedy: str) -> NoReturn:
        """Raise `UnsupportedError`: the grammar is well formed, and no language here equals it."""
        raise UnsupportedError(self.message(problem, position, remedy), position=position, source=self.text)

    def excessive(self, problem: str, position: int, remedy: str, *, subject: str, limit: int) -> NoReturn:
        """Raise `LimitError`: the grammar exceeds a limit."""
        message = self.message(problem, position, remedy)
        raise LimitError(message, subject=subject, limit=limit, position=position, source=self.text)

    def within(self, error: _Error, what: str, position: int) -> _Error:
        """Return the same error about a part of the grammar; it has the part's position in the grammar."""
        located = PatternSyntaxError("", position=position, source=self.text)
        found = error.prefixed(f"{what} at line {located.line}, column {located.column}")
        found.position, found.line, found.column = located.position, located.line, located.column
        return found

    def message(self, problem: str, position: int, remedy: str) -> str:
        r"""Return a message with line, column and the line itself.

        >>> print(GrammarText('root ::= "a"\n  | (').message("a group is not closed", 17, "close it with )"))
        a group is not closed, at line 2, column 5:
          | (
            ^
        close it with )
        """
        line_number = self.text.count("\n", 0, position) + 1
        start = self.text.rfind("\n", 0, position) + 1
        end = self.text.find("\n", position)
        line = self.text[start : len(self.text) if end < 0 else end]
        column = position - start
        indent = min(len(line) - len(line.lstrip(" ")), column)
        where = f"line {line_number}, column {column + 1}"
        return _message(problem, where, line[indent:], column - indent, remedy)


def json_pointer(tokens: Iterable[object]) -> str:
    """Return the JSON pointer (RFC 6901) of reference tokens.

    >>> json_pointer(["properties", "a/b", 0])
    '/properties/a~1b/0'
    """
    return "".join("/" + str(token).replace("~", "~0").replace("/", "~1") for token in tokens)


def pointer_phrase(pointer: str) -> str:
    """Return how a sentence names the position of a JSON pointer.

    >>> pointer_phrase("/items"), pointer_phrase("")
    ('at /items', 'at the root')
    """
    return f"at {pointer or 'the root'}"


def _message(problem: str, where: str, line: str, column: int, remedy: str) -> str:
    before, indent = _window(line, column - 1, -1)
    after, _ = _window(line, column, 1)
    return f"{_clip(problem)}, at {where}:\n  {before}{after}\n  {' ' * indent}^\n{_clip(remedy)}"


def _window(line: str, index: int, step: int) -> tuple[str, int]:
    """Return the characters from `index` in one direction that fit, and their columns."""
    shown: list[str] = []
    used = columns = 0
    while 0 <= index < len(line):
        text, width = _glyph(line[index])
        used += max(width, 1)
        if used > _SIDE_COLUMNS:
            shown.append("…")
            columns += 1
            break
        shown.append(text)
        columns += width
        index += step
    return "".join(shown[::step]), columns


def _glyph(character: str) -> tuple[str, int]:
    """Return how a character is shown, and its width in columns."""
    if not character.isprintable():
        text = character.encode("unicode_escape").decode()
        return text, len(text)
    if unicodedata.combining(character):
        return character, 0
    return character, 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _clip(text: str) -> str:
    raw = text.encode("utf-8", "backslashreplace")
    return text if len(raw) <= _CLAUSE_BYTES else raw[:_CLAUSE_BYTES].decode("utf-8", "ignore") + "…"

"""Messages that show where: the pattern around the spot, a caret under it, and what to write instead."""

from __future__ import annotations

import unicodedata

__all__ = ["show"]

# Columns shown on each side; with four bytes a column a message stays within its 512 bytes.
_SIDE = 28
_TEXT_BYTES = 130


def show(what: str, pattern: str, offset: int, remedy: str) -> str:
    r"""Compose a message of at most 512 bytes.

    >>> print(show("a backreference is not regular", r"(a+)\1", 4, "write the text out"))
    a backreference is not regular, at character 4 of the pattern:
      (a+)\1
          ^
    write the text out
    """
    before, indent = _window(pattern, offset - 1, -1)
    after, _ = _window(pattern, offset, 1)
    place = f"at character {offset} of the pattern:\n  {before}{after}\n  {' ' * indent}^"
    return f"{_clip(what)}, {place}\n{_clip(remedy)}"


def _window(pattern: str, index: int, step: int) -> tuple[str, int]:
    shown: list[str] = []
    used = columns = 0
    while 0 <= index < len(pattern):
        text, width = _glyph(pattern[index])
        used += max(width, 1)
        if used > _SIDE:
            shown.append("…")
            columns += 1
            break
        shown.append(text)
        columns += width
        index += step
    return "".join(shown[::step]), columns


def _glyph(character: str) -> tuple[str, int]:
    if not character.isprintable():
        text = character.encode("unicode_escape").decode()
        return text, len(text)
    if unicodedata.combining(character):
        return character, 0
    return character, 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _clip(text: str) -> str:
    raw = text.encode("utf-8", "backslashreplace")
    return text if len(raw) <= _TEXT_BYTES else raw[:_TEXT_BYTES].decode("utf-8", "ignore") + "…"

"""Mismatch: where a text leaves a language, and what could have followed."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Mismatch"]

_MAX_SHOWN = 60
"""Characters of the text before and after the position that a message shows."""


@dataclass(frozen=True)
class Mismatch:
    """Why a text is not in a language; `str` writes it as a sentence with a caret.

    Parameters
    ----------
    text : str
        The text.
    position : int
        The character where it leaves the language; its length if it ends too early.
    expected : str
        What may stand there: a set of bytes such as ``[0-9]``, ``the end``, or both.
    example : str or None
        A text of the language that begins like this one up to `position`, if there is one that is short.
    part : str or None
        The part of the rule that is not met, if the rule has parts.
    rule : str
        The rule's description.
    """

    text: str
    position: int
    expected: str
    example: str | None
    part: str | None
    rule: str

    def __str__(self) -> str:
        found = repr(self.text[self.position]) if self.position < len(self.text) else "the end of the text"
        where = f" of {self.part}" if self.part else ""
        example = f"; for example {_cut(self.example)!r}" if self.example is not None else ""
        start = max(0, self.position - _MAX_SHOWN)
        line = _printable(self.text[start : self.position + _MAX_SHOWN])
        caret = " " * len(_printable(self.text[start : self.position]))
        wanted = f"{self.expected}{where} is expected{example}"
        return f"not in {self.rule}: character {self.position} is {found} where {wanted}\n  {line}\n  {caret}^"


def _printable(text: str) -> str:
    return "".join(character if character.isprintable() else repr(character)[1:-1] for character in text)


def _cut(text: str) -> str:
    return text if len(text) <= _MAX_SHOWN else text[: _MAX_SHOWN - 1] + "…"

"""PartialCaptures: the captures of an incomplete text of parts, such as ``"<think>" + text + "</think>" + answer``.

The parts are read in order. A part is complete when the single text of the next part follows it, or when it cannot be
extended. The value has the captures of complete parts. The part in progress adds its own capture: a text as far as it
is certain, JSON as far as it is written; other values when they are complete.
"""

from __future__ import annotations

from typing import Any

from detent.errors import ArgumentError
from detent.generation.partial_stream import PartialValue
from detent.language import Language
from detent.partial_json import PartialJson
from detent.values import Capture, Concatenation, captures

__all__ = ["PartialCaptures", "partial_value"]


class PartialCaptures:
    """The captures of a text that is fed in pieces.

    >>> import detent
    >>> answer = detent.json_schema({"type": "array"}).capture("answer")
    >>> partial = PartialCaptures("<think>" + detent.text().capture("thought") + "</think>" + answer)
    >>> for piece in ("<think>6 ", "times 7</th", "ink>[4", "2, ", "43]"):
    ...     if partial.feed(piece):
    ...         print(partial.value)
    {'thought': '6 '}
    {'thought': '6 times 7'}
    {'thought': '6 times 7', 'answer': []}
    {'thought': '6 times 7', 'answer': [42]}
    {'thought': '6 times 7', 'answer': [42, 43]}

    Cost: each `feed` reads the part in progress again.
    """

    def __init__(self, language: Language[Any]) -> None:
        concatenation = language.value
        self._parts = concatenation.parts if isinstance(concatenation, Concatenation) else (language,)
        self._language = language
        self._dfas = [part._dfa() for part in self._parts]
        self._text = b""
        self._index = self._start = 0
        self._complete: dict[str, Any] = {}
        self.value: dict[str, Any] = {}

    def feed(self, piece: str) -> bool:
        """Append a piece; return whether `value` changed."""
        self._text += piece.encode()
        while self._index < len(self._parts) and (end := self._end_of_part()) is not None:
            part, text = self._parts[self._index], self._text[self._start : end].decode()
            if captures(part):
                self._complete |= part.parse(text)
            self._index, self._start = self._index + 1, end
        value = self._complete | self._in_progress()
        changed = bool(value != self.value)
        self.value = value
        return changed

    def finish(self) -> bool:
        """End the text; return whether `value` changed."""
        value = self._language.parse(self._text.decode())
        changed = bool(value != self.value)
        self.value = value
        return changed

    def _following(self) -> bytes | None:
        """Return the only text of the next part."""
        return self._dfas[self._index + 1].only_text() if self._index + 1 < len(self._parts) else None

    def _end_of_part(self) -> int | None:
        """Return the offset after the part in progress, or None if it may be extended."""
        dfa, following = self._dfas[self._index], self._following()
        ends = dfa.ends(self._text, self._start)
        if following:
            return next((end for end in ends if self._text.startswith(following, end)), None)
        only = dfa.only_text()
        if only is not None:
            return ends[-1] if ends else None
        read, _ = dfa.longest_prefix(self._text[self._start :])
        return ends[-1] if ends and self._start + read < len(self._text) else None

    def _in_progress(self) -> dict[str, Any]:
        part = self._parts[self._index] if self._index < len(self._parts) else None
        if part is None or not isinstance(part.value, Capture):
            return {}
        text = self._text[self._start :].decode()
        if part.value.inner.value is None:
            following = (self._following() or b"").decode()
            overlap = next((n for n in range(len(following), 0, -1) if text.endswith(following[:n])), 0)
            text = text[: len(text) - overlap]
            return {part.value.name: text} if text else {}
        if text[:1] not in ("{", "[", '"'):
            return {}
        partial = PartialJson()
        try:
            partial.feed(text)
        except ArgumentError:  # not JSON: a value when it is complete
            return {}
        return {part.value.name: partial.value}


def partial_value(language: Language[Any]) -> PartialValue:
    """Return the partial value of an empty text: captures if the language has some, else JSON."""
    return PartialCaptures(language) if captures(language) else PartialJson()

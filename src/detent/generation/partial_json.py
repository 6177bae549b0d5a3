"""Partial values: what a JSON text says so far, as a value, while it is being written.

The text is followed character by character with a stack of open brackets. What is certain is kept: members and items
whose values are complete, and strings and containers as far as they go. A number or a word such as `tru` waits for its
end, a key for its value, half an escape for the rest. So each value is the one before with something added, and the
last is the whole.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from detent.errors import ArgumentError
from detent.generation.decode_loop import Stream
from detent.generation.output import Output

__all__ = ["PartialJson", "PartialStream"]

_CLOSERS = {"{": "}", "[": "]"}


class PartialJson:
    r"""A JSON text under way.

    >>> partial = PartialJson()
    >>> for piece in ('{"a": [1', ", tr", 'ue, "x', 'y\\', 'n"]', ', "b"', ": 2}"):
    ...     if partial.feed(piece):
    ...         print(partial.value)
    {'a': []}
    {'a': [1]}
    {'a': [1, True, 'x']}
    {'a': [1, True, 'xy']}
    {'a': [1, True, 'xy\n']}
    {'a': [1, True, 'xy\n'], 'b': 2}

    Each call costs a parse of the text so far.
    """

    def __init__(self) -> None:
        self.value: object = None
        self._text = ""
        self._place = 0  # as far as was looked at
        self._certain = 0  # as far as it is certain, outside of strings
        self._stack: list[str] = []
        self._in_string = False
        self._is_key = False
        self._scalar: int | None = None
        self._escape: int | None = None
        self._events = 0  # what made another value of it
        self._seen = 0

    def feed(self, piece: str) -> bool:
        """Read on; return whether `value` is another now.

        Raises
        ------
        ArgumentError
            The text is not JSON.
        """
        self._text += piece
        while self._place < len(self._text):
            self._look(self._text[self._place])
            self._place += 1
        if self._events == self._seen:
            return False
        self._read(self._closed())
        return True

    def finish(self) -> bool:
        """End the text; return whether `value` is another now."""
        is_other = self._scalar is not None
        self._read(self._text)
        return is_other

    def _read(self, text: str) -> None:
        try:
            self.value = json.loads(text)
        except (ValueError, RecursionError):
            shown = self._text if len(self._text) <= 60 else "…" + self._text[-59:]
            raise ArgumentError(
                f"partial values need a language of JSON texts, such as detent.json_schema(...); {shown!r} is none"
            ) from None
        self._seen = self._events

    def _closed(self) -> str:
        """Return what is certain, with its strings and brackets closed."""
        if self._in_string and not self._is_key:
            kept = self._text if self._escape is None else self._text[: self._escape]
            kept += '"'
        else:
            kept = self._text[: self._certain]
        return kept + "".join(_CLOSERS[opener] for opener in reversed(self._stack))

    def _look(self, character: str) -> None:
        if self._in_string:
            self._look_in_string(character)
        elif character == '"':
            self._in_string = True
            self._events += not self._is_key
        elif character in "{[":
            self._stack.append(character)
            self._is_key = character == "{"
            self._certain = self._place + 1
            self._events += 1
        elif character in "}],: \t\n\r":
            self._delimit(character)
        elif self._scalar is None:
            self._scalar = self._place

    def _delimit(self, character: str) -> None:
        if self._scalar is not None:
            self._certain, self._scalar = self._place, None
            self._events += 1
        if character in "}]" and self._stack:
            self._stack.pop()
            self._certain = self._place + 1
            self._is_key = False
        elif character in ",:":
            self._is_key = character == "," and self._stack[-1:] == ["{"]

    def _look_in_string(self, character: str) -> None:
        if self._escape is not None and self._place == self._escape + 6 and character != "\\":
            self._escape = None  # half a pair, without the other half
        if self._escape is not None:
            self._escape = self._escape_after(self._text[self._escape : self._place + 1])
        elif character == "\\":
            self._escape = self._place
        elif character == '"':
            self._in_string = False
            if not self._is_key:
                self._certain = self._place + 1
            return
        self._events += not self._is_key and self._escape is None

    def _escape_after(self, escape: str) -> int | None:
        """Return where an escape began that needs more characters; None if it is complete."""
        if escape[1:2] != "u":
            return None if len(escape) > 1 else self._escape
        has_session = len(escape) < 6
        if len(escape) >= 6 and escape[2:4].lower() in ("d8", "d9", "da", "db"):  # the first half of a pair
            has_session = len(escape) < 12 and escape[6:8] in ("", "\\", "\\u")
        return self._escape if has_session else None


class PartialStream(Iterator[object]):
    """The value of a JSON text again and again while it is written; made by `stream`. See `Stream`."""

    def __init__(self, pieces: Stream) -> None:
        self._pieces = pieces
        self._values = self._read()

    def __iter__(self) -> Iterator[object]:
        return self

    def __next__(self) -> object:
        return next(self._values)

    @property
    def output(self) -> Output:
        """The whole, once the stream is exhausted; raises `StateError` before."""
        return self._pieces.output

    def _read(self) -> Iterator[object]:
        partial = PartialJson()
        for piece in self._pieces:
            if partial.feed(piece):
                yield partial.value
        if partial.finish():
            yield partial.value

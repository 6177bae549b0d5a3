"""TurnReader: the events of a text, from its positions in the graph of a rule."""

from __future__ import annotations

import codecs
from dataclasses import replace
from functools import partial
from typing import Any, Protocol

from detent.errors import ArgumentError
from detent.language import Language
from detent.partial_json import PartialJson
from detent.turns.events import (
    AnswerDelta,
    AnswerFinished,
    ArgumentsDelta,
    CallFinished,
    CallId,
    CallStarted,
    Event,
    TextDelta,
    ThinkingDelta,
    Turn,
)
from detent.turns.graph import Graph
from detent.turns.late_values import GrowingValue, PartialValue
from detent.turns.positions import Mark, Positions, Run

__all__ = ["TurnReader", "TurnRule"]


class TurnRule(Protocol):
    """The rule of a turn, as `TurnReader` uses it."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names that may be called."""

    @property
    def answer(self) -> Language[Any] | None:
        """The language of an answer; None if there is none."""

    def graph(self, special: frozenset[str]) -> Graph:
        """Return the graph of the rule, where these tags are special tokens."""

    def partial(self, function: int) -> PartialValue:
        """Return the arguments of an empty text."""

    def call(self, function: int, text: str) -> Any:
        """Return the call with arguments that are complete."""


class TurnReader:
    """The events of a text that is fed in pieces, and the turn so far."""

    def __init__(self, rule: TurnRule, special: frozenset[str] = frozenset()) -> None:
        self._rule = rule
        self._positions = Positions(rule.graph(special))
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._thinking: list[str] = []
        self._text: list[str] = []
        self._calls: list[Any] = []
        self._function = 0
        self._id: str | None = None  # of the call that has no arguments yet
        self._written: list[str] = []  # of the arguments or the answer in progress
        self._growing = GrowingValue(PartialJson)
        self._answer: Any = None

    @property
    def offset(self) -> int:
        """The bytes read so far."""
        return self._positions.offset

    def feed(self, data: bytes) -> bool:
        """Read bytes; return False where no text of the rule goes on with the byte at `offset`."""
        return self._positions.feed(data)

    def feed_special(self, name: str) -> bool:
        """Read a special token; return False where no text of the rule goes on with it."""
        return self._positions.feed_special(name)

    def finish(self) -> bool:
        """End the text; return whether it is complete."""
        return self._positions.finish()

    def events(self) -> list[Event]:
        """Return the events that became certain since the last call."""
        found: list[Event] = []
        for item in self._positions.take_certain():
            if isinstance(item, Run):
                self._add_run(item, found)
            elif item.kind == "name":
                self._function = item.value
                found.append(CallStarted(len(self._calls), self._rule.names[item.value]))
            elif item.kind == "begin":
                self._begin(item)
            else:
                self._end(item, found)
        return found

    @property
    def turn(self) -> Turn:
        """The turn, as far as it is certain; an answer when it is complete."""
        return Turn("".join(self._thinking) or None, "".join(self._text) or None, tuple(self._calls), self._answer)

    @property
    def part(self) -> str | None:
        """The part in which the text is, in words."""
        role = self._positions.role
        if role == "arguments":
            return f"the arguments of {self._rule.names[self._function]!r}"
        if role != "none":
            return f"the {role}"
        return "the name of a call" if self._positions.is_in_name else None

    def _begin(self, mark: Mark) -> None:
        self._written = []
        if mark.role == "arguments":
            self._growing = GrowingValue(partial(self._rule.partial, mark.value))
        elif mark.role == "answer":
            self._growing = GrowingValue(_PartialAnswer)

    def _end_id(self, text: str, is_later: bool, found: list[Event]) -> None:
        index = len(self._calls) - is_later
        found.append(CallId(index, text))
        if is_later:
            self._calls[index] = replace(self._calls[index], id=text)
        else:
            self._id = text

    def _end(self, mark: Mark, found: list[Event]) -> None:
        text = "".join(self._written)
        if mark.role == "arguments":
            call = self._rule.call(mark.value, text)
            if self._id is not None:
                call, self._id = replace(call, id=self._id), None
            found.append(CallFinished(len(self._calls), call))
            self._calls.append(call)
        elif mark.role == "id":
            self._end_id(text, mark.value == 1, found)
        elif mark.role == "answer":
            self._answer = text if self._rule.answer is None else self._rule.answer.parse(text)
            found.append(AnswerFinished(self._answer))

    def _add_run(self, run: Run, found: list[Event]) -> None:
        text = self._decoder.decode(run.data)
        if not text:
            return
        if run.role == "thinking":
            self._thinking.append(text)
            found.append(ThinkingDelta(text))
        elif run.role == "text":
            self._text.append(text)
            found.append(TextDelta(text))
        else:
            self._written.append(text)
            if run.role == "arguments":
                # A `LateField` computes the value.
                found.append(ArgumentsDelta(len(self._calls), text, self._growing.add(text)))
            elif run.role == "answer":
                found.append(AnswerDelta(text, self._growing.add(text)))


class _PartialAnswer:
    """The value of an answer of JSON that is an object, an array or a string; None of another answer."""

    def __init__(self) -> None:
        self._partial = PartialJson()
        self._is_json: bool | None = None  # not known before the first character that is no white space

    @property
    def value(self) -> Any:
        return self._partial.value if self._is_json else None

    def feed(self, piece: str) -> bool:
        if self._is_json is None and (beginning := piece.lstrip()[:1]):
            self._is_json = beginning in ("{", "[", '"')
        if not self._is_json:
            return False
        try:
            return self._partial.feed(piece)
        except ArgumentError:
            self._is_json = False
            return True

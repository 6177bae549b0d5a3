"""Events: the parts of a turn, as they become certain."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal, TypeAlias

from detent.mismatch import Mismatch
from detent.sources.calls.function import Call
from detent.sources.calls.tags import TaggedPart
from detent.turns.late_values import LateField

__all__ = [
    "AnswerDelta",
    "AnswerFinished",
    "ArgumentsDelta",
    "CallFinished",
    "CallId",
    "CallStarted",
    "Event",
    "TextDelta",
    "ThinkingDelta",
    "Turn",
    "TurnFinished",
]


@dataclass(frozen=True)
class Turn:
    """A turn of an assistant.

    Attributes
    ----------
    thinking : str or None
        The text between the tags of thinking; None where there is none, or an empty one.
    text : str or None
        The free text; None where there is none.
    calls : tuple of Call
        The calls, in order; of `structural_tags`, its parts as `TaggedPart`.
    answer : object
        The value of the answer; None if there is none.
    """

    thinking: str | None = None
    text: str | None = None
    calls: tuple[Any, ...] = ()
    answer: Any = None

    def __repr__(self) -> str:
        shown = {name: getattr(self, name) for name in ("thinking", "text", "calls", "answer")}
        return f"Turn({', '.join(f'{name}={value!r}' for name, value in shown.items() if value not in (None, ()))})"

    def _repr_html_(self) -> str:
        pictures = import_module("detent.pictures")
        return str(pictures.framed(pictures.turn_body(self)))

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        bundle: dict[str, Any] = import_module("detent.pictures").mime_bundle(self, include, exclude)
        return bundle


@dataclass(frozen=True)
class ThinkingDelta:
    """More text of the thinking."""

    text: str


@dataclass(frozen=True)
class TextDelta:
    """More free text."""

    text: str


@dataclass(frozen=True)
class CallStarted:
    """The name of a call is complete; `index` counts the calls from 0."""

    index: int
    name: str


@dataclass(frozen=True)
class CallId:
    """The id or number that the model wrote for a call, in styles that have one, before or after its arguments."""

    index: int
    id: str


@dataclass(frozen=True)
class ArgumentsDelta:
    """More text of the arguments of a call, and the arguments so far: what is certain of them, as JSON values.

    The value is computed when it is first read, which costs time linear in the arguments so far. So to read it at each
    of many events costs the square of the length: for 80,000 characters in pieces of 4, 0.2 to 0.8 s where a string
    grows, and 5 s where a JSON array does. `text` costs nothing.
    """

    index: int
    text: str
    value: LateField = LateField()  # noqa: RUF009 - a descriptor

    def __getstate__(self) -> dict[str, Any]:
        return {"index": self.index, "text": self.text, "value": self.value}


@dataclass(frozen=True)
class CallFinished:
    """The arguments of a call are complete, and are what the function takes; or a part of `structural_tags` is."""

    index: int
    call: Call | TaggedPart


@dataclass(frozen=True)
class AnswerDelta:
    """More text of the answer, and its value so far; None where the answer is no JSON.

    The value is computed when it is first read, which costs time linear in the answer so far, as in `ArgumentsDelta`.
    """

    text: str
    value: LateField = LateField()  # noqa: RUF009 - a descriptor

    def __getstate__(self) -> dict[str, Any]:
        return {"text": self.text, "value": self.value}


@dataclass(frozen=True)
class AnswerFinished:
    """The answer is complete."""

    value: Any


@dataclass(frozen=True)
class TurnFinished:
    """The last event.

    Attributes
    ----------
    reason : "complete", "incomplete" or "mismatch"
        The text is one of the rule; it only begins one; it left the rule.
    turn : Turn
        All that is certain of the turn.
    position : int or None
        The byte of the text at which it left the rule, if it did.
    mismatch : Mismatch or None
        What was expected, where the text left the rule or is incomplete.
    """

    reason: Literal["complete", "incomplete", "mismatch"]
    turn: Turn
    position: int | None = None
    mismatch: Mismatch | None = None


Event: TypeAlias = (
    ThinkingDelta
    | TextDelta
    | CallStarted
    | CallId
    | ArgumentsDelta
    | CallFinished
    | AnswerDelta
    | AnswerFinished
    | TurnFinished
)

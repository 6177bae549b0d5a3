"""Turns of a job as neutral items: thinking, text, calls with their ids, and the end. All APIs write these."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from time import perf_counter
from typing import TypeAlias

from detent.generation import Output, Request
from detent.generation.report import Step
from detent.generation.scheduler import Item, StepsWritten
from detent.generation.turn_stream import events_of
from detent.serve.answers import make_id
from detent.serve.conversation import Conversation, rule_of_turn
from detent.serve.engine import Engine, Job
from detent.sources.calls import Call
from detent.turns.events import (
    AnswerDelta,
    ArgumentsDelta,
    CallFinished,
    CallStarted,
    Event,
    TextDelta,
    ThinkingDelta,
)

__all__ = [
    "AnswerText",
    "CallOpened",
    "CallText",
    "CallWritten",
    "Finished",
    "ThinkingText",
    "TokensWritten",
    "TurnItem",
    "write_turns",
]


@dataclass(frozen=True)
class ThinkingText:
    """More of the thinking."""

    text: str


@dataclass(frozen=True)
class AnswerText:
    """More of the content."""

    text: str


@dataclass(frozen=True)
class TokensWritten:
    """The steps of tokens, before the text that they complete."""

    steps: tuple[Step, ...]


@dataclass(frozen=True)
class CallOpened:
    """A call begins."""

    index: int
    id: str
    name: str
    is_custom: bool


@dataclass(frozen=True)
class CallText:
    """More of the arguments of a call as JSON text, or of a custom tool's input."""

    index: int
    text: str
    is_custom: bool


@dataclass(frozen=True)
class CallWritten:
    """A complete call."""

    id: str
    name: str
    text: str
    is_custom: bool


@dataclass(frozen=True)
class Finished:
    """The whole turn.

    Attributes
    ----------
    is_held : bool
        Whether it has an answer or calls, which a rule holds; so they are complete, also where the budget decided them.
    """

    thinking: str | None
    content: str | None
    calls: tuple[CallWritten, ...]
    output: Output
    thinking_tokens: int = 0
    is_held: bool = False


TurnItem: TypeAlias = ThinkingText | AnswerText | CallOpened | CallText | TokensWritten | Finished


async def write_turns(
    engine: Engine,
    conversation: Conversation,
    make_request: Callable[[list[int]], Request],
    client: str,
    *,
    is_streamed: bool = False,
    has_steps: bool = False,
) -> list[AsyncGenerator[list[TurnItem], None]]:
    """Prepare the turns of a conversation, and return them, one for each sample, in lists of items.

    Errors of the request are raised here, before anything is written.
    """
    began = perf_counter()
    prompt = await engine.run(lambda: conversation.prompt(engine.model))
    request = make_request(prompt)
    rule = rule_of_turn(conversation, prompt, engine.model, engine.style)
    job = Job(request, rule, client, open_stream=events_of, is_streamed=is_streamed, has_steps=has_steps, began=began)
    prepared = await engine.prepare(job)
    custom = frozenset(tool.name for tool in conversation.tools if tool.is_custom)
    texts = [engine.write(job, prepared, sample) for sample in range(request.samples)]
    return [_write(engine, lists, custom, has_rule=rule is not None) for lists in texts]


async def _write(
    engine: Engine, lists: AsyncGenerator[list[Item], None], custom: frozenset[str], *, has_rule: bool
) -> AsyncGenerator[list[TurnItem], None]:
    is_json = engine.style is None or engine.style.arguments == "json"
    collector = _Collector(custom, is_json=is_json, has_rule=has_rule)
    async with aclosing(lists):
        async for events in lists:
            items: list[TurnItem] = []
            for event in events:
                if isinstance(event, Output):
                    items.append(collector.finish(event, _thinking_tokens(engine, collector, event)))
                elif isinstance(event, StepsWritten):
                    items.append(TokensWritten(event.steps))
                elif not isinstance(event, str):
                    items += collector.feed(event)
            if items := _joined(items):
                yield items


def _joined(items: Sequence[TurnItem]) -> list[TurnItem]:
    """Join texts that follow each other: what was written while the reader was slow goes out as one."""
    joined: list[TurnItem] = []
    for item in items:
        last = joined[-1] if joined else None
        if (isinstance(item, CallText) and isinstance(last, CallText) and item.index == last.index) or (
            isinstance(item, (ThinkingText, AnswerText)) and type(item) is type(last)
        ):
            joined[-1] = replace(item, text=last.text + item.text)
        else:
            joined.append(item)
    return joined


def _thinking_tokens(engine: Engine, collector: _Collector, output: Output) -> int:
    """Return the tokens up to the end of the tag that closes thinking; all of them if it is not closed."""
    if not collector.has_thinking or engine.style is None or engine.style.thinking is None:
        return 0
    closing, text = engine.style.thinking[1].strip().encode(), b""
    for count, token_id in enumerate(output.token_ids, 1):
        text = text[-len(closing) :] + engine.model.vocabulary.token_bytes(token_id)
        if closing in text:
            return count
    return len(output.token_ids)


class _Collector:
    """Turns events into items, and keeps what was written."""

    def __init__(self, custom: frozenset[str], *, is_json: bool, has_rule: bool) -> None:
        self._custom = custom
        self._is_json = is_json
        self._has_rule = has_rule
        self._thinking: list[str] = []
        self._content: list[str] = []
        self._opened: list[CallOpened] = []
        self._arguments: list[str] = []
        self._has_answer = False

    def feed(self, event: Event) -> Sequence[TurnItem]:
        """Return the items of an event."""
        if isinstance(event, ThinkingDelta):
            self._thinking.append(event.text)
            return [ThinkingText(event.text)]
        if isinstance(event, (TextDelta, AnswerDelta)):
            self._content.append(event.text)
            # Without a rule, any text is an answer to `events_of`.
            self._has_answer = self._has_answer or (self._has_rule and isinstance(event, AnswerDelta))
            return [AnswerText(event.text)]
        if isinstance(event, CallStarted):
            opened = CallOpened(event.index, make_id("call_"), event.name, event.name in self._custom)
            self._opened.append(opened)
            self._arguments.append("")
            return [opened]
        if isinstance(event, ArgumentsDelta) and self._streams(event.index):
            return self._more(event.index, event.text)
        if isinstance(event, CallFinished) and isinstance(event.call, Call) and not self._streams(event.index):
            arguments = event.call.arguments
            if self._opened[event.index].is_custom:
                return self._more(event.index, str(arguments["input"]))
            return self._more(event.index, json.dumps(arguments, ensure_ascii=False))
        return []

    @property
    def has_thinking(self) -> bool:
        """Whether the turn has thought."""
        return bool(self._thinking)

    def finish(self, output: Output, thinking_tokens: int) -> Finished:
        """Return the whole turn."""
        calls = tuple(
            CallWritten(opened.id, opened.name, text, opened.is_custom)
            for opened, text in zip(self._opened, self._arguments, strict=True)
        )
        thinking = "".join(self._thinking) if self._thinking else None
        content = "".join(self._content) if self._content or not calls else None
        return Finished(thinking, content, calls, output, thinking_tokens, self._has_answer or bool(calls))

    def _streams(self, index: int) -> bool:
        """Return whether the text of the arguments is JSON and goes out as it is written."""
        return self._is_json and not self._opened[index].is_custom

    def _more(self, index: int, text: str) -> list[TurnItem]:
        self._arguments[index] += text
        return [CallText(index, text, self._opened[index].is_custom)] if text else []

"""`detent chat`: a conversation in the terminal."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from detent.cli.inputs import read_line, read_rule, sampling_options
from detent.cli.models import open_model
from detent.cli.terminal import painted, progress
from detent.errors import ArgumentError, DetentError
from detent.generation.turn_stream import TurnStream, stream_turn
from detent.models.base import ChatModel
from detent.models.chat import Chat
from detent.sources.calls.function import Call
from detent.turns import AnswerDelta, CallFinished, TextDelta, ThinkingDelta, turn

__all__ = ["run"]


def run(options: Any) -> int:
    """Run the command and return its exit status."""
    rule = read_rule(options)
    tools = [] if options.tools is None else _read_tools(options.tools)
    model = open_model(options.model, chat=True)
    if not isinstance(model, ChatModel):
        raise DetentError("the model has no chat template; use detent generate")
    if tools or options.style is not None:
        style = options.style or getattr(model, "style", None)
        if style is None:
            raise ArgumentError("the model names no notation of its calls; pass --style NAME (docs/turn-styles.md)")
        rule = turn(tools, style=style, answer=rule)
    messages: list[Any] = [] if options.system is None else [{"role": "system", "content": options.system}]
    while line := _ask("> "):
        asked: list[Any] = [{"role": "user", "content": line}]
        try:
            while asked:
                with progress("reading"):
                    events = stream_turn(
                        model, Chat([*messages, *asked], tools=tools), rule, **sampling_options(options)
                    )
                shown = _show(events)
                messages += [*asked, shown]
                asked = [_answer(call) for call in events.turn.calls]
        except DetentError as error:  # the conversation goes on
            sys.stderr.write(f"detent: {error}\n")
    return 0


def _read_tools(path: str) -> list[Any]:
    try:
        found = json.loads(Path(path).read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise ArgumentError(f"cannot read the tools of {path}: {error}") from None
    return found if isinstance(found, list) else [found]


def _show(events: TurnStream) -> dict[str, Any]:
    """Write the events of a turn as they come; return the turn as a message of a conversation."""
    written: list[str] = []
    is_thinking = False
    for event in events:
        if is_thinking and not isinstance(event, ThinkingDelta):
            sys.stdout.write("\n")
        is_thinking = isinstance(event, ThinkingDelta)
        if isinstance(event, ThinkingDelta):
            sys.stdout.write(painted(event.text, "dim"))
        elif isinstance(event, (TextDelta, AnswerDelta)):
            written.append(event.text)
            sys.stdout.write(event.text)
        elif isinstance(event, CallFinished) and isinstance(event.call, Call):
            arguments = ", ".join(f"{name}={value!r}" for name, value in event.call.arguments.items())
            line = "\n" if written and not event.index else ""
            sys.stdout.write(line + painted(f"{event.call.name}({arguments})", "cyan") + "\n")
        sys.stdout.flush()
    calls = list(events.turn.calls)
    if not calls:
        sys.stdout.write("\n")
    return {"role": "assistant", "content": "".join(written), **({"tool_calls": calls} if calls else {})}


def _answer(call: Call) -> dict[str, Any]:
    """Ask the user for the result of a call; return it as the message of the tool."""
    said = {"role": "tool", "name": call.name, "content": _ask(f"{call.name} returns: ")}
    return said if call.id is None else {**said, "tool_call_id": call.id}


def _ask(question: str) -> str:
    if sys.stdin.isatty():
        sys.stdout.write(painted(question, "bold"))
        sys.stdout.flush()
    return read_line().strip()

"""`detent chat`: a conversation in the terminal."""

from __future__ import annotations

import sys
from typing import Any

from detent.cli.arguments import Commands, add_command, add_rule, add_sampling, read_rule, sampling_options
from detent.cli.models import add_model, open_model
from detent.cli.terminal import painted, progress
from detent.errors import DetentError
from detent.generation import stream
from detent.models.base import ChatModel
from detent.models.chat import Chat

__all__ = ["add_to"]


def add_to(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "chat",
        _run,
        summary="talk with a model, each answer held to a rule",
        description="Talk with a model that has a chat template. Each line is a message; an empty line or Ctrl-D ends\n"
        "the conversation. With a rule, each answer is one of its texts.",
        example='  detent chat --system "Answer in one sentence."',
    )
    parser.add_argument("--system", metavar="TEXT", help="the first message, of the role system")
    add_rule(parser, required=False)
    add_model(parser)
    add_sampling(parser)


def _run(options: Any) -> int:
    rule = read_rule(options)
    model = open_model(options.model, chat=True)
    if not isinstance(model, ChatModel):
        raise DetentError("the model has no chat template; use detent generate")
    messages: list[Any] = [] if options.system is None else [{"role": "system", "content": options.system}]
    while line := _ask():
        messages.append({"role": "user", "content": line})
        try:
            with progress("reading"):
                pieces = stream(model, Chat(messages), rule, **sampling_options(options))
            for piece in pieces:
                sys.stdout.write(piece)
                sys.stdout.flush()
        except DetentError as error:  # the conversation goes on
            messages.pop()
            sys.stderr.write(f"detent: {error}\n")
            continue
        sys.stdout.write("\n")
        messages.append({"role": "assistant", "content": pieces.output.text})
    return 0


def _ask() -> str:
    if sys.stdin.isatty():
        sys.stdout.write(painted("> ", "bold"))
        sys.stdout.flush()
    return sys.stdin.readline().strip()

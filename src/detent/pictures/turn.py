"""Turn: the parts of an assistant's turn, one block each."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Protocol

from detent.pictures.document import plain, shown_text

__all__ = ["turn_body"]


class TurnLike(Protocol):
    """A `detent.Turn`: the fields that are shown."""

    @property
    def thinking(self) -> str | None:
        """The thoughts."""

    @property
    def text(self) -> str | None:
        """The free text."""

    @property
    def calls(self) -> Sequence[Any]:
        """The calls, with name and arguments."""

    @property
    def answer(self) -> Any:
        """The answer that was held to a rule."""


def turn_body(turn: TurnLike) -> str:
    """Return thinking, text, calls and answer, as far as the turn has them."""
    parts = ["<h1>Turn</h1>"]
    if turn.thinking is not None:
        parts.append(f"<details><summary>Thinking</summary><pre>{shown_text(turn.thinking)}</pre></details>")
    if turn.text:
        parts.append(f"<h2>Text</h2><pre>{shown_text(turn.text)}</pre>")
    for call in turn.calls:
        if not hasattr(call, "arguments"):
            parts.append(f"<h2>Part</h2><pre>{shown_text(repr(call))}</pre>")
            continue
        arguments = json.dumps(call.arguments, ensure_ascii=False, indent=2, default=repr)
        parts.append(f"<h2>Call of <code>{plain(call.name)}</code></h2><pre>{shown_text(arguments)}</pre>")
    if turn.answer is not None:
        parts.append(f"<h2>Answer</h2><pre>{shown_text(repr(turn.answer))}</pre>")
    return "".join(parts)

"""Turns that published chat templates render for fixed conversations, as test data.

``tests/data/rendered_turns.json`` has the tools, the cases (what the assistant's message says), and for each template
the text that it rendered for each case, after the header of the turn (`prompt`). `opened` is what the prompt ends with
after this header. The templates themselves are not part of the project; `templates` says where each was found.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from detent.turns.styles import STYLES

__all__ = ["CASES", "TOOLS", "TURNS", "RenderedTurn"]

_DATA = json.loads((Path(__file__).parents[1] / "data" / "rendered_turns.json").read_text(encoding="utf-8"))
TOOLS: list[dict[str, Any]] = _DATA["tools"]
CASES: dict[str, dict[str, Any]] = _DATA["cases"]
_THINKING_TAGS = {"<think>": "</think>", "<|START_THINKING|>": "<|END_THINKING|>"}


@dataclass(frozen=True)
class RenderedTurn:
    """What one template renders for one case: the text after the prompt, without the tokens that end the turn."""

    style: str
    template: str
    case: str
    text: str
    is_open: bool
    """Whether the prompt ends with the opening tag of thinking."""

    @property
    def calls(self) -> list[tuple[str, dict[str, Any]]]:
        """The calls of the case: names and arguments."""
        return [(call["name"], call["arguments"]) for call in CASES[self.case].get("calls", [])]

    def __str__(self) -> str:
        """Return the name of the test."""
        return f"{self.style}-{self.template.rsplit('/', 1)[-1].rsplit(' ', 1)[-1]}-{self.case}".replace(" ", "_")


def _without_end(style: str, text: str) -> str:
    """Cut the text before the token that ends the turn, and before what a template opens after it."""
    ends = {STYLES[style].end_of_calls, STYLES[style].end_of_text, "<EOS>", "</s>", "<|im_end|>", "<|eot_id|>"}
    starts = [text.index(end) for end in ends if end and end in text]
    return text[: min(starts)] if starts else text


def _turns() -> list[RenderedTurn]:
    found = []
    for rendered in _DATA["rendered"]:
        opened = rendered["opened"]
        for case, text in rendered["turns"].items():
            closing = _THINKING_TAGS.get(opened.strip(), opened or "\0")
            is_open = opened.strip() in _THINKING_TAGS and text.startswith((opened, closing))
            text = text.removeprefix(opened)
            text = _without_end(rendered["style"], text)
            found.append(RenderedTurn(rendered["style"], rendered["templates"][0], case, text, is_open))
    return found


TURNS = _turns()

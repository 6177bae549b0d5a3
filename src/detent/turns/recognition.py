"""Recognise the style of a model's turns from a call that its chat template writes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from detent.errors import DetentError
from detent.sources.calls.function import Call
from detent.turns.events import CallFinished, TextDelta, TurnFinished
from detent.turns.style import Style
from detent.turns.styles import STYLES
from detent.turns.turn import turn

__all__ = ["reads_call", "recognise_style"]

_TOOLS: list[dict[str, Any]] = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "description": "Return the weather of a city.",
            "parameters": {
                "type": "object",
                "properties": {"city": {"type": "string", "description": "The name of the city."}},
                "required": ["city"],
            },
        },
    }
]
_EXPECTED = Call("get_weather", {"city": "Oslo"})
_ID = "abcdefghi"
_QUESTION = {"role": "user", "content": "How is the weather in Oslo?"}
_CALL = {"id": _ID, "type": "function", "function": {"name": _EXPECTED.name, "arguments": _EXPECTED.arguments}}
_CALLED = {"role": "assistant", "content": "", "tool_calls": [_CALL]}
_RESULT = {"role": "tool", "tool_call_id": _ID, "name": _EXPECTED.name, "content": "It is sunny."}


def recognise_style(
    render: Callable[[Sequence[Any], Sequence[Any]], str], has_token: Callable[[str], bool]
) -> str | None:
    """Return the name of the style in which a chat template writes a call, or None if none that is known fits.

    Parameters
    ----------
    render : callable
        Takes messages and tools. Returns the text of the conversation, with the names of special tokens, up to the
        beginning of the next answer; raises a `DetentError` if the template cannot.
    has_token : callable
        Whether a text is one token of the model. Styles that write the same call differ in their tags of
        thinking or in the tokens that end a turn.
    """
    try:
        asked, called = render([_QUESTION], _TOOLS), render([_QUESTION, _CALLED, _RESULT], _TOOLS)
    except DetentError:
        return None
    start = next((at for at, (one, other) in enumerate(zip(asked, called, strict=False)) if one != other), len(asked))
    # Two tags may begin alike, such as <think> and <tool_call>.
    starts = {start, max(called.rfind(bracket, 0, start) for bracket in "<[")} if _in_tag(called[:start]) else {start}
    found = [
        style for style in STYLES.values() if any(reads_call(style, called[at:], _TOOLS, _EXPECTED) for at in starts)
    ]

    def likeness(style: Style) -> tuple[bool, bool]:
        thinks = [tag.strip() for tag in style.thinking or ()]
        ends = [name for name in (style.end_of_calls, style.end_of_text) if name]
        return all(map(has_token, thinks)) and bool(thinks), all(map(has_token, ends))

    possible = [style for style in found if all(has_token(tag.strip()) for tag in style.thinking or ())]
    return max(possible or found, key=likeness).name if found else None


def _in_tag(text: str) -> bool:
    """Return whether the text may end inside a tag."""
    tag = text[max(text.rfind("<"), text.rfind("[")) :]
    return tag[:1] in ("<", "[") and not any(end in tag for end in ">]\n ")


def reads_call(style: Style, text: str, tools: Sequence[Any], expected: Call) -> bool:
    """Return whether the first call of a text is the expected one, and nothing but thinking stands before it."""
    modes = (None, "open") if style.thinking else (None,)
    return any(_reads(style, mode, text, tools, expected) for mode in modes)


def _reads(style: Style, thinking: Any, text: str, tools: Sequence[Any], expected: Call) -> bool:
    try:
        parser = turn(tools, style=style, thinking=thinking).parser()
    except DetentError:  # the family has no notation for it
        return False
    for character in text:
        for event in parser.feed(character):
            if isinstance(event, CallFinished):
                return event.call == expected
            if isinstance(event, (TextDelta, TurnFinished)):
                return False
    return False

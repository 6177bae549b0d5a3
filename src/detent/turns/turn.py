"""`turn`: the language of an assistant's turn in the notation of a model family."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

from detent.errors import ArgumentError
from detent.language import Language
from detent.origin import Origin, Quotes
from detent.sources.calls.function import Function, read_functions
from detent.sources.json_schema import json_schema
from detent.sources.nodes import short_repr, upper_count
from detent.sources.words.choice import choice
from detent.suggestions import suggests_names
from detent.turns.events import Turn
from detent.turns.style import Style
from detent.turns.styles import find_style
from detent.turns.turn_source import TurnSource
from detent.turns.value import TurnValue

__all__ = ["Thinking", "turn"]

Thinking: TypeAlias = Literal["none", "optional", "required", "open"]
"""Whether a turn thinks; "open": the prompt ends with the opening tag."""

_SHOWN_NAMES = 3


@suggests_names
def turn(
    tools: Sequence[object] | object = (),
    *,
    style: str | Style,
    tool_choice: str = "auto",
    max_calls: int | None = None,
    answer: Any = None,
    text: bool = True,
    thinking: Thinking | None = None,
    thinking_tokens: int | None = None,
) -> Language[Turn]:
    r"""Make the language of an assistant's turn: thinking, then text and calls, or an answer.

    >>> import detent
    >>> def weather(city: str): ...
    >>> rule = detent.turn(weather, style="qwen3")
    >>> call = '<tool_call>\n{"name": "weather", "arguments": {"city": "Oslo"}}\n</tool_call>'
    >>> rule.parse("<think>\nI need the weather.\n</think>\n\n" + call)
    Turn(thinking='I need the weather.', calls=(Call(name='weather', arguments={'city': 'Oslo'}),))

    Parameters
    ----------
    tools : callable, dict or pydantic model, or several of them
        What may be called, as for `detent.calls`.
    style : str or Style
        The notation: the name of a model family (`detent.turns.STYLES`), or a style of your own.
    tool_choice : str
        "auto": calls, or text or an answer; "none": no call; "required": at least one call; or the name of the one
        function that is called.
    max_calls : int, optional
        The largest number of calls; 1 for calls that are not parallel. No bound by default.
    answer : Language, type, dict or list of str, optional
        What the content is held to, instead of free text: a language, a Python type, a JSON Schema, or choices.
    text : bool
        Whether there may be free text: before calls, and instead of calls if `tool_choice` is "auto" or "none". With an
        `answer`, there is none.
    thinking : "none", "optional", "required" or "open", optional
        Whether the turn begins with thinking. "open" is for prompts that end with the opening tag. By default
        "optional" where the family thinks.
    thinking_tokens : int, optional
        The largest number of tokens from the start of the turn to the end of thinking's closing tag, tags included. The
        budget of the whole text (`max_tokens`) holds besides: what thinking leaves suffices.

    Returns
    -------
    Language[Turn]
        It combines with `&` and `-` like all others, such as ``rule & detent.without("damn")``.

    Raises
    ------
    ArgumentError
        An option is not what it must be, or nothing is left to write.
    UnsupportedError
        The family has no notation for what is asked; or a name or schema cannot be written in it.
    """
    known = find_style(style, "turn")
    functions = () if isinstance(tools, (list, tuple)) and not tools else read_functions(tools)
    functions, minimum, maximum = _choose(functions, tool_choice, max_calls)
    held = _as_language(answer)
    if held is not None and minimum:
        raise ArgumentError(
            f"turn got an answer, and tool_choice={short_repr(tool_choice)}, which leaves no room for one; leave the "
            'answer out, or write tool_choice="auto"'
        )
    mode = ("optional" if known.thinking else "none") if thinking is None else thinking
    value = TurnValue(known, functions, minimum, maximum, bool(text), held, mode)
    described = _describe(known, functions, held)
    origin = Origin(quotes=Quotes.MIXED, source=TurnSource(value), letter_tags=known.tags)
    rule: Language[Turn] = Language(value.node, described, value, _origin=origin)
    if thinking_tokens is not None:
        tokens = _checked_tokens(thinking_tokens, mode)
        rule._with_part_budgets(((value.thinking_node, tokens),))
    return rule


def _checked_tokens(count: object, mode: str) -> int:
    if not isinstance(count, int) or isinstance(count, bool) or not 1 <= count < 2**31:
        raise ArgumentError(f"thinking_tokens must be an integer from 1 to 2**31 - 1, got {short_repr(count)}")
    if mode == "none":
        raise ArgumentError("thinking_tokens needs a turn that thinks; leave it out, or change thinking")
    return count


def _choose(
    functions: tuple[Function, ...], tool_choice: object, max_calls: object
) -> tuple[tuple[Function, ...], int, int | None]:
    """Return the functions that may be called, and the least and largest number of calls."""
    if max_calls is not None and (not isinstance(max_calls, int) or isinstance(max_calls, bool) or max_calls < 1):
        raise ArgumentError(f"max_calls must be a number of calls from 1 on, got {short_repr(max_calls)}")
    if not isinstance(tool_choice, str):
        raise ArgumentError(f"tool_choice must be a str, got {short_repr(tool_choice)}")
    named = tuple(function for function in functions if function.name == tool_choice)
    if named:
        return named, 1, 1 if max_calls is None else upper_count(max_calls)
    if tool_choice not in ("auto", "none", "required"):
        names = ", ".join(function.name for function in functions[:_SHOWN_NAMES]) or "none"
        raise ArgumentError(
            f'tool_choice must be "auto", "none", "required" or the name of a tool, got {short_repr(tool_choice)}; '
            f"the tools are {names}{', …' if len(functions) > _SHOWN_NAMES else ''}"
        )
    if tool_choice == "required" and not functions:
        raise ArgumentError('tool_choice="required" needs tools, got none')
    if tool_choice == "none" or not functions:
        return functions, 0, 0
    return functions, int(tool_choice == "required"), upper_count(max_calls)


def _as_language(answer: Any) -> Language[Any] | None:
    if answer is None or isinstance(answer, Language):
        return answer
    if isinstance(answer, list) and all(isinstance(text, str) for text in answer):
        return choice(*answer)
    return json_schema(answer)


def _describe(style: Style, functions: tuple[Function, ...], answer: Language[Any] | None) -> str:
    names = [function.name for function in functions[:_SHOWN_NAMES]]
    more = f" and {len(functions) - _SHOWN_NAMES} more" if len(functions) > _SHOWN_NAMES else ""
    calls = f" with calls of {', '.join(names)}{more}" if names else ""
    held = f" with an answer of {answer.description}" if answer is not None else ""
    return f"{style.name} turn{calls}{held}"

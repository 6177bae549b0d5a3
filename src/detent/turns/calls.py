"""`calls`: the language of calls alone, in the notation of a model family."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from detent.errors import ArgumentError
from detent.language import Language
from detent.origin import Origin, Quotes
from detent.sources.calls.function import Call, read_functions
from detent.sources.nodes import short_repr
from detent.suggestions import suggests_names
from detent.turns.style import Style
from detent.turns.styles import find_style
from detent.turns.turn_source import TurnSource
from detent.turns.value import TurnValue
from detent.vocabulary import Vocabulary

__all__ = ["calls"]

_SHOWN_NAMES = 3


@suggests_names
def calls(
    functions: Sequence[object] | object, *, style: str | Style, parallel: bool | int = True
) -> Language[list[Call]]:
    """Make the language of calls of some functions, as a model writes them.

    >>> import detent
    >>> from typing import Literal
    >>> def get_user_info(user_id: int, special: Literal["black", "white"] = "black"):
    ...     '''Look a user up.'''
    >>> rule = detent.calls([get_user_info], style="llama3-pythonic")
    >>> rule.parse("[get_user_info(user_id=7890, special='black')]")
    [Call(name='get_user_info', arguments={'user_id': 7890, 'special': 'black'})]
    >>> rule.accepts("[get_user_info(special='black')]"), rule.accepts("[get_user_info(user_id='7890')]")
    (False, False)

    Required arguments are always there, others perhaps, in the order of the signature, and none that is not declared.
    Every keyword of JSON Schema holds in every style; the pythonic styles take identifiers as names of arguments.

    Parameters
    ----------
    functions : callable, dict or pydantic model, or several of them
        A callable is read by its signature, a model by its fields. A dict is a tool as OpenAI's API takes it,
        ``{"type": "function", "function": {"name": ..., "parameters": JSON Schema}}``, or its inner dict alone; it
        declares its arguments in ``properties``, and takes others only where it says ``additionalProperties``.
    style : str or Style
        The notation: the name of a model family (`detent.turns.STYLES`), or a style of your own.
    parallel : bool or int
        True for any number of calls, at least one; False for one; an int for at most so many.

    Returns
    -------
    Language
        Its value is a list of `Call`. `detent.turn` adds thinking and text, and the token that ends a turn.

    Raises
    ------
    ArgumentError
        A function, the style or an option is not what it must be.
    UnsupportedError
        The arguments' schema says what the style cannot be held to; the message has the JSON pointer and what to do.
    """
    most = _most(parallel)
    known = find_style(style, "calls")
    found = read_functions(functions)
    names = [function.name for function in found[:_SHOWN_NAMES]]
    more = f" and {len(found) - _SHOWN_NAMES} more" if len(found) > _SHOWN_NAMES else ""
    bare = replace(known, before_calls=known.before_calls.lstrip(), end_of_calls="", end_of_text="")
    value = CallsValue(TurnValue(bare, found, 1, most, False, None, "none"))
    description = f"{known.name} calls of {', '.join(names)}{more}"
    origin = Origin(quotes=Quotes.BALANCED, source=TurnSource(value.turn), letter_tags=bare.tags)
    return Language(value.turn.node, description, value, _origin=origin)


@dataclass(frozen=True)
class CallsValue:
    """From the text of calls to a list of `Call`."""

    turn: TurnValue

    def of_tokens(self, vocabulary: Vocabulary, token_ids: Sequence[int]) -> list[Call]:
        """See `TurnValue.of_tokens`."""
        return list(self.turn.of_tokens(vocabulary, token_ids).calls)

    def __call__(self, text: str) -> list[Call]:
        """Read a text of the language."""
        return list(self.turn(text).calls)


def _most(parallel: bool | int) -> int | None:
    if isinstance(parallel, bool):
        return None if parallel else 1
    if not isinstance(parallel, int) or parallel < 1:
        raise ArgumentError(f"calls needs parallel to be True, False or a number of calls, got {short_repr(parallel)}")
    return parallel

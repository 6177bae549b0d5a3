"""Function calls, and tagged parts of free text, in the styles that models are trained on."""

from __future__ import annotations

from collections.abc import Sequence

from detent.errors import ArgumentError
from detent.language import Language
from detent.origin import Origin, Quotes
from detent.sources.calls.function import Call, read_functions
from detent.sources.calls.pythonic import PythonicValue, pythonic_calls
from detent.sources.calls.styles import JSON_STYLES, JsonValue, json_calls
from detent.sources.calls.tags import TaggedPart, structural_tags
from detent.sources.nodes import short_repr
from detent.suggestions import suggests_names

__all__ = ["Call", "TaggedPart", "calls", "structural_tags"]

_STYLES = ("llama3-pythonic", *JSON_STYLES)
_SHOWN_NAMES = 3


@suggests_names
def calls(
    functions: Sequence[object] | object, *, style: str, parallel: bool | int = True, marker: bool | None = None
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
    Every keyword of JSON Schema holds in every style; the pythonic style takes identifiers as names of arguments.

    Parameters
    ----------
    functions : callable, dict or pydantic model, or several of them
        A callable is read by its signature, a model by its fields. A dict is a tool as OpenAI's API takes it,
        ``{"type": "function", "function": {"name": ..., "parameters": JSON Schema}}``, or its inner dict alone; it
        declares its arguments in ``properties``, and takes others only where it says ``additionalProperties``.
    style : {"llama3-pythonic", "llama3-json", "hermes", "mistral", "openai"}
        ``[f(a=1), g(b='x')]``; ``{"name": "f", "parameters": {"a": 1}}``, several separated by ``; ``;
        ``<tool_call>``, line feed, ``{"name": "f", "arguments": {"a": 1}}``, line feed, ``</tool_call>`` (Qwen too);
        ``[TOOL_CALLS][{"name": "f", "arguments": {"a": 1}}]``; such a list without marker, or the object alone if
        `parallel` is false.
    parallel : bool or int
        True for any number of calls, at least one; False for one; an int for at most so many.
    marker : bool, optional
        Whether the style's marker ``[TOOL_CALLS]`` comes first, as it does by default: a special token, or these
        letters where the vocabulary has no such token. Pass False where the prompt ends with it.

    Returns
    -------
    Language
        Its value is a list of `Call`. What ends a turn, such as ``<|eot_id|>``, is no text: it is one of the
        vocabulary's end-of-text ids.

    Raises
    ------
    ArgumentError
        A function, the style or an option is not what it must be.
    UnsupportedError
        The arguments' schema says what the style cannot be held to; the message has the JSON pointer and what to do.
    """
    most = _most(parallel)
    if style not in _STYLES:
        raise ArgumentError(f"calls got the style {short_repr(style)}; there are {', '.join(_STYLES)}")
    known = read_functions(functions)
    names = [function.name for function in known[:_SHOWN_NAMES]]
    more = f" and {len(known) - _SHOWN_NAMES} more" if len(known) > _SHOWN_NAMES else ""
    description = f"{style} calls of {', '.join(names)}{more}"
    has_marker = style in JSON_STYLES and bool(JSON_STYLES[style].marker)
    if marker is not None and not has_marker:
        raise ArgumentError(f"calls got a marker for the style {short_repr(style)}, which has none; leave it out")
    origin = Origin(quotes=Quotes.BALANCED)
    if style == "llama3-pythonic":
        return Language(pythonic_calls(known, most), description, PythonicValue(known), _origin=origin)
    node = json_calls(JSON_STYLES[style], known, most, has_marker and marker is not False)
    return Language(node, description, JsonValue(JSON_STYLES[style], known), _origin=origin)


def _most(parallel: bool | int) -> int | None:
    if isinstance(parallel, bool):
        return None if parallel else 1
    if not isinstance(parallel, int) or parallel < 1:
        raise ArgumentError(f"calls needs parallel to be True, False or a number of calls, got {short_repr(parallel)}")
    return parallel

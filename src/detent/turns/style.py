"""Style: the notation of a model family's turns, as data.

A style has a template for each part of a turn: thinking, text, and calls. A template is plain text with slots in
braces. The parts of a turn stand in this order; each but the last may be absent:

    thinking      thinking[0] free text thinking[1]
    preamble      preamble[0] free text preamble[1]              text before calls
    calls         before_calls call separator call … after_calls
    text, answer  text[0] free text or an answer text[1]         instead of preamble and calls

A template follows four rules:

1. A *tag* is a special token where the vocabulary has a special token of that name, and letters otherwise.
2. White space of a template that touches free text is optional: line feeds after an opening tag, before and after a
   closing tag, and before the first and after the last call. It is no part of the free text.
3. In a template of JSON, the space after the colon of a member and after the comma before a member is optional.
4. Text between ``{?`` and ``?}`` is optional.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Literal, TypeAlias, get_args

from detent.errors import ArgumentError
from detent.sources.nodes import short_repr
from detent.suggestions import suggests_arguments

__all__ = ["ArgumentNotation", "Style"]

ArgumentNotation: TypeAlias = Literal["json", "python", "keywords", "xml", "bare"]
"""How arguments are written: JSON; keyword arguments of Python, or with the words of JSON too; the template `parameter`
for each; Gemma's notation."""

_SLOTS = ("{name}", "{arguments}", "{index}", "{id}")


@suggests_arguments
@dataclass(frozen=True)
class Style:
    r"""The notation of turns of a model family; `turn` takes one, or the name of a known one.

    >>> from detent.turns.style import Style
    >>> mine = Style(
    ...     name="mine",
    ...     call='<call>{"name": "{name}", "arguments": {arguments}}</call>',
    ...     separator="\n",
    ...     thinking=("<think>\n", "\n</think>\n\n"),
    ...     tags=("<think>", "</think>", "<call>", "</call>"),
    ... )

    Parameters
    ----------
    name : str
        The name of the style.
    call : str
        One call. Slots: ``{name}`` and ``{arguments}``, once each, the name first; ``{index}``, a number of digits, and
        ``{id}``, up to 64 letters, digits, ``_`` and ``-``.
    call_variants : tuple of str
        Further forms of a call.
    arguments : "json", "python", "keywords", "xml" or "bare"
        The notation of the arguments. "json" is one object, ``{"a": 1}``. "python" is keyword arguments with their
        parentheses, ``(a=1)``; in "keywords", `True`, `False` and `None` may be written as in JSON too. "xml" is
        `parameter` for each argument: strings are raw text, other values are JSON. "bare" is an object with bare
        names, and strings as raw text between two `quote` tags, in alphabetical order.
    parameter : str
        For "xml": one argument, with the slots ``{key}`` and ``{value}``, once each, the key first. Another slot,
        ``{is_string}``, is ``true`` where the value is a string and ``false`` where it is JSON.
    quote : str
        For "bare": the tag before and after a string.
    separator : str
        The text between two calls.
    parallel : bool
        Whether a turn may have several calls.
    before_calls, after_calls : str
        Texts around all calls.
    single_call : bool
        Whether `before_calls` and `after_calls` are left out where at most one call is allowed.
    thinking : (str, str), optional
        The tags around thinking; None if the family has none.
    text : (str, str)
        The tags around free text that is the whole content, and around an answer.
    preamble : (str, str), optional
        The tags around text before calls; None if no text may precede calls.
    tags : tuple of str
        The texts in the templates that are special tokens where a vocabulary has them.
    end_of_calls, end_of_text : str
        The special token that ends a turn after calls, and after text or an answer. Without one, and where the
        vocabulary has no such special token, each end-of-text id of the vocabulary ends a turn.
    source : str
        Where the notation is published: a page, or a model and its file on the hub.

    Notes
    -----
    If the text before the name of a call begins with a tag, this tag is the *trigger*: it does not occur in free text,
    and a call follows wherever it stands. Without a tag, calls are the whole content, and free text does not begin as a
    call does; then there is no preamble.
    """

    name: str
    call: str
    call_variants: tuple[str, ...] = ()
    arguments: ArgumentNotation = "json"
    parameter: str = ""
    quote: str = ""
    separator: str = ""
    parallel: bool = True
    before_calls: str = ""
    after_calls: str = ""
    single_call: bool = False
    thinking: tuple[str, str] | None = None
    text: tuple[str, str] = ("", "")
    preamble: tuple[str, str] | None = ("", "")
    tags: tuple[str, ...] = ()
    end_of_calls: str = ""
    end_of_text: str = ""
    source: str = ""

    def __post_init__(self) -> None:
        """Check the templates.

        Raises
        ------
        ArgumentError
            A field has another type than its annotation says; a slot is missing or stands twice; a tag occurs in no
            template, ends the turn or overlaps itself.
        """
        _check_types(self)
        for template in (self.call, *self.call_variants):
            _check_slots(self, "call", template, "{name}", "{arguments}")
        if self.arguments not in get_args(ArgumentNotation):
            known = ", ".join(map(repr, get_args(ArgumentNotation)))
            raise ArgumentError(f"Style {self.name!r} needs arguments of {known}, got {short_repr(self.arguments)}")
        if self.arguments == "xml":
            _check_slots(self, "parameter", self.parameter, "{key}", "{value}")
        elif self.parameter:
            raise ArgumentError(f'Style {self.name!r} has a parameter, which only arguments="xml" use; leave it out')
        if (self.arguments == "bare") != bool(self.quote):
            raise ArgumentError(f'Style {self.name!r} needs a quote if and only if arguments="bare"')
        texts = [
            self.call,
            *self.call_variants,
            self.parameter,
            self.quote,
            self.separator,
            self.before_calls,
            self.after_calls,
            *self.text,
        ]
        texts += [*(self.thinking or ()), *(self.preamble or ())]
        for tag in self.tags:
            if not tag or not any(tag in text for text in texts):
                raise ArgumentError(f"Style {self.name!r} has the tag {tag!r}, which is in no template; leave it out")
            if tag in (self.end_of_calls, self.end_of_text):
                raise ArgumentError(
                    f"Style {self.name!r} has the tag {tag!r}, which ends the turn; leave it out of tags"
                )
            if _overlaps_itself(tag):
                raise ArgumentError(f"Style {self.name!r} has the tag {tag!r}, whose beginning is also its end")

    @property
    def trigger(self) -> str:
        """The tag that announces calls; empty if calls have none, and are the whole content."""
        beginning = (self.before_calls + self.call).lstrip()
        return max((tag for tag in self.tags if beginning.startswith(tag)), key=len, default="")


def _check_slots(style: Style, field: str, template: str, first: str, second: str) -> None:
    for slot in (first, second):
        if template.count(slot) != 1:
            raise ArgumentError(
                f"Style {style.name!r} has {template.count(slot)} slots {slot} in {field}={short_repr(template)}; "
                "write it once"
            )
    if template.index(first) > template.index(second):
        raise ArgumentError(f"Style {style.name!r} has {second} before {first} in {field}; write {first} first")


_PAIRS = ("thinking", "text", "preamble")
_FLAGS = ("parallel", "single_call")


def _check_types(style: Style) -> None:
    """Raise `ArgumentError` where a field is no text, pair or tuple of texts, or bool, as it should be."""
    for field in fields(style):
        value = getattr(style, field.name)
        if field.name in _FLAGS:
            needed, fits = "True or False", isinstance(value, bool)
        elif field.name in (*_PAIRS, "call_variants", "tags"):
            needed = "a pair of texts" if field.name in _PAIRS else "a tuple of texts"
            fits = isinstance(value, tuple) and all(isinstance(text, str) for text in value)
            fits = fits and (field.name not in _PAIRS or len(value) == 2)
            fits = fits or (value is None and field.name in ("thinking", "preamble"))
        else:
            needed, fits = "a text", isinstance(value, str)
        if not fits:
            raise ArgumentError(f"Style needs {needed} as {field.name}, got {short_repr(value)}")


def _overlaps_itself(text: str) -> bool:
    return any(text.startswith(text[start:]) for start in range(1, len(text)))

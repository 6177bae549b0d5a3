"""Free text with tagged parts: a trigger opens a tag, a schema holds what stands inside, then the text is free again.

The text up to a trigger is that in which no trigger ends before its own end: `(any* t) & ~(any* (t1|t2|...) any+)`.
So a trigger is always seen where it first ends, as a reader from left to right would see it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from detent import _core
from detent.errors import ArgumentError
from detent.language import Language
from detent.origin import Origin, Quotes
from detent.sources.calls.locate import json_end
from detent.sources.json_schema import json_schema
from detent.sources.nodes import ANY_BYTES, UTF8, concat, encode, optional, repeat, short_repr, union
from detent.sources.words.literals import check_counts
from detent.suggestions import suggests_arguments, suggests_names

__all__ = ["Tag", "TaggedPart", "TagsValue", "structural_tags"]

_NUMBER = "0123456789.eE+-"
_BYTE = _core.byte_set(bytes(range(256)))


@suggests_arguments
@dataclass(frozen=True)
class TaggedPart:
    """A tagged part of a text: how its tag begins, and its value.

    >>> TaggedPart("<function=add>", {"a": 1})
    TaggedPart(begin='<function=add>', value={'a': 1})
    """

    begin: str
    value: Any


@dataclass(frozen=True)
class Tag:
    """A tag that a text may have: its begin, the language of its content, and its end; `trigger` begins the begin."""

    begin: str
    language: Language
    end: str
    trigger: str


@suggests_names
def structural_tags(
    tags: Iterable[tuple[str, object, str]],
    *,
    triggers: Sequence[str],
    at_least: int = 0,
    at_most: int | None = None,
    stop: Sequence[str] = (),
    end: str = "",
) -> Language[list[str | TaggedPart]]:
    r"""Make the language of free text in which triggers open tagged parts.

    >>> import detent
    >>> add = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    >>> rule = detent.structural_tags([("<function=add>", add, "</function>")], triggers=["<function="])
    >>> rule.parse('Well: <function=add>{"a": 1}</function> done')
    ['Well: ', TaggedPart(begin='<function=add>', value={'a': 1}), ' done']
    >>> rule.accepts("Well: <function=sub>{}</function>"), rule.accepts("Well.")
    (False, True)

    Free text never contains a trigger: once a trigger is written, one of the tags that begin with it follows, whole.

    Parameters
    ----------
    tags : iterable of (begin, schema, end)
        The text that opens a tag, what `detent.json_schema` takes, and the text that closes it, which begins with no
        character that numbers are made of.
    triggers : sequence of str
        Beginnings of tags. Each tag begins with one of them, and none contains another.
    at_least, at_most : int, optional
        How many tagged parts there are.
    stop : sequence of str
        Texts that end the whole text. Free text contains none of them before its end.
    end : str
        The special token that ends the text, where the vocabulary has it.

    Returns
    -------
    Language
        Its value is a list of the free texts (where not empty) and of a `TaggedPart` for each tag.

    Raises
    ------
    ArgumentError
        A tag begins with no trigger, a trigger is empty or contains another, or a trigger opens no tag.
    UnsupportedError
        A schema that `detent.json_schema` refuses.
    """
    marks = _triggers(triggers)
    if not isinstance(tags, Iterable):
        raise ArgumentError(f"structural_tags needs a list of tags, got {short_repr(tags)}")
    known = tuple(_tag(tag, marks) for tag in tags)
    for mark in marks:
        if all(tag.trigger != mark for tag in known):
            raise ArgumentError(f"structural_tags got the trigger {short_repr(mark)}, which opens no tag; leave it out")
    check_counts("structural_tags", at_least, None)
    check_counts("structural_tags", 0, at_most)
    if at_most is not None and at_least > at_most:
        raise ArgumentError(f"structural_tags cannot have at least {at_least!r} and at most {at_most!r} tags")
    seen = concat(ANY_BYTES, union(*marks))
    early = _core.complement(concat(seen, repeat(_BYTE, 1, None)))
    parts = []
    stops = _stops(stop)
    unstopped = [_core.complement(concat(ANY_BYTES, union(*stops), ANY_BYTES))] if stops else []
    text = _core.intersection([UTF8, *unstopped])
    for mark in marks:
        opened = _core.intersection([concat(text, mark), early])
        rest = [concat(t.begin[len(mark) :], t.language._node, t.end) for t in known if t.trigger == mark]
        parts.append(concat(opened, union(*rest)))
    free = _core.intersection([text, _core.complement(concat(seen, ANY_BYTES))])
    ending = [optional(union(*stops))] if stops else []
    if end:
        ending.append(_core.special(encode(end, "structural_tags"), _core.epsilon()))
    node = concat(repeat(union(*parts), at_least, at_most), free, *ending)
    described = f"text with tags at {', '.join(map(short_repr, marks))}"
    value = TagsValue(known, marks, at_least, at_most, stops, end)
    return Language(node, described, value, _origin=Origin(quotes=Quotes.MIXED))


def _stops(stop: Sequence[str]) -> tuple[str, ...]:
    stops = (stop,) if isinstance(stop, str) else tuple(stop)
    for text in stops:
        if not isinstance(text, str) or not text:
            raise ArgumentError(f"structural_tags got the stop {short_repr(text)}; give texts that are not empty")
        encode(text, "structural_tags")
    return stops


def _triggers(triggers: Sequence[str]) -> tuple[str, ...]:
    if not isinstance(triggers, (str, list, tuple)):
        raise ArgumentError(f"structural_tags needs a list of triggers, got {short_repr(triggers)}")
    marks = [triggers] if isinstance(triggers, str) else triggers
    if not marks:
        raise ArgumentError("structural_tags needs at least one trigger, got none")
    for mark in marks:
        if not isinstance(mark, str) or not mark:
            raise ArgumentError(f"structural_tags got the trigger {short_repr(mark)}; give a text that is not empty")
        encode(mark, "structural_tags")
    for mark in marks:
        inside = next((other for other in marks if other != mark and other in mark), None)
        if inside is not None:
            raise ArgumentError(
                f"structural_tags got the trigger {short_repr(mark)}, which contains {short_repr(inside)}"
            )
    return tuple(dict.fromkeys(marks))


def _tag(tag: tuple[str, object, str], marks: tuple[str, ...]) -> Tag:
    if not isinstance(tag, (tuple, list)) or len(tag) != 3:
        raise ArgumentError(f"structural_tags got the tag {short_repr(tag)}; give (begin, schema, end)")
    begin, schema, end = tag
    for text in (begin, end):
        if not isinstance(text, str):
            raise ArgumentError(f"structural_tags got {short_repr(text)} in a tag, where a text must stand")
        encode(text, "structural_tags")
    if not end or end[0] in _NUMBER:
        raise ArgumentError(
            f"structural_tags got the end {short_repr(end)}, which a number could run into; begin it otherwise"
        )
    trigger = next((mark for mark in marks if begin.startswith(mark)), None)
    if trigger is None:
        raise ArgumentError(f"structural_tags got a tag that begins {short_repr(begin)}, with none of the triggers")
    return Tag(begin, json_schema(schema), end, trigger)


@dataclass(frozen=True)
class TagsValue:
    """From a text to its free and tagged parts."""

    tags: tuple[Tag, ...]
    triggers: tuple[str, ...]
    at_least: int = 0
    at_most: int | None = None
    stops: tuple[str, ...] = ()
    end: str = ""

    def __call__(self, text: str) -> list[str | TaggedPart]:
        """Read a text of the language."""
        found: list[str | TaggedPart] = []
        position = 0
        while True:
            starts = [text.find(mark, position) for mark in self.triggers]
            start = min((start for start in starts if start >= 0), default=len(text))
            if start == len(text):
                stop = next((stop for stop in self.stops if text.endswith(stop, position)), "")
                return [*found, *filter(None, [text[position : len(text) - len(stop)]])]
            if start > position:
                found.append(text[position:start])
            tag, value, position = self._read(text, start)
            found.append(TaggedPart(tag.begin, value))

    def _read(self, text: str, start: int) -> tuple[Tag, object, int]:
        for tag in sorted(self.tags, key=lambda tag: -len(tag.begin)):
            if not text.startswith(tag.begin, start):
                continue
            first = start + len(tag.begin)
            end = json_end(text, first)
            inside = text[first:end]
            closed = text.find(tag.end, end)
            if closed >= 0 and not text[end:closed].strip() and tag.language.accepts(inside):
                return tag, tag.language.parse(inside), closed + len(tag.end)
        raise ArgumentError(f"no tag fits at character {start}")

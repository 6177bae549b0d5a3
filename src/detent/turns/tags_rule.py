"""TagsRule: the rule by which a parser reads texts of `structural_tags`: free text, and tagged parts as calls."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from detent import _core
from detent.language import Language
from detent.partial_json import PartialJson
from detent.sources.calls.tags import Tag, TaggedPart, TagsValue
from detent.sources.nodes import ANY_BYTES, UTF8, concat, union
from detent.turns.graph import Graph
from detent.turns.late_values import PartialValue
from detent.turns.outline import Calls, Choice, EndOfTurn, Fixed, Outline, Part, Repeat, sequence

__all__ = ["TagsRule"]


class TagsRule:
    """The rule of a text with tags. The name of a call is how its tag begins, and its arguments are the value inside.

    With the trigger `aa`, the outline reads the text `aaa` in two ways: the tag begins at once, or after the free text
    `a`. In the language, a tag begins where its trigger is seen first. So the parser follows both.
    """

    answer: Language[Any] | None = None

    def __init__(self, value: TagsValue) -> None:
        # Tags that end alike are one vertex of the graph.
        self._tags = tuple(sorted(value.tags, key=lambda tag: tag.end))
        self._value = value
        self.names = tuple(tag.begin for tag in self._tags)
        self.special_names = (value.end,) if value.end else ()

    def graph(self, special: frozenset[str]) -> Graph:
        """See `TurnRule.graph`."""
        return Graph(self._outline, (), special)

    def partial(self, function: int) -> PartialValue:
        """See `TurnRule.partial`."""
        return PartialJson()

    def call(self, function: int, text: str) -> TaggedPart:
        """See `TurnRule.call`."""
        tag = self._tags[function]
        return TaggedPart(tag.begin, tag.language.parse(text))

    @cached_property
    def _outline(self) -> Outline:
        value = self._value
        words = (*value.triggers, *value.stops)
        free = _core.intersection([UTF8, _core.complement(concat(ANY_BYTES, union(*words), ANY_BYTES))])
        ends = dict.fromkeys(tag.end for tag in self._tags)
        tagged = Choice(tuple(self._calls([tag for tag in self._tags if tag.end == end]) for end in ends))
        body = sequence([Part("text", free), tagged])
        stops = Choice((*(Fixed(stop) for stop in value.stops), Fixed("")))
        repeated = Repeat(body, Fixed(""), value.at_least, value.at_most)
        return sequence([repeated, Part("text", free), stops, *([EndOfTurn(value.end)] if value.end else [])])

    def _calls(self, tags: list[Tag]) -> Outline:
        nodes = tuple(tag.language._node for tag in tags)
        calls = Calls(tuple(tag.begin for tag in tags), Fixed(""), nodes, self._tags.index(tags[0]))
        return sequence([calls, Fixed(tags[0].end)])

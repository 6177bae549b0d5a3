"""TurnValue: the value of a turn's rule. It reads a complete text into a `Turn`, and is the rule of `TurnReader`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

from detent import _core
from detent.errors import ArgumentError
from detent.language import Language
from detent.sources.calls.function import Call, Function
from detent.turns.arguments import Notation, notation_of
from detent.turns.content import Content, thinking_parts
from detent.turns.events import Turn
from detent.turns.graph import Graph
from detent.turns.late_values import PartialValue
from detent.turns.outline import Choice, Outline, node_of, sequence
from detent.turns.reader import TurnReader
from detent.turns.style import Style
from detent.vocabulary import Vocabulary

__all__ = ["TurnValue", "special_names"]


@dataclass(eq=False)
class TurnValue:
    """The value of a turn, and the rule that it is of.

    Attributes
    ----------
    style, functions, minimum, maximum, has_text, answer
        As in `Content`.
    thinking : str
        As in `turn`.
    """

    style: Style
    functions: tuple[Function, ...]
    minimum: int
    maximum: int | None
    has_text: bool
    answer: Language[Any] | None
    thinking: str

    @cached_property
    def outline(self) -> Outline:
        """The parts of the turn."""
        counts = self.minimum, self.maximum
        content = Content(self.style, self.functions, *counts, has_text=self.has_text, answer=self.answer).outline()
        opened, gap = thinking_parts(self.style, self.thinking)
        whole = sequence([*opened, *gap, content])
        return Choice((whole, content)) if self.thinking == "optional" else whole

    @cached_property
    def thinking_node(self) -> _core.Node:
        """The language of thinking, from the start of the turn to the end of the closing tag."""
        return node_of(sequence(thinking_parts(self.style, self.thinking)[0]))

    @cached_property
    def node(self) -> _core.Node:
        """The language of the outline."""
        return node_of(self.outline)

    @cached_property
    def notation(self) -> Notation:
        """The notation of arguments."""
        return notation_of(self.style)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the functions."""
        return tuple(function.name for function in self.functions)

    @property
    def special_names(self) -> tuple[str, ...]:
        """The names of the special tokens that a vocabulary may have; those that end a turn are in no text."""
        return tuple(filter(None, (*self.style.tags, self.style.end_of_calls, self.style.end_of_text)))

    def __call__(self, text: str) -> Turn:
        """Read a complete text."""
        reader = TurnReader(self)
        if not (reader.feed(text.encode()) and reader.finish()):
            raise ArgumentError(f"the text of the turn is not complete at byte {reader.offset}: a tag is missing")
        reader.events()
        return reader.turn

    def of_tokens(self, vocabulary: Vocabulary, token_ids: Sequence[int]) -> Turn:
        """Read the tokens of a complete turn, in which tags may be special tokens."""
        names = special_names(self.special_names, vocabulary)
        reader = TurnReader(self, names)
        for token_id in token_ids:
            data = vocabulary.token_bytes(token_id)
            is_special = token_id in vocabulary.special_token_ids
            if not (reader.feed_special(data.decode(errors="replace")) if is_special else reader.feed(data)):
                break
        if not reader.finish():
            raise ArgumentError(f"the tokens of the turn are not complete at byte {reader.offset}")
        reader.events()
        return reader.turn

    def graph(self, special: frozenset[str]) -> Graph:
        """See `TurnRule.graph`."""
        if special not in self._graphs:
            self._graphs[special] = Graph(self.outline, self.style.tags, special)
        return self._graphs[special]

    def partial(self, function: int) -> PartialValue:
        """See `TurnRule.partial`."""
        return self.notation.partial(self.functions[function])

    def call(self, function: int, text: str) -> Call:
        """See `TurnRule.call`."""
        known = self.functions[function]
        return known.call(self.notation.as_json(known, text))

    @cached_property
    def _graphs(self) -> dict[frozenset[str], Graph]:
        return {}

    def __getstate__(self) -> dict[str, Any]:
        return {each.name: getattr(self, each.name) for each in fields(self)}  # nodes and graphs are made again


def special_names(names: Iterable[str], vocabulary: Vocabulary | None) -> frozenset[str]:
    """Return the names of special tokens that a vocabulary has."""
    if vocabulary is None:
        return frozenset()
    known = {vocabulary.token_bytes(token_id) for token_id in vocabulary.special_token_ids}
    return frozenset(name for name in names if name.encode() in known)

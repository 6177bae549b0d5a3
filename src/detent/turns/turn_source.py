"""TurnSource: which parts of a turn could be read next, and what in them refuses a continuation.

The parts that are open are the positions of the text in the graph of the turn (`detent.turns.positions`). An open part
that is a fixed text, a name, thinking or free text is a location. Arguments and answers have rules of their own: their
keywords, in the notation of the turn, are found as those of a schema are.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from detent import _core
from detent.errors import DetentError
from detent.expected import expected_after
from detent.language import Language
from detent.mismatch import conflict_of
from detent.queries import ByteDfa
from detent.reason import Continuation, Reason
from detent.reason_search import find_reasons
from detent.sources.calls.function import Function
from detent.sources.json_schema import json_schema
from detent.sources.json_schema.assertions.diagnostics import collected_warnings
from detent.sources.json_schema.position import locate
from detent.sources.json_schema.refusing import refusing_keywords, without_keywords
from detent.turns.graph import Graph
from detent.turns.positions import OpenPart, Positions
from detent.turns.value import TurnValue

__all__ = ["TurnSource"]

_MOST_CHARACTERS = 500_000
"""The most characters of all schemas that are compiled to try the orders of arguments: a second or two of work."""

_WITHOUT_TAGS = (
    "tags may be special tokens, which decode leaves out: feed the token ids to rule.parser(vocabulary), or join their "
    "vocabulary.token_bytes"
)

_NO_TAGS: frozenset[str] = frozenset()
"""The tags that are special tokens in a text: none, since they are letters there."""


@dataclass(frozen=True)
class TurnSource:
    """A turn, or calls alone.

    Parameters
    ----------
    value : TurnValue
        Its parts.
    """

    value: TurnValue

    def expected(self, dfa: ByteDfa, text: bytes, position: int) -> tuple[str, str | None] | None:
        """Return the characters that are expected, and the parts that they may belong to."""
        names = dict.fromkeys(self._named(opened, text[:position]) for opened in self._open_parts(text[:position]))
        return expected_after(dfa, text[:position]), " or ".join(names) or None

    def hint(self, text: bytes) -> str | None:
        """Return what to do where a text lacks all tags and one is expected: `Vocabulary.decode` leaves them out."""
        if any(tag in text for tag in self._tags):
            return None
        positions = Positions(self._graph)
        positions.feed(text)  # as far as it goes
        open_vertices = [self._graph.vertices[opened.vertex] for opened in positions.open_parts()]
        if any(each.kind == "literal" and each.data in self._tags for each in open_vertices):
            return _WITHOUT_TAGS
        return None

    def parts(self) -> Iterator[tuple[str, Language[Any]]]:
        """Yield the schema of each tool, and what an answer is held to."""
        for function in self.value.functions:
            try:
                with collected_warnings():
                    yield f"the arguments of {function.name!r}", json_schema(function.schema, formats=function.formats)
            except DetentError:
                continue
        if self.value.answer is not None:
            yield "the answer", self.value.answer

    def conflict(self) -> str | None:
        """Return why the answer has no text; None if it has one."""
        answer = self.value.answer
        return f"its answer has none, {conflict_of(answer)}" if answer is not None and answer.is_empty() else None

    def reasons(self, refused: Continuation) -> tuple[Reason, ...]:
        """Return the open parts, or what refuses the continuation in those that have rules of their own."""
        if refused.is_excluded:
            return ()
        open_parts = self._open_parts(refused.text)
        return tuple(dict.fromkeys(reason for opened in open_parts for reason in self._reasons(opened, refused)))

    def _open_parts(self, text: bytes) -> list[OpenPart]:
        positions = Positions(self.value.graph(_NO_TAGS))
        if not positions.feed(text):
            return []
        return [opened for opened in positions.open_parts() if self._graph.vertices[opened.vertex].kind != "end"]

    @property
    def _graph(self) -> Graph:
        return self.value.graph(_NO_TAGS)

    def _part(self, opened: OpenPart) -> Reason:
        vertex = self._graph.vertices[opened.vertex]
        if vertex.kind == "name":
            return Reason("part", "name", ", ".join(self.value.names))
        if vertex.kind == "arguments":
            return Reason("part", "arguments", self.value.names[opened.function])
        if vertex.part is not None:
            role = vertex.part.role
            return Reason("part", "notation" if role == "none" else role)
        return Reason("part", "notation", vertex.data.decode())

    def _named(self, opened: OpenPart, text: bytes) -> str:
        """Return the phrase for an open part; in arguments that are JSON, with the pointer of the value."""
        part = self._part(opened)
        is_json = part.name == "arguments" and self.value.style.arguments == "json"
        pointer = locate(text[opened.start :]).pointer if is_json else ""
        return f"{part} at {pointer}" if pointer else str(part)

    def _reasons(self, opened: OpenPart, refused: Continuation) -> Iterator[Reason]:
        part = self._part(opened)
        inner = refused.within(opened.start)._replace(beside=())
        found: tuple[Reason, ...] = ()
        if part.name == "arguments":
            found = self._of_arguments(self.value.functions[opened.function], inner)
        elif part.name == "answer" and self.value.answer is not None:
            found = find_reasons(self.value.answer, inner.text, inner.following)
        yield from (replace(each, part=str(part)) for each in found) if found else (part,)

    def _of_arguments(self, function: Function, refused: Continuation) -> tuple[Reason, ...]:
        """Return why the arguments of a function refuse the continuation; nothing if no reason is found."""
        if self.value.style.arguments == "json":
            with collected_warnings():
                rule = json_schema(function.schema, whitespace="line", formats=function.formats)
            return find_reasons(rule, refused.text, refused.following)
        schema = function.schema
        work = len(schema.get("properties", ())) * len(json.dumps(schema, default=str))
        if work > _MOST_CHARACTERS or not self._refuse(function, schema, refused):
            return ()
        orders = self._orders(function, schema, refused.text)
        has_order = any(not self._refuse(function, each, refused) for each in orders)
        free = without_keywords(schema)
        if all(self._refuse(function, each, refused) for each in [free, *self._orders(function, free, refused.text)]):
            return (Reason("syntax", f"the notation of {self.value.style.name}"),)
        found = refusing_keywords(schema, None, lambda each: self._refuse(function, each, refused))
        keywords = [Reason("keyword", each.pointer, each.value) for each in found or ()]
        return (Reason("order", "the order of properties"), *keywords) if has_order else tuple(keywords)

    def _refuse(self, function: Function, schema: Any, refused: Continuation) -> bool:
        """Return whether the arguments of a function with another schema refuse the continuation."""
        try:
            with collected_warnings():
                notation = self.value.notation
                node = notation.node(notation.weakened(function, schema))
        except DetentError:
            return False
        return refused.is_refused_by(_core.without_special(_core.special_as_text(node, self._tags)))

    @cached_property
    def _tags(self) -> list[bytes]:
        return sorted(tag.encode() for tag in self.value.style.tags)

    def _orders(self, function: Function, schema: dict[str, Any], text: bytes) -> Iterator[dict[str, Any]]:
        """Yield the schema with the arguments in the order of a text, and each of the others next."""
        partial = self.value.notation.partial(function)
        partial.feed(text.decode(errors="ignore"))
        members = schema.get("properties", {})
        written = [name for name in partial.value or () if name in members]
        for name in members:
            order = dict.fromkeys([*written, name, *members])
            yield {**schema, "properties": {each: members[each] for each in order}}

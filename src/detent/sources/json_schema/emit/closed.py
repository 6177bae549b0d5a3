"""Closed schemas: small schemas inside a document that refer to nothing, as expressions that all documents share.

Unions with null, lists of values, and formats without a type recur from document to document. The solver makes the
expression of each once, from the schema alone. A schema with an error, a warning or no value is left to the solver of
its document, whose messages say where the schema is.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from detent import _core
from detent.errors import DetentError
from detent.limits import DEFAULT_LIMITS
from detent.sources.json_schema.assertions.diagnostics import collected_warnings
from detent.sources.json_schema.assertions.document import SchemaDocument
from detent.sources.json_schema.assertions.keywords import KEYWORDS
from detent.sources.json_schema.emit.emitter import Emitter
from detent.sources.json_schema.emit.spelling import Spelling
from detent.sources.json_schema.solve.solver import Solver

__all__ = ["closed_schema"]

_LONGEST = 1000
"""Characters of a shared schema."""
_LARGEST = 1 << 14
"""Bytes of a shared expression."""


class _LargeNodeError(Exception):
    """Carries an expression that is too large for the cache: `lru_cache` does not cache exceptions."""

    def __init__(self, node: _core.Node) -> None:
        self.node = node


def closed_schema(spelling: Spelling, uri: str, schema: dict[str, Any], *, is_ordered: bool) -> _core.Node | None:
    """Return the expression of a schema with default formats and limits; None if it is not closed or not small.

    `uri` is that of the dialect.
    """
    if KEYWORDS.keys().isdisjoint(schema):
        return None  # a warning may be due
    text = repr(schema)
    if len(text) > _LONGEST or "'$" in text:
        return None
    try:
        return _shared(spelling, uri, is_ordered, _Content(schema, text))
    except _LargeNodeError as large:
        return large.node


class _Content:
    """A schema, compared by its text."""

    __slots__ = ("schema", "text")

    def __init__(self, schema: dict[str, Any], text: str) -> None:
        self.schema = schema
        self.text = text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Content) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)


@lru_cache(maxsize=500)
def _shared(spelling: Spelling, uri: str, is_ordered: bool, content: _Content) -> _core.Node | None:
    with collected_warnings() as messages:
        try:
            document = SchemaDocument({"$schema": uri, **content.schema}, False, {}, DEFAULT_LIMITS, has_one_base=True)
            node = Emitter(Solver(document), spelling, is_ordered=is_ordered).emit()
        except DetentError:
            return None
    if messages or node == _core.empty():
        return None
    if len(node.to_bytes()) > _LARGEST:
        raise _LargeNodeError(node)
    return node

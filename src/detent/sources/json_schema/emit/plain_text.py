"""Plain schemas from the text of a document: the core reads them, and asks here for what is not plain inside."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import NamedTuple, TypeAlias

from detent import _core
from detent.limits import DEFAULT_LIMITS
from detent.sources.json_schema.assertions.diagnostics import Diagnostics
from detent.sources.json_schema.assertions.keywords import KEYWORDS, SILENT, intended_keyword
from detent.sources.json_schema.assertions.plain import ANNOTATIONS
from detent.sources.json_schema.assertions.texts import unknown_format
from detent.sources.json_schema.description import describe, description_of
from detent.sources.json_schema.emit.closed import closed_schema
from detent.sources.json_schema.emit.json_spelling import JsonSpelling
from detent.sources.json_schema.emit.scalars import CONSTRAINTS, constrained_scalar
from detent.sources.json_schema.formats import KNOWN_FORMATS
from detent.sources.json_schema.parse.dialect import DEFAULT, DIALECTS, find_dialect
from detent.sources.json_schema.parse.schema_text import parse
from detent.sources.json_schema.solve.number_sets import NumberRange
from detent.sources.json_schema.solve.string_sets import StringSet
from detent.sources.nodes import UTF8

__all__ = ["PlainText", "make_reader", "open_text", "parts_of", "read_plain_text"]

Make: TypeAlias = Callable[[str, str], _core.Node | None]


class PlainText(NamedTuple):
    """An expression, and what returns how the document is described."""

    node: _core.Node
    description: Callable[[], str]


def open_text(text: str, spelling: JsonSpelling, *, is_ordered: bool) -> _core.PlainReader | None:
    """Return the reader of a document with default formats and limits; None for an unusual text."""
    return _core_reader(spelling, is_ordered).open(text, DEFAULT_LIMITS.pattern_size)


def read_plain_text(reader: _core.PlainReader, text: str) -> PlainText | None:
    """Return the expression of a document of plain schemas, which a reader has opened; None for any other one."""
    found = reader.document()
    if found is None:
        return None
    node, advice, title, names, size = found
    if advice:
        diagnostics = Diagnostics(lenient=False)
        for name, pointer, intended in advice:
            if intended:
                diagnostics.warn_of_name(name, pointer, intended)
            else:
                diagnostics.warn(unknown_format(name))
        diagnostics.finish()
    return PlainText(node, partial(_described, text, title, names, size))


def _described(text: str, title: str | None, first_names: list[str], names: int) -> str:
    if title is None and "$ref" in first_names:
        return describe(parse(text))  # only what it refers to has a name
    return description_of(title, first_names, names)


@lru_cache(maxsize=16)
def _core_reader(spelling: JsonSpelling, is_ordered: bool) -> _core.PlainSchemas:
    """Return the reader for a spelling; documents share it and the scalars that it has read."""

    def constrained(text: str, uri: str) -> _core.Node | None:
        return constrained_scalar(spelling, uri, parse(text))

    def closed(text: str, uri: str) -> _core.Node | None:
        return closed_schema(spelling, uri, parse(text), is_ordered=is_ordered)

    return make_reader(spelling, is_ordered=is_ordered, constrained=constrained, closed=closed)


def make_reader(spelling: JsonSpelling, *, is_ordered: bool, constrained: Make, closed: Make) -> _core.PlainSchemas:
    """Make the reader for a spelling; the functions get a schema and the address of its dialect."""
    names = [sorted(ANNOTATIONS), sorted(SILENT - ANNOTATIONS), sorted(CONSTRAINTS), sorted(KEYWORDS)]
    return _core.PlainSchemas(
        parts_of(spelling),
        spelling.is_written,
        is_ordered,
        names,
        sorted(KNOWN_FORMATS),
        [("", DEFAULT.uri, DEFAULT.year), *_dialects()],
        constrained,
        closed,
        intended_keyword,
    )


def parts_of(spelling: JsonSpelling) -> dict[str, _core.Node]:
    """Return the texts of a spelling that do not depend on the schema."""
    return {
        "null": spelling.null,
        "boolean": _core.union([spelling.true, spelling.false]),
        "integer": spelling.numbers([NumberRange(is_integer=True)]),
        "integer_of_draft_4": spelling.numbers([NumberRange(is_integer=True, fraction_part=False)]),
        "number": spelling.numbers([NumberRange()]),
        "string": spelling.strings(StringSet()),
        "anything": spelling.anything,
        "true": spelling.true,
        "false": spelling.false,
        "any_name": spelling.any_name,
        "quote": spelling.quote,
        "utf8": UTF8,
        "comma": spelling.comma,
        "colon": spelling.colon,
        "open_array": spelling.open_array,
        "close_array": spelling.close_array,
        "empty_array": spelling.empty_array,
        "open_object": spelling.open_object,
        "close_object": spelling.close_object,
        "empty_object": spelling.empty_object,
    }


def _dialects() -> list[tuple[str, str, int]]:
    """Return the values of `$schema` in use, each with the address and year of its dialect."""
    found = []
    for name in (*DIALECTS, *(name.replace("http:", "https:") for name in DIALECTS)):
        dialect = find_dialect(name)
        if dialect is not None:
            found += [(each, dialect.uri, dialect.year) for each in (name, name + "#")]
    return found

"""Warnings about a document of plain schemas, issued once the whole document has turned out to be plain."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from detent.sources.diagnostics import json_pointer
from detent.sources.json_schema.assertions.diagnostics import Diagnostics
from detent.sources.json_schema.assertions.plain import Advice, PlainSchema
from detent.sources.json_schema.emit.plain_references import PlainRead, referred
from detent.sources.json_schema.parse.dialect import Dialect

__all__ = ["PlainWarnings"]


class PlainWarnings:
    """The warnings about the schemas that have been read."""

    def __init__(self) -> None:
        self._formats: dict[int, str] = {}
        self._advice: dict[int, Advice] = {}

    def note(self, schema: Any, advice: Advice | None) -> None:
        """Note the names in a schema that resemble keywords."""
        if advice:
            self._advice[id(schema)] = advice

    def note_format(self, schema: Any, message: str) -> None:
        """Note the format of a schema that has no effect."""
        self._formats[id(schema)] = message

    def issue(self, root: Any, plain: Mapping[int, PlainRead], dialect: Dialect) -> bool:
        """Issue the warnings; return False, and issue none, if the solver might not read some of the schemas.

        The solver skips schemas that no value reaches, such as that of items where `maxItems` is 0. It does not warn of
        them.
        """
        if not (self._formats or self._advice):
            return True
        if any(_has_unread_parts(each.plain) for each in plain.values()):
            return False
        diagnostics = Diagnostics(lenient=False)
        formats = self._formats.copy()
        for schema, pointer in _pointers(root, plain, dialect):
            if id(schema) in formats:
                diagnostics.warn(formats.pop(id(schema)))
            for name, intended in self._advice.get(id(schema), ()):
                diagnostics.warn_of_name(name, pointer, intended)
        for message in formats.values():
            diagnostics.warn(message)
        diagnostics.finish()
        return True


def _has_unread_parts(plain: PlainSchema | str) -> bool:
    if isinstance(plain, str):
        return False
    return plain.items is False or plain.max_items == 0 or any(inner is False for inner in plain.properties.values())


def _pointers(root: Any, plain: Mapping[int, PlainRead], dialect: Dialect) -> Iterator[tuple[Any, str]]:
    """Yield the schemas of a document, each once and in its order, with their JSON pointers."""
    seen: set[int] = set()
    pending: list[tuple[Any, str]] = [(root, "")]
    while pending:
        schema, pointer = pending.pop()
        while (found := referred(schema, root, dialect)) is not None:
            schema, where = found
            pointer = where[1:] if where.startswith("#") else pointer + where
        if id(schema) in seen:
            continue
        seen.add(id(schema))
        yield schema, pointer
        if id(schema) not in plain:
            continue
        read = plain[id(schema)].plain
        if isinstance(read, str):
            options = [(one, f"{pointer}/{read}/{index}") for index, one in enumerate(schema[read])]
            pending += reversed(options)
            continue
        inner = [(schema, json_pointer(("properties", name))) for name, schema in read.properties.items()]
        inner += [(read.additional, "/additionalProperties"), (read.items, "/items")]
        pending += [(one, pointer + path) for one, path in reversed(inner)]

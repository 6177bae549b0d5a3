"""Diagnostics: the errors and warnings about a schema, with the JSON pointer and the keyword."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from detent.errors import SchemaError, SchemaWarning, UnsupportedSchemaError
from detent.sources.json_schema.parse.schema_node import SchemaNode
from detent.sources.nodes import short_repr

__all__ = ["Diagnostics", "collected_warnings", "self_reference", "summary"]

_SHOWN_POINTERS = 3
_PACKAGE = __name__.partition(".")[0]
_collected: ContextVar[list[str] | None] = ContextVar("_collected", default=None)


@contextmanager
def collected_warnings() -> Iterator[list[str]]:
    """Collect the warnings about schemas that this thread reads, in place of issuing them.

    `warnings.catch_warnings` would change the filters of all threads.
    """
    messages: list[str] = []
    token = _collected.set(messages)
    try:
        yield messages
    finally:
        _collected.reset(token)


class Diagnostics:
    """Reports what is wrong with one schema; in lenient mode an unsupported keyword is a warning."""

    def __init__(self, lenient: bool) -> None:
        self.is_lenient = lenient
        self._warned: set[str] = set()
        self._pointers: dict[str, set[str]] = {}
        """The pointers of the schemas with a name that resembles a keyword."""

    def malformed(self, node: SchemaNode, keyword: str, expected: str, given: object) -> SchemaError:
        """Return the error for a keyword whose value has the wrong type."""
        pointer = node.pointer()
        return SchemaError(
            f"{keyword} at {pointer or 'the root'} must be {expected}, got {summary(given)}",
            pointer=pointer,
            keyword=keyword,
        )

    def refuse(self, node: SchemaNode | None, keyword: str, reason: str, remedy: str) -> None:
        """Raise for a keyword that cannot be held exactly; in lenient mode warn, and the caller drops the keyword."""
        error = UnsupportedSchemaError(node.pointer() if node else "", keyword, reason, remedy)
        if not self.is_lenient:
            raise error
        self.warn(f"dropped: {error}")

    def warn(self, message: str) -> None:
        """Warn, once for each message."""
        if message in self._warned:
            return
        self._warned.add(message)
        collected = _collected.get()
        if collected is None:
            warnings.warn(SchemaWarning(message), stacklevel=_frames_to_caller())
        else:
            collected.append(message)

    def warn_of_name(self, name: str, pointer: str, advice: str) -> None:
        """Warn of a name that resembles a keyword, in the first schemas; `finish` says how many more have it."""
        pointers = self._pointers.setdefault(name, set())
        pointers.add(pointer)
        if len(pointers) <= _SHOWN_POINTERS:
            self.warn(f"{name} at {pointer or 'the root'} is no keyword and has no effect; {advice}")

    def finish(self) -> None:
        """Warn of names in more schemas than were named. A document of OpenAPI may have "nullable" a hundred times."""
        for name, pointers in self._pointers.items():
            more = len(pointers) - _SHOWN_POINTERS
            if more > 0:
                self.warn(f"{name} is no keyword and has no effect in {more} more schema{'s' if more > 1 else ''}")


def _frames_to_caller() -> int:
    """Return the `stacklevel` with which a warning of the calling function points to the user's line."""
    frame, level = sys._getframe(1), 1
    # A cached property is called by functools.
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in (_PACKAGE, "functools"):
        frame, level = frame.f_back, level + 1
    return level


def self_reference(node: SchemaNode) -> SchemaError:
    """Return the error for a schema that applies to a value because it applies to that value."""
    pointer = node.pointer()
    return SchemaError(
        f"at {pointer or 'the root'}: the schema refers to itself for the same value, by $ref, allOf, anyOf and the "
        "like alone, which says nothing; let it refer to itself below properties or items",
        pointer=pointer,
    )


def summary(value: object) -> str:
    """Return a short text about a value of a schema, without going into it.

    >>> summary([1, 2]), summary("a")
    ('a list of 2', "'a'")
    """
    if isinstance(value, (list, dict)):
        return f"{'a list' if isinstance(value, list) else 'an object'} of {len(value)}"
    return short_repr(value)

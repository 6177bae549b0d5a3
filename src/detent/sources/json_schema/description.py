"""Descriptions: what a schema is called in messages."""

from __future__ import annotations

from typing import Any

from detent.sources.nodes import short_repr

__all__ = ["describe", "description_of"]

_SHOWN_NAMES = 4
_OF_A_REFERENCE = {"$ref", "$defs", "definitions", "$schema"}


def describe(schema: Any) -> str:
    """Name a schema by its title, or by its first keywords; never by all of it, which may be a megabyte."""
    if isinstance(schema, bool):
        return f"JSON schema {str(schema).lower()}"
    title = schema.get("title")
    if title is None and schema.keys() <= _OF_A_REFERENCE and isinstance(schema.get("$ref"), str):
        title = schema["$ref"].rpartition("/")[2] or None  # as pydantic writes a model that holds itself
    return description_of(title if isinstance(title, str) else None, list(schema)[:_SHOWN_NAMES], len(schema))


def description_of(title: str | None, first_names: list[str], names: int) -> str:
    """Name a schema by its title, or by the first of so many names.

    >>> description_of(None, ["type"], 1)
    "JSON schema with 'type'"
    """
    if title is not None:
        return f"JSON schema {short_repr(title)}"
    keywords = [short_repr(keyword, 24) for keyword in first_names]
    more = ", …" if names > len(first_names) else ""
    return f"JSON schema with {', '.join(keywords)}{more}" if keywords else "JSON schema {}"

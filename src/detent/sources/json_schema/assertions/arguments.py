"""Checks of keyword arguments that several keywords share."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any, TypeAlias

from detent.sources.json_schema.assertions.assertions import AssertionsBuilder
from detent.sources.json_schema.assertions.nodes import SchemaNodes
from detent.sources.json_schema.parse.schema_node import SchemaNode
from detent.sources.json_schema.parse.values import INTEGER, exact, kind_of

__all__ = ["Keyword", "count", "list_of_names", "number", "object_of_schemas"]

Keyword: TypeAlias = Callable[[SchemaNodes, SchemaNode, AssertionsBuilder, Any], None]
"""Reads one keyword: the document's nodes, the node that has the keyword, the assertions so far, and the argument."""

_MAX_COUNT_DIGITS = 30


def number(nodes: SchemaNodes, node: SchemaNode, keyword: str, argument: Any) -> Decimal:
    """Return a finite number."""
    value = exact(argument)
    if value is None:
        raise nodes.diagnostics.malformed(node, keyword, "a finite number", argument)
    return value


def count(nodes: SchemaNodes, node: SchemaNode, keyword: str, argument: Any) -> int:
    """Return a whole number from 0 on."""
    value = exact(argument)
    if value is None or value < 0 or kind_of(argument) != INTEGER or value.adjusted() > _MAX_COUNT_DIGITS:
        raise nodes.diagnostics.malformed(node, keyword, "a whole number from 0 on", argument)
    return int(value)


def list_of_names(nodes: SchemaNodes, node: SchemaNode, keyword: str, argument: Any) -> list[str]:
    """Return a list of strings."""
    if not isinstance(argument, list) or not all(isinstance(name, str) for name in argument):
        raise nodes.diagnostics.malformed(node, keyword, "a list of names", argument)
    return argument


def object_of_schemas(nodes: SchemaNodes, node: SchemaNode, keyword: str, argument: Any) -> dict[str, Any]:
    """Return a dict of schemas, which are not checked."""
    if not isinstance(argument, dict):
        raise nodes.diagnostics.malformed(node, keyword, "an object of schemas", argument)
    return argument

"""Keywords about the items of arrays."""

from __future__ import annotations

from typing import Any

from detent.sources.json_schema.assertions.arguments import Keyword, count
from detent.sources.json_schema.assertions.assertions import AssertionsBuilder, UnevaluatedItems
from detent.sources.json_schema.assertions.nodes import SchemaNodes
from detent.sources.json_schema.parse.schema_node import SchemaNode

__all__ = ["ARRAY_KEYWORDS"]


def _prefix(nodes: SchemaNodes, node: SchemaNode) -> list[Any]:
    """Return the schemas of the first items."""
    prefix = node.schema.get("prefixItems") if node.base.dialect.year >= 2020 else None
    items = node.schema.get("items")
    if prefix is None and isinstance(items, list):
        # The form up to 2019-09. It is malformed in 2020-12, but common and without a second meaning.
        prefix = items
    if prefix is None:
        return []
    if not isinstance(prefix, list):
        raise nodes.diagnostics.malformed(node, "prefixItems", "a list of schemas", prefix)
    return prefix


def _prefix_items(nodes: SchemaNodes, node: SchemaNode, assertions: AssertionsBuilder, argument: Any) -> None:
    for index, schema in enumerate(_prefix(nodes, node)):
        inner = nodes.inner(node, schema, "prefixItems" if node.schema.get("prefixItems") else "items", index)
        assertions.array.append(nodes.algebra.item(index, inner))


def _items(nodes: SchemaNodes, node: SchemaNode, assertions: AssertionsBuilder, argument: Any) -> None:
    if isinstance(argument, list):
        if "prefixItems" not in node.schema or node.base.dialect.year < 2020:
            _prefix_items(nodes, node, assertions, argument)
        return
    inner = nodes.inner(node, argument, "items")
    assertions.array.append(nodes.algebra.items_from(len(_prefix(nodes, node)), inner))


def _additional_items(nodes: SchemaNodes, node: SchemaNode, assertions: AssertionsBuilder, argument: Any) -> None:
    if isinstance(node.schema.get("items"), list):
        inner = nodes.inner(node, argument, "additionalItems")
        assertions.array.append(nodes.algebra.items_from(len(_prefix(nodes, node)), inner))


def _min_items(nodes: SchemaNodes, node: SchemaNode, assertions: AssertionsBuilder, argument: Any) -> None:
    assertions.array.append(nodes.algebra.at_least(count(nodes, node, "minItems", argument)))


def _max_items(nodes: SchemaNodes, node: SchemaNode, assertions: AssertionsBuilder, argument: Any) -> None:
    assertions.array.append(nodes.algebra.at_most(count(nodes, node, "maxItems", argument)))


def _contains(nodes: SchemaNodes, node: SchemaNode, assertions: AssertionsBuilder, argument: Any) -> None:
    inner = nodes.inner(node, argument, "contains")
    least, most = 1, None
    if node.base.dialect.year >= 2019:
        if "minContains" in node.schema:
            least = count(nodes, node, "minContains", node.schema["minContains"])
        if "maxContains" in node.schema:
            most = count(nodes, node, "maxContains", node.schema["maxContains"])
    assertions.array.append(nodes.algebra.contains_at_least(0, inner, least))
    if most is not None:
        assertions.array.append(nodes.algebra.contains_at_most(0, inner, most))


def _unique_items(nodes: SchemaNodes, node: SchemaNode, assertions: AssertionsBuilder, argument: Any) -> None:
    if not isinstance(argument, bool):
        raise nodes.diagnostics.malformed(node, "uniqueItems", "a boolean", argument)
    if argument:
        assertions.array.append(nodes.unique_items(node))


def _unevaluated_items(nodes: SchemaNodes, node: SchemaNode, assertions: AssertionsBuilder, argument: Any) -> None:
    inner = nodes.inner(node, argument, "unevaluatedItems")
    if inner is not nodes.always:
        assertions.disjunctions.append(UnevaluatedItems(node, inner))


ARRAY_KEYWORDS: dict[str, tuple[int, Keyword]] = {
    "prefixItems": (2020, _prefix_items),
    "items": (4, _items),
    "additionalItems": (4, _additional_items),
    "minItems": (4, _min_items),
    "maxItems": (4, _max_items),
    "contains": (6, _contains),
    "uniqueItems": (4, _unique_items),
    "unevaluatedItems": (2019, _unevaluated_items),
}
"""The first draft that has the keyword, and its reader."""

"""Keywords whose subschemas apply to the same value, and references."""

from __future__ import annotations

from typing import Any

from detent.sources.json_schema.assertions.arguments import Keyword, object_of_schemas
from detent.sources.json_schema.assertions.assertions import AnyOf, AssertionsBuilder, Conditional, OneOf
from detent.sources.json_schema.assertions.nodes import SchemaNodes
from detent.sources.json_schema.parse.schema_node import SchemaNode

__all__ = ["IN_PLACE_KEYWORDS"]


def _subschemas(nodes: SchemaNodes, node: SchemaNode, keyword: str, argument: Any) -> list[SchemaNode]:
    if not isinstance(argument, list) or not argument:
        raise nodes.diagnostics.malformed(node, keyword, "a list of schemas, at least one", argument)
    return [nodes.inner(node, schema, keyword, index) for index, schema in enumerate(argument)]


def _all_of(nodes: SchemaNodes, node: SchemaNode, assertions: AssertionsBuilder, argument: Any) -> None:
    assertions.in_place.extend(_subschemas(nodes, node, "allOf", argument))


def _any_of(nodes: SchemaNodes, node: SchemaNode, assertions: AssertionsBuilder, argument: Any) -> None:
    schemas = _subschemas(nodes, node, "anyOf", argument)
    if nodes.always in schemas:
        return
    options = tuple(dict.fromkeys(schema for schema in schemas if schema is not nodes.never))
    if len(options) < 2:
        assertions.in_place.append(options[0] if options else nodes.never)
    else:
        assertions.disjunctions.append(AnyOf(options))


def _one_of(nodes: SchemaNodes, node: SchemaNode, assertions: AssertionsBuilder, argument: Any) -> None:
    options = [schema for schema in _subschemas(nodes, node, "oneOf", argument) if schema is not nodes.never]
    if len(options) < 2:
        assertions.in_place.append(options[0] if options else nodes.never)
    else:
        assertions.disjunctions.append(OneOf(tuple(options)))


def _not(nodes: SchemaNodes, node: SchemaNode, assertions: AssertionsBuilder, argument: Any) -> None:
    assertions.in_place.append(nodes.algebra.opposite(nodes.inner(node, argument, "not")))


def _if(nodes: SchemaNodes, node: SchemaNode, assertions: AssertionsBuilder, argument: Any) -> None:
    condition = nodes.inner(node, argument, "if")
    then = nodes.inner(node, node.schema.get("then", True), "then")
    otherwise = nodes.inner(node, node.schema.get("else", True), "else")
    if then is not otherwise:
        assertions.disjunctions.append(Conditional(condition, then, otherwise))
    elif then is not nodes.always:
        assertions.in_place.append(then)  # one schema for both: two references, or false twice


def _reference(keyword: str) -> Keyword:
    def read(nodes: SchemaNodes, node: SchemaNode, assertions: AssertionsBuilder, argument: Any) -> None:
        assertions.in_place.append(nodes.referred(node, argument, keyword))

    return read


def _definitions(keyword: str) -> Keyword:
    def read(nodes: SchemaNodes, node: SchemaNode, assertions: AssertionsBuilder, argument: Any) -> None:
        object_of_schemas(nodes, node, keyword, argument)

    return read


IN_PLACE_KEYWORDS: dict[str, tuple[int, Keyword]] = {
    "allOf": (4, _all_of),
    "anyOf": (4, _any_of),
    "oneOf": (4, _one_of),
    "not": (4, _not),
    "if": (7, _if),
    "$ref": (4, _reference("$ref")),
    "$dynamicRef": (2020, _reference("$dynamicRef")),
    "$recursiveRef": (2019, _reference("$recursiveRef")),
    "$defs": (4, _definitions("$defs")),
    "definitions": (4, _definitions("definitions")),
}
"""The first draft that has the keyword, and its reader."""

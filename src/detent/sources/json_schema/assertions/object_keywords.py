"""Keywords about the members of objects."""

from __future__ import annotations

from typing import Any

from detent.sources.json_schema.assertions.arguments import Keyword, count, list_of_names, object_of_schemas
from detent.sources.json_schema.assertions.assertions import AssertionsBuilder, DependentSchema, UnevaluatedProperties
from detent.sources.json_schema.assertions.nodes import SchemaNodes
from detent.sources.json_schema.parse.schema_node import SchemaNode

__all__ = ["OBJECT_KEYWORDS"]

_REQUIRES_ALONE = frozenset(("required", "title", "description", "$comment"))


def _properties(nodes: SchemaNodes, node: SchemaNode, assertions: AssertionsBuilder, argument: Any) -> None:
    value = nodes.algebra.value
    for name, schema in object_of_schemas(nodes, node, "properties", argument).items():
        assertions.object.append(value(name, nodes.inner(node, schema, "properties", name)))
    assertions.declared = tuple(argument)


def _required(nodes: SchemaNodes, node: SchemaNode, assertions: AssertionsBuilder, argument: Any) -> None:
    if isinstance(argument, bool):
        nodes.diagnostics.warn(
            f"required at {node.pointer() or 'the root'} is a boolean, as in draft 3, and has no effect; "
            "list the names in `required` of the object"
        )
        return
    assertions.object.extend(map(nodes.algebra.has, list_of_names(nodes, node, "required", argument)))


def _patterns(nodes: SchemaNodes, node: SchemaNode) -> dict[str, Any]:
    return object_of_schemas(nodes, node, "patternProperties", node.schema.get("patternProperties", {}))


def _pattern_properties(nodes: SchemaNodes, node: SchemaNode, assertions: AssertionsBuilder, argument: Any) -> None:
    for pattern, schema in _patterns(nodes, node).items():
        inner = nodes.inner(node, schema, "patternProperties", pattern)
        assertions.object.append(nodes.algebra.every(nodes.names.matching(pattern), inner))
        # Translated now, so that an error has the pointer of this node.
        nodes.texts.pattern(pattern, node, "patternProperties")


def _additional_properties(nodes: SchemaNodes, node: SchemaNode, assertions: AssertionsBuilder, argument: Any) -> None:
    names = object_of_schemas(nodes, node, "properties", node.schema.get("properties", {}))
    inner = nodes.inner(node, argument, "additionalProperties")
    assertions.object.append(nodes.algebra.every(nodes.names.others(names, _patterns(nodes, node)), inner))


def _property_names(nodes: SchemaNodes, node: SchemaNode, assertions: AssertionsBuilder, argument: Any) -> None:
    inner = nodes.inner(node, argument, "propertyNames")
    if inner is nodes.never:
        assertions.object.append(nodes.algebra.at_most(0))
    elif inner is not nodes.always:
        assertions.object.append(nodes.algebra.every(nodes.names.valid(inner.negation), nodes.never))


def _min_properties(nodes: SchemaNodes, node: SchemaNode, assertions: AssertionsBuilder, argument: Any) -> None:
    assertions.object.append(nodes.algebra.at_least(count(nodes, node, "minProperties", argument)))


def _max_properties(nodes: SchemaNodes, node: SchemaNode, assertions: AssertionsBuilder, argument: Any) -> None:
    assertions.object.append(nodes.algebra.at_most(count(nodes, node, "maxProperties", argument)))


def _dependent_required(nodes: SchemaNodes, node: SchemaNode, assertions: AssertionsBuilder, argument: Any) -> None:
    if not isinstance(argument, dict):
        raise nodes.diagnostics.malformed(node, "dependentRequired", "an object of lists of names", argument)
    for name, names in argument.items():
        _require_names(nodes, assertions, name, list_of_names(nodes, node, "dependentRequired", names))


def _require_names(nodes: SchemaNodes, assertions: AssertionsBuilder, name: str, names: list[str]) -> None:
    """Assert that an object with a member of one name has members of some other names."""
    algebra = nodes.algebra
    assertions.object.append(algebra.disjunction((algebra.lacks(name), algebra.conjunction(map(algebra.has, names)))))


def _dependent_schemas(nodes: SchemaNodes, node: SchemaNode, assertions: AssertionsBuilder, argument: Any) -> None:
    for name, schema in object_of_schemas(nodes, node, "dependentSchemas", argument).items():
        _require_schema(nodes, assertions, name, nodes.inner(node, schema, "dependentSchemas", name))


def _require_schema(nodes: SchemaNodes, assertions: AssertionsBuilder, name: str, inner: SchemaNode) -> None:
    """Assert that an object with a member of one name is valid against a schema."""
    schema = inner.schema
    if inner is nodes.never:
        assertions.object.append(nodes.algebra.lacks(name))
    elif isinstance(schema, dict) and isinstance(schema.get("required"), list) and _REQUIRES_ALONE.issuperset(schema):
        # As dependentRequired: two such conditions then have fewer alternatives than "lacks a, or has a and b".
        _require_names(nodes, assertions, name, list_of_names(nodes, inner, "required", schema["required"]))
    elif inner is not nodes.always:
        assertions.disjunctions.append(DependentSchema(name, inner))


def _dependencies(nodes: SchemaNodes, node: SchemaNode, assertions: AssertionsBuilder, argument: Any) -> None:
    if not isinstance(argument, dict):
        raise nodes.diagnostics.malformed(node, "dependencies", "an object of schemas and lists of names", argument)
    for name, dependency in argument.items():
        if isinstance(dependency, (list, str)):
            names = [dependency] if isinstance(dependency, str) else dependency
            _require_names(nodes, assertions, name, list_of_names(nodes, node, "dependencies", names))
        else:
            _require_schema(nodes, assertions, name, nodes.inner(node, dependency, "dependencies", name))


def _unevaluated_properties(nodes: SchemaNodes, node: SchemaNode, assertions: AssertionsBuilder, argument: Any) -> None:
    inner = nodes.inner(node, argument, "unevaluatedProperties")
    if inner is not nodes.always:
        assertions.disjunctions.append(UnevaluatedProperties(node, inner))


OBJECT_KEYWORDS: dict[str, tuple[int, Keyword]] = {
    "properties": (4, _properties),
    "required": (4, _required),
    "patternProperties": (4, _pattern_properties),
    "additionalProperties": (4, _additional_properties),
    "propertyNames": (6, _property_names),
    "minProperties": (4, _min_properties),
    "maxProperties": (4, _max_properties),
    "dependentRequired": (2019, _dependent_required),
    "dependentSchemas": (2019, _dependent_schemas),
    "dependencies": (4, _dependencies),
    "unevaluatedProperties": (2019, _unevaluated_properties),
}
"""The first draft that has the keyword, and its reader."""

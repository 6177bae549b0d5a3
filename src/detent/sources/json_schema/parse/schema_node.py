"""Schema nodes: one schema at one position of the document, and the signed literals that are made of it.

Nodes are compared by identity. A `SchemaDocument` makes one node for each schema, so that sets of nodes are cheap keys.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from detent.sources.json_schema.parse.dialect import Dialect

__all__ = ["Base", "LocalAssertions", "NegatedSchema", "SchemaNode", "SignedSchema", "negated"]


class Base:
    """The base URI scope of a schema: its dialect, and the resolver of relative references.

    `resolver` is that of the package `referencing`, and None in a document without identifiers and anchors.
    """

    __slots__ = ("dialect", "resolver")

    def __init__(self, dialect: Dialect, resolver: Any) -> None:
        self.dialect = dialect
        self.resolver = resolver


class SchemaNode:
    """A schema, its base, and its position: the parent node and the tokens of the JSON pointer from there."""

    __slots__ = ("base", "local", "negation", "parent", "schema", "token")

    def __init__(self, schema: Any, base: Base, parent: SchemaNode | None, token: object) -> None:
        self.schema = schema
        self.base = base
        self.parent = parent
        self.token = token
        self.negation = NegatedSchema(self)
        self.local = LocalAssertions(self)

    def pointer(self) -> str:
        """Return the JSON pointer; for a node that a reference led to, the pointer into its document."""
        tokens: list[str] = []
        node: SchemaNode | None = self
        while node is not None:
            token = node.token
            if node.parent is None:
                tokens.append(str(token))
            elif isinstance(token, tuple):
                tokens.extend("/" + str(part).replace("~", "~0").replace("/", "~1") for part in reversed(token))
            else:
                tokens.append("/" + str(token))
            node = node.parent
        return "".join(reversed(tokens))


class NegatedSchema:
    """The negation of a schema: it holds for the values that are not valid against the node's schema."""

    __slots__ = ("node",)

    def __init__(self, node: SchemaNode) -> None:
        self.node = node


class LocalAssertions:
    """The assertions of a schema's own keywords, without its subschemas that apply to the same value."""

    __slots__ = ("node",)

    def __init__(self, node: SchemaNode) -> None:
        self.node = node


SignedSchema: TypeAlias = SchemaNode | NegatedSchema
"""A schema or its negation: the literals of the Boolean algebra."""


def negated(schema: SignedSchema) -> SignedSchema:
    """Return the schema of opposite sign."""
    return schema.node if isinstance(schema, NegatedSchema) else schema.negation

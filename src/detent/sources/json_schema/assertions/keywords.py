"""Keywords: from the JSON of one schema to its assertions. A name that is no keyword of the dialect asserts nothing."""

from __future__ import annotations

from detent.errors import SchemaError
from detent.sources.json_schema.assertions.array_keywords import ARRAY_KEYWORDS
from detent.sources.json_schema.assertions.assertions import Assertions, AssertionsBuilder
from detent.sources.json_schema.assertions.in_place_keywords import IN_PLACE_KEYWORDS
from detent.sources.json_schema.assertions.nodes import SchemaNodes
from detent.sources.json_schema.assertions.object_keywords import OBJECT_KEYWORDS
from detent.sources.json_schema.assertions.scalar_keywords import SCALAR_KEYWORDS
from detent.sources.json_schema.parse.schema_node import SchemaNode
from detent.sources.nodes import short_repr

__all__ = ["read_assertions"]

_KEYWORDS = {**SCALAR_KEYWORDS, **OBJECT_KEYWORDS, **ARRAY_KEYWORDS, **IN_PLACE_KEYWORDS}


def read_assertions(nodes: SchemaNodes, node: SchemaNode) -> Assertions:
    """Read the keywords of a node's schema."""
    schema, dialect, assertions = node.schema, node.base.dialect, AssertionsBuilder()
    if dialect.is_reference_alone and "$ref" in schema:
        assertions.in_place.append(nodes.referred(node, schema["$ref"], "$ref"))
        return assertions.build()
    for keyword, argument in schema.items():
        found = _KEYWORDS.get(keyword)
        if found is not None and found[0] <= dialect.year:
            found[1](nodes, node, assertions, argument)
        elif not isinstance(keyword, str):
            raise SchemaError(
                f"at {node.pointer() or 'the root'}: a keyword must be a string, got {short_repr(keyword)}",
                pointer=node.pointer(),
            )
    return assertions.build()

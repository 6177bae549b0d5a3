"""Keywords about types, listed values, numbers and strings."""

from __future__ import annotations

from typing import Any

from detent.sources.json_schema.assertions.arguments import Keyword, count, number
from detent.sources.json_schema.assertions.assertions import AssertionsBuilder
from detent.sources.json_schema.assertions.formulas import (
    FormatTest,
    MaximumTest,
    MaxLengthTest,
    MinimumTest,
    MinLengthTest,
    MultipleTest,
    NoFractionPartTest,
    PatternTest,
    ScalarTest,
)
from detent.sources.json_schema.assertions.nodes import SchemaNodes
from detent.sources.json_schema.parse.schema_node import SchemaNode
from detent.sources.json_schema.parse.values import (
    ARRAY,
    BOOLEAN,
    INTEGER,
    NULL,
    NUMBER,
    OBJECT,
    STRING,
    comparison_key,
    is_text,
    kind_of,
)

__all__ = ["KINDS", "SCALAR_KEYWORDS"]

KINDS = {
    "null": NULL,
    "boolean": BOOLEAN,
    "integer": INTEGER,
    "number": NUMBER,
    "string": STRING,
    "array": ARRAY,
    "object": OBJECT,
}


def _type(nodes: SchemaNodes, node: SchemaNode, assertions: AssertionsBuilder, argument: Any) -> None:
    names = [argument] if isinstance(argument, str) else argument
    if not isinstance(names, list) or not names:
        raise nodes.diagnostics.malformed(node, "type", "the name of a type, or a list of names", argument)
    kinds = 0
    for name in names:
        kind = KINDS.get(name) if isinstance(name, str) else None
        if kind is None:
            expected = "one of null, boolean, integer, number, string, array and object"
            raise nodes.diagnostics.malformed(node, "type", expected, name)
        kinds |= kind
    assertions.kinds &= kinds
    if node.base.dialect.year <= 4 and kinds & NUMBER == INTEGER:
        # In draft 4 an integer is a number without a fraction *part*, so 1.0 is none.
        assertions.number.append(nodes.algebra.atom(NoFractionPartTest, None, True))


def _enum(nodes: SchemaNodes, node: SchemaNode, assertions: AssertionsBuilder, argument: Any) -> None:
    if not isinstance(argument, list):
        raise nodes.diagnostics.malformed(node, "enum", "a list of values", argument)
    _allow(nodes, node, assertions, "enum", argument)


def _const(nodes: SchemaNodes, node: SchemaNode, assertions: AssertionsBuilder, argument: Any) -> None:
    _allow(nodes, node, assertions, "const", [argument])


def _allow(
    nodes: SchemaNodes, node: SchemaNode, assertions: AssertionsBuilder, keyword: str, values: list[Any]
) -> None:
    allowed: dict[Any, Any] = {}
    kinds = 0
    for value in values:
        if isinstance(value, str):
            # No text contains a string that UTF-8 cannot encode.
            if is_text(value):
                allowed[value] = value
                kinds |= STRING
            continue
        kind = kind_of(value)
        if not kind:
            raise nodes.diagnostics.malformed(node, keyword, "made of JSON values", value)
        kinds |= kind
        allowed.setdefault(comparison_key(value), value)
    if assertions.allowed is not None:
        allowed = {key: value for key, value in assertions.allowed.items() if key in allowed}
    assertions.allowed = allowed
    assertions.kinds &= kinds


def _bound(
    keyword: str,
    exclusive_keyword: str,
    inclusive: tuple[type[ScalarTest], bool],
    exclusive: tuple[type[ScalarTest], bool],
) -> Keyword:
    def read(nodes: SchemaNodes, node: SchemaNode, assertions: AssertionsBuilder, argument: Any) -> None:
        value = number(nodes, node, keyword, argument)
        # A boolean exclusiveMinimum is the form of draft 4, and of many schemas that name no draft.
        test, holds = exclusive if node.schema.get(exclusive_keyword) is True else inclusive
        assertions.number.append(nodes.algebra.atom(test, value, holds))

    return read


def _exclusive_bound(keyword: str, exclusive: tuple[type[ScalarTest], bool]) -> Keyword:
    def read(nodes: SchemaNodes, node: SchemaNode, assertions: AssertionsBuilder, argument: Any) -> None:
        if not isinstance(argument, bool):
            value = number(nodes, node, keyword, argument)
            assertions.number.append(nodes.algebra.atom(exclusive[0], value, exclusive[1]))

    return read


def _multiple(nodes: SchemaNodes, node: SchemaNode, assertions: AssertionsBuilder, argument: Any) -> None:
    value = number(nodes, node, "multipleOf", argument)
    if value <= 0:
        raise nodes.diagnostics.malformed(node, "multipleOf", "above 0", argument)
    assertions.number.append(nodes.algebra.atom(MultipleTest, value, True))


def _min_length(nodes: SchemaNodes, node: SchemaNode, assertions: AssertionsBuilder, argument: Any) -> None:
    length = count(nodes, node, "minLength", argument)
    if length:
        assertions.string.append(nodes.algebra.atom(MinLengthTest, length, True))


def _max_length(nodes: SchemaNodes, node: SchemaNode, assertions: AssertionsBuilder, argument: Any) -> None:
    length = count(nodes, node, "maxLength", argument)
    assertions.string.append(nodes.algebra.atom(MaxLengthTest, length, True))


def _pattern(nodes: SchemaNodes, node: SchemaNode, assertions: AssertionsBuilder, argument: Any) -> None:
    if not isinstance(argument, str):
        raise nodes.diagnostics.malformed(node, "pattern", "a string", argument)
    assertions.string.append(nodes.algebra.atom(PatternTest, (argument, node), True))


def _format(nodes: SchemaNodes, node: SchemaNode, assertions: AssertionsBuilder, argument: Any) -> None:
    if not isinstance(argument, str):
        raise nodes.diagnostics.malformed(node, "format", "a string", argument)
    if nodes.texts.format(argument, node) is not None:
        assertions.string.append(nodes.algebra.atom(FormatTest, (argument, node), True))


_AT_LEAST, _ABOVE = (MinimumTest, True), (MaximumTest, False)
_AT_MOST, _BELOW = (MaximumTest, True), (MinimumTest, False)

SCALAR_KEYWORDS: dict[str, tuple[int, Keyword]] = {
    "type": (4, _type),
    "enum": (4, _enum),
    "const": (6, _const),
    "minimum": (4, _bound("minimum", "exclusiveMinimum", _AT_LEAST, _ABOVE)),
    "maximum": (4, _bound("maximum", "exclusiveMaximum", _AT_MOST, _BELOW)),
    "exclusiveMinimum": (4, _exclusive_bound("exclusiveMinimum", _ABOVE)),
    "exclusiveMaximum": (4, _exclusive_bound("exclusiveMaximum", _BELOW)),
    "multipleOf": (4, _multiple),
    "minLength": (4, _min_length),
    "maxLength": (4, _max_length),
    "pattern": (4, _pattern),
    "format": (4, _format),
}
"""The first draft that has the keyword, and its reader."""

"""Alternatives: each disjunction as a list of conjunctions of which at least one holds."""

from __future__ import annotations

from detent.sources.json_schema.assertions.assertions import (
    AnyOf,
    Conditional,
    Conjunct,
    DependentSchema,
    Disjunction,
    OneOf,
    UnevaluatedProperties,
)
from detent.sources.json_schema.assertions.document import SchemaDocument
from detent.sources.json_schema.solve.disjoint import one_of_alternatives
from detent.sources.json_schema.solve.unevaluated import unevaluated_items, unevaluated_properties

__all__ = ["alternatives_of"]


def alternatives_of(document: SchemaDocument, disjunction: Disjunction) -> list[tuple[Conjunct, ...]]:
    """Return the alternatives of a disjunction, each a tuple of conjuncts."""
    if isinstance(disjunction, AnyOf):
        return [(schema,) for schema in disjunction.schemas]
    if isinstance(disjunction, OneOf):
        return one_of_alternatives(document, disjunction.schemas)
    algebra = document.algebra
    if isinstance(disjunction, Conditional):
        opposite = algebra.opposite(disjunction.condition)
        return [(disjunction.condition, disjunction.then), (opposite, disjunction.otherwise)]
    if isinstance(disjunction, DependentSchema):
        return [(algebra.lacks(disjunction.name),), (algebra.has(disjunction.name), disjunction.schema)]
    if isinstance(disjunction, UnevaluatedProperties):
        return unevaluated_properties(document, disjunction.node, disjunction.schema)
    return unevaluated_items(document, disjunction.node, disjunction.schema)

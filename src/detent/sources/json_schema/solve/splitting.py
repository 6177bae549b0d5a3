"""Splitting: a conjunction with disjunctions as a union of conjunctions without them.

A disjunction is either split into a conjunction for each alternative, or it stays and becomes part of a formula. Splits
multiply, so their number is bounded. A disjunction of light schemas of objects stays, since one walk along the declared
members serves all its alternatives.
"""

from __future__ import annotations

from typing import NamedTuple

from detent.sources.json_schema.assertions.assertions import Conjunct, Disjunction, OneOf
from detent.sources.json_schema.assertions.formulas import Formula
from detent.sources.json_schema.parse.schema_node import LocalAssertions, NegatedSchema, SchemaNode
from detent.sources.json_schema.parse.values import EVERY_KIND, OBJECT
from detent.sources.json_schema.solve.merged import MergedAssertions
from detent.sources.json_schema.solve.solver import Solver

__all__ = ["Split", "split"]

_MAX_SPLITS = 32
_MAX_LIGHT_DEPTH = 4
_LIGHT_KEYWORDS = frozenset(
    "title description default examples $comment type required not anyOf oneOf allOf if then else properties "
    "minProperties maxProperties dependentRequired".split()
)


class Split(NamedTuple):
    """Conjunctions whose union is the split one; `weight` is the number of conjunctions that splits made so far."""

    weight: int
    alternatives: list[list[Conjunct]]


def split(solver: Solver, merged: MergedAssertions, weight: int) -> Split | None:
    """Split the disjunctions of a conjunction as far as that is worth it; None if none is split.

    `weight` is the number of conjunctions that earlier splits made of the original one.
    """
    disjunctions = [one for one in merged.disjunctions if one.kinds & merged.kinds]
    if not disjunctions:
        return None
    is_alone = merged.has_only_disjunctions and len(disjunctions) == 1
    chosen: list[Disjunction] = []
    count = 1
    for disjunction in disjunctions:
        if not is_alone and merged.kinds == OBJECT and _is_light(solver, disjunction, merged):
            continue
        size = len(solver.alternatives(disjunction))
        if weight * count * size > _MAX_SPLITS and not is_alone:
            continue
        count *= size
        chosen.append(disjunction)
    if not chosen:
        return None
    solver.spend(count)
    found: list[list[Conjunct]] = [[conjunct for conjunct in merged.residue if conjunct not in chosen]]
    for disjunction in chosen:
        alternatives = _alternatives_for_all_kinds(solver, disjunction, merged)
        found = [[*conjuncts, *alternative] for conjuncts in found for alternative in alternatives]
    return Split(weight if is_alone else weight * count, found)


def _alternatives_for_all_kinds(
    solver: Solver, disjunction: Disjunction, merged: MergedAssertions
) -> list[tuple[Conjunct, ...]]:
    """Return the alternatives, and for a disjunction about objects or arrays alone that of all other kinds.

    The schemas of a oneOf may exclude each other for objects alone. Then it is itself the alternative of other kinds.
    """
    document, kinds = solver.document, disjunction.kinds
    is_of_objects = merged.kinds == OBJECT
    alternatives = solver.alternatives(disjunction, merged.kinds, merged.required if is_of_objects else frozenset())
    other_kinds: tuple[Conjunct, ...] = (document.kinds(EVERY_KIND & ~kinds),)
    if isinstance(disjunction, OneOf) and merged.kinds & OBJECT and not is_of_objects:
        of_objects = solver.alternatives(disjunction, OBJECT, merged.required)
        if sum(map(len, of_objects)) < sum(map(len, alternatives)):
            kinds, alternatives = OBJECT, of_objects
            other_kinds = (disjunction, document.kinds(EVERY_KIND & ~kinds))
    if kinds == EVERY_KIND or not merged.kinds & ~kinds:
        return alternatives
    return [*((*conjuncts, document.kinds(kinds)) for conjuncts in alternatives), other_kinds]


def _is_light(solver: Solver, disjunction: Disjunction, merged: MergedAssertions) -> bool:
    """Whether the alternatives are about declared members and sizes alone."""
    declared = frozenset(merged.declared)
    work: list[tuple[Conjunct, int]] = [(one, 0) for each in solver.alternatives(disjunction) for one in each]
    while work:
        conjunct, depth = work.pop()
        if isinstance(conjunct, Formula):
            continue
        node = conjunct.node if isinstance(conjunct, (NegatedSchema, LocalAssertions)) else conjunct
        if not isinstance(node, SchemaNode) or depth > _MAX_LIGHT_DEPTH:
            return False
        schema = node.schema
        if isinstance(schema, bool):
            continue
        if not schema or not _LIGHT_KEYWORDS.issuperset(schema):
            return False
        assertions = solver.document.assertions(node)
        if not declared.issuperset(assertions.declared):
            return False
        work.extend((inner, depth + 1) for inner in assertions.in_place)
        work.extend(
            (inner, depth + 1)
            for inner_disjunction in assertions.disjunctions
            for conjuncts in solver.alternatives(inner_disjunction)
            for inner in conjuncts
        )
    return True

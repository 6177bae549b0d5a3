"""Disjointness of schemas, and the alternatives of oneOf.

If the schemas of a oneOf exclude each other, "exactly one" is the same as "at least one". The test of this is cheap and
incomplete: kinds of values, listed values, ranges, required members whose values exclude each other, and members that
one schema requires and another forbids. Where the test fails, an alternative is a schema and the negations of the
others, which is always exact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from detent.sources.json_schema.assertions.assertions import Conjunct
from detent.sources.json_schema.assertions.document import SchemaDocument
from detent.sources.json_schema.parse.schema_node import NegatedSchema, SchemaNode
from detent.sources.json_schema.parse.values import ARRAY, NUMBER, OBJECT, STRING, kind_of
from detent.sources.json_schema.solve.bounds import Bounds

__all__ = ["are_disjoint", "one_of_alternatives", "one_of_alternatives_beside"]

_MAX_DEPTH = 3


def one_of_alternatives(document: SchemaDocument, schemas: Sequence[SchemaNode]) -> list[tuple[Conjunct, ...]]:
    """Return the alternatives of a oneOf."""
    return _alternatives(document, schemas, [Bounds(document, [schema]) for schema in schemas], _exclude)


def one_of_alternatives_beside(
    document: SchemaDocument, schemas: Sequence[SchemaNode], kinds: int, required: Iterable[str], most_work: int
) -> tuple[list[tuple[Conjunct, ...]] | None, int]:
    """Return the alternatives of a oneOf for values of some kinds, where an object has the `required` members.

    The schemas are also compared by their cases. None where this takes over `most_work` comparisons; and the work.
    """
    bounds = [Bounds(document, [schema], kinds, required) for schema in schemas]
    work = (len(bounds) * max(len(each.choices) for each in bounds)) ** 2
    if work > most_work:
        return None, len(bounds)
    return _alternatives(document, schemas, bounds, _exclude_by_cases), work


def _alternatives(
    document: SchemaDocument,
    schemas: Sequence[SchemaNode],
    bounds: list[Bounds],
    exclude: Callable[[SchemaDocument, Bounds, Bounds], bool],
) -> list[tuple[Conjunct, ...]]:
    if _have_discriminator(document, bounds):
        return [(schema,) for schema in schemas]
    negations: list[list[NegatedSchema]] = [[] for _ in schemas]
    for index, one in enumerate(bounds):
        for other in range(index):
            if schemas[other] is schemas[index] or not exclude(document, one, bounds[other]):
                negations[index].append(schemas[other].negation)
                negations[other].append(schemas[index].negation)
    return [(schema, *denied) for schema, denied in zip(schemas, negations, strict=True)]


def are_disjoint(document: SchemaDocument, left: Bounds, right: Bounds, *, by_cases: bool) -> bool:
    """Whether plainly no value satisfies two conjunctions of schemas, by their cases or without them."""
    return (_exclude_by_cases if by_cases else _exclude)(document, left, right)


def _have_discriminator(document: SchemaDocument, all_bounds: list[Bounds]) -> bool:
    """Whether all are objects with a required member whose listed values differ between them."""
    for name in sorted(all_bounds[0].required):
        known: set[Any] = set()
        for bounds in all_bounds:
            schemas = bounds.schemas_of(name)
            if bounds.kinds != OBJECT or name not in bounds.required or not schemas:
                break
            allowed = Bounds(document, schemas).allowed
            if allowed is None or not known.isdisjoint(allowed):
                break
            known.update(allowed)
        else:
            return True
    return False


def _exclude_by_cases(document: SchemaDocument, left: Bounds, right: Bounds) -> bool:
    """Whether each case of one excludes each case of the other."""
    if _exclude(document, left, right):
        return True
    if len(left.choices) == len(right.choices) == 1:
        return False
    return all(_exclude(document, one, other) for one in left.cases() for other in right.cases())


def _exclude(document: SchemaDocument, left: Bounds, right: Bounds, depth: int = 0) -> bool:
    common = left.kinds & right.kinds
    for one, other in ((left, right), (right, left)):
        if one.allowed is not None:
            kinds = 0
            for key, value in one.allowed.items():
                if (other.allowed is None or key in other.allowed) and key not in other.denied:
                    kinds |= kind_of(value)
            common &= kinds
    for kind in (NUMBER, STRING, ARRAY, OBJECT):
        if common & kind and left.excludes_range(right, kind):
            common &= ~kind
    if common == OBJECT:
        return _objects_exclude(document, left, right, depth)
    return not common


def _objects_exclude(document: SchemaDocument, left: Bounds, right: Bounds, depth: int) -> bool:
    if any(right.forbids(name) for name in left.required) or any(left.forbids(name) for name in right.required):
        return True
    if depth >= _MAX_DEPTH:
        return False
    for name in left.required | right.required:
        one, other = left.schemas_of(name), right.schemas_of(name)
        if one and other and _exclude(document, Bounds(document, one), Bounds(document, other), depth + 1):
            return True
    return False

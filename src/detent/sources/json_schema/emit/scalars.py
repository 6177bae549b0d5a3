"""Scalars: the texts of the null, booleans, numbers and strings of a conjunction."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from functools import lru_cache
from typing import Any

from detent import _core
from detent.errors import DetentError
from detent.limits import DEFAULT_LIMITS
from detent.sources.json_schema.assertions.document import SchemaDocument
from detent.sources.json_schema.emit.spelling import Spelling
from detent.sources.json_schema.emit.tasks import union_of
from detent.sources.json_schema.parse.values import BOOLEAN, NULL, NUMBER, STRING
from detent.sources.json_schema.solve.merged import MergedAssertions
from detent.sources.json_schema.solve.number_sets import number_sets
from detent.sources.json_schema.solve.solver import Solver
from detent.sources.json_schema.solve.string_sets import string_set

__all__ = ["CONSTRAINTS", "constrained_scalar", "scalars_of"]

CONSTRAINTS = frozenset(
    "type minLength maxLength pattern format minimum maximum exclusiveMinimum exclusiveMaximum".split()
)
"""The keywords of scalars that are shared. Those with `multipleOf` are not: they take megabytes each."""
_ARGUMENTS = (str, int, bool, Decimal)
_SMALLEST_EXPONENT = -20
_LONGEST_PATTERN = 1000
_LARGEST_BOUND = 1 << 64


def scalars_of(solver: Solver, spelling: Spelling, merged: MergedAssertions) -> list[_core.Node]:
    """Return the expressions of the scalars of a conjunction without disjunctions, one for each kind."""
    formulas = solver.formulas
    parts: list[_core.Node] = []
    if merged.kinds & NULL and formulas.allows(merged, NULL, None):
        parts.append(spelling.null)
    if merged.kinds & BOOLEAN:
        if formulas.allows(merged, BOOLEAN, ("boolean", True)):
            parts.append(spelling.true)
        if formulas.allows(merged, BOOLEAN, ("boolean", False)):
            parts.append(spelling.false)
    if merged.kinds & NUMBER:
        parts.append(spelling.numbers(number_sets(formulas.about_scalar(merged, NUMBER))))
    if merged.kinds & STRING:
        parts.append(spelling.strings(string_set(solver.document, formulas.about_scalar(merged, STRING))))
    return parts


def constrained_scalar(spelling: Spelling, uri: str, schema: Mapping[str, Any]) -> _core.Node | None:
    """Return the expression of one scalar type with `CONSTRAINTS`, shared by all schemas; None if it is not plain.

    `uri` is that of the dialect. The caller decides about unknown formats. Documents with custom formats, limits or
    leniency do without this function.
    """
    items = tuple([(name, argument, type(argument)) for name, argument in schema.items() if name in CONSTRAINTS])
    return _shared(spelling, uri, items) if all(_is_short(argument) for _, argument, _ in items) else None


def _is_short(argument: Any) -> bool:
    if isinstance(argument, str):
        return len(argument) <= _LONGEST_PATTERN
    if type(argument) not in _ARGUMENTS or not abs(argument) <= _LARGEST_BOUND:
        return False
    return not isinstance(argument, Decimal) or argument.as_tuple().exponent >= _SMALLEST_EXPONENT  # type: ignore[operator]


@lru_cache(maxsize=2000)
def _shared(spelling: Spelling, uri: str, items: tuple[tuple[str, Any, type], ...]) -> _core.Node | None:
    schema = {name: argument for name, argument, _ in items}
    try:
        document = SchemaDocument({"$schema": uri, **schema}, False, {}, DEFAULT_LIMITS)
        solver = Solver(document)
        return union_of(scalars_of(solver, spelling, solver.merged(document.conjunction([document.root]))))
    except DetentError:
        return None  # the solver of the document reports the error with its location

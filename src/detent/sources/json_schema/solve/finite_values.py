"""Conjunctions with few values: the values, as far as they are listed or plain."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from math import ceil, floor
from typing import Any

from detent.sources.json_schema.assertions.assertions import Conjunction
from detent.sources.json_schema.assertions.formulas import MaximumTest, MinimumTest
from detent.sources.json_schema.parse.values import BOOLEAN, EVERY_KIND, INTEGER, NULL
from detent.sources.json_schema.solve.merged import MergedAssertions
from detent.sources.json_schema.solve.solver import Solver

__all__ = ["finite_values"]

_MAX_VALUES = 64
_MAX_DEPTH = 8


def finite_values(solver: Solver, conjunction: Conjunction, depth: int = 0) -> Mapping[Any, Any] | None:
    """Return a superset of the values of a conjunction, by comparison key; None if there may be many."""
    merged = solver.merged(conjunction)
    if merged.is_empty:
        return {}
    if merged.allowed is not None:
        return merged.allowed if len(merged.allowed) <= _MAX_VALUES else None
    for disjunction in merged.disjunctions if depth < _MAX_DEPTH else ():
        if disjunction.kinds != EVERY_KIND:
            continue
        found: dict[Any, Any] = {}
        for conjuncts in solver.alternatives(disjunction):
            values = finite_values(solver, solver.document.conjunction(conjuncts), depth + 1)
            if values is None:
                break
            found.update(values)
        else:
            return found if len(found) <= _MAX_VALUES else None
    return _of_kinds(merged)


def _of_kinds(merged: MergedAssertions) -> Mapping[Any, Any] | None:
    """Return the values where only kinds and bounds of integers restrict them."""
    found: dict[Any, Any] = {}
    if merged.kinds & ~(NULL | BOOLEAN | INTEGER):
        return None
    if merged.kinds & INTEGER:
        lower = [ceil(test.argument) for test in merged.number if isinstance(test, MinimumTest) and test.holds]
        upper = [floor(test.argument) for test in merged.number if isinstance(test, MaximumTest) and test.holds]
        if not lower or not upper or min(upper) - max(lower) >= _MAX_VALUES:
            return None
        found.update((Decimal(number), number) for number in range(max(lower), min(upper) + 1))
    if merged.kinds & BOOLEAN:
        found.update({("boolean", True): True, ("boolean", False): False})
    if merged.kinds & NULL:
        found[None] = None
    return found

"""Array plan: the conditions on an array, sorted by index, and the residual formula.

The schemas of items and the bounds of the length are read off. The rest (contains, alternatives, negations) is a
residual formula; its derivatives by the items are the states of a walk.

uniqueItems counts each value of items that have few values. Other items become a list of distinct items of the core,
which compares values.
"""

from __future__ import annotations

from typing import Any

from detent.errors import LimitError
from detent.sources.json_schema.assertions.assertions import Conjunction
from detent.sources.json_schema.assertions.formulas import (
    FALSE,
    TRUE,
    And,
    Combination,
    ContainsAtLeast,
    ContainsAtMost,
    Formula,
    ItemAt,
    ItemsFrom,
    MaxSize,
    MinSize,
    RepeatedItem,
    UniqueItems,
)
from detent.sources.json_schema.parse.schema_node import NegatedSchema, SchemaNode, SignedSchema
from detent.sources.json_schema.solve.finite_values import finite_values
from detent.sources.json_schema.solve.object_plan import Option
from detent.sources.json_schema.solve.solver import Solver

__all__ = ["ArrayPlan"]

_MAX_OPTIONS = 256
_MAX_COUNTED_VALUES = 6
"""The number of values that uniqueItems counts one by one, beside other conditions."""
_MAX_PREFIX = 100_000
_MAX_COMPARED_ITEMS = 8


class ArrayPlan:
    """The conditions on the arrays of a conjunction."""

    def __init__(self, solver: Solver, conjunction: Conjunction, formulas: list[Formula]) -> None:
        self.solver = solver
        self.conjunction = conjunction
        self.min_items = 0
        self.max_items: int | None = None
        self.distinct_values: list[SchemaNode] | None = None
        """The values of the items, if each may occur once and they are too many to be counted one by one."""
        self.is_distinct = False
        """Whether no two items are equal, and their values are too many to be listed."""
        self._items: dict[int, list[SignedSchema]] = {}
        self._items_from: list[ItemsFrom] = []
        rest: list[Formula] = []
        for formula in formulas:
            if isinstance(formula, ItemAt):
                self._items.setdefault(formula.start, []).append(formula.schema)
            elif isinstance(formula, ItemsFrom):
                self._items_from.append(formula)
            elif isinstance(formula, MinSize):
                self.min_items = max(self.min_items, formula.count)
            elif isinstance(formula, MaxSize):
                self.max_items = formula.count if self.max_items is None else min(self.max_items, formula.count)
            else:
                rest.append(formula)
        self.uniform_from = max([index + 1 for index in self._items] + [one.start for one in self._items_from] + [0])
        """The index from which on all items have the same schemas."""
        if self.uniform_from > _MAX_PREFIX:
            raise LimitError(
                f"{self.uniform_from} items with schemas of their own, above the limit of {_MAX_PREFIX}",
                subject="prefix_items",
                limit=_MAX_PREFIX,
                given=self.uniform_from,
            )
        self.max_items = self._most_possible()
        self._holds_unique = any(isinstance(one, UniqueItems) for one in rest)
        self.residual = self._with_decided_sizes(
            solver.algebra.conjunction([self._without_unique(one, one) for one in rest])
        )
        if self.is_distinct and not self.uniform_from:
            self.residual = self._with_decided_items(self.residual)
        self.is_empty = (self.max_items is not None and self.min_items > self.max_items) or self.residual is FALSE
        self.last = max(self.uniform_from, self.min_items if self.max_items is None else self.max_items)
        """The index from which on neither the schemas nor the length depend on the index."""
        self._options: dict[tuple[int, Formula], list[tuple[Conjunction, Formula]]] = {}

    def _most_possible(self) -> int | None:
        """Return the upper bound of the length; an array ends before the first item that has no value."""
        last = self.uniform_from + 1 if self.max_items is None else min(self.max_items, self.uniform_from + 1)
        for index in range(last):
            if self.value(index) is self.solver.document.nothing:
                return index
        return self.max_items

    def schemas_at(self, index: int) -> tuple[SignedSchema, ...]:
        """Return the schemas of the item at an index that hold whatever the residual is."""
        return (*self._items.get(index, ()), *(one.schema for one in self._items_from if one.start <= index))

    def value(self, index: int, more: tuple[SignedSchema, ...] = ()) -> Conjunction:
        """Return the value of the item at an index, with more schemas."""
        return self.solver.values([*self.schemas_at(index), *more])

    def _with_decided_sizes(self, formula: Formula) -> Formula:
        """Replace the sizes in a formula that the bounds of the length decide."""
        algebra = self.solver.algebra
        if isinstance(formula, Combination):
            combine = algebra.conjunction if isinstance(formula, And) else algebra.disjunction
            return combine([self._with_decided_sizes(part) for part in formula.parts])
        if isinstance(formula, MinSize):
            if formula.count <= self.min_items:
                return TRUE
            return FALSE if self.max_items is not None and formula.count > self.max_items else formula
        if isinstance(formula, MaxSize):
            if formula.count < self.min_items:
                return FALSE
            return TRUE if self.max_items is not None and self.max_items <= formula.count else formula
        return formula

    def _with_decided_items(self, formula: Formula) -> Formula:
        """Replace the counts of items that are valid against a schema where all items are, or none.

        All items are subject to the same schemas.
        """
        algebra = self.solver.algebra
        if isinstance(formula, Combination):
            combine = algebra.conjunction if isinstance(formula, And) else algebra.disjunction
            return combine([self._with_decided_items(part) for part in formula.parts])
        if not isinstance(formula, (ItemsFrom, ContainsAtLeast, ContainsAtMost)) or formula.start:
            return formula
        verdict = self.solver.implies(self.schemas_at(0), formula.schema)
        if verdict is None:
            return formula
        if isinstance(formula, ItemsFrom):
            return TRUE if verdict else algebra.at_most(0)
        if isinstance(formula, ContainsAtLeast):
            return algebra.at_least(formula.count) if verdict or not formula.count else FALSE
        return algebra.at_most(formula.count) if verdict else TRUE

    def lengths(self) -> list[tuple[int, int | None]] | None:
        """Return the lengths that are permitted, as ranges; None if the residual has conditions on items."""
        bounds: list[int] = [self.min_items]
        pending = [self.residual]
        while pending:
            formula = pending.pop()
            if isinstance(formula, Combination):
                pending += formula.parts
            elif isinstance(formula, MinSize):
                bounds.append(formula.count)
            elif isinstance(formula, MaxSize):
                bounds.append(formula.count + 1)
            elif formula is not TRUE and formula is not FALSE:
                return None
        longest = max(bounds) if self.max_items is None else self.max_items
        starts = sorted({one for one in bounds if self.min_items <= one <= longest})
        ranges: list[tuple[int, int | None]] = []
        for start, following in zip(starts, [*starts[1:], None], strict=True):
            if _permits(self.residual, start):
                last = self.max_items if following is None else following - 1
                if ranges and ranges[-1][1] == start - 1:
                    start = ranges.pop()[0]
                ranges.append((start, last))
        return ranges

    # uniqueItems.

    def _without_unique(self, formula: Formula, whole: Formula) -> Formula:
        """Replace uniqueItems by counts of each possible value, or, if it is the whole formula, by `is_distinct`."""
        algebra = self.solver.algebra
        if isinstance(formula, Combination):
            combine = algebra.conjunction if isinstance(formula, And) else algebra.disjunction
            return combine([self._without_unique(part, whole) for part in formula.parts])
        if not isinstance(formula, (UniqueItems, RepeatedItem)):
            return formula
        is_unique = isinstance(formula, UniqueItems)
        if formula is not whole and self._holds_unique:
            return TRUE if is_unique else FALSE
        if self.max_items is not None and (self.max_items <= 1 or self._have_disjoint_items(self.max_items)):
            return TRUE if is_unique else FALSE
        values = self._possible_values()
        node = formula.node
        if values is None and formula is whole and is_unique:
            self.is_distinct = True
            return TRUE
        if values is None:
            reason = "in an alternative or a negation, unique items must have few possible values"
            remedy = "give the items an enum, or put uniqueItems beside the other keywords"
            self.solver.document.diagnostics.refuse(node, "uniqueItems", reason, remedy)
            return TRUE
        constants = [self.solver.document.constant(value, node) for value in values]
        if len(constants) <= _MAX_COUNTED_VALUES or not is_unique:
            counts = [algebra.contains_at_most(0, constant, 1) for constant in constants]
            return algebra.conjunction(counts) if is_unique else algebra.negate(algebra.conjunction(counts))
        self.distinct_values = constants
        return TRUE

    def required_values(self, constants: list[SchemaNode]) -> set[SchemaNode] | None:
        """Return the values of the items that the residual asks for, where each `contains` is about one of them.

        None if there are other conditions.
        """
        required: set[SchemaNode] = set()
        for part in self.residual.parts if isinstance(self.residual, And) else (self.residual,):
            if part is TRUE:
                continue
            if not isinstance(part, ContainsAtLeast) or part.start or part.count > 1:
                return None
            verdicts = [self.solver.implies((constant,), part.schema) for constant in constants]
            if None in verdicts or verdicts.count(True) != 1:
                return None
            required.add(constants[verdicts.index(True)])
        return required

    def refuse_unique(self, reason: str, remedy: str) -> None:
        """Refuse uniqueItems."""
        self.solver.refuse(self.conjunction, "uniqueItems", reason, remedy)

    def refuse_nested(self) -> None:
        """Refuse uniqueItems over items that have unique items inside, and may have few values."""
        self.refuse_unique(
            "the items have lists of unique items or of counted members themselves, and may have few values",
            "leave one of the two uniqueItems or minProperties out",
        )

    def refuse_distinct(self) -> None:
        """Refuse uniqueItems over many values beside other conditions."""
        reason = f"beside other conditions, unique items can have at most {_MAX_COUNTED_VALUES} values"
        remedy = "take the other conditions away, or shorten the enum"
        self.solver.refuse(self.conjunction, "uniqueItems", reason, remedy)

    def _have_disjoint_items(self, most: int) -> bool:
        """Whether no two items can be equal, because their schemas exclude each other."""
        if most > _MAX_COMPARED_ITEMS:
            return False
        schemas = [
            tuple(one for one in self.value(index).conjuncts if isinstance(one, (SchemaNode, NegatedSchema)))
            for index in range(most)
        ]
        return all(
            self.solver.are_disjoint(schemas[one], schemas[other]) for one in range(most) for other in range(one)
        )

    def _possible_values(self) -> list[Any] | None:
        """Return the values that an item can have, if they are few."""
        found: dict[Any, Any] = {}
        last = self.uniform_from if self.max_items is None else min(self.uniform_from, self.max_items - 1)
        for index in range(last + 1):
            values = finite_values(self.solver, self.value(index))
            if values is None:
                return None
            found.update(values)
        return list(found.values())

    # Derivatives.

    def options(self, index: int, formula: Formula) -> list[tuple[Conjunction, Formula]]:
        """Return the derivatives of a formula by the item at an index: its value, and the formula that remains."""
        if self.max_items is not None and index >= self.max_items:
            return []
        key = (min(index, self.uniform_from), formula)
        found = self._options.get(key)
        if found is None:
            nothing = self.solver.document.nothing
            derived = [(self.value(index, more), left) for more, left in self._derive(formula, self.schemas_at(index))]
            found = [(value, left) for value, left in derived if value is not nothing and left is not FALSE]
            self._options[key] = found
        return found

    def _derive(self, formula: Formula, known: tuple[SignedSchema, ...]) -> list[Option]:
        if isinstance(formula, And):
            options: list[Option] = [((), TRUE)]
            for part in formula.parts:
                options = self._merged(
                    [
                        ((*schemas, *more), self.solver.algebra.conjunction((left, right)))
                        for schemas, left in options
                        for more, right in self._derive(part, known)
                    ]
                )
            return options
        if isinstance(formula, Combination):
            return self._merged([option for part in formula.parts for option in self._derive(part, known)])
        return self._derive_atom(formula, known)

    def _derive_atom(self, formula: Formula, known: tuple[SignedSchema, ...]) -> list[Option]:
        algebra = self.solver.algebra
        if not isinstance(formula, (ItemAt, ItemsFrom, ContainsAtLeast, ContainsAtMost)):
            return self._derive_size(formula)
        schema = formula.schema
        if formula.start > 0:
            return [((), self._moved(formula))]
        counts = isinstance(formula, (ContainsAtLeast, ContainsAtMost))
        valid: Formula = formula
        if isinstance(formula, ItemAt):
            valid = TRUE
        elif isinstance(formula, ContainsAtLeast):
            valid = algebra.contains_at_least(0, schema, formula.count - 1)
        elif isinstance(formula, ContainsAtMost):
            valid = algebra.contains_at_most(0, schema, formula.count - 1)
        invalid = formula if counts else FALSE
        verdict = self.solver.implies(known, schema)
        if verdict is not None:
            return [((), valid if verdict else invalid)]
        found: list[Option] = [((schema,), valid)]
        if isinstance(formula, ContainsAtLeast):
            # The item need not be invalid: that it counts is the other option.
            found.append(((), invalid))
        elif isinstance(formula, ContainsAtMost):
            found.append(((algebra.opposite(schema),), invalid))
        return found

    def _moved(self, formula: ItemAt | ItemsFrom | ContainsAtLeast | ContainsAtMost) -> Formula:
        """Return a formula about later items, as seen from the next item."""
        algebra, start, schema = self.solver.algebra, formula.start - 1, formula.schema
        if isinstance(formula, ItemAt):
            return algebra.item(start, schema)
        if isinstance(formula, ItemsFrom):
            return algebra.items_from(start, schema)
        if isinstance(formula, ContainsAtLeast):
            return algebra.contains_at_least(start, schema, formula.count)
        return algebra.contains_at_most(start, schema, formula.count)

    def _derive_size(self, formula: Formula) -> list[Option]:
        algebra = self.solver.algebra
        if isinstance(formula, MinSize):
            return [((), algebra.at_least(formula.count - 1))]
        if isinstance(formula, MaxSize):
            return [((), algebra.at_most(formula.count - 1))] if formula.count > 0 else []
        return [] if formula is FALSE else [((), formula)]

    def _merged(self, options: list[Option]) -> list[Option]:
        """Merge options with the same schemas; leave out those that no value satisfies."""
        if len(options) < 2:
            return options
        solver = self.solver
        found: dict[frozenset[SignedSchema], tuple[tuple[SignedSchema, ...], list[Formula]]] = {}
        for schemas, left in options:
            if left is not FALSE:
                found.setdefault(frozenset(schemas), (tuple(dict.fromkeys(schemas)), []))[1].append(left)
        merged = [
            (schemas, solver.algebra.disjunction(lefts))
            for schemas, lefts in found.values()
            if len(schemas) < 2 or solver.values(list(schemas)) is not solver.document.nothing
        ]
        if len(merged) > _MAX_OPTIONS:
            raise LimitError(
                f"one item is subject to over {_MAX_OPTIONS} combinations of schemas; simplify contains, anyOf and not",
                subject="combinations",
                limit=_MAX_OPTIONS,
                given=len(merged),
            )
        return merged

    def may_end(self, index: int, formula: Formula) -> bool:
        """Whether the array may end after `index` items with a residual."""
        return index >= self.min_items and self._is_complete(formula)

    def _is_complete(self, formula: Formula) -> bool:
        if isinstance(formula, Combination):
            return (all if isinstance(formula, And) else any)(self._is_complete(part) for part in formula.parts)
        return formula is not FALSE and not isinstance(formula, (MinSize, ContainsAtLeast))


def _permits(formula: Formula, size: int) -> bool:
    """Whether a formula of sizes holds for one size."""
    if isinstance(formula, Combination):
        return (all if isinstance(formula, And) else any)(_permits(part, size) for part in formula.parts)
    if isinstance(formula, MinSize):
        return size >= formula.count
    if isinstance(formula, MaxSize):
        return size <= formula.count
    return formula is TRUE

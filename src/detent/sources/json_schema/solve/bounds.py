"""Bounds: necessary conditions of a conjunction of schemas, read off without expanding its disjunctions.

For example, `{"type": "string", "minLength": 3}` with any `anyOf` implies three characters at least.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any, TypeAlias

from detent.sources.json_schema.assertions.assertions import AnyOf, Assertions, Disjunction, OneOf
from detent.sources.json_schema.assertions.document import SchemaDocument
from detent.sources.json_schema.assertions.formulas import (
    EveryMember,
    Formula,
    HasMember,
    LacksMember,
    MaximumTest,
    MaxLengthTest,
    MaxSize,
    MemberValue,
    MinimumTest,
    MinLengthTest,
    MinSize,
    PatternTest,
)
from detent.sources.json_schema.parse.schema_node import NegatedSchema, SignedSchema
from detent.sources.json_schema.parse.values import ARRAY, EVERY_KIND, NUMBER, OBJECT, STRING
from detent.sources.json_schema.solve.string_sets import has_name, string_set

__all__ = ["Bounds"]

_MAX_SCHEMAS = 50
_MAX_CASES = 8
_LOWER = (MinimumTest, MinLengthTest, MinSize)
_UPPER = (MaximumTest, MaxLengthTest, MaxSize)
_Bound: TypeAlias = tuple[Decimal, int]
"""A value, and 1 above or -1 below it where the value itself is excluded, else 0."""


class Bounds:
    """Necessary conditions of a conjunction of schemas, found without search.

    `kinds` and `required` are what holds beside them: the kinds of values, and members that an object has.
    """

    def __init__(
        self,
        document: SchemaDocument,
        schemas: Sequence[SignedSchema],
        kinds: int = EVERY_KIND,
        required: Iterable[str] = (),
    ) -> None:
        self._document, self._schemas, self._context = document, schemas, (kinds, required)
        self.choices: tuple[SignedSchema | None, ...] = (None,)
        """The schemas of an anyOf or oneOf of few, of which one holds; None alone where there is none."""
        self._cases: list[Bounds] | None = None
        self.kinds = kinds
        self.allowed: Mapping[Any, Any] | None = None
        self.denied: set[Any] = set()
        """Values that `not` excludes, by comparison key."""
        self.required = set(required)
        self.forbidden: set[str] = set()
        self._values: dict[str, list[SignedSchema]] = {}
        self.lower: dict[int, _Bound] = {}
        """The lower bounds of numbers, or of lengths, by kind."""
        self.upper: dict[int, _Bound] = {}
        self._every: list[EveryMember] = []
        self._patterns: list[PatternTest] = []
        seen: dict[SignedSchema, None] = dict.fromkeys(schemas)
        work = list(schemas)
        while work and len(seen) <= _MAX_SCHEMAS:
            schema = work.pop()
            if isinstance(schema, NegatedSchema):
                self._deny(document, schema)
                continue
            assertions = document.assertions(schema)
            self.kinds &= assertions.kinds
            self._allow(assertions.allowed)
            for formula in assertions.object:
                self._add_object_formula(formula)
            for kind, formulas in (
                (NUMBER, assertions.number),
                (STRING, assertions.string),
                (ARRAY, assertions.array),
            ):
                for formula in formulas:
                    self._add_bound(kind, formula)
            self._patterns += [test for test in assertions.string if isinstance(test, PatternTest)]
            self._add_choices(assertions.disjunctions)
            for inner in assertions.in_place:
                if inner not in seen:
                    seen[inner] = None
                    work.append(inner)
        if self.allowed and self._patterns:
            self.allowed = {key: value for key, value in self.allowed.items() if self._matches(document, value)}

    def cases(self) -> list[Bounds]:
        """Return the bounds of the choices, of which one holds."""
        if self._cases is None:
            self._cases = [
                self if choice is None else Bounds(self._document, [*self._schemas, choice], *self._context)
                for choice in self.choices
            ]
        return self._cases

    def forbids(self, name: str) -> bool:
        """Whether no object has a member of that name."""
        return name in self.forbidden or self._document.never in self.schemas_of(name)

    def schemas_of(self, name: str) -> list[SignedSchema]:
        """Return the schemas of a member: those of its name, and those of the sets of names that have it."""
        more = [one.schema for one in self._every if has_name(self._document, one.names, name)]
        return [*self._values.get(name, ()), *more]

    def excludes_range(self, other: Bounds, kind: int) -> bool:
        """Whether the ranges of numbers, or of lengths, of both are disjoint."""
        lower = [bounds.lower[kind] for bounds in (self, other) if kind in bounds.lower]
        upper = [bounds.upper[kind] for bounds in (self, other) if kind in bounds.upper]
        return bool(lower and upper) and max(lower) > min(upper)

    def _add_choices(self, disjunctions: Sequence[Disjunction]) -> None:
        for one in disjunctions:
            if isinstance(one, (AnyOf, OneOf)) and len(self.choices) < len(one.schemas) <= _MAX_CASES:
                self.choices = one.schemas

    def _matches(self, document: SchemaDocument, value: Any) -> bool:
        """Whether a value is no string, or one that all patterns match."""
        return not isinstance(value, str) or all(string_set(document, test).accepts(value) for test in self._patterns)

    def _allow(self, allowed: Mapping[Any, Any] | None) -> None:
        if allowed is not None:
            known = self.allowed
            self.allowed = allowed if known is None else {key: known[key] for key in known if key in allowed}

    def _deny(self, document: SchemaDocument, negation: NegatedSchema) -> None:
        """Add the negation of a schema. Where it is an anyOf alone, none of its schemas holds."""
        seen: dict[SignedSchema, None] = {negation.node: None}
        work: list[SignedSchema] = [negation.node]
        while work and len(seen) <= _MAX_SCHEMAS:
            schema = work.pop()
            if isinstance(schema, NegatedSchema):
                continue
            assertions = document.assertions(schema)
            schemas = _schemas_of_any(assertions)
            if schemas is None:
                self._deny_one(assertions)
                continue
            work += [one for one in schemas if one not in seen]
            seen.update(dict.fromkeys(schemas))

    def _deny_one(self, inner: Assertions) -> None:
        """Add the negation of assertions about kinds alone, listed values alone, or one required member alone."""
        if inner.in_place or inner.disjunctions or inner.number or inner.string or inner.array:
            return
        if inner.allowed is not None:
            self.denied.update(() if inner.object else inner.allowed)
            return
        if inner.kinds & OBJECT and len(inner.object) == 1:
            formula = inner.object[0]
            if isinstance(formula, HasMember) and self.kinds & ~inner.kinds == 0:
                self.forbidden.add(formula.name)
        elif not inner.object:
            self.kinds &= ~inner.kinds

    def _add_object_formula(self, formula: Formula) -> None:
        if isinstance(formula, HasMember):
            self.required.add(formula.name)
        elif isinstance(formula, LacksMember):
            self.forbidden.add(formula.name)
        elif isinstance(formula, MemberValue):
            self._values.setdefault(formula.name, []).append(formula.schema)
        elif isinstance(formula, EveryMember):
            self._every.append(formula)
        elif isinstance(formula, (MinSize, MaxSize)):
            self._add_bound(OBJECT, formula)

    def _add_bound(self, kind: int, formula: Formula) -> None:
        if isinstance(formula, (MinSize, MaxSize)):
            value, holds = Decimal(formula.count), True
        elif isinstance(formula, (MinimumTest, MaximumTest, MinLengthTest, MaxLengthTest)):
            value, holds = Decimal(formula.argument), formula.holds
        else:
            return
        # The negation of a lower bound is an exclusive upper bound, and the other way round.
        if isinstance(formula, _LOWER) == holds:
            bound = (value, 0 if holds else 1)
            self.lower[kind] = max(self.lower.get(kind, bound), bound)
        else:
            bound = (value, 0 if holds else -1)
            self.upper[kind] = min(self.upper.get(kind, bound), bound)


def _schemas_of_any(assertions: Assertions) -> Sequence[SignedSchema] | None:
    """Return the schemas of an anyOf, or of one `$ref` or allOf; None if there is another assertion beside."""
    if assertions._replace(disjunctions=()).has_local() or len(assertions.disjunctions) + len(assertions.in_place) != 1:
        return None
    if assertions.in_place:
        return assertions.in_place
    disjunction = assertions.disjunctions[0]
    return disjunction.schemas if isinstance(disjunction, AnyOf) else None

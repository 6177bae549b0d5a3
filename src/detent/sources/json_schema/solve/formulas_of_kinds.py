"""The assertions of conjuncts about one kind of value, as a formula; schemas in place are followed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from detent.sources.json_schema.assertions.assertions import Assertions, Conjunct, Disjunction
from detent.sources.json_schema.assertions.diagnostics import self_reference
from detent.sources.json_schema.assertions.document import SchemaDocument
from detent.sources.json_schema.assertions.formulas import (
    FALSE,
    TRUE,
    And,
    Combination,
    Formula,
    IntegerTest,
    ScalarTest,
    ValueTest,
)
from detent.sources.json_schema.parse.schema_node import LocalAssertions, NegatedSchema, SchemaNode
from detent.sources.json_schema.parse.values import (
    ARRAY,
    BOOLEAN,
    FRACTION,
    INTEGER,
    NULL,
    NUMBER,
    OBJECT,
    STRING,
)
from detent.sources.json_schema.solve.merged import MergedAssertions

__all__ = ["FormulasOfKinds"]


class FormulasOfKinds:
    """The formulas of one document's conjuncts by kind of value, each made once."""

    def __init__(
        self,
        document: SchemaDocument,
        alternatives: Callable[[Disjunction, int, frozenset[str]], list[tuple[Conjunct, ...]]],
    ) -> None:
        self._document = document
        self._algebra = document.algebra
        self._alternatives = alternatives
        self._known: dict[tuple[int, frozenset[str]], dict[Conjunct, Formula]] = {}
        """The formulas by kind, and by the members that are required beside them."""

    def about(self, merged: MergedAssertions, kind: int) -> list[Formula] | None:
        """Return the formulas that all hold for a kind of value, none a conjunction; None if one is false."""
        formulas = list(merged.about(kind))
        required = merged.required if kind == OBJECT else frozenset[str]()
        for negation in merged.negations:
            formulas.append(self.of(negation, kind, required))
        for disjunction in merged.disjunctions:
            if disjunction.kinds & kind:
                formulas.append(self.of(disjunction, kind, required))
        if merged.allowed is not None and kind & (ARRAY | OBJECT):
            formulas.append(self._one_of_containers(merged.allowed, kind, merged.node))
        found: list[Formula] = []
        for formula in formulas:
            if formula is FALSE:
                return None
            if isinstance(formula, And):
                found.extend(formula.parts)
            elif formula is not TRUE:
                found.append(formula)
        return found

    def about_scalar(self, merged: MergedAssertions, kind: int) -> Formula:
        """Return the formula of all conditions on the numbers, or on the strings, of a conjunction."""
        formulas = self.about(merged, kind)
        if formulas is None:
            return FALSE
        if merged.allowed is not None:
            formulas.append(self._one_of_scalars(merged.allowed, kind))
        if kind == NUMBER and merged.kinds & NUMBER in (INTEGER, FRACTION):
            formulas.append(self._algebra.atom(IntegerTest, None, bool(merged.kinds & INTEGER)))
        return self._algebra.conjunction(formulas)

    def allows(self, merged: MergedAssertions, kind: int, key: Any) -> bool:
        """Whether a conjunction allows null or a boolean, given by its comparison key."""
        if merged.allowed is not None and key not in merged.allowed:
            return False
        formulas = self.about(merged, kind)
        return formulas is not None and all(_holds(formula, key) for formula in formulas)

    def of(self, conjunct: Conjunct, kind: int, required: frozenset[str] = frozenset()) -> Formula:
        """Return the formula of a conjunct beside which some members are required, on an explicit stack."""
        known = self._known.setdefault((kind, required), {})
        active: set[Conjunct] = set()
        stack = [conjunct]
        while stack:
            top = stack[-1]
            if top in known:
                stack.pop()
                continue
            missing = [inner for inner in self._operands(top, kind, required) if inner not in known]
            if missing:
                if top in active:
                    raise self_reference(next(one for one in stack if isinstance(one, SchemaNode)))
                active.add(top)
                stack.extend(missing)
                continue
            known[top] = self._combined(top, kind, required)
            stack.pop()
        return known[conjunct]

    def _operands(self, conjunct: Conjunct, kind: int, required: frozenset[str]) -> list[Conjunct]:
        """Return the conjuncts whose formulas are operands of a conjunct's formula."""
        if isinstance(conjunct, Formula):
            return []
        if isinstance(conjunct, NegatedSchema):
            return [conjunct.node]
        if isinstance(conjunct, (SchemaNode, LocalAssertions)):
            is_local = isinstance(conjunct, LocalAssertions)
            assertions = self._document.assertions(conjunct.node if isinstance(conjunct, LocalAssertions) else conjunct)
            if is_local or not assertions.kinds & kind:
                return []
            return [*assertions.in_place, *(one for one in assertions.disjunctions if one.kinds & kind)]
        return [inner for conjuncts in self._alternatives(conjunct, kind, required) for inner in conjuncts]

    def _combined(self, conjunct: Conjunct, kind: int, required: frozenset[str]) -> Formula:
        algebra, known = self._algebra, self._known[kind, required]
        if isinstance(conjunct, Formula):
            return conjunct
        if isinstance(conjunct, NegatedSchema):
            return algebra.negate(known[conjunct.node])
        if isinstance(conjunct, LocalAssertions):
            assertions = self._document.assertions(conjunct.node)
            return self._of_assertions(assertions, kind, conjunct.node, [])
        if isinstance(conjunct, SchemaNode):
            inner = [known[one] for one in self._operands(conjunct, kind, required)]
            return self._of_assertions(self._document.assertions(conjunct), kind, conjunct, inner)
        return algebra.disjunction(
            algebra.conjunction(known[inner] for inner in conjuncts)
            for conjuncts in self._alternatives(conjunct, kind, required)
        )

    def _of_assertions(self, assertions: Assertions, kind: int, node: SchemaNode, inner: list[Formula]) -> Formula:
        algebra = self._algebra
        kinds = assertions.kinds & kind
        if not kinds:
            return FALSE
        parts: list[Formula] = []
        if kind == NUMBER and kinds != NUMBER:
            parts.append(algebra.atom(IntegerTest, None, kinds == INTEGER))
        if assertions.allowed is not None:
            is_scalar = kind not in (ARRAY, OBJECT)
            allowed = assertions.allowed
            parts.append(
                self._one_of_scalars(allowed, kind) if is_scalar else self._one_of_containers(allowed, kind, node)
            )
        if kind == NUMBER:
            parts.extend(assertions.number)
        elif kind == STRING:
            parts.extend(assertions.string)
        elif kind == ARRAY:
            parts.extend(assertions.array)
        elif kind == OBJECT:
            parts.extend(assertions.object)
        return algebra.conjunction([*parts, *inner])

    def _one_of_containers(self, allowed: Mapping[Any, Any], kind: int, node: SchemaNode) -> Formula:
        """Return: the value is one of the listed arrays, or objects."""
        values = [value for value in allowed.values() if isinstance(value, list if kind == ARRAY else dict)]
        return self._algebra.disjunction([self.of(self._document.constant(value, node), kind) for value in values])

    def _one_of_scalars(self, allowed: Mapping[Any, Any], kind: int) -> Formula:
        """Return: the value is one of the listed scalars."""
        keys = frozenset(key for key, value in allowed.items() if _has_kind(value, kind))
        return self._algebra.atom(ValueTest, keys, True) if keys else FALSE


def _has_kind(value: Any, kind: int) -> bool:
    """Whether a value has a scalar kind; integers and fractions are one kind here."""
    if kind == STRING:
        return isinstance(value, str)
    if kind == BOOLEAN:
        return isinstance(value, bool)
    if kind == NULL:
        return value is None
    return not isinstance(value, (str, bool, list, dict)) and value is not None


def _holds(formula: Formula, key: Any) -> bool:
    """Whether a formula about null or booleans holds for a value."""
    if isinstance(formula, ScalarTest):
        return (key in formula.argument) is formula.holds
    if isinstance(formula, Combination):
        return (all if isinstance(formula, And) else any)(_holds(part, key) for part in formula.parts)
    return formula is TRUE

"""Solver: decisions about conjunctions of schemas, each made once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from detent.errors import LimitError
from detent.sources.json_schema.assertions.assertions import Conjunct, Conjunction, Disjunction, OneOf
from detent.sources.json_schema.assertions.document import SchemaDocument
from detent.sources.json_schema.assertions.formulas import Formula
from detent.sources.json_schema.assertions.property_names import (
    Criterion,
    MatchingNames,
    NameSet,
    OtherNames,
    ValidNames,
)
from detent.sources.json_schema.parse.schema_node import SchemaNode, SignedSchema
from detent.sources.json_schema.parse.values import EVERY_KIND, STRING
from detent.sources.json_schema.solve.alternatives import alternatives_of
from detent.sources.json_schema.solve.bounds import Bounds
from detent.sources.json_schema.solve.disjoint import are_disjoint, one_of_alternatives_beside
from detent.sources.json_schema.solve.formulas_of_kinds import FormulasOfKinds
from detent.sources.json_schema.solve.merged import MergedAssertions, merge
from detent.sources.json_schema.solve.string_sets import StringSet, matching_names, string_set

__all__ = ["Solver"]

_MAX_COMPARISONS = 50_000
"""Of the schemas of oneOf beside other conditions: some 0.5 s. Without them, an alternative contains negations."""

_MAX_COMPARED_CASES = 50_000
"""Of the schemas of members and items: some 0.5 s. Without them, fewer conditions are plain."""


class Solver:
    """Answers questions about the conjunctions of one document, and counts the work against a limit."""

    def __init__(self, document: SchemaDocument) -> None:
        self.document = document
        self.algebra = document.algebra
        self.formulas = FormulasOfKinds(document, self.alternatives)
        # Derivatives that object plans have in common: without a member of a name, and by a member.
        self.without_member: dict[tuple[Formula, str], Formula] = {}
        self.by_member: dict[Any, list[tuple[tuple[SignedSchema, ...], Formula]]] = {}
        self._merged: dict[Conjunction, MergedAssertions] = {}
        self._values: dict[tuple[SignedSchema, ...], Conjunction] = {}
        self._alternatives: dict[Disjunction, list[tuple[Conjunct, ...]]] = {}
        self._alternatives_beside: dict[tuple[OneOf, int, frozenset[str]], list[tuple[Conjunct, ...]]] = {}
        self._comparisons = 0
        """Of the schemas of oneOf beside other conditions."""
        self._compared_cases = 0
        """Of members and items."""
        self._bounds: dict[tuple[SignedSchema, ...], Bounds] = {}
        self._strings: dict[SignedSchema, StringSet] = {}
        self._members: dict[tuple[NameSet, str], bool] = {}
        self._implied: dict[tuple[tuple[SignedSchema, ...], SignedSchema], bool | None] = {}
        self.work_on_kinds = 0
        """Formulas that were derived by kinds of members."""
        self._work = 0

    def spend(self, amount: int) -> None:
        """Count states and branches.

        Raises
        ------
        LimitError
            There are more than `Limits.pattern_size`.
        """
        self._work += amount
        limit = self.document.limits.pattern_size
        if self._work > limit:
            raise LimitError(
                f"the schema's combinations need over {limit} states; simplify its oneOf, "
                "anyOf, not and counts, or raise Limits(pattern_size=...)",
                subject="pattern_size",
                limit=limit,
            )

    # Conjunctions.

    def merged(self, conjunction: Conjunction) -> MergedAssertions:
        """Return the merged assertions of a conjunction."""
        found = self._merged.get(conjunction)
        if found is None:
            found = self._merged[conjunction] = merge(self.document, conjunction.conjuncts)
        return found

    def alternatives(
        self, disjunction: Disjunction, kinds: int = EVERY_KIND, required: frozenset[str] = frozenset()
    ) -> list[tuple[Conjunct, ...]]:
        """Return the alternatives of a disjunction, for values of some kinds; an object has the `required` members.

        The schemas of a oneOf may exclude each other by a required member, though none of them requires it.
        """
        found = self._alternatives.get(disjunction)
        if found is None:
            found = self._alternatives[disjunction] = alternatives_of(self.document, disjunction)
        if not isinstance(disjunction, OneOf) or all(len(alternative) == 1 for alternative in found):
            return found
        key = (disjunction, kinds, required)
        beside = self._alternatives_beside.get(key)
        if beside is None:
            most_work = _MAX_COMPARISONS - self._comparisons
            beside, work = one_of_alternatives_beside(self.document, disjunction.schemas, kinds, required, most_work)
            self._comparisons += work
            beside = self._alternatives_beside[key] = found if beside is None else beside
        return beside

    def values(self, schemas: Sequence[SignedSchema]) -> Conjunction:
        """Return the conjunction of the schemas of a member or item; `document.nothing` if it is plainly empty."""
        key = tuple(schemas)
        found = self._values.get(key)
        if found is None:
            found = self.document.conjunction(schemas)
            if self.document.plain_schema(found) is None and self.merged(found).is_empty:
                found = self.document.nothing
            self._values[key] = found
        return found

    def implies(self, known: tuple[SignedSchema, ...], schema: SignedSchema) -> bool | None:
        """Whether all values of some schemas, or none, are valid against another; None if that is not plain."""
        key = (known, schema)
        if key in self._implied:
            return self._implied[key]
        opposite = self.algebra.opposite(schema)
        verdict: bool | None = None
        if schema in known or self.are_disjoint(known, (opposite,)):
            verdict = True
        elif opposite in known or self.are_disjoint(known, (schema,)):
            verdict = False
        self._implied[key] = verdict
        return verdict

    def are_disjoint(self, left: tuple[SignedSchema, ...], right: tuple[SignedSchema, ...]) -> bool:
        """Whether plainly no value satisfies two conjunctions of schemas; by their cases, as long as these are few."""
        one, other = self._bounds_of(left), self._bounds_of(right)
        cases = len(one.choices) * len(other.choices)
        by_cases = self._compared_cases + cases <= _MAX_COMPARED_CASES
        if by_cases and cases > 1:
            self._compared_cases += cases
        return are_disjoint(self.document, one, other, by_cases=by_cases)

    def _bounds_of(self, schemas: tuple[SignedSchema, ...]) -> Bounds:
        found = self._bounds.get(schemas)
        if found is None:
            found = self._bounds[schemas] = Bounds(self.document, schemas)
        return found

    # Strings and names.

    def strings(self, schema: SignedSchema) -> StringSet:
        """Return the strings that are valid against a schema."""
        found = self._strings.get(schema)
        if found is None:
            found = self._strings[schema] = string_set(self.document, self.formulas.of(schema, STRING))
        return found

    def matching(self, pattern: str) -> StringSet:
        """Return the names that a pattern of patternProperties matches."""
        return matching_names(self.document, pattern)

    def satisfying(self, criterion: Criterion) -> StringSet:
        """Return the names for which a criterion holds."""
        return self.matching(criterion) if isinstance(criterion, str) else self.strings(criterion)

    def failing(self, criterion: Criterion) -> StringSet:
        """Return the names for which a criterion does not hold. Those of a schema keep its lengths."""
        if isinstance(criterion, str):
            return self.matching(criterion).complement()
        return self.strings(self.algebra.opposite(criterion))

    def is_in(self, names: NameSet, name: str) -> bool:
        """Whether a name is in a set of names."""
        if isinstance(names, OtherNames) and (name in names.declared or not names.patterns):
            return name not in names.declared
        found = self._members.get((names, name))
        if found is None:
            found = self._members[names, name] = self._is_in(names, name)
        return found

    def _is_in(self, names: NameSet, name: str) -> bool:
        if isinstance(names, ValidNames):
            return self.strings(names.schema).accepts(name)
        if isinstance(names, MatchingNames):
            return self.matching(names.pattern).accepts(name)
        # The names of a class occur in derivatives by free members only, never beside declared names.
        patterns = names.patterns if isinstance(names, OtherNames) else ()
        return not any(self.matching(pattern).accepts(name) for pattern in patterns)

    # Messages.

    def refuse(self, conjunction: Conjunction, keyword: str, reason: str, remedy: str) -> None:
        """Refuse a keyword of a conjunction, or drop it in lenient mode."""
        self.document.diagnostics.refuse(self.merged(conjunction).node, keyword, reason, remedy)

    def first_node(self, target: object) -> SchemaNode:
        """Return a node of a conjunction, for messages; the root for any other object."""
        conjuncts = target.conjuncts if isinstance(target, Conjunction) else ()
        return next((conjunct for conjunct in conjuncts if isinstance(conjunct, SchemaNode)), self.document.root)

"""Members in any order: the residual of an object plan as a union of sets of members."""

from __future__ import annotations

from dataclasses import dataclass

from detent.errors import LimitError
from detent.sources.json_schema.assertions.formulas import (
    FALSE,
    TRUE,
    And,
    Combination,
    Formula,
    HasMember,
    MemberValue,
    SomeMember,
)
from detent.sources.json_schema.solve.object_plan import ObjectPlan

__all__ = ["HasFreeMember", "atoms_of", "member_sets"]

_MAX_TERMS = 256


@dataclass(frozen=True, eq=False, slots=True)
class HasFreeMember(Formula):
    """There is a free member whose name is in the class at `index` in `ObjectPlan.free`."""

    index: int


def atoms_of(term: Formula) -> tuple[Formula, ...]:
    """Return the atoms of a conjunction of atoms."""
    return term.parts if isinstance(term, And) else (term,)


def member_sets(plan: ObjectPlan) -> list[Formula]:
    """Return the residual's disjunctive normal form, without contradictory terms and without `SomeMember`."""
    return _terms(plan, plan.residual)


def _terms(plan: ObjectPlan, formula: Formula) -> list[Formula]:
    algebra = plan.solver.algebra
    if isinstance(formula, SomeMember):
        return _terms_of_some(plan, formula)
    if not isinstance(formula, Combination):
        return [] if formula is FALSE else [formula]
    if not isinstance(formula, And):
        return _checked([term for part in formula.parts for term in _terms(plan, part)])
    terms: list[Formula] = [TRUE]
    # Short alternatives first: they decide parts of the long ones.
    for options in sorted((_terms(plan, part) for part in formula.parts), key=len):
        combined = [algebra.conjunction((term, option)) for term in terms for option in options]
        terms = _checked([term for term in dict.fromkeys(combined) if _is_consistent(plan, term)])
        plan.solver.spend(len(combined))
    return terms


def _terms_of_some(plan: ObjectPlan, formula: SomeMember) -> list[Formula]:
    algebra, names, schema = plan.solver.algebra, formula.names, formula.schema
    terms: list[Formula] = [
        algebra.conjunction((algebra.has(name), algebra.value(name, schema)))
        for name in plan.order
        if plan.solver.is_in(names, name)
    ]
    indexes = [index for index, free in enumerate(plan.free) if free.name_class.is_within(names)]
    if indexes and schema is not plan.solver.document.always:
        plan.refuse_some("members come in any order, and a text may have the same name twice")
        return [TRUE]
    return [*terms, *(algebra.atom(HasFreeMember, index) for index in indexes)]


def _is_consistent(plan: ObjectPlan, term: Formula) -> bool:
    """Whether no required member of a term is plainly impossible."""
    if term is FALSE:
        return False
    atoms = atoms_of(term)
    names = [atom.name for atom in atoms if isinstance(atom, (HasMember, MemberValue))]
    required = {atom.name for atom in atoms if isinstance(atom, HasMember)}.union(plan.required)
    for name in dict.fromkeys(names):
        if name in required:
            schemas = [atom.schema for atom in atoms if isinstance(atom, MemberValue) and atom.name == name]
            if plan.solver.values([*plan.schemas_of(name), *schemas]) is plan.solver.document.nothing:
                return False
    return True


def _checked(terms: list[Formula]) -> list[Formula]:
    if len(terms) > _MAX_TERMS:
        raise LimitError(
            f"with members in any order, the schema's alternatives combine in over {_MAX_TERMS} ways; "
            'simplify anyOf, oneOf and not, or write order="schema"',
            subject="combinations",
            limit=_MAX_TERMS,
            given=len(terms),
        )
    return terms

"""Members in any order: the residual of an object plan as a union of sets of members.

A conjunction of alternatives is multiplied out. Where this gives too many sets, cases are distinguished one atom at a
time (Shannon 1949): a member is there or not, its value is valid or not. Each case decides all atoms that follow from
it at once, so that the alternatives of a oneOf with a discriminator are one case each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from detent.errors import LimitError
from detent.sources.json_schema.assertions.formulas import (
    FALSE,
    TRUE,
    And,
    Combination,
    Formula,
    HasMember,
    LacksMember,
    MemberValue,
    SomeMember,
)
from detent.sources.json_schema.parse.schema_node import SignedSchema
from detent.sources.json_schema.solve.member_kinds import partition
from detent.sources.json_schema.solve.merged_terms import merged_terms
from detent.sources.json_schema.solve.object_plan import ObjectPlan

__all__ = ["HasFreeMember", "MemberSets", "atoms_of"]

_MAX_TERMS = 256
_MANY_TERMS = 1024
_FEWEST_TAGS = 3

_MemberAtom: TypeAlias = HasMember | LacksMember | MemberValue


@dataclass(frozen=True, eq=False, slots=True)
class HasFreeMember(Formula):
    """There is a free member whose name is in the class at `index` in `ObjectPlan.free`."""

    index: int


def atoms_of(term: Formula) -> tuple[Formula, ...]:
    """Return the atoms of a conjunction of atoms."""
    return term.parts if isinstance(term, And) else (term,)


class MemberSets:
    """The residual's disjunctive normal form, without contradictory terms and without `SomeMember`."""

    def __init__(self, plan: ObjectPlan) -> None:
        self._plan = plan
        self._cases = _Cases(plan)

    def few(self) -> list[Formula] | None:
        """Return the terms, by cases where multiplying out leads to too many; None if both do."""
        plan = self._plan
        try:
            return merged_terms(plan, _terms(plan, _Case(plan).decided(plan.residual)))
        except LimitError as error:
            if error.subject != "combinations":
                raise
        return self._by_cases(_MAX_TERMS)

    def many(self) -> list[Formula] | None:
        """Return up to 1,024 terms, by cases alone: for members of too many kinds."""
        return self._by_cases(_MANY_TERMS)

    def _by_cases(self, limit: int) -> list[Formula] | None:
        try:
            return merged_terms(self._plan, list(dict.fromkeys(self._cases.terms(limit))))
        except LimitError as error:
            if error.subject != "combinations":
                raise
        return None


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
        excluded = [(option, algebra.contradicting(atoms_of(option))) for option in options]
        consistent: dict[Formula, None] = {}
        for term in terms:
            atoms = frozenset(atoms_of(term))
            for option, contradicting in excluded:
                if not atoms.isdisjoint(contradicting):
                    continue
                both = algebra.conjunction((term, option))
                if both not in consistent and _is_consistent(plan, both, option):
                    consistent[both] = None
        combined = len(terms) * len(options)
        terms = _checked(_weakest(_checked(list(consistent), 2 * _MAX_TERMS)))
        plan.solver.spend(combined)
    return terms


def _weakest(terms: list[Formula]) -> list[Formula]:
    """Return the terms without those that imply another one."""
    # A weaker term has its first atom among those of the term, so that few terms are compared.
    by_first: dict[Formula, list[frozenset[Formula]]] = {}
    kept: set[Formula] = set()
    for term in sorted(terms, key=lambda term: len(atoms_of(term))):
        if term is TRUE:
            return [TRUE]
        first = atoms_of(term)[0]
        atoms = frozenset(atoms_of(term))
        if not any(weaker <= atoms for atom in atoms if atom in by_first for weaker in by_first[atom]):
            by_first.setdefault(first, []).append(atoms)
            kept.add(term)
    return [term for term in terms if term in kept]


def _terms_of_some(plan: ObjectPlan, formula: SomeMember) -> list[Formula]:
    algebra, names, schema = plan.solver.algebra, formula.names, formula.schema
    terms: list[Formula] = [
        algebra.conjunction((algebra.has(name), algebra.value(name, schema)))
        for name in plan.order
        if plan.solver.is_in(names, name)
    ]
    classes = [(index, free.name_class) for index, free in enumerate(plan.free) if free.name_class.is_within(names)]
    verdicts = {index: plan.is_witness(formula, name_class) for index, name_class in classes}
    indexes = [index for index, verdict in verdicts.items() if verdict is not False]
    if None in verdicts.values():
        plan.refuse_some("members come in any order, and a text may have the same name twice")
        return [TRUE]
    return [*terms, *(algebra.atom(HasFreeMember, index) for index in indexes)]


class _Case:
    """What is known of the members: whether each is there, and which schemas its value satisfies."""

    def __init__(self, plan: ObjectPlan) -> None:
        self.plan = plan
        self.is_present: dict[str, bool] = dict.fromkeys(plan.required, True)
        self.schemas: dict[str, tuple[SignedSchema, ...]] = {}
        self._decided: dict[Formula, Formula] = {}

    def with_values(self, name: str, schemas: Sequence[SignedSchema]) -> _Case:
        """Return the case where the value of a member is valid against more schemas."""
        case = _Case(self.plan)
        case.is_present = self.is_present
        case.schemas = self.schemas | {name: (*self.schemas.get(name, ()), *schemas)}
        return case

    def with_member(self, name: str, is_present: bool | None, schema: SignedSchema | None = None) -> _Case | None:
        """Return the case where more is known of a member; None where no value is left for it."""
        case = _Case(self.plan)
        case.is_present, case.schemas = dict(self.is_present), dict(self.schemas)
        if is_present is not None:
            case.is_present[name] = is_present
        if schema is not None:
            case.schemas[name] = (*case.schemas.get(name, ()), schema)
        solver = self.plan.solver
        if case.is_present.get(name) and solver.values(case.known(name)) is solver.document.nothing:
            return None
        return case

    def known(self, name: str) -> list[SignedSchema]:
        """Return the schemas that the value of a member is valid against."""
        return [*self.plan.schemas_of(name), *self.schemas.get(name, ())]

    def decided(self, formula: Formula) -> Formula:
        """Return a formula without the atoms that this case decides. Nothing may be added to the case after this."""
        known = self._decided.get(formula)
        if known is None:
            if isinstance(formula, Combination):
                algebra = self.plan.solver.algebra
                combine = algebra.conjunction if isinstance(formula, And) else algebra.disjunction
                known = combine(self.decided(part) for part in formula.parts)
            else:
                known = self._decided_atom(formula)
            self._decided[formula] = known
        return known

    def _decided_atom(self, formula: Formula) -> Formula:
        if not isinstance(formula, (HasMember, LacksMember, MemberValue)):
            return formula
        is_present = self.is_present.get(formula.name)
        if not isinstance(formula, MemberValue):
            if is_present is None:
                return formula
            return TRUE if is_present == isinstance(formula, HasMember) else FALSE
        if is_present is False:
            return TRUE
        verdict = self.plan.solver.implies(tuple(self.known(formula.name)), formula.schema)
        if verdict:
            return TRUE
        return FALSE if verdict is False and is_present else formula

    def atoms(self) -> Iterator[Formula]:
        """Yield the atoms that hold in this case."""
        algebra = self.plan.solver.algebra
        for name, is_present in self.is_present.items():
            if name not in self.plan.required:
                yield algebra.has(name) if is_present else algebra.lacks(name)
        for name, schemas in self.schemas.items():
            if self.is_present.get(name, True):
                yield from (algebra.value(name, schema) for schema in schemas)


class _Cases:
    """Finds the cases in which the residual of a plan holds."""

    def __init__(self, plan: ObjectPlan) -> None:
        self.plan = plan
        self._found: list[Formula] = []
        self._pending: list[tuple[_Case, Formula]] | None = None

    def terms(self, limit: int) -> list[Formula]:
        """Return one conjunction of atoms for each case; a later call with a higher limit continues."""
        algebra = self.plan.solver.algebra
        found, pending = self._found, self._pending
        if pending is None:
            first = _Case(self.plan)
            pending = self._pending = [(first, first.decided(self._expanded(self.plan.residual)))]
        while pending:
            case, formula = pending[-1]
            self.plan.solver.spend(1)
            counts = _choices(formula)
            atom = counts.most_common(1)[0][0] if counts else None
            if atom is None:
                terms = [algebra.conjunction((*case.atoms(), term)) for term in _terms(self.plan, formula)]
                found += [term for term in terms if _is_consistent(self.plan, term, term)]
                pending.pop()
                _checked(found, limit)
                continue
            pending.pop()
            for narrower in self._split(case, atom, counts):
                left = narrower.decided(formula)
                if left is not FALSE:
                    pending.append((narrower, left))
        return found

    def _expanded(self, formula: Formula) -> Formula:
        """Replace "some member" by the members that it may be."""
        algebra = self.plan.solver.algebra
        if isinstance(formula, Combination):
            combine = algebra.conjunction if isinstance(formula, And) else algebra.disjunction
            return combine([self._expanded(part) for part in formula.parts])
        return algebra.disjunction(_terms_of_some(self.plan, formula)) if isinstance(formula, SomeMember) else formula

    def _split(self, case: _Case, atom: _MemberAtom, atoms: Iterable[_MemberAtom]) -> list[_Case]:
        """Return cases for each tag of a discriminator, if there is one; otherwise two cases, which decide an atom."""
        tags = self._tags(case, atoms)
        if tags is not None:
            return tags
        if isinstance(atom, MemberValue):
            opposite = self.plan.solver.algebra.opposite(atom.schema)
            cases = [case.with_member(atom.name, None, atom.schema), case.with_member(atom.name, True, opposite)]
        else:
            cases = [case.with_member(atom.name, True), case.with_member(atom.name, False)]
        return [one for one in cases if one is not None]

    def _tags(self, case: _Case, atoms: Iterable[_MemberAtom]) -> list[_Case] | None:
        """Return a case for each tag of the present member that most atoms are about, if it has tags."""
        schemas: dict[str, list[SignedSchema]] = {}
        for atom in atoms:
            if isinstance(atom, MemberValue) and case.is_present.get(atom.name):
                schemas.setdefault(atom.name, []).append(atom.schema)
        name = max(schemas, key=lambda name: len(schemas[name]), default=None)
        if name is None or len(schemas[name]) < _FEWEST_TAGS:
            return None
        known = case.known(name)
        most = len(schemas[name]) + 1
        parts = partition(self.plan, known, schemas[name], most)
        if len(parts) > most:
            return None
        return [case.with_values(name, values[len(known) :]) for values, _ in parts]


def _choices(formula: Formula) -> Counter[_MemberAtom]:
    """Count the alternatives that have an atom about one member; none of them in a conjunction of atoms."""
    counts: Counter[_MemberAtom] = Counter()
    pending = [(formula, False)]
    while pending:
        part, is_choice = pending.pop()
        if isinstance(part, Combination):
            is_choice = is_choice or not isinstance(part, And)
            pending += [(one, is_choice) for one in part.parts]
        elif is_choice and isinstance(part, (HasMember, LacksMember, MemberValue)):
            counts[part] += 1
    return counts


def _is_consistent(plan: ObjectPlan, term: Formula, added: Formula) -> bool:
    """Whether no required member that an added part of a term is about is plainly impossible."""
    if term is FALSE:
        return False
    names = {atom.name for atom in atoms_of(added) if isinstance(atom, (HasMember, MemberValue))}
    schemas: dict[str, list[SignedSchema]] = {}
    required: set[str] = set()
    for atom in atoms_of(term):
        if not isinstance(atom, (HasMember, MemberValue)) or atom.name not in names:
            continue
        if isinstance(atom, HasMember):
            required.add(atom.name)
            schemas.setdefault(atom.name, [])
        else:
            schemas.setdefault(atom.name, []).append(atom.schema)
    return not any(
        name in required or name in plan.required
        for name, values in schemas.items()
        if plan.solver.values([*plan.schemas_of(name), *values]) is plan.solver.document.nothing
    )


def _checked(terms: list[Formula], limit: int = _MAX_TERMS) -> list[Formula]:
    if len(terms) > limit:
        raise LimitError(
            f"with members in any order, the schema's alternatives combine in over {limit:,} ways; "
            'simplify anyOf, oneOf and not, or write order="schema"',
            subject="combinations",
            limit=limit,
            given=len(terms),
        )
    return terms

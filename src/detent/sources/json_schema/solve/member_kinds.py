"""Member kinds: the members that an object may have, each with the conditions of a formula that its value satisfies.

A formula about the members of an object speaks of their values by atoms. The values of one member are divided by these
atoms: a *kind* is a member with the atoms that its value satisfies. Whether the formula holds is then a question about
the sequence of kinds alone, so that alternatives need not be multiplied out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeAlias

from detent.errors import LimitError
from detent.sources.json_schema.assertions.assertions import Conjunction
from detent.sources.json_schema.assertions.formulas import (
    FALSE,
    TRUE,
    And,
    Combination,
    EveryMember,
    Formula,
    HasMember,
    LacksMember,
    MaxSize,
    MemberValue,
    MinSize,
    SomeMember,
)
from detent.sources.json_schema.assertions.property_names import NameSet
from detent.sources.json_schema.parse.schema_node import SignedSchema
from detent.sources.json_schema.solve.name_classes import FreeNames
from detent.sources.json_schema.solve.object_plan import ObjectPlan, Option

__all__ = ["MemberKind", "compares_names", "has_too_many_kinds", "member_kinds", "member_options", "partition"]

_MAX_KINDS = 256
"""The largest number of kinds that a list of the core can have."""
_MAX_LISTED_NAMES = 64
_MAX_PARTS = 1024
_MAX_WORK_ON_KINDS = 200_000

_Part: TypeAlias = tuple[list[SignedSchema], frozenset[SignedSchema]]
"""Schemas of values, and the atoms that all these values satisfy."""


class MemberKind(NamedTuple):
    """A declared member, or one of the class `free`; its value, and the schemas of atoms that the value satisfies."""

    name: str | None
    free: FreeNames | None
    value: Conjunction
    satisfied: frozenset[SignedSchema]

    def is_in(self, plan: ObjectPlan, names: NameSet) -> bool:
        """Whether the member's name is in a set of names."""
        if self.free is not None:
            return self.free.name_class.is_within(names)
        return self.name is not None and plan.solver.is_in(names, self.name)


def compares_names(plan: ObjectPlan, formula: Formula) -> bool:
    """Whether a formula asks for a free member of a certain value, or counts free members: then no name may repeat."""
    if isinstance(formula, Combination):
        return any(compares_names(plan, part) for part in formula.parts)
    if isinstance(formula, MinSize):
        return formula.count > 1 and bool(plan.free)
    if not isinstance(formula, SomeMember):
        return False
    classes = [free.name_class for free in plan.free if free.name_class.is_within(formula.names)]
    return any(plan.is_witness(formula, name_class) is None for name_class in classes)


def member_kinds(plan: ObjectPlan, formula: Formula, names: Iterable[str], *, lists_names: bool) -> list[MemberKind]:
    """Return the kinds of members: of the declared `names`, and of the free ones.

    With `lists_names`, a class of a few listed names has a kind for each of them.
    """
    found: list[MemberKind] = []

    def add(name: str | None, free: FreeNames | None, known: list[SignedSchema], atoms: list[SignedSchema]) -> None:
        for schemas, satisfied in _divided(plan, known, atoms):
            value = plan.solver.values(schemas)
            if value is not plan.solver.document.nothing:
                found.append(MemberKind(name, free, value, satisfied))
        if len(found) > _MAX_KINDS:
            raise LimitError(
                f"the members of an object have over {_MAX_KINDS} combinations of schemas; simplify anyOf, oneOf and "
                "not",
                subject="combinations",
                limit=_MAX_KINDS,
                given=len(found),
            )

    def atoms_of(is_in: Callable[[NameSet], bool], name: str | None) -> list[SignedSchema]:
        return list(dict.fromkeys(_schemas(formula, is_in, name)))

    for name in names:
        atoms = atoms_of(lambda each, name=name: plan.solver.is_in(each, name), name)  # type: ignore[misc]
        add(name, None, plan.schemas_of(name), atoms)
    for free in plan.free:
        known = plan.schemas_of_class(free.name_class)
        atoms = atoms_of(free.name_class.is_within, None)
        listed = free.strings.few(_MAX_LISTED_NAMES) if lists_names else None
        for listed_name in listed if listed is not None else [None]:
            add(listed_name, free, known, atoms)
    return found


def member_options(plan: ObjectPlan, formula: Formula, name: str, known: list[SignedSchema]) -> list[Option]:
    """Return the derivatives of a formula by a declared member, whose value is valid against the known schemas.

    Where its alternatives multiply out to too many, there is one derivative for each kind of the member. The values of
    a discriminator are as many kinds as it has tags. Later formulas of the plan are then not multiplied out by this
    member again (Github_ultra---o359: 65 attempts of 40 ms).
    """
    if name not in plan.divided_by_kinds:
        try:
            return plan.options(formula, name, known)
        except LimitError as error:
            if error.subject != "combinations":
                raise
        plan.divided_by_kinds.add(name)
    solver = plan.solver
    atoms = list(dict.fromkeys(_schemas(formula, lambda names: solver.is_in(names, name), name)))
    kinds = partition(plan, known, atoms, _MAX_PARTS)
    if len(kinds) > _MAX_PARTS:
        raise _too_many(name, f"has over {_MAX_PARTS:,} combinations of schemas", _MAX_PARTS, len(kinds))
    options: list[Option] = []
    for schemas, satisfied in kinds:
        derived: dict[Formula, Formula] = {}
        left = _after_kind(plan, formula, name, satisfied, derived)
        solver.work_on_kinds += len(derived)
        if solver.work_on_kinds > _MAX_WORK_ON_KINDS:
            what = f"leads to over {_MAX_WORK_ON_KINDS:,} formulas of other members"
            raise _too_many(name, what, _MAX_WORK_ON_KINDS, solver.work_on_kinds)
        if left is not FALSE:
            options.append((tuple(schemas), left))
    return options


def _too_many(name: str, what: str, limit: int, given: int) -> LimitError:
    return LimitError(
        f"the value of member {name!r:.60} {what}; simplify anyOf, oneOf and not",
        subject="combinations",
        limit=limit,
        given=given,
    )


def _after_kind(
    plan: ObjectPlan,
    formula: Formula,
    name: str,
    satisfied: frozenset[SignedSchema],
    derived: dict[Formula, Formula],
) -> Formula:
    """Return the derivative of a formula by a declared member whose value satisfies just these of the schemas."""
    known = derived.get(formula)
    if known is None:
        if isinstance(formula, Combination):
            algebra = plan.solver.algebra
            absorbing = FALSE if isinstance(formula, And) else TRUE
            changed: dict[Formula, Formula] = {}
            for part in algebra.parts_about(formula, name):
                changed[part] = _after_kind(plan, part, name, satisfied, derived)
                if changed[part] is absorbing:
                    break
            combine = algebra.conjunction if isinstance(formula, And) else algebra.disjunction
            if absorbing in changed.values():
                known = absorbing
            elif changed:
                known = combine(changed.get(part, part) for part in formula.parts)
            else:
                known = formula
        else:
            known = _atom_after_kind(plan, formula, name, satisfied)
        derived[formula] = known
    return known


def _atom_after_kind(plan: ObjectPlan, formula: Formula, name: str, satisfied: frozenset[SignedSchema]) -> Formula:
    algebra = plan.solver.algebra
    if isinstance(formula, MinSize):
        return algebra.at_least(formula.count - 1)
    if isinstance(formula, MaxSize):
        return algebra.at_most(formula.count - 1)
    if isinstance(formula, (EveryMember, SomeMember)):
        if not plan.solver.is_in(formula.names, name):
            return formula
        holds = formula.schema in satisfied
        return formula if holds == isinstance(formula, EveryMember) else TRUE if holds else FALSE
    if not isinstance(formula, (HasMember, LacksMember, MemberValue)) or formula.name != name:
        return formula
    holds = isinstance(formula, HasMember) or (isinstance(formula, MemberValue) and formula.schema in satisfied)
    return TRUE if holds else FALSE


def has_too_many_kinds(plan: ObjectPlan, formula: Formula, names: Iterable[str]) -> bool:
    """Whether the members have more kinds than a list can have."""
    try:
        member_kinds(plan, formula, names, lists_names=False)
    except LimitError as error:
        if error.subject != "combinations":
            raise
        return True
    return False


def _schemas(formula: Formula, is_in: Callable[[NameSet], bool], name: str | None) -> Iterable[SignedSchema]:
    """Yield the schemas of the atoms about the value of a member."""
    seen: set[Formula] = set()
    work = [formula]
    while work:
        part = work.pop()
        if part in seen:
            continue
        seen.add(part)
        if isinstance(part, Combination):
            work.extend(reversed(part.parts))
        elif isinstance(part, MemberValue):
            if part.name == name:
                yield part.schema
        elif isinstance(part, (EveryMember, SomeMember)) and is_in(part.names):
            yield part.schema


def _divided(plan: ObjectPlan, known: list[SignedSchema], atoms: list[SignedSchema]) -> list[_Part]:
    """Divide the values of known schemas by atoms: the schemas of each part, and the atoms that its values satisfy.

    An atom whose opposite is no atom divides nothing off: that it is not satisfied is of no use to a formula in which
    it occurs without negation.
    """
    return _divide(
        plan, known, atoms, {atom for atom in atoms if plan.solver.algebra.opposite(atom) in atoms}, _MAX_KINDS
    )


def partition(plan: ObjectPlan, known: list[SignedSchema], atoms: list[SignedSchema], most: int) -> list[_Part]:
    """Divide the values likewise, so that no two parts have a value in common; stop at more than `most` parts.

    Constants divide the values into one part for each of them and the rest.
    """
    return _divide(plan, known, atoms, set(atoms), most)


def _divide(
    plan: ObjectPlan, known: list[SignedSchema], atoms: list[SignedSchema], dividing: set[SignedSchema], most: int
) -> list[_Part]:
    solver, opposite = plan.solver, plan.solver.algebra.opposite
    always, nothing = solver.document.always, solver.document.nothing
    parts: list[_Part] = [(known, frozenset({always}))]
    done: set[SignedSchema] = {always}
    for atom in atoms:
        if atom in done:
            continue
        other = opposite(atom)
        has_other, is_divided = other in atoms, atom in dividing
        done.update((atom, other))
        found: list[_Part] = []
        for schemas, satisfied in parts:
            verdict = solver.implies(tuple(schemas), atom)
            if verdict is not False:
                found.append(([*schemas, atom] if verdict is None else schemas, satisfied | {atom}))
            if verdict is not True:
                with_other = satisfied | {other} if has_other else satisfied
                found.append(([*schemas, other] if verdict is None and is_divided else schemas, with_other))
        solver.spend(len(found))
        parts = [part for part in found if solver.values(part[0]) is not nothing]
        if len(parts) > most:
            break
    return parts

"""Object plan: the conditions on an object, sorted by member, and the residual formula.

Required names and the schemas of each member's value are read off. The rest is a *residual* formula (counts,
dependencies, alternatives, negations), in most schemas true. A walk goes along the declared names in order; its state
is the derivative of the residual by the members so far, so that thousands of combinations of optional members are a few
states. The names that no schema mentions come last: they are *free*.

A text may repeat a free name, and `json.loads` takes the last value. A condition on *every* member is exact in spite of
that. That *some* free member has a certain value is not, and is refused. Where different free names are counted, the
text repeats none (`emit.counted_members`), or the count is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

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
    depends_on_every_member,
)
from detent.sources.json_schema.assertions.property_names import NameClass, NameSet, OtherNames
from detent.sources.json_schema.parse.schema_node import SignedSchema
from detent.sources.json_schema.parse.values import is_text
from detent.sources.json_schema.solve.name_classes import FreeNames, name_classes
from detent.sources.json_schema.solve.solver import Solver

__all__ = ["FreeMember", "ObjectPlan", "Option", "sizes"]

_MAX_OPTIONS = 256

Option: TypeAlias = tuple[tuple[SignedSchema, ...], Formula]
"""One way to continue with a member or item: schemas of its value, and the formula that remains."""

FreeMember: TypeAlias = tuple[FreeNames, Conjunction, Formula]
"""One way to continue with a free member: its names, its value, and the formula that remains."""


class ObjectPlan:
    """The conditions on the objects of a conjunction."""

    def __init__(
        self, solver: Solver, conjunction: Conjunction, declared: Iterable[str], formulas: list[Formula]
    ) -> None:
        self.solver = solver
        self.conjunction = conjunction
        self.required: dict[str, None] = {}
        self._schemas: dict[str, list[SignedSchema]] = {}
        self._every: list[EveryMember] = []
        rest: list[Formula] = []
        for formula in formulas:
            if isinstance(formula, MemberValue):
                self._schemas.setdefault(formula.name, []).append(formula.schema)
            elif isinstance(formula, HasMember):
                self.required[formula.name] = None
            elif isinstance(formula, LacksMember):
                self._schemas.setdefault(formula.name, []).append(solver.document.never)
            elif isinstance(formula, EveryMember):
                self._every.append(formula)
            else:
                rest.append(formula)
        self._formulas = formulas
        self.order = self._ordered(declared, rest)
        """The names that are not free, in the order of the text."""
        self.residual = self._residual(rest)
        self.is_empty = self.residual is FALSE or any(name not in self.order for name in self.required)
        self._free: list[FreeNames] | None = None
        self.divided_by_kinds: set[str] = set()
        """The members by which a formula multiplied out to too many alternatives."""

    def _ordered(self, declared: Iterable[str], rest: list[Formula]) -> dict[str, None]:
        """Return the names that are not free: first those whose values have schemas."""
        order = dict.fromkeys(declared)
        order.update(dict.fromkeys(self._schemas))
        for formula in rest:
            order.update(_names_with_values(formula))
        for formula in self._formulas:
            if not isinstance(formula, EveryMember):
                order.update(self.solver.algebra.mentioned_names(formula))
        for every in self._every:
            if isinstance(every.names, OtherNames) and not every.names.declared <= order.keys():
                order.update(dict.fromkeys(every.names.listed))
        # A name with a lone surrogate is in no text.
        return {name: None for name in order if is_text(name)}

    def _residual(self, rest: list[Formula]) -> Formula:
        """Return the conjunction of the other formulas, without sizes that are met in any case."""
        lower = max((formula.count for formula in rest if isinstance(formula, MinSize)), default=0)
        upper = min((formula.count for formula in rest if isinstance(formula, MaxSize)), default=None)
        algebra = self.solver.algebra
        parts = [formula for formula in rest if not isinstance(formula, (MinSize, MaxSize))]
        if lower > len(self.required):
            parts.append(algebra.at_least(lower))
        if upper is not None:
            if upper < max(lower, len(self.required)):
                return FALSE
            parts.append(algebra.at_most(upper))
        return algebra.conjunction(parts)

    def with_residual(self, atoms: Iterable[Formula]) -> ObjectPlan:
        """Return the plan with atoms in the place of the residual."""
        sorted_out = (MemberValue, HasMember, LacksMember, EveryMember)
        formulas = [formula for formula in self._formulas if isinstance(formula, sorted_out)]
        return ObjectPlan(self.solver, self.conjunction, self.order, [*formulas, *atoms])

    # Declared members.

    def schemas_of(self, name: str) -> list[SignedSchema]:
        """Return the schemas of the value of a declared member that hold whatever the residual is."""
        found = list(self._schemas.get(name, ()))
        for every in self._every:
            if self.solver.is_in(every.names, name):
                found.append(every.schema)
        return found

    def value_of(self, name: str) -> Conjunction:
        """Return the value of a declared member."""
        return self.solver.values(self.schemas_of(name))

    def without(self, formula: Formula, name: str) -> Formula:
        """Return the derivative of a formula by the absence of a member."""
        algebra = self.solver.algebra
        if isinstance(formula, Combination):
            if name not in algebra.mentioned_names(formula):
                return formula
            known = self.solver.without_member.get((formula, name))
            if known is None:
                combine = algebra.conjunction if isinstance(formula, And) else algebra.disjunction
                known = combine([self.without(part, name) for part in formula.parts])
                self.solver.without_member[formula, name] = known
            return known
        if isinstance(formula, (HasMember, LacksMember, MemberValue)) and formula.name == name:
            return FALSE if isinstance(formula, HasMember) else TRUE
        return formula

    def options(self, formula: Formula, name: str, known: list[SignedSchema]) -> list[Option]:
        """Return the derivatives of a formula by a declared member; its value is valid against the known schemas.

        Raises
        ------
        LimitError
            Its alternatives combine in over 256 ways. `member_options` then divides the values of the member.
        """
        return self._derive(formula, name, None, known)

    # Derivatives.

    def _derive(
        self, formula: Formula, name: str, name_class: NameClass | None, known: list[SignedSchema]
    ) -> list[Option]:
        algebra = self.solver.algebra
        if not depends_on_every_member(formula) and name not in algebra.mentioned_names(formula):
            return [((), formula)]
        if isinstance(formula, Combination):
            return self._derive_combination(formula, name, name_class, known)
        if isinstance(formula, (EveryMember, SomeMember)):
            return self._derive_quantified(formula, name, name_class)
        if isinstance(formula, MinSize):
            return [((), algebra.at_least(formula.count - 1))]
        if isinstance(formula, MaxSize):
            fewer = algebra.at_most(formula.count - 1)
            return [] if fewer is FALSE else [((), fewer)]
        return [((), formula)] if name_class is not None else self._derive_named(formula, name, known)

    def _derive_named(self, formula: Formula, name: str, known: list[SignedSchema]) -> list[Option]:
        """Return the derivatives of an atom about a member of one name, by a member of that name."""
        if not isinstance(formula, (HasMember, LacksMember, MemberValue)) or formula.name != name:
            return [((), formula)]
        if isinstance(formula, LacksMember):
            return []
        verdict = True if isinstance(formula, HasMember) else self.solver.implies(tuple(known), formula.schema)
        if isinstance(formula, MemberValue) and verdict is None:
            return [((formula.schema,), TRUE)]
        return [((), TRUE)] if verdict else []

    def _derive_combination(
        self, formula: Combination, name: str, name_class: NameClass | None, known: list[SignedSchema]
    ) -> list[Option]:
        key = (formula, name_class or name, tuple(known))
        found = self.solver.by_member.get(key)
        if found is None:
            if isinstance(formula, And):
                found = self._derive_conjunction(formula, name, name_class, known)
            else:
                options = [one for part in formula.parts for one in self._derive(part, name, name_class, known)]
                found = self._merged(options, known)
            self.solver.by_member[key] = found
        return found

    def _derive_quantified(
        self, formula: EveryMember | SomeMember, name: str, name_class: NameClass | None
    ) -> list[Option]:
        algebra, document = self.solver.algebra, self.solver.document
        names, schema = formula.names, formula.schema
        if not (name_class.is_within(names) if name_class is not None else self.solver.is_in(names, name)):
            return [((), formula)]
        if isinstance(formula, EveryMember):
            return [] if schema is document.never else [((schema,), formula)]
        if name_class is None:
            return [((), TRUE)] if schema is document.always else [((schema,), TRUE), ((), formula)]
        verdict = self.is_witness(formula, name_class)
        if verdict is not None:
            return [((), TRUE if verdict else formula)]
        # The witness is the last member of its class, so that no later member can repeat its name.
        last = algebra.every(document.names.of_class(name_class), document.never)
        return [((schema,), last), ((), formula)]

    def _derive_conjunction(
        self, formula: And, name: str, name_class: NameClass | None, known: list[SignedSchema]
    ) -> list[Option]:
        conjunction = self.solver.algebra.conjunction
        options: list[Option] = [((), TRUE)]
        unchanged: list[Formula] = []
        for part in formula.parts:
            derived = self._derive(part, name, name_class, known)
            if len(derived) == 1 and derived[0] == ((), part):
                unchanged.append(part)
                continue
            if name_class is None and len(options) * len(derived) > _MAX_OPTIONS:
                raise _too_many_options(len(options) * len(derived))
            options = self._merged(
                [
                    ((*schemas, *more), conjunction((left, right)))
                    for schemas, left in options
                    for more, right in derived
                ],
                known,
            )
            self.solver.spend(len(options))
        if not unchanged:
            return options
        return [(schemas, conjunction((left, *unchanged))) for schemas, left in options]

    def _merged(self, options: list[Option], known: list[SignedSchema]) -> list[Option]:
        """Merge options with the same schemas; leave out those that no value satisfies."""
        if len(options) < 2:
            return options
        solver = self.solver
        found: dict[frozenset[SignedSchema], tuple[tuple[SignedSchema, ...], list[Formula]]] = {}
        for schemas, left in options:
            if left is not FALSE:
                found.setdefault(frozenset(schemas), (tuple(dict.fromkeys(schemas)), []))[1].append(left)
        satisfiable: list[tuple[tuple[SignedSchema, ...], list[Formula]]] = []
        for schemas, lefts in found.values():
            if schemas and solver.values([*known, *schemas]) is solver.document.nothing:
                continue
            satisfiable.append((schemas, lefts))
            if len(satisfiable) > _MAX_OPTIONS:
                raise _too_many_options(len(satisfiable))
        return [(schemas, solver.algebra.disjunction(lefts)) for schemas, lefts in satisfiable]

    # Free members.

    @property
    def free(self) -> list[FreeNames]:
        """The classes of free names on which the conditions of the plan differ."""
        if self._free is None:
            self._free = name_classes(self.solver, self.order, self._every, name_sets(self.residual))
        return self._free

    def schemas_of_class(self, name_class: NameClass) -> list[SignedSchema]:
        """Return the schemas of the values of a class of free names that hold whatever the residual is."""
        return [every.schema for every in self._every if name_class.is_within(every.names)]

    def is_witness(self, formula: SomeMember, name_class: NameClass) -> bool | None:
        """Whether each free member of a class is one that a formula asks for, or none is; None if some values are."""
        solver, schema, known = self.solver, formula.schema, self.schemas_of_class(name_class)
        verdict = solver.implies(tuple(known), schema)
        if verdict is None and solver.values([*known, schema]) is solver.document.nothing:
            return False
        if verdict is None and solver.values([*known, solver.algebra.opposite(schema)]) is solver.document.nothing:
            return True
        return verdict

    def free_options(self, formula: Formula) -> Iterator[FreeMember]:
        """Yield the derivatives of a formula by a free member."""
        solver = self.solver
        for names in self.free:
            known = self.schemas_of_class(names.name_class)
            for schemas, left in self._derive(formula, "", names.name_class, known):
                value = solver.values([*known, *schemas])
                if value is not solver.document.nothing and left is not FALSE:
                    yield names, value, left

    def with_countable_sizes(self, formula: Formula) -> Formula:
        """Refuse to count free members beyond one, since a text may repeat their names."""
        if not self.free:
            return formula
        algebra = self.solver.algebra
        if isinstance(formula, Combination):
            combine = algebra.conjunction if isinstance(formula, And) else algebra.disjunction
            return combine(self.with_countable_sizes(part) for part in formula.parts)
        if isinstance(formula, MinSize) and formula.count > 1:
            return algebra.at_least(self.refuse_size(1))
        return formula

    def counts_free_names(self, formula: Formula) -> bool:
        """Whether a formula asks for two free members or more."""
        if isinstance(formula, Combination):
            return any(self.counts_free_names(part) for part in formula.parts)
        return isinstance(formula, MinSize) and formula.count > 1 and bool(self.free)

    def has_witnesses(self, formula: Formula) -> bool:
        """Whether a formula asks for two free members with certain values, both the last of one class."""
        return any(self._witnesses(formula, names.name_class) > 1 for names in self.free)

    def check_witnesses(self, formula: Formula) -> None:
        """Refuse two free members with certain values if both may have to be the last of one class."""
        if self.has_witnesses(formula):
            self.refuse_some("and for another one; a text may have the same name twice, and the last one counts")

    def _witnesses(self, formula: Formula, name_class: NameClass) -> int:
        if isinstance(formula, Combination):
            counts = [self._witnesses(part, name_class) for part in formula.parts]
            return sum(counts) if isinstance(formula, And) else max(counts)
        if not isinstance(formula, SomeMember) or not name_class.is_within(formula.names):
            return 0
        return int(self.is_witness(formula, name_class) is None)

    def refuse_size(self, instead: int, why: str = "") -> int:
        """Refuse to count free members; in lenient mode return the count that can be held."""
        reason = why or "a text may have the same undeclared name twice, so the number of different ones is not known"
        remedy = "declare the names, with additionalProperties: false, or lower the count"
        self.solver.refuse(self.conjunction, "minProperties", reason, remedy)
        return instead

    def refuse_some(self, why: str) -> None:
        """Refuse to look for a free member with a certain value."""
        remedy = "declare the names, or write the condition without the negation of additionalProperties"
        reason = f"it asks for some undeclared member with a certain value; {why}"
        self.solver.refuse(self.conjunction, "not", reason, remedy)

    def is_complete(self, formula: Formula) -> bool:
        """Whether the object may end with a residual."""
        if isinstance(formula, Combination):
            return (all if isinstance(formula, And) else any)(self.is_complete(part) for part in formula.parts)
        if isinstance(formula, MinSize):
            return formula.count <= 0
        return formula is TRUE or isinstance(formula, (EveryMember, MaxSize, MemberValue, LacksMember))


def _too_many_options(given: int) -> LimitError:
    return LimitError(
        f"the value of one member is subject to over {_MAX_OPTIONS} combinations of schemas; simplify anyOf, oneOf and "
        "not",
        subject="combinations",
        limit=_MAX_OPTIONS,
        given=given,
    )


def sizes(formula: Formula) -> tuple[int, int | None] | None:
    """Return the least and the largest number of members, if a formula has no other condition."""
    parts = formula.parts if isinstance(formula, And) else (formula,)
    lower, upper = 0, None
    for part in parts:
        if isinstance(part, MinSize):
            lower = max(lower, part.count)
        elif isinstance(part, MaxSize):
            upper = part.count if upper is None else min(upper, part.count)
        elif part is not TRUE:
            return None
    return lower, upper


def name_sets(formula: Formula) -> list[NameSet]:
    """Return the sets of names in a formula, each once."""
    if isinstance(formula, Combination):
        return list(dict.fromkeys(names for part in formula.parts for names in name_sets(part)))
    return [formula.names] if isinstance(formula, (EveryMember, SomeMember)) else []


def _names_with_values(formula: Formula) -> dict[str, None]:
    if isinstance(formula, Combination):
        return {name: None for part in formula.parts for name in _names_with_values(part)}
    return {formula.name: None} if isinstance(formula, MemberValue) else {}

"""Merges terms that differ in the conditions on one member.

Cases and negations leave many terms that differ in one member: it is absent, its value is valid against a schema, or
it is not. Such terms are one term with a weaker condition. Each term is a list of members of its own in the core, so
that fewer terms take less time at each step (SchemaStore's Azure function: 58 terms instead of 238).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from detent.sources.json_schema.assertions.formulas import And, Formula, HasMember, LacksMember, MemberValue
from detent.sources.json_schema.parse.schema_node import SignedSchema
from detent.sources.json_schema.solve.object_plan import ObjectPlan

__all__ = ["merged_terms"]

_Condition: TypeAlias = tuple["bool | None", frozenset[SignedSchema]]
"""Whether a member is there, None if it may be, and the schemas that its value is valid against where it is."""
_Term: TypeAlias = dict["str | Formula", "_Condition | None"]
"""The conditions by member, and the atoms that are about no single member, with None."""

_ABSENT: _Condition = (False, frozenset())


def merged_terms(plan: ObjectPlan, terms: Sequence[Formula]) -> list[Formula]:
    """Return terms for the same objects, of which no two differ in the condition on one member that can be merged."""
    if len(terms) < 2:
        return list(terms)
    merge = _Merge(plan)
    found = [one for one in map(merge.read, terms) if one is not None]
    count = -1
    while len(found) != count:
        count = len(found)
        for name in dict.fromkeys(key for term in found for key in term if isinstance(key, str)):
            found = merge.by_member(found, name)
    return [merge.formula(term) for term in found] if len(found) < len(terms) else list(terms)


class _Merge:
    """Merges the terms of one plan."""

    def __init__(self, plan: ObjectPlan) -> None:
        self._plan = plan
        self._simplified: dict[tuple[str, frozenset[SignedSchema]], frozenset[SignedSchema]] = {}
        self._index: dict[SignedSchema, int] = {}  # in the order of the terms

    def read(self, term: Formula) -> _Term | None:
        """Return the conditions of a term; None where a member must be there and must not."""
        present, absent = set(self._plan.required), set[str]()
        schemas: dict[str, list[SignedSchema]] = {}
        found: _Term = {}
        for atom in term.parts if isinstance(term, And) else (term,):
            if isinstance(atom, (HasMember, LacksMember)):
                (present if isinstance(atom, HasMember) else absent).add(atom.name)
                schemas.setdefault(atom.name, [])
            elif isinstance(atom, MemberValue):
                schemas.setdefault(atom.name, []).append(atom.schema)
                self._index.setdefault(atom.schema, len(self._index))
            else:
                found[atom] = None
        if not present.isdisjoint(absent):
            return None
        for name, values in schemas.items():
            if name in absent:
                found[name] = _ABSENT
            else:
                self._add(found, name, (True if name in present else None, self._without_implied(name, values)))
        return found

    def _without_implied(self, name: str, schemas: Iterable[SignedSchema]) -> frozenset[SignedSchema]:
        """Return the schemas without those that the others imply."""
        given = frozenset(schemas)
        known = self._simplified.get((name, given))
        if known is None:
            solver, others = self._plan.solver, self._plan.schemas_of(name)
            left = list(dict.fromkeys(schemas))
            for schema in list(left):
                rest = [one for one in left if one is not schema]
                if solver.implies((*others, *rest), schema):
                    left = rest
            known = self._simplified[name, given] = frozenset(left)
        return known

    def _add(self, term: _Term, name: str, condition: _Condition) -> None:
        is_weakest = not condition[1] and (condition[0] is None or name in self._plan.required)
        if not is_weakest:
            term[name] = condition

    def by_member(self, terms: list[_Term], name: str) -> list[_Term]:
        """Merge the terms that differ in the condition on one member."""
        groups: dict[frozenset[tuple[str | Formula, _Condition | None]], tuple[_Term, list[_Condition]]] = {}
        anything: _Condition = (True if name in self._plan.required else None, frozenset())
        for term in terms:
            others = {key: condition for key, condition in term.items() if key != name}
            groups.setdefault(frozenset(others.items()), (others, []))[1].append(term.get(name) or anything)
        if len(groups) == len(terms):
            return terms
        found: list[_Term] = []
        for others, conditions in groups.values():
            for condition in self._united(conditions):
                term = dict(others)
                self._add(term, name, condition)
                found.append(term)
        return found

    def _united(self, conditions: list[_Condition]) -> list[_Condition]:
        """Return conditions for the same members, merged where two of them are one."""
        left = list(dict.fromkeys(conditions))
        found: list[_Condition] = []
        while left:
            condition = left.pop(0)
            for index, other in enumerate(found):
                both = self._union(condition, other)
                if both is not None:
                    del found[index]
                    left.append(both)
                    break
            else:
                found.append(condition)
        return found

    def _union(self, one: _Condition, other: _Condition) -> _Condition | None:
        """Return the condition that holds where one or the other does; None if none is known."""
        if _ABSENT in (one, other):
            return (None, (other if one == _ABSENT else one)[1]) if one != other else one
        presence = True if one[0] and other[0] else None
        for weak, strong in ((one, other), (other, one)):
            if weak[1] <= strong[1]:
                return presence, weak[1]
        if len(one[1]) == len(other[1]) and len(one[1] & other[1]) == len(one[1]) - 1:
            (left,), (right,) = one[1] - other[1], other[1] - one[1]
            if self._plan.solver.algebra.opposite(left) is right:
                return presence, one[1] & other[1]
        return None

    def formula(self, term: _Term) -> Formula:
        """Return the conjunction of atoms for the conditions of a term."""
        algebra = self._plan.solver.algebra
        atoms: list[Formula] = []
        for key, condition in term.items():
            if not isinstance(key, str):
                atoms.append(key)
            elif condition is not None and condition[0] is False:
                atoms.append(algebra.lacks(key))
            elif condition is not None:
                if condition[0] and key not in self._plan.required:
                    atoms.append(algebra.has(key))
                schemas = sorted(condition[1], key=self._index.__getitem__)
                atoms += [algebra.value(key, schema) for schema in schemas]
        return algebra.conjunction(atoms)

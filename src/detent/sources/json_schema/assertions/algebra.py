"""Algebra: makes formulas, each once, with unit propagation; negates them.

A walk along an object or array takes derivatives of a formula, one for each member or item. They are like Brzozowski's
derivatives of regular expressions, with schemas in the place of letters. Few formulas on the walk differ, where a
disjunctive normal form would multiply.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from detent.errors import LimitError
from detent.sources.json_schema.assertions.formulas import (
    FALSE,
    TRUE,
    And,
    Combination,
    ContainsAtLeast,
    ContainsAtMost,
    EveryMember,
    Formula,
    HasMember,
    ItemAt,
    ItemsFrom,
    LacksMember,
    MaxSize,
    MemberValue,
    MinSize,
    Or,
    RepeatedItem,
    ScalarTest,
    SomeMember,
    UniqueItems,
    depends_on_every_member,
)
from detent.sources.json_schema.assertions.property_names import NameSet
from detent.sources.json_schema.parse.schema_node import SchemaNode, SignedSchema, negated

__all__ = ["Algebra"]

_MAX_DEPTH = 60
"""Alternations of "and" and "or". Functions over formulas recurse, never deeper than that."""

_PARTS_PER_FORMULA = 2
"""The limit on parts, as a multiple of that on formulas. 24 members that depend on each other in a circle have 21,000
formulas of some 50 parts: 3 to 9 s. Of 4,483 schemas in both orders, one takes 206,352 parts, the next 60,796."""

_Atom = TypeVar("_Atom", bound=Formula)


class Algebra:
    """Makes formulas, each once, and counts them against a limit."""

    def __init__(self, limit: int, always: SchemaNode, never: SchemaNode) -> None:
        """Make an empty algebra; `always` is the node of the schema true, `never` that of false."""
        self._known: dict[tuple[Any, ...], Any] = {}
        self._negations: dict[Formula, Formula] = {TRUE: FALSE, FALSE: TRUE}
        self._negated: dict[Formula, list[Formula]] = {}
        """By formula: those whose negation it is."""
        self._names: dict[Formula, dict[str, None]] = {}
        self._parts_about: dict[tuple[Formula, str], tuple[Formula, ...]] = {}
        self._limit = limit
        self._part_count = 0
        """Of all formulas that were made, also of those that were known: the work of making them."""
        self._always = always
        self._never = never

    def atom(self, kind: Callable[..., _Atom], *arguments: Any) -> _Atom:
        """Return the atom of a type with these arguments."""
        key = (kind, *arguments)
        found: _Atom | None = self._known.get(key)
        if found is None:
            self._check_limits(0)
            found = self._known[key] = kind(*arguments)
        return found

    def _check_limits(self, depth: int) -> None:
        if len(self._known) >= self._limit:
            raise LimitError(
                f"the schema's combinations need over {self._limit} formulas; simplify its oneOf, anyOf, not and "
                "if, or raise Limits(pattern_size=...)",
                subject="pattern_size",
                limit=self._limit,
            )
        if depth > _MAX_DEPTH:
            raise LimitError(
                f"anyOf, allOf and not alternate over {_MAX_DEPTH} deep on one value; flatten the schema",
                subject="alternations",
                limit=_MAX_DEPTH,
                given=depth,
            )

    def _count_parts(self, count: int) -> None:
        self._part_count += count
        if self._part_count > _PARTS_PER_FORMULA * self._limit:
            raise LimitError(
                f"the schema's combinations need over {_PARTS_PER_FORMULA * self._limit} parts of formulas; make fewer "
                "members depend on each other by dependentSchemas, if, oneOf, anyOf and not, or raise "
                "Limits(pattern_size=...)",
                subject="pattern_size",
                limit=self._limit,
            )

    def conjunction(self, parts: Iterable[Formula]) -> Formula:
        """Return the conjunction of formulas."""
        return self._combine(And, Or, parts, TRUE, FALSE)

    def disjunction(self, parts: Iterable[Formula]) -> Formula:
        """Return the disjunction of formulas."""
        return self._combine(Or, And, parts, FALSE, TRUE)

    def _combine(
        self,
        kind: type[Combination],
        dual: type[Combination],
        parts: Iterable[Formula],
        neutral: Formula,
        absorbing: Formula,
    ) -> Formula:
        flat: dict[Formula, None] = {}
        for part in parts:
            if part is absorbing:
                return absorbing
            if isinstance(part, kind):
                flat.update(dict.fromkeys(part.parts))
            elif part is not neutral:
                flat[part] = None
        if len(flat) > 1:
            self._count_parts(len(flat))
            simplified = self._simplify(kind, dual, flat, absorbing)
            if simplified is None:
                return absorbing
            flat = simplified
        if not flat:
            return neutral
        if len(flat) == 1:
            return next(iter(flat))
        key = (kind, frozenset(flat))
        found: Formula | None = self._known.get(key)
        if found is None:
            depth = 1 + max(part.depth if isinstance(part, Combination) else 0 for part in flat)
            self._check_limits(depth)
            leaves = (leaf for part in flat if isinstance(part, Combination) for leaf in part.parts)
            is_general = any(map(depends_on_every_member, flat))
            found = self._known[key] = kind(tuple(flat), depth, is_general, frozenset((*flat, *leaves)))
        return found

    def _simplify(
        self, kind: type[Combination], dual: type[Combination], flat: dict[Formula, None], absorbing: Formula
    ) -> dict[Formula, None] | None:
        """Propagate units: the other parts shorten those of the dual kind. None if the whole is absorbed.

        Few parts have something in common with the others; only these are looked into.
        """
        changed = True
        while changed:
            changed = False
            units = self._with_negated(flat)
            for part in list(flat):
                if self._negations.get(part) in flat:
                    return None
                if not isinstance(part, dual) or units.isdisjoint(part.inside):
                    continue
                open_parts = self._undecided(part, kind, flat)
                if open_parts is not None and len(open_parts) == len(part.parts):
                    continue
                del flat[part]
                changed = True
                if open_parts is None:
                    continue
                shorter = (self.disjunction if dual is Or else self.conjunction)(open_parts)
                if shorter is absorbing:
                    return None
                if shorter is not TRUE and shorter is not FALSE:
                    added = shorter.parts if isinstance(shorter, kind) else (shorter,)
                    flat.update(dict.fromkeys(added))
                    units |= self._with_negated(added)
        return flat

    def _with_negated(self, formulas: Iterable[Formula]) -> set[Formula]:
        """Return formulas, and those whose negation is one of them."""
        found = set(formulas)
        for formula in formulas:
            if formula in self._negated:
                found.update(self._negated[formula])
        return found

    def _undecided(
        self, part: Combination, kind: type[Combination], flat: dict[Formula, None]
    ) -> tuple[Formula, ...] | None:
        """Return the parts of a part that the other formulas leave open; None if they decide the whole."""
        open_parts = []
        for inner in part.parts:
            if inner in flat or (isinstance(inner, kind) and all(leaf in flat for leaf in inner.parts)):
                return None
            if self._negations.get(inner) not in flat:
                open_parts.append(inner)
        return tuple(open_parts)

    def negate(self, formula: Formula) -> Formula:
        """Return the negation of a formula."""
        known = self._negations.get(formula)
        if known is None:
            if isinstance(formula, Combination):
                combine = self.disjunction if isinstance(formula, And) else self.conjunction
                known = combine(self.negate(part) for part in formula.parts)
            elif isinstance(formula, ScalarTest):
                known = self.atom(type(formula), formula.argument, not formula.holds)
            else:
                known = _NEGATIONS[type(formula)](self, formula)
            self._note_negation(formula, known)
            if known not in self._negations:
                self._note_negation(known, formula)
        return known

    def _note_negation(self, formula: Formula, negation: Formula) -> None:
        self._negations[formula] = negation
        self._negated.setdefault(negation, []).append(formula)

    def contradicting(self, formulas: Iterable[Formula]) -> set[Formula]:
        """Return the known negations of formulas, and the formulas with one of these as known negation."""
        found: set[Formula] = set()
        for formula in formulas:
            if formula in self._negations:
                found.add(self._negations[formula])
            found.update(self._negated.get(formula, ()))
        return found

    # Objects.

    def has(self, name: str) -> Formula:
        """Return: there is a member of that name."""
        return self.atom(HasMember, name)

    def lacks(self, name: str) -> Formula:
        """Return: there is no member of that name."""
        return self.atom(LacksMember, name)

    def value(self, name: str, schema: SignedSchema) -> Formula:
        """Return: the member of that name, if there is one, is valid against the schema."""
        if schema is self._always:
            return TRUE
        if schema is self._never:
            return self.lacks(name)
        return self.atom(MemberValue, name, schema)

    def every(self, names: NameSet, schema: SignedSchema) -> Formula:
        """Return: each member whose name is in a set is valid against the schema."""
        return TRUE if schema is self._always else self.atom(EveryMember, names, schema)

    def some(self, names: NameSet, schema: SignedSchema) -> Formula:
        """Return: some member whose name is in a set is valid against the schema."""
        return FALSE if schema is self._never else self.atom(SomeMember, names, schema)

    # Sizes.

    def at_least(self, count: int) -> Formula:
        """Return: there are `count` members or items, or more."""
        return TRUE if count <= 0 else self.atom(MinSize, count)

    def at_most(self, count: int) -> Formula:
        """Return: there are `count` members or items, or fewer."""
        return FALSE if count < 0 else self.atom(MaxSize, count)

    # Arrays.

    def item(self, start: int, schema: SignedSchema) -> Formula:
        """Return: the item at an index, if there is one, is valid against the schema."""
        if schema is self._always:
            return TRUE
        if schema is self._never:
            return self.at_most(start)
        return self.atom(ItemAt, start, schema)

    def items_from(self, start: int, schema: SignedSchema) -> Formula:
        """Return: all items from an index on are valid against the schema."""
        if schema is self._always:
            return TRUE
        if schema is self._never:
            return self.at_most(start)
        return self.atom(ItemsFrom, start, schema)

    def contains_at_least(self, start: int, schema: SignedSchema, count: int) -> Formula:
        """Return: at least `count` items from an index on are valid against the schema."""
        if count <= 0:
            return TRUE
        if schema is self._never:
            return FALSE
        if schema is self._always:
            return self.at_least(start + count)
        return self.atom(ContainsAtLeast, start, schema, count)

    def contains_at_most(self, start: int, schema: SignedSchema, count: int) -> Formula:
        """Return: at most `count` items from an index on are valid against the schema."""
        if count < 0:
            return FALSE
        if schema is self._never:
            return TRUE
        if count == 0:
            return self.items_from(start, self.opposite(schema))
        if schema is self._always:
            return self.at_most(start + count)
        return self.atom(ContainsAtMost, start, schema, count)

    def opposite(self, schema: SignedSchema) -> SignedSchema:
        """Return the schema of opposite sign; the schemas true and false are each other's opposites."""
        if schema is self._always:
            return self._never
        return self._always if schema is self._never else negated(schema)

    def mentioned_names(self, formula: Formula) -> dict[str, None]:
        """Return the names of members in a formula, in order."""
        known = self._names.get(formula)
        if known is None:
            known = {}
            if isinstance(formula, Combination):
                for part in formula.parts:
                    known.update(self.mentioned_names(part))
            elif isinstance(formula, (MemberValue, HasMember, LacksMember)):
                known[formula.name] = None
            elif isinstance(formula, (EveryMember, SomeMember)):
                known.update(dict.fromkeys(formula.names.listed))
            self._names[formula] = known
        return known

    def parts_about(self, formula: Combination, name: str) -> tuple[Formula, ...]:
        """Return the parts that a member of a name may change."""
        known = self._parts_about.get((formula, name))
        if known is None:
            known = self._parts_about[formula, name] = tuple(
                part for part in formula.parts if depends_on_every_member(part) or name in self.mentioned_names(part)
            )
        return known


_NEGATIONS: dict[type[Formula], Callable[[Algebra, Any], Formula]] = {
    HasMember: lambda algebra, atom: algebra.lacks(atom.name),
    LacksMember: lambda algebra, atom: algebra.has(atom.name),
    MemberValue: lambda algebra, atom: algebra.conjunction(
        (algebra.has(atom.name), algebra.value(atom.name, algebra.opposite(atom.schema)))
    ),
    EveryMember: lambda algebra, atom: algebra.some(atom.names, algebra.opposite(atom.schema)),
    SomeMember: lambda algebra, atom: algebra.every(atom.names, algebra.opposite(atom.schema)),
    MinSize: lambda algebra, atom: algebra.at_most(atom.count - 1),
    MaxSize: lambda algebra, atom: algebra.at_least(atom.count + 1),
    ItemAt: lambda algebra, atom: algebra.conjunction(
        (algebra.at_least(atom.start + 1), algebra.item(atom.start, algebra.opposite(atom.schema)))
    ),
    ItemsFrom: lambda algebra, atom: algebra.contains_at_least(atom.start, algebra.opposite(atom.schema), 1),
    ContainsAtLeast: lambda algebra, atom: algebra.contains_at_most(atom.start, atom.schema, atom.count - 1),
    ContainsAtMost: lambda algebra, atom: algebra.contains_at_least(atom.start, atom.schema, atom.count + 1),
    UniqueItems: lambda algebra, atom: algebra.atom(RepeatedItem, atom.node),
    RepeatedItem: lambda algebra, atom: algebra.atom(UniqueItems, atom.node),
}

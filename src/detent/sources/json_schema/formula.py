"""Formulas: what schemas say of the members of an object, the items of an array, or a scalar, as Boolean combinations.

In negation normal form: atoms, conjunctions and disjunctions; every atom has an opposite, so that the negation of a
formula is a formula. Equal formulas are one object. Walking along an object or array takes derivatives of a formula,
one for each member or item (as Brzozowski's of regular expressions, with subschemas in the place of letters); the
number of different formulas on the way stays small, where a normal form by branches would multiply.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from detent.errors import LimitError
from detent.sources.json_schema.keysets import KeySet
from detent.sources.json_schema.place import Literal, Place, negated

__all__ = ["Algebra", "Formula"]

_DEEPEST = 60
"""Levels of "and" inside "or" inside "and"; what walks over formulas recurses, never deeper than that."""

_GENERAL = frozenset(("every", "some", "at_least", "at_most"))


class Formula:
    """An atom, or a combination; `parts` are its operands."""

    __slots__ = ("depth", "is_general", "kind", "names", "negation", "parts")

    def __init__(self, kind: str, parts: tuple[Any, ...], depth: int) -> None:
        self.kind = kind
        self.parts = parts
        self.depth = depth
        # Whether it changes with every member, not only with those of `names`.
        self.is_general: bool = kind in _GENERAL or (kind in ("and", "or") and any(part.is_general for part in parts))
        self.negation: Formula | None = None
        self.names: dict[str, None] | None = None

    @property
    def is_of_objects(self) -> bool:
        """Whether it speaks of objects, not arrays; for a formula with an atom that only one of them has."""
        work = [self]
        while work:
            formula = work.pop()
            if formula.kind in ("and", "or"):
                work.extend(formula.parts)
            elif formula.kind in ("has", "lacks", "value", "every", "some"):
                return True
        return False

    def __repr__(self) -> str:
        return f"{self.kind}({', '.join(map(repr, self.parts))})" if self.parts else self.kind


class Algebra:
    """Makes formulas, each once; counts them."""

    def __init__(self, limit: int, truth: Place, falsity: Place) -> None:
        self._known: dict[tuple[Any, ...], Formula] = {}
        self._limit = limit
        self._truth = truth
        self._falsity = falsity
        self.true = Formula("true", (), 0)
        self.false = Formula("false", (), 0)
        self.true.negation, self.false.negation = self.false, self.true

    def atom(self, kind: str, *parts: Any) -> Formula:
        """Make an atom as it is."""
        key = (kind, *parts)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._make(kind, parts, 0)
        return found

    def _make(self, kind: str, parts: tuple[Any, ...], depth: int) -> Formula:
        if len(self._known) >= self._limit:
            raise LimitError(
                f"the schema's combinations need over {self._limit} formulas; simplify its oneOf, anyOf, not and "
                "if, or raise Limits(pattern_size=...)"
            )
        if depth > _DEEPEST:
            raise LimitError(f"anyOf, allOf and not alternate over {_DEEPEST} deep on one value; flatten the schema")
        return Formula(kind, parts, depth)

    def conjunction(self, parts: Iterable[Formula]) -> Formula:
        """All of them."""
        return self._combine("and", parts, self.true, self.false)

    def disjunction(self, parts: Iterable[Formula]) -> Formula:
        """At least one of them."""
        return self._combine("or", parts, self.false, self.true)

    def _combine(self, kind: str, parts: Iterable[Formula], neutral: Formula, absorbing: Formula) -> Formula:
        flat: dict[Formula, None] = {}
        for part in parts:
            if part is absorbing:
                return absorbing
            if part.kind == kind:
                flat.update(dict.fromkeys(part.parts))
            elif part is not neutral:
                flat[part] = None
        if len(flat) > 1:
            simplified = self._simplify(kind, flat, absorbing)
            if simplified is None:
                return absorbing
            flat = simplified
        if not flat:
            return neutral
        if len(flat) == 1:
            return next(iter(flat))
        key = (kind, frozenset(flat))
        found = self._known.get(key)
        if found is None:
            depth = 1 + max(part.depth for part in flat)
            found = self._known[key] = self._make(kind, tuple(flat), depth)
        return found

    def _simplify(self, kind: str, flat: dict[Formula, None], absorbing: Formula) -> dict[Formula, None] | None:
        """Unit propagation: operands of operands that are decided by the others. None if the whole is absorbed."""
        other = "or" if kind == "and" else "and"
        changed = True
        while changed:
            changed = False
            for part in list(flat):
                if part.negation is not None and part.negation in flat:
                    return None
                kept = _undecided(part, kind, flat) if part.kind == other else part.parts
                if kept is not None and len(kept) == len(part.parts):
                    continue
                del flat[part]
                changed = True
                if kept is None:
                    continue
                shorter = (self.disjunction if other == "or" else self.conjunction)(kept)
                if shorter is absorbing:
                    return None
                if shorter.kind == kind:
                    flat.update(dict.fromkeys(shorter.parts))
                elif shorter not in (self.true, self.false):
                    flat[shorter] = None
        return flat

    def negate(self, formula: Formula) -> Formula:
        """Give the opposite."""
        if formula.negation is None:
            kind, parts = formula.kind, formula.parts
            if kind == "and":
                opposite = self.disjunction(self.negate(part) for part in parts)
            elif kind == "or":
                opposite = self.conjunction(self.negate(part) for part in parts)
            else:
                opposite = _OPPOSITES[kind](self, *parts)
            formula.negation = opposite
            if opposite.negation is None:
                opposite.negation = formula
        return formula.negation

    # Objects.

    def has(self, name: str) -> Formula:
        """There is a member of that name."""
        return self.atom("has", name)

    def lacks(self, name: str) -> Formula:
        """There is none."""
        return self.atom("lacks", name)

    def value(self, name: str, literal: Literal) -> Formula:
        """The member of that name, if there is one, has a value of the literal."""
        if literal is self._truth:
            return self.true
        if literal is self._falsity:
            return self.lacks(name)
        return self.atom("value", name, literal)

    def every(self, keys: KeySet, literal: Literal) -> Formula:
        """Each member whose name is in a set has a value of the literal."""
        return self.true if literal is self._truth else self.atom("every", keys, literal)

    def some(self, keys: KeySet, literal: Literal) -> Formula:
        """Some member whose name is in a set has a value of the literal."""
        return self.false if literal is self._falsity else self.atom("some", keys, literal)

    # Counts: of members, and of items (which have an index too).

    def at_least(self, count: int) -> Formula:
        """There are that many members or items, or more."""
        return self.true if count <= 0 else self.atom("at_least", count)

    def at_most(self, count: int) -> Formula:
        """There are that many members or items, or fewer."""
        return self.false if count < 0 else self.atom("at_most", count)

    # Arrays.

    def item(self, index: int, literal: Literal) -> Formula:
        """The item at an index, if there is one, is of the literal."""
        if literal is self._truth:
            return self.true
        if literal is self._falsity:
            return self.at_most(index)
        return self.atom("item", index, literal)

    def rest(self, start: int, literal: Literal) -> Formula:
        """All items from an index on are of the literal."""
        if literal is self._truth:
            return self.true
        if literal is self._falsity:
            return self.at_most(start)
        return self.atom("rest", start, literal)

    def many(self, start: int, literal: Literal, count: int) -> Formula:
        """At least `count` items from an index on are of the literal."""
        if count <= 0:
            return self.true
        if literal is self._falsity:
            return self.false
        if literal is self._truth:
            return self.at_least(start + count)
        return self.atom("many", start, literal, count)

    def few(self, start: int, literal: Literal, count: int) -> Formula:
        """At most `count` items from an index on are of the literal."""
        if count < 0:
            return self.false
        if literal is self._falsity:
            return self.true
        if count == 0:
            return self.rest(start, self.opposite(literal))
        if literal is self._truth:
            return self.at_most(start + count)
        return self.atom("few", start, literal, count)

    def opposite(self, literal: Literal) -> Literal:
        """Give the negated literal, plain for true and false."""
        if literal is self._truth:
            return self._falsity
        return self._truth if literal is self._falsity else negated(literal)

    def mentioned(self, formula: Formula) -> dict[str, None]:
        """Give the names of members that a formula speaks of, in order."""
        if formula.names is None:
            names: dict[str, None] = {}
            if formula.kind in ("and", "or"):
                for part in formula.parts:
                    names.update(self.mentioned(part))
            elif formula.kind in ("value", "has", "lacks"):
                names[formula.parts[0]] = None
            elif formula.kind in ("every", "some"):
                names.update(dict.fromkeys(formula.parts[0].listed))
            formula.names = names
        return formula.names


def _undecided(part: Formula, kind: str, flat: dict[Formula, None]) -> tuple[Formula, ...] | None:
    """Give the operands of an operand that the others leave open; None if they decide the whole."""
    kept = []
    for inner in part.parts:
        if inner in flat or (inner.kind == kind and all(leaf in flat for leaf in inner.parts)):
            return None
        if inner.negation is None or inner.negation not in flat:
            kept.append(inner)
    return tuple(kept)


_OPPOSITES: dict[str, Callable[..., Formula]] = {
    "has": lambda algebra, name: algebra.lacks(name),
    "lacks": lambda algebra, name: algebra.has(name),
    "value": lambda algebra, name, literal: algebra.conjunction(
        (algebra.has(name), algebra.value(name, algebra.opposite(literal)))
    ),
    "every": lambda algebra, keys, literal: algebra.some(keys, algebra.opposite(literal)),
    "some": lambda algebra, keys, literal: algebra.every(keys, algebra.opposite(literal)),
    "at_least": lambda algebra, count: algebra.at_most(count - 1),
    "at_most": lambda algebra, count: algebra.at_least(count + 1),
    "item": lambda algebra, index, literal: algebra.conjunction(
        (algebra.at_least(index + 1), algebra.item(index, algebra.opposite(literal)))
    ),
    "rest": lambda algebra, start, literal: algebra.many(start, algebra.opposite(literal), 1),
    "many": lambda algebra, start, literal, count: algebra.few(start, literal, count - 1),
    "few": lambda algebra, start, literal, count: algebra.many(start, literal, count + 1),
    "unique": lambda algebra, place: algebra.atom("repeated", place),
    "repeated": lambda algebra, place: algebra.atom("unique", place),
    # Scalars: a test and whether it is to hold.
    "test": lambda algebra, what, argument, holds: algebra.atom("test", what, argument, not holds),
}

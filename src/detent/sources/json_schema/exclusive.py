"""oneOf: which of its schemas exclude each other, so that "exactly one" needs no more than "one" of them.

What is looked at is cheap and on the surface: kinds of values, const and enum, ranges, required members whose values
exclude each other, members that one requires and the other forbids. Where that shows nothing, an alternative is a
schema and the negations of the others, which is always right.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

from detent.sources.json_schema.json_values import ARRAY, EVERY_KIND, NUMBER, OBJECT, STRING, kind_of
from detent.sources.json_schema.place import Literal, Negative, Place, Unit
from detent.sources.json_schema.strings import evaluate

if TYPE_CHECKING:
    from detent.sources.json_schema.formula import Formula
    from detent.sources.json_schema.schemas import Schemas

__all__ = ["alternatives", "exclude"]

_MOST_UNITS = 50
_DEEPEST = 3


class Surface:
    """What a conjunction of literals plainly says."""

    def __init__(self, schemas: Schemas, literals: list[Literal]) -> None:
        self.kinds = EVERY_KIND
        self.allowed: dict[Any, Any] | None = None
        self.required: set[str] = set()
        self.lacks: set[str] = set()
        self.values: dict[str, list[Literal]] = {}
        self.closed: list[Any] = []
        self.patterns: list[Formula] = []
        self.least: dict[int, Any] = {}
        self.most: dict[int, Any] = {}
        seen: dict[Literal, None] = dict.fromkeys(literals)
        work = list(literals)
        while work and len(seen) <= _MOST_UNITS:
            literal = work.pop()
            if isinstance(literal, Negative):
                self._deny(schemas, literal)
                continue
            record = schemas.record(literal)
            self.kinds &= record.kinds
            self._allow(record.allowed)
            for formula in record.object:
                self._object(schemas, formula)
            for kind, formulas in ((NUMBER, record.number), (STRING, record.string), (ARRAY, record.array)):
                for formula in formulas:
                    self._range(kind, formula)
            self.patterns += [atom for atom in record.string if atom.kind == "test" and atom.parts[0] == "pattern"]
            for unit in record.units:
                if unit not in seen:
                    seen[unit] = None
                    work.append(unit)
        if self.allowed and self.patterns:
            self.allowed = {key: value for key, value in self.allowed.items() if self._is_found(schemas, value)}

    def _is_found(self, schemas: Schemas, value: Any) -> bool:
        """Whether a value is not a string that a pattern rules out."""
        return not isinstance(value, str) or all(evaluate(schemas, atom).accepts(value) for atom in self.patterns)

    def _allow(self, allowed: dict[Any, Any] | None) -> None:
        if allowed is not None:
            known = self.allowed
            self.allowed = allowed if known is None else {key: known[key] for key in known if key in allowed}

    def _deny(self, schemas: Schemas, literal: Negative) -> None:
        record = schemas.record(literal.place)
        plain = record.allowed is None and not (record.units or record.choices)
        atoms = record.number or record.string or record.array
        if plain and not atoms and record.kinds & OBJECT and len(record.object) == 1:
            formula = record.object[0]
            if formula.kind == "has" and self.kinds & ~record.kinds == 0:
                self.lacks.add(formula.parts[0])
        elif plain and not atoms and not record.object:
            self.kinds &= ~record.kinds

    def _object(self, schemas: Schemas, formula: Any) -> None:
        kind, parts = formula.kind, formula.parts
        if kind == "has":
            self.required.add(parts[0])
        elif kind == "lacks":
            self.lacks.add(parts[0])
        elif kind == "value":
            self.values.setdefault(parts[0], []).append(parts[1])
        elif kind == "every" and parts[1] is schemas.falsity and parts[0].kind == "others" and not parts[0].patterns:
            self.closed.append(parts[0].names)
        elif kind in ("at_least", "at_most"):
            self._range(OBJECT, formula)

    def _range(self, kind: int, formula: Any) -> None:
        if formula.kind in ("at_least", "at_most"):
            side, value = ("least" if formula.kind == "at_least" else "most"), Decimal(formula.parts[0])
            bound = (value, 0)
        elif formula.kind == "test" and formula.parts[0] in _SIDES:
            what, value, holds = formula.parts
            side = _SIDES[what] if holds else _OTHER[_SIDES[what]]
            bound = (Decimal(value), 0 if holds else (1 if side == "least" else -1))
        else:
            return
        if side == "least":
            self.least[kind] = max(self.least.get(kind, bound), bound)
        else:
            self.most[kind] = min(self.most.get(kind, bound), bound)

    def forbids(self, name: str) -> bool:
        """Whether no object has that member."""
        return name in self.lacks or any(name not in names for names in self.closed)


_SIDES = {"from": "least", "to": "most", "shortest": "least", "longest": "most"}
_OTHER = {"least": "most", "most": "least"}


def alternatives(schemas: Schemas, parts: list[Place]) -> list[tuple[Unit, ...]]:
    """Give the alternatives of a oneOf."""
    surfaces = [Surface(schemas, [part]) for part in parts]
    if _is_discriminated(schemas, surfaces):
        return [(part,) for part in parts]
    negatives: list[list[Negative]] = [[] for _ in parts]
    for index, surface in enumerate(surfaces):
        for other in range(index):
            if parts[other] is parts[index] or not _exclude(schemas, surface, surfaces[other], 0):
                negatives[index].append(parts[other].negative)
                negatives[other].append(parts[index].negative)
    return [(part, *denied) for part, denied in zip(parts, negatives, strict=True)]


def exclude(schemas: Schemas, left: list[Literal], right: list[Literal]) -> bool:
    """Whether it is plain that no value is of both."""
    return _exclude(schemas, Surface(schemas, left), Surface(schemas, right), 0)


def _is_discriminated(schemas: Schemas, surfaces: list[Surface]) -> bool:
    """Whether all are objects with a member whose few values tell which of them it is."""
    first = surfaces[0]
    for name in sorted(first.required):
        known: set[Any] = set()
        for surface in surfaces:
            literals = surface.values.get(name)
            if surface.kinds != OBJECT or name not in surface.required or not literals:
                break
            allowed = Surface(schemas, literals).allowed
            if allowed is None or not known.isdisjoint(allowed):
                break
            known.update(allowed)
        else:
            return True
    return False


def _exclude(schemas: Schemas, left: Surface, right: Surface, depth: int) -> bool:
    common = left.kinds & right.kinds
    for one, other in ((left, right), (right, left)):
        if one.allowed is not None:
            kinds = 0
            for key, value in one.allowed.items():
                if other.allowed is None or key in other.allowed:
                    kinds |= kind_of(value)
            common &= kinds
    for kind in (NUMBER, STRING, ARRAY, OBJECT):
        if common & kind and _apart(left, right, kind):
            common &= ~kind
    if common == OBJECT:
        return _objects_exclude(schemas, left, right, depth)
    return not common


def _apart(left: Surface, right: Surface, kind: int) -> bool:
    """Whether the ranges of numbers, or of lengths, do not meet."""
    least = [surface.least[kind] for surface in (left, right) if kind in surface.least]
    most = [surface.most[kind] for surface in (left, right) if kind in surface.most]
    return bool(least and most) and max(least) > min(most)


def _objects_exclude(schemas: Schemas, left: Surface, right: Surface, depth: int) -> bool:
    if any(right.forbids(name) for name in left.required) or any(left.forbids(name) for name in right.required):
        return True
    if depth >= _DEEPEST:
        return False
    for name in left.required | right.required:
        if name in left.values and name in right.values:
            one, other = (Surface(schemas, surface.values[name]) for surface in (left, right))
            if _exclude(schemas, one, other, depth + 1):
                return True
    return False

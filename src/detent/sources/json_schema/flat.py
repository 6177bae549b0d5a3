"""Flat: what a conjunction of schemas says, by kind of value, with allOf and references looked through."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from detent.errors import SchemaError
from detent.sources.json_schema.formula import Formula
from detent.sources.json_schema.json_values import ARRAY, EVERY_KIND, NUMBER, OBJECT, STRING, kind_of
from detent.sources.json_schema.place import Choice, Negative, Own, Place, Unit

if TYPE_CHECKING:
    from detent.sources.json_schema.schemas import Schemas

__all__ = ["Flat", "circle", "flatten"]


class Flat:
    """The parts of a conjunction; `rest` are units that say all of it but allOf and references, which they replace."""

    __slots__ = (
        "allowed",
        "array",
        "choices",
        "declared",
        "kinds",
        "negatives",
        "number",
        "object",
        "place",
        "rest",
        "string",
    )

    def __init__(self, place: Place) -> None:
        self.place = place
        self.kinds = EVERY_KIND
        self.allowed: dict[Any, Any] | None = None
        self.number: list[Formula] = []
        self.string: list[Formula] = []
        self.array: list[Formula] = []
        self.object: list[Formula] = []
        self.negatives: list[Negative] = []
        self.choices: list[Choice] = []
        self.declared: dict[str, None] = {}
        self.rest: list[Unit] = []

    @property
    def is_empty(self) -> bool:
        """Whether it is plain that no value satisfies it."""
        return not self.kinds or (self.allowed is not None and not self.allowed)

    @property
    def is_bare(self) -> bool:
        """Whether it says nothing but its choices."""
        said = self.number or self.string or self.array or self.object or self.negatives
        return self.kinds == EVERY_KIND and self.allowed is None and not said

    @property
    def is_trivial(self) -> bool:
        """Whether it says nothing."""
        return self.is_bare and not self.choices

    @property
    def names(self) -> dict[str, None]:
        """The members that `properties` declare, in order of their first appearance."""
        return self.declared

    def said(self, kind: int) -> list[Formula]:
        """Give the formulas about a kind of value."""
        if kind == OBJECT:
            return self.object
        if kind == ARRAY:
            return self.array
        if kind == STRING:
            return self.string
        return self.number if kind == NUMBER else []


_Frame = tuple[Unit, bool]


def flatten(schemas: Schemas, units: tuple[Unit, ...]) -> Flat:
    """Give the parts of a conjunction."""
    if len(units) == 1 and isinstance(units[0], Place) and not schemas.record(units[0]).units:
        return _alone(schemas, units[0])
    flat = Flat(schemas.root)
    seen: set[Unit] = set()
    active: set[Unit] = set()
    denied: set[Any] = set()
    # Depth first in order, so that names appear as in the text; (place, True) is where a place has been left.
    stack: list[_Frame] = [(unit, False) for unit in reversed(units)]
    while stack:
        unit, is_left = stack.pop()
        if is_left:
            active.discard(unit)
            continue
        if unit in seen:
            if unit in active and isinstance(unit, Place):
                raise circle(unit)
            continue
        seen.add(unit)
        if not isinstance(unit, Place):
            _add_other(schemas, flat, unit, seen, denied)
            continue
        _add(schemas, flat, unit, seen)
        record = schemas.record(unit)
        for choice in record.choices:
            if choice not in seen:
                seen.add(choice)
                flat.choices.append(choice)
                flat.rest.append(choice)
        if record.units:
            active.add(unit)
            stack.append((unit, True))
            stack.extend((inner, False) for inner in reversed(record.units))
    _settle(flat, denied)
    return flat


def _alone(schemas: Schemas, place: Place) -> Flat:
    """The common case: one schema without allOf and references; what its record has is shared."""
    record = schemas.record(place)
    flat = Flat(place)
    flat.kinds, flat.allowed = record.kinds, record.allowed
    flat.number, flat.string, flat.array, flat.object = record.number, record.string, record.array, record.object
    flat.declared = dict.fromkeys(record.declared)
    flat.choices = record.choices
    flat.rest = [place.own, *record.choices]
    _settle(flat, set())
    return flat


def _add_other(schemas: Schemas, flat: Flat, unit: Unit, seen: set[Unit], denied: set[Any]) -> None:
    """Add a unit that is no schema."""
    if isinstance(unit, Own):
        _add(schemas, flat, unit.place, seen)
        return
    flat.rest.append(unit)
    if isinstance(unit, Choice):
        flat.choices.append(unit)
    elif isinstance(unit, Negative):
        _deny(schemas, flat, unit, denied)
    elif isinstance(unit, Formula):
        (flat.object if unit.is_of_objects else flat.array).append(unit)


def _add(schemas: Schemas, flat: Flat, place: Place, seen: set[Unit]) -> None:
    """Add what a place's schema says itself."""
    record = schemas.record(place)
    flat.kinds &= record.kinds
    if record.allowed is not None:
        known = flat.allowed
        flat.allowed = record.allowed if known is None else {key: known[key] for key in known if key in record.allowed}
    flat.number += record.number
    flat.string += record.string
    flat.array += record.array
    flat.object += record.object
    if record.declared:
        flat.declared.update(dict.fromkeys(record.declared))
    flat.place = place if flat.place is schemas.root else flat.place
    flat.rest.append(place.own)
    seen.add(place.own)


def _deny(schemas: Schemas, flat: Flat, unit: Negative, denied: set[Any]) -> None:
    """Add a negation: at once if it is one of kinds or of listed values."""
    record = schemas.record(unit.place)
    if not (record.number or record.string or record.array or record.object or record.units or record.choices):
        if record.allowed is None:
            flat.kinds &= ~record.kinds
            return
        if record.kinds & (ARRAY | OBJECT) == 0:
            denied.update(record.allowed)
    flat.negatives.append(unit)


def _settle(flat: Flat, denied: set[Any]) -> None:
    """Take out of the listed values those that are of other kinds or denied."""
    if flat.allowed is None:
        return
    kinds = 0
    kept: dict[Any, Any] = {}
    for key, value in flat.allowed.items():
        kind = kind_of(value)
        if kind & flat.kinds and key not in denied:
            kept[key] = value
            kinds |= kind
    flat.allowed = kept
    flat.kinds = kinds


def circle(place: Place) -> SchemaError:
    """Make the error for a schema that applies to a value because it applies to that value."""
    pointer = place.pointer()
    return SchemaError(
        f"at {pointer or 'the root'}: the schema refers to itself for the same value, by $ref, allOf, anyOf and the "
        "like alone, which says nothing; let it refer to itself below properties or items",
        pointer=pointer,
    )

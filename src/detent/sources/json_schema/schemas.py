"""Schemas: the places of a document, each made once, and what its keywords say, read when first needed."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

from detent import _core
from detent.errors import (
    LimitError,
    PatternSyntaxError,
    SchemaError,
    SchemaWarning,
    UnsupportedError,
    UnsupportedSchemaError,
)
from detent.language import Language
from detent.limits import Limits
from detent.sources.json_schema.dialect import DEFAULT, DIALECTS, Dialect
from detent.sources.json_schema.ecma import pattern_node
from detent.sources.json_schema.formats import format_node
from detent.sources.json_schema.formula import Algebra
from detent.sources.json_schema.json_values import ARRAY, OBJECT, canonical, is_text, kind_of
from detent.sources.json_schema.keysets import Cell, KeySet
from detent.sources.json_schema.keywords import read
from detent.sources.json_schema.place import Choice, Conjunction, Literal, Negative, Place, Unit, negated
from detent.sources.json_schema.record import Record
from detent.sources.json_schema.resolve import Base, References
from detent.sources.json_schema.strings import Strings
from detent.sources.nodes import UTF8, short_repr

__all__ = ["Schemas", "sketched"]

_SCALARS = ("string", "integer", "number", "boolean", "null")
_TYPED = frozenset(("type", "title", "description", "default", "examples", "$comment", "deprecated"))


class Schemas:
    """The places, literals and conjunctions of one compilation."""

    def __init__(self, root: Any, lenient: bool, formats: Mapping[str, Language], limits: Limits) -> None:
        self.limits = limits
        self.lenient = lenient
        self.formats = formats
        self._warned: set[str] = set()
        self._found: dict[str, Strings] = {}
        self._patterns: dict[str, _core.Node | None] = {}
        self.references = References(root, self._dialect(root))
        self._places: dict[tuple[int, Base], Place] = {}
        self._scalars: dict[tuple[str, Base], Place] = {}
        self._constants: dict[Any, Place] = {}
        self._key_sets: dict[Any, KeySet] = {}
        self._conjunctions: dict[frozenset[Unit], Conjunction] = {}
        start = self.references.start
        self.truth = Place(True, start, None, "")
        self.falsity = Place(False, start, None, "")
        self.algebra = Algebra(limits.pattern_size, self.truth, self.falsity)
        self.truth.record, self.falsity.record = Record(), Record()
        self.falsity.record.kinds = 0
        self.never = Conjunction((self.falsity,))
        self.never.node = _core.empty()
        self.root = self.place(root, start, None, "")

    def _dialect(self, root: Any) -> Dialect:
        named = root.get("$schema") if isinstance(root, dict) else None
        if named is None:
            return DEFAULT
        if not isinstance(named, str):
            raise SchemaError(f"$schema must be a string, got {sketched(named)}", keyword="$schema")
        found = DIALECTS.get(named.rstrip("#")) or DIALECTS.get(named.rstrip("#").replace("https:", "http:", 1))
        if found is None:
            reason = f"{short_repr(named)} is none of the drafts 4, 6, 7, 2019-09 and 2020-12"
            self.refuse("", "$schema", reason, "name one of these, or leave $schema out for 2020-12")
        return found or DEFAULT

    # Places.

    def place(self, schema: Any, base: Base, parent: Place | None, token: object, is_entered: bool = False) -> Place:
        """Give the place of a schema; `is_entered` says that the base is already the one inside of it."""
        if schema is True:
            return self.truth
        if schema is False:
            return self.falsity
        if isinstance(schema, dict) and schema.get("type") in _SCALARS and schema.keys() <= _TYPED:
            # Half of all subschemas in use say no more than this: one place serves them all.
            return self._scalar(schema, base, parent, token)
        if self.references.has_inner_bases and not is_entered:
            base = self.references.enter(base, schema)
        key = (id(schema), base)
        found = self._places.get(key)
        if found is None:
            if not isinstance(schema, dict):
                pointer = Place(schema, base, parent, token).pointer()
                raise SchemaError(
                    f"at {pointer or 'the root'}: a schema must be an object or a boolean, got {sketched(schema)}",
                    pointer=pointer,
                )
            if not schema:
                return self.truth
            if len(self._places) >= self.limits.pattern_size:
                raise LimitError(
                    f"the schema has over {self.limits.pattern_size} subschemas; "
                    "simplify it or raise Limits(pattern_size=...)"
                )
            found = self._places[key] = Place(schema, base, parent, token)
        return found

    def _scalar(self, schema: dict[str, Any], base: Base, parent: Place | None, token: object) -> Place:
        """Give the one place for all schemas of a type of scalars."""
        key = (schema["type"], base)
        found = self._scalars.get(key)
        if found is None:
            found = self._scalars[key] = Place(schema, base, parent, token)
        return found

    def inner(self, place: Place, schema: Any, *token: object) -> Place:
        """Give the place of a subschema."""
        return self.place(schema, place.base, place, token)

    def referred(self, place: Place, reference: Any, keyword: str) -> Place:
        """Give the place that a reference leads to."""
        if not isinstance(reference, str):
            raise self.malformed(place, keyword, "a string", reference)
        schema, base, address = self.references.resolve(place, reference, keyword)
        return self.place(schema, base, None, address, is_entered=True)

    def record(self, place: Place) -> Record:
        """Give what a place's schema says."""
        if place.record is None:
            place.record = read(self, place)
        return place.record

    def target(self, place: Place) -> Place:
        """Give the place that a schema leads to which says nothing but that another one holds, by $ref or allOf."""
        if place.target is None:
            found, seen = place, {place}
            while True:
                record = self.record(found)
                following = record.units[0] if len(record.units) == 1 and not record.says_itself() else None
                if not isinstance(following, Place):
                    break
                if following in seen:  # a circle; who flattens it says so
                    found = place
                    break
                found = following.target or following
                seen.add(found)
            place.target = found
        return place.target

    def constant(self, value: Any, place: Place) -> Place:
        """Give a place for one value."""
        key = canonical(value)
        found = self._constants.get(key)
        if found is None:
            found = self._constants[key] = Place({"const": value}, place.base, place, "const")
            found.record = record = Record()
            kind = record.kinds = kind_of(value)
            algebra = self.algebra
            if kind == OBJECT:
                record.declared = tuple(value)
                for name, inner in value.items():
                    record.object.append(algebra.has(name))
                    record.object.append(algebra.value(name, self.constant(inner, place)))
                record.object.append(algebra.every(self.others(value, ()), self.falsity))
            elif kind == ARRAY:
                record.array.append(algebra.at_least(len(value)))
                record.array.append(algebra.at_most(len(value)))
                for index, inner in enumerate(value):
                    record.array.append(algebra.item(index, self.constant(inner, place)))
            else:
                record.allowed = {key: value}
        return found

    def kinds(self, kinds: int) -> Place:
        """Give a place for all values of some kinds."""
        found = self._constants.get(("kinds", kinds))
        if found is None:
            found = self._constants["kinds", kinds] = Place({}, self.root.base, self.root, "type")
            found.record = Record()
            found.record.kinds = kinds
        return found

    def either(self, literals: list[Literal], place: Place) -> Literal:
        """Give a literal that holds of the values of which one of some literals holds."""
        if self.truth in literals:
            return self.truth
        kept = [literal for literal in literals if literal is not self.falsity]
        if len(kept) < 2:
            return kept[0] if kept else self.falsity
        key = ("either", frozenset(kept))
        found = self._constants.get(key)
        if found is None:
            found = self._constants[key] = Place({}, place.base, place, "anyOf")
            found.record = Record()
            found.record.choices.append(Choice(found, (1 << 7) - 1, lambda: [(literal,) for literal in kept]))
        return found

    # Conjunctions.

    def conjunction(self, units: list[Unit]) -> Conjunction:
        """Give the conjunction of units, in their order; `never` if it is plain that nothing satisfies them."""
        if len(units) == 1 and isinstance(units[0], Place) and units[0] is not self.falsity:
            only = units[0]
            if only.conjunction is None:
                target = self.target(only)
                only.conjunction = self.conjunction([target]) if target is not only else Conjunction((only,))
            return only.conjunction
        kept = self._kept(units)
        if kept is None:
            return self.never
        if len(kept) < len(units) and len(kept) == 1:
            return self.conjunction(list(kept))
        key = frozenset(kept)
        found = self._conjunctions.get(key)
        if found is None:
            found = self._conjunctions[key] = Conjunction(tuple(kept))
        return found

    def _kept(self, units: list[Unit]) -> dict[Unit, None] | None:
        """Give the units that say something; None if two contradict each other."""
        kept: dict[Unit, None] = {}
        for given in units:
            unit = self._plain(given)
            if unit is self.falsity or (isinstance(unit, (Place, Negative)) and negated(unit) in kept):
                return None
            if unit is not self.truth:
                kept[unit] = None
        return kept

    def _plain(self, unit: Unit) -> Unit:
        """Look through references; give true for the negation of false, and false for that of true."""
        if isinstance(unit, Place):
            return self.target(unit)
        if not isinstance(unit, Negative):
            return unit
        place = self.target(unit.place)
        if place is self.truth:
            return self.falsity
        return self.truth if place is self.falsity else place.negative

    # Names.

    def found_by(self, pattern: str) -> KeySet:
        """Give the names that a pattern finds."""
        return self._key_set("found", (), (pattern,))

    def others(self, names: Any, patterns: Any) -> KeySet:
        """Give the names that are neither listed nor found by one of the patterns."""
        return self._key_set("others", tuple(names), tuple(dict.fromkeys(patterns)))

    def texts(self, literal: Literal) -> KeySet:
        """Give the names that are texts of a literal."""
        return self._key_set("texts", (), (), literal)

    def cell(self, cell: Cell) -> KeySet:
        """Give the names of one cell."""
        key = ("cell", cell)
        found = self._key_sets.get(key)
        if found is None:
            found = self._key_sets[key] = KeySet("cell", (), (), cell=cell)
        return found

    def _key_set(
        self, kind: str, names: tuple[str, ...], patterns: tuple[str, ...], literal: Literal | None = None
    ) -> KeySet:
        key = (kind, frozenset(names), frozenset(patterns), literal)
        found = self._key_sets.get(key)
        if found is None:
            found = self._key_sets[key] = KeySet(kind, names, patterns, literal)
        return found

    # Strings.

    def pattern(self, pattern: str, place: Place, keyword: str) -> _core.Node | None:
        """Give the texts that a pattern finds; None if it is dropped."""
        if pattern in self._patterns:
            return self._patterns[pattern]
        node: _core.Node | None = None
        if not is_text(pattern):
            pointer = place.pointer()
            message = f"{keyword} at {pointer or 'the root'} has half of a surrogate pair, which UTF-8 text never holds"
            raise SchemaError(f"{message}; decode the schema's text first", pointer=pointer, keyword=keyword)
        try:
            node = pattern_node(pattern, limits=self.limits)
        except PatternSyntaxError as error:
            pointer = place.pointer()
            raise SchemaError(
                f"{keyword} at {pointer or 'the root'}: {error}", pointer=pointer, keyword=keyword
            ) from None
        except UnsupportedError as error:
            self.refuse(place, keyword, str(error), "write it without that")
        self._patterns[pattern] = node
        return node

    def names_found(self, pattern: str) -> Strings:
        """Give the names that a pattern of patternProperties finds."""
        found = self._found.get(pattern)
        if found is None:
            node = self.pattern(pattern, self.root, "patternProperties")
            found = self._found[pattern] = Strings() if node is None else Strings(nodes=(node,))
        return found

    def format(self, name: str, place: Place) -> _core.Node | None:
        """Give the texts of a format; None if it is unknown or dropped, so that it says nothing."""
        if name in self.formats:
            return _core.intersection([self.formats[name]._node, UTF8])
        try:
            node = format_node(name)
        except UnsupportedError as error:
            reason, _, remedy = str(error).partition("; ")
            self.refuse(place, "format", reason, remedy)
            return None
        if node is None:
            self.warn(
                f"format {short_repr(name)} is none that the specification names, so it has no effect; "
                "pass formats={name: language} to give it a meaning"
            )
        return node

    # What goes wrong.

    def malformed(self, place: Place, keyword: str, wanted: str, given: object) -> SchemaError:
        """Make the error for a keyword's value of the wrong type."""
        pointer = place.pointer()
        where = pointer or "the root"
        return SchemaError(
            f"{keyword} at {where} must be {wanted}, got {sketched(given)}", pointer=pointer, keyword=keyword
        )

    def refuse(self, place: Place | str, keyword: str, reason: str, remedy: str) -> None:
        """Raise for what cannot be held exactly; in lenient mode warn, and the caller drops it."""
        pointer = place if isinstance(place, str) else place.pointer()
        error = UnsupportedSchemaError(pointer, keyword, reason, remedy)
        if not self.lenient:
            raise error
        self.warn(f"dropped: {error}")

    def warn(self, message: str) -> None:
        """Warn, once for each message."""
        if message not in self._warned:
            self._warned.add(message)
            warnings.warn(SchemaWarning(message), stacklevel=2)


def sketched(value: object) -> str:
    """Show a value of a schema without going into it.

    >>> sketched([1, 2]), sketched("a")
    ('a list of 2', "'a'")
    """
    if isinstance(value, (list, dict)):
        return f"{'a list' if isinstance(value, list) else 'an object'} of {len(value)}"
    return short_repr(value)

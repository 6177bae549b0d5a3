"""unevaluatedProperties and unevaluatedItems: which members and items other keywords have looked at.

That depends on which of the schemas of anyOf, oneOf, if and dependentSchemas a value is valid against. A *scenario*
is a set of these together with what is then evaluated; the keyword says: some scenario holds, and all that it leaves
unevaluated is valid. More evaluated schemas only leave less to check, so a scenario need not deny the schemas that it
leaves out.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING, Any

from detent.errors import LimitError
from detent.sources.json_schema.place import Literal, Place, Unit

if TYPE_CHECKING:
    from detent.sources.json_schema.schemas import Schemas

__all__ = ["items", "properties"]

_MOST = 512
_DEEPEST = 60


@dataclass(frozen=True)
class _Scenario:
    """Units that hold, and what is evaluated: names, patterns, a prefix of items, items of literals, or everything."""

    units: tuple[Unit, ...] = ()
    names: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()
    prefix: int = 0
    contained: tuple[Literal, ...] = ()
    is_whole: bool = False

    def with_other(self, other: _Scenario) -> _Scenario:
        return _Scenario(
            self.units + other.units,
            self.names + other.names,
            self.patterns + other.patterns,
            max(self.prefix, other.prefix),
            self.contained + other.contained,
            self.is_whole or other.is_whole,
        )

    @property
    def evaluates(self) -> bool:
        return bool(self.names or self.patterns or self.prefix or self.contained or self.is_whole)


_NOTHING = _Scenario()


def properties(schemas: Schemas, place: Place, inner: Literal) -> list[tuple[Unit, ...]]:
    """Give the alternatives of `unevaluatedProperties: inner` at a place."""
    found: list[tuple[Unit, ...]] = []
    for scenario in _Walk(schemas, place, is_object=True).scenarios(place, 0):
        if scenario.is_whole:
            found.append(scenario.units)
        else:
            keys = schemas.others(scenario.names, scenario.patterns)
            found.append((*scenario.units, schemas.algebra.every(keys, inner)))
    return found


def items(schemas: Schemas, place: Place, inner: Literal) -> list[tuple[Unit, ...]]:
    """Give the alternatives of `unevaluatedItems: inner` at a place."""
    found: list[tuple[Unit, ...]] = []
    for scenario in _Walk(schemas, place, is_object=False).scenarios(place, 0):
        if scenario.is_whole:
            found.append(scenario.units)
        else:
            literal = schemas.either([inner, *dict.fromkeys(scenario.contained)], place)
            found.append((*scenario.units, schemas.algebra.rest(scenario.prefix, literal)))
    return found


@dataclass
class _Walk:
    schemas: Schemas
    asker: Place
    is_object: bool
    _known: dict[Place, list[_Scenario]] = field(default_factory=dict)

    def scenarios(self, place: Place, depth: int) -> list[_Scenario]:
        """Give the scenarios of a schema that is known to hold."""
        if place in self._known:
            return self._known[place]
        if depth > _DEEPEST:
            raise LimitError(
                f"unevaluated keywords at {self.asker.pointer() or 'the root'} look through over {_DEEPEST} levels of "
                "subschemas; flatten the schema"
            )
        schema = place.schema
        record = self.schemas.record(place)
        if not isinstance(schema, dict):
            return [_NOTHING]
        factors: list[list[_Scenario]] = [[self._own(place, schema)]]
        for unit in record.units:
            if isinstance(unit, Place):
                factors.append(self.scenarios(unit, depth + 1))
        if not (place.base.dialect.is_reference_alone and "$ref" in schema):
            factors.extend(self._optional(place, schema, depth))
        found = self._combine(factors)
        self._known[place] = found
        return found

    def _own(self, place: Place, schema: dict[str, Any]) -> _Scenario:
        is_asker = place is self.asker
        if self.is_object:
            return _Scenario(
                names=tuple(schema.get("properties", ())),
                patterns=tuple(schema.get("patternProperties", ())),
                is_whole="additionalProperties" in schema or ("unevaluatedProperties" in schema and not is_asker),
            )
        is_new = place.base.dialect.year >= 2020
        first = schema.get("prefixItems") if is_new else schema.get("items")
        prefix = len(first) if isinstance(first, list) else 0
        rest = "additionalItems" if isinstance(schema.get("items"), list) else "items"
        contained: tuple[Literal, ...] = ()
        if is_new and "contains" in schema:
            contained = (self.schemas.inner(place, schema["contains"], "contains"),)
        return _Scenario(
            prefix=prefix,
            contained=contained,
            is_whole=rest in schema or ("unevaluatedItems" in schema and not is_asker),
        )

    def _optional(self, place: Place, schema: dict[str, Any], depth: int) -> list[list[_Scenario]]:
        inner = self.schemas.inner
        factors: list[list[_Scenario]] = []
        for index, part in enumerate(schema.get("anyOf", ())):
            factors.append([_NOTHING, *self._given(inner(place, part, "anyOf", index), depth)])
        one = [_NOTHING]
        for index, part in enumerate(schema.get("oneOf", ())):
            one.extend(self._given(inner(place, part, "oneOf", index), depth))
        factors.append(one)
        if "if" in schema:
            factors.append(self._conditional(place, schema, depth))
        if self.is_object:
            for keyword in ("dependentSchemas", "dependencies"):
                for name, part in schema.get(keyword, {}).items():
                    if isinstance(part, (dict, bool)):
                        has = _Scenario((self.schemas.algebra.has(name),))
                        given = self.scenarios(inner(place, part, keyword, name), depth + 1)
                        factors.append([_NOTHING, *(has.with_other(one) for one in given if one.evaluates)])
        return factors

    def _given(self, place: Place, depth: int) -> list[_Scenario]:
        """The scenarios in which a schema holds and evaluates something."""
        return [
            _Scenario((place,)).with_other(scenario)
            for scenario in self.scenarios(place, depth + 1)
            if scenario.evaluates
        ]

    def _conditional(self, place: Place, schema: dict[str, Any], depth: int) -> list[_Scenario]:
        inner = self.schemas.inner
        condition = inner(place, schema["if"], "if")
        found: list[_Scenario] = [_NOTHING]
        then = self.scenarios(inner(place, schema.get("then", True), "then"), depth + 1)
        for scenario in self._combine([self.scenarios(condition, depth + 1), then]):
            if scenario.evaluates:
                found.append(_Scenario((condition,)).with_other(scenario))
        for scenario in self.scenarios(inner(place, schema.get("else", True), "else"), depth + 1):
            if scenario.evaluates:
                found.append(_Scenario((self.schemas.algebra.opposite(condition),)).with_other(scenario))
        return found

    def _combine(self, factors: list[list[_Scenario]]) -> list[_Scenario]:
        count = 1
        for factor in factors:
            count *= len(factor)
        if count > _MOST:
            raise LimitError(
                f"unevaluated keywords at {self.asker.pointer() or 'the root'}: the schemas beside them combine in "
                f"{count} ways, above the limit of {_MOST}; name the members in one `properties`"
            )
        found = []
        for chosen in product(*factors):
            scenario = _NOTHING
            for part in chosen:
                scenario = scenario.with_other(part)
            found.append(scenario)
        return found

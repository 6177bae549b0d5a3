"""unevaluatedProperties and unevaluatedItems: the members and items that no other keyword evaluates.

They depend on the schemas of anyOf, oneOf, if and dependentSchemas that a value is valid against. A *scenario* is a set
of such schemas with the members or items that they evaluate. The keyword then asserts: one scenario holds, and all
that it leaves unevaluated is valid. More evaluated schemas only leave less to check, so a scenario need not deny the
schemas that it leaves out.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product
from typing import Any

from detent.errors import LimitError
from detent.sources.json_schema.assertions.assertions import Conjunct
from detent.sources.json_schema.assertions.document import SchemaDocument
from detent.sources.json_schema.parse.schema_node import SchemaNode, SignedSchema

__all__ = ["unevaluated_items", "unevaluated_properties"]

_MAX_SCENARIOS = 512
_MAX_DEPTH = 60


@dataclass(frozen=True)
class _Scenario:
    """Conjuncts that hold, and the parts that they evaluate: names, patterns, first items, items by schema, or all."""

    conjuncts: tuple[Conjunct, ...] = ()
    names: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()
    prefix: int = 0
    contained: tuple[SignedSchema, ...] = ()
    is_whole: bool = False

    def with_other(self, other: _Scenario) -> _Scenario:
        return _Scenario(
            self.conjuncts + other.conjuncts,
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


def unevaluated_properties(
    document: SchemaDocument, node: SchemaNode, inner: SignedSchema
) -> list[tuple[Conjunct, ...]]:
    """Return the alternatives of `unevaluatedProperties: inner` in the schema of a node."""
    found: list[tuple[Conjunct, ...]] = []
    for scenario in _ScenarioSearch(document, node, is_object=True).scenarios(node, 0):
        if scenario.is_whole:
            found.append(scenario.conjuncts)
        else:
            names = document.names.others(scenario.names, scenario.patterns)
            found.append((*scenario.conjuncts, document.algebra.every(names, inner)))
    return found


def unevaluated_items(document: SchemaDocument, node: SchemaNode, inner: SignedSchema) -> list[tuple[Conjunct, ...]]:
    """Return the alternatives of `unevaluatedItems: inner` in the schema of a node."""
    found: list[tuple[Conjunct, ...]] = []
    for scenario in _ScenarioSearch(document, node, is_object=False).scenarios(node, 0):
        if scenario.is_whole:
            found.append(scenario.conjuncts)
        else:
            schema = document.union([inner, *dict.fromkeys(scenario.contained)], node)
            found.append((*scenario.conjuncts, document.algebra.items_from(scenario.prefix, schema)))
    return found


@dataclass
class _ScenarioSearch:
    document: SchemaDocument
    keyword_node: SchemaNode
    """The node that has the unevaluated keyword."""
    is_object: bool
    _known: dict[SchemaNode, list[_Scenario]] = field(default_factory=dict)

    def scenarios(self, node: SchemaNode, depth: int) -> list[_Scenario]:
        """Return the scenarios of a schema that is known to hold."""
        if node in self._known:
            return self._known[node]
        if depth > _MAX_DEPTH:
            raise LimitError(
                f"unevaluated keywords at {self.keyword_node.pointer() or 'the root'} look through over {_MAX_DEPTH} "
                "levels of subschemas; flatten the schema",
                subject="depth_of_subschemas",
                limit=_MAX_DEPTH,
                given=depth,
            )
        schema = node.schema
        assertions = self.document.assertions(node)
        if not isinstance(schema, dict):
            return [_NOTHING]
        factors: list[list[_Scenario]] = [[self._local(node, schema)]]
        for inner in assertions.in_place:
            if isinstance(inner, SchemaNode):
                factors.append(self.scenarios(inner, depth + 1))
        if not (node.base.dialect.is_reference_alone and "$ref" in schema):
            factors.extend(self._optional(node, schema, depth))
        found = self._combine(factors)
        self._known[node] = found
        return found

    def _local(self, node: SchemaNode, schema: dict[str, Any]) -> _Scenario:
        is_here = node is self.keyword_node
        if self.is_object:
            return _Scenario(
                names=tuple(schema.get("properties", ())),
                patterns=tuple(schema.get("patternProperties", ())),
                is_whole="additionalProperties" in schema or ("unevaluatedProperties" in schema and not is_here),
            )
        is_new = node.base.dialect.year >= 2020
        first = schema.get("prefixItems") if is_new else schema.get("items")
        prefix = len(first) if isinstance(first, list) else 0
        rest = "additionalItems" if isinstance(schema.get("items"), list) else "items"
        contained: tuple[SignedSchema, ...] = ()
        if is_new and "contains" in schema:
            contained = (self.document.inner(node, schema["contains"], "contains"),)
        return _Scenario(
            prefix=prefix,
            contained=contained,
            is_whole=rest in schema or ("unevaluatedItems" in schema and not is_here),
        )

    def _optional(self, node: SchemaNode, schema: dict[str, Any], depth: int) -> list[list[_Scenario]]:
        inner = self.document.inner
        factors: list[list[_Scenario]] = []
        for index, part in enumerate(schema.get("anyOf", ())):
            factors.append([_NOTHING, *self._if_valid(inner(node, part, "anyOf", index), depth)])
        one = [_NOTHING]
        for index, part in enumerate(schema.get("oneOf", ())):
            one.extend(self._if_valid(inner(node, part, "oneOf", index), depth))
        factors.append(one)
        if "if" in schema:
            factors.append(self._conditional(node, schema, depth))
        if self.is_object:
            for keyword in ("dependentSchemas", "dependencies"):
                for name, part in schema.get(keyword, {}).items():
                    if isinstance(part, (dict, bool)):
                        has = _Scenario((self.document.algebra.has(name),))
                        given = self.scenarios(inner(node, part, keyword, name), depth + 1)
                        factors.append([_NOTHING, *(has.with_other(one) for one in given if one.evaluates)])
        return factors

    def _if_valid(self, node: SchemaNode, depth: int) -> list[_Scenario]:
        """Return the scenarios in which a schema holds and evaluates something."""
        return [
            _Scenario((node,)).with_other(scenario)
            for scenario in self.scenarios(node, depth + 1)
            if scenario.evaluates
        ]

    def _conditional(self, node: SchemaNode, schema: dict[str, Any], depth: int) -> list[_Scenario]:
        inner = self.document.inner
        condition = inner(node, schema["if"], "if")
        found: list[_Scenario] = [_NOTHING]
        then = self.scenarios(inner(node, schema.get("then", True), "then"), depth + 1)
        for scenario in self._combine([self.scenarios(condition, depth + 1), then]):
            if scenario.evaluates:
                found.append(_Scenario((condition,)).with_other(scenario))
        for scenario in self.scenarios(inner(node, schema.get("else", True), "else"), depth + 1):
            if scenario.evaluates:
                found.append(_Scenario((self.document.algebra.opposite(condition),)).with_other(scenario))
        return found

    def _combine(self, factors: list[list[_Scenario]]) -> list[_Scenario]:
        count = 1
        for factor in factors:
            count *= len(factor)
        if count > _MAX_SCENARIOS:
            raise LimitError(
                f"unevaluated keywords at {self.keyword_node.pointer() or 'the root'}: the schemas beside them combine "
                f"in {count} ways, above the limit of {_MAX_SCENARIOS}; name the members in one `properties`",
                subject="combinations",
                limit=_MAX_SCENARIOS,
                given=count,
            )
        found = []
        for chosen in product(*factors):
            scenario = _NOTHING
            for part in chosen:
                scenario = scenario.with_other(part)
            found.append(scenario)
        return found

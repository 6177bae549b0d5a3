"""Document: the assertions of each schema, read when first needed, and the conjunctions of schemas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from detent.language import Language
from detent.limits import DEFAULT_LIMITS, Limits
from detent.sources.json_schema.assertions.assertions import AnyOf, Assertions, Conjunct, Conjunction
from detent.sources.json_schema.assertions.formulas import Formula
from detent.sources.json_schema.assertions.keywords import read_assertions
from detent.sources.json_schema.assertions.nodes import SchemaNodes
from detent.sources.json_schema.assertions.plain import PlainSchema, read_plain
from detent.sources.json_schema.parse.schema_node import NegatedSchema, SchemaNode, SignedSchema, negated
from detent.sources.json_schema.parse.values import ARRAY, OBJECT, comparison_key, kind_of

__all__ = ["SchemaDocument", "has_default_texts"]

_IN_PLACE = frozenset(("allOf", "anyOf", "oneOf", "not", "$ref", "$dynamicRef", "$recursiveRef"))
"""The keywords that may lead to another schema for the same value."""


def has_default_texts(lenient: bool, formats: Mapping[str, Language], limits: Limits) -> bool:
    """Whether patterns and formats have the meaning that they have in any other document."""
    return not (lenient or formats) and (limits is DEFAULT_LIMITS or limits == DEFAULT_LIMITS)


class SchemaDocument:
    """The assertions and conjunctions of one schema document, each made once.

    `nothing` is the conjunction that plainly no value satisfies. With `has_one_base` the document is not searched for
    base URIs.
    """

    def __init__(
        self,
        root: Any,
        lenient: bool,
        formats: Mapping[str, Language],
        limits: Limits,
        *,
        has_one_base: bool = False,
    ) -> None:
        self.nodes = SchemaNodes(root, lenient, formats, limits, has_one_base=has_one_base)
        self.limits = limits
        self.diagnostics = self.nodes.diagnostics
        self.algebra = self.nodes.algebra
        self.names = self.nodes.names
        self.texts = self.nodes.texts
        self.has_default_texts = has_default_texts(lenient, formats, limits)
        self.always = self.nodes.always
        self.never = self.nodes.never
        self.root = self.nodes.root
        self.inner = self.nodes.inner
        self._assertions = {self.always: Assertions(), self.never: Assertions(kinds=0)}
        self._plain: dict[SchemaNode, PlainSchema | None] = {}
        self._targets: dict[SchemaNode, SchemaNode] = {}
        self._made: dict[Any, SchemaNode] = {}
        self._conjunctions: dict[frozenset[Conjunct], Conjunction] = {}
        self._single: dict[SchemaNode, Conjunction] = {}
        self.nothing = Conjunction((self.never,))
        self.string_sets: dict[Formula | str, Any] = {}
        """By formula about strings, or by pattern of names, the strings for which it holds (`solve.string_sets`)."""

    def assertions(self, node: SchemaNode) -> Assertions:
        """Return the assertions of a node's schema."""
        found = self._assertions.get(node)
        if found is None:
            found = self._assertions[node] = read_assertions(self.nodes, node)
        return found

    def plain_schema(self, conjunction: Conjunction) -> PlainSchema | None:
        """Return the keywords of a conjunction that is one plain schema; else None."""
        conjuncts = conjunction.conjuncts
        if len(conjuncts) != 1 or not isinstance(conjuncts[0], SchemaNode):
            return None
        node = conjuncts[0]
        if node in self._plain:
            return self._plain[node]
        found = self._plain[node] = read_plain(node.schema, node.base.dialect.year, is_root=node is self.root)
        return found

    def target(self, node: SchemaNode) -> SchemaNode:
        """Follow a schema that only refers to one other schema, by $ref or allOf, to the schema at the end."""
        known = self._targets.get(node)
        if known is not None:
            return known
        if _IN_PLACE.isdisjoint(node.schema if isinstance(node.schema, dict) else ()):
            self._targets[node] = node
            return node
        if len(self.assertions(node).in_place) != 1:
            self._targets[node] = node
            return node
        found, seen = node, {node}
        while True:
            assertions = self.assertions(found)
            following = assertions.in_place[0] if len(assertions.in_place) == 1 else None
            if not isinstance(following, SchemaNode) or assertions.has_local():
                break
            if following in seen:  # a cycle, which `merge` reports
                found = node
                break
            found = self._targets.get(following, following)
            seen.add(found)
        self._targets[node] = found
        return found

    # Schemas that the document does not contain.

    def _make(self, key: Any, assertions: Assertions, near: SchemaNode, schema: Any, keyword: str) -> SchemaNode:
        node = self._made[key] = SchemaNode(schema, near.base, near, keyword)
        self._assertions[node] = assertions
        return node

    def constant(self, value: Any, near: SchemaNode) -> SchemaNode:
        """Return a schema that is valid for one value; messages point to the node `near`."""
        key = comparison_key(value)
        found = self._made.get(key)
        if found is not None:
            return found
        kind, algebra = kind_of(value), self.algebra
        object_: list[Formula] = []
        array: list[Formula] = []
        if kind == OBJECT:
            for name, inner in value.items():
                object_.append(algebra.has(name))
                object_.append(algebra.value(name, self.constant(inner, near)))
            object_.append(algebra.every(self.names.others(value, ()), self.never))
            assertions = Assertions(kind, object=object_, declared=tuple(value))
        elif kind == ARRAY:
            array += [algebra.at_least(len(value)), algebra.at_most(len(value))]
            array += [algebra.item(index, self.constant(inner, near)) for index, inner in enumerate(value)]
            assertions = Assertions(kind, array=array)
        else:
            assertions = Assertions(kind, allowed={key: value})
        return self._make(key, assertions, near, {"const": value}, "const")

    def kinds(self, kinds: int) -> SchemaNode:
        """Return a schema that is valid for all values of some kinds."""
        key = ("kinds", kinds)
        return self._made.get(key) or self._make(key, Assertions(kinds), self.root, {}, "type")

    def union(self, schemas: Sequence[SignedSchema], near: SchemaNode) -> SignedSchema:
        """Return a schema that is valid for the values that one of some schemas is valid for."""
        if self.always in schemas:
            return self.always
        options = tuple(schema for schema in schemas if schema is not self.never)
        if len(options) < 2:
            return options[0] if options else self.never
        key = ("union", frozenset(options))
        found = self._made.get(key)
        return found or self._make(key, Assertions(disjunctions=(AnyOf(options),)), near, {}, "anyOf")

    # Conjunctions.

    def conjunction(self, conjuncts: Sequence[Conjunct]) -> Conjunction:
        """Return the conjunction of conjuncts, in their order; `nothing` if two plainly exclude each other."""
        if len(conjuncts) == 1 and isinstance(conjuncts[0], SchemaNode) and conjuncts[0] is not self.never:
            only = conjuncts[0]
            found = self._single.get(only)
            if found is None:
                target = self.target(only)
                found = self.conjunction([target]) if target is not only else Conjunction((only,))
                self._single[only] = found
            return found
        different = self._different(conjuncts)
        if different is None:
            return self.nothing
        if len(different) < len(conjuncts) and len(different) == 1:
            return self.conjunction(list(different))
        key = frozenset(different)
        found = self._conjunctions.get(key)
        if found is None:
            found = self._conjunctions[key] = Conjunction(tuple(different))
        return found

    def _different(self, conjuncts: Sequence[Conjunct]) -> dict[Conjunct, None] | None:
        """Return the different conjuncts that are not trivial; None if two contradict each other."""
        different: dict[Conjunct, None] = {}
        for given in conjuncts:
            conjunct = self._resolved(given)
            if conjunct is self.never:
                return None
            if isinstance(conjunct, (SchemaNode, NegatedSchema)) and negated(conjunct) in different:
                return None
            if conjunct is not self.always:
                different[conjunct] = None
        return different

    def _resolved(self, conjunct: Conjunct) -> Conjunct:
        """Follow references; replace the negations of the schemas true and false."""
        if isinstance(conjunct, SchemaNode):
            return self.target(conjunct)
        if not isinstance(conjunct, NegatedSchema):
            return conjunct
        node = self.target(conjunct.node)
        if node is self.always:
            return self.never
        return self.always if node is self.never else node.negation

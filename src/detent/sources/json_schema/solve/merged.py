"""Merged assertions: those of all conjuncts of a conjunction, with allOf and references followed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from detent.sources.json_schema.assertions.assertions import Assertions, Conjunct, Disjunction
from detent.sources.json_schema.assertions.diagnostics import self_reference
from detent.sources.json_schema.assertions.document import SchemaDocument
from detent.sources.json_schema.assertions.formulas import Formula, HasMember, is_about_objects
from detent.sources.json_schema.parse.schema_node import LocalAssertions, NegatedSchema, SchemaNode
from detent.sources.json_schema.parse.values import ARRAY, EVERY_KIND, NUMBER, OBJECT, STRING, kind_of

__all__ = ["MergedAssertions", "merge"]


class MergedAssertions(NamedTuple):
    """The assertions of a conjunction; all of them hold.

    `node` is a node for messages. `residue` are conjuncts with the meaning of the whole conjunction; among them are the
    disjunctions, and neither allOf nor references.
    """

    node: SchemaNode
    kinds: int
    allowed: Mapping[Any, Any] | None
    number: Sequence[Formula]
    string: Sequence[Formula]
    array: Sequence[Formula]
    object: Sequence[Formula]
    negations: Sequence[NegatedSchema]
    disjunctions: Sequence[Disjunction]
    declared: Sequence[str]
    """The members that `properties` declare, in order of their first appearance."""
    residue: Sequence[Conjunct]

    @property
    def is_empty(self) -> bool:
        """Whether plainly no value satisfies them."""
        return not self.kinds or (self.allowed is not None and not self.allowed)

    @property
    def has_only_disjunctions(self) -> bool:
        """Whether there are no assertions beside the disjunctions."""
        others = self.number or self.string or self.array or self.object or self.negations
        return self.kinds == EVERY_KIND and self.allowed is None and not others

    @property
    def is_trivial(self) -> bool:
        """Whether every value satisfies them."""
        return self.has_only_disjunctions and not self.disjunctions

    @property
    def required(self) -> frozenset[str]:
        """The members that an object has in any case."""
        return frozenset(formula.name for formula in self.object if isinstance(formula, HasMember))

    def about(self, kind: int) -> Sequence[Formula]:
        """Return the formulas about a kind of value."""
        if kind == OBJECT:
            return self.object
        if kind == ARRAY:
            return self.array
        if kind == STRING:
            return self.string
        return self.number if kind == NUMBER else ()


def merge(document: SchemaDocument, conjuncts: tuple[Conjunct, ...]) -> MergedAssertions:
    """Return the assertions of the conjuncts of a conjunction.

    Raises
    ------
    SchemaError
        A schema applies to a value because it applies to that value.
    """
    if len(conjuncts) == 1 and isinstance(conjuncts[0], SchemaNode):
        assertions = document.assertions(conjuncts[0])
        if not assertions.in_place:
            return _of_one(conjuncts[0], assertions)
    merger = _Merger(document)
    merger.merge(conjuncts)
    return merger.result()


def _of_one(node: SchemaNode, assertions: Assertions) -> MergedAssertions:
    """Return the assertions of one schema without allOf and references, the common case."""
    kinds, allowed = _listed(assertions.kinds, assertions.allowed, frozenset())
    return MergedAssertions(
        node,
        kinds,
        allowed,
        assertions.number,
        assertions.string,
        assertions.array,
        assertions.object,
        (),
        assertions.disjunctions,
        assertions.declared,
        (node.local, *assertions.disjunctions),
    )


def _listed(kinds: int, allowed: Mapping[Any, Any] | None, denied: Any) -> tuple[int, Mapping[Any, Any] | None]:
    """Return the listed values that have an allowed kind and are not denied, and their kinds."""
    if allowed is None:
        return kinds, None
    found_kinds = 0
    found: dict[Any, Any] = {}
    for key, value in allowed.items():
        kind = kind_of(value)
        if kind & kinds and key not in denied:
            found[key] = value
            found_kinds |= kind
    return found_kinds, found


class _Merger:
    """The assertions of the conjuncts so far."""

    def __init__(self, document: SchemaDocument) -> None:
        self.document = document
        self.node: SchemaNode | None = None
        self.kinds = EVERY_KIND
        self.allowed: Mapping[Any, Any] | None = None
        self.denied: set[Any] = set()
        self.number: list[Formula] = []
        self.string: list[Formula] = []
        self.array: list[Formula] = []
        self.object: list[Formula] = []
        self.negations: list[NegatedSchema] = []
        self.disjunctions: list[Disjunction] = []
        self.declared: dict[str, None] = {}
        self.residue: list[Conjunct] = []
        self.seen: set[Conjunct] = set()

    def result(self) -> MergedAssertions:
        kinds, allowed = _listed(self.kinds, self.allowed, self.denied)
        return MergedAssertions(
            self.node or self.document.root,
            kinds,
            allowed,
            self.number,
            self.string,
            self.array,
            self.object,
            self.negations,
            self.disjunctions,
            tuple(self.declared),
            self.residue,
        )

    def merge(self, conjuncts: tuple[Conjunct, ...]) -> None:
        """Visit the schemas depth first in order, so that names appear in the order of the document."""
        active: set[Conjunct] = set()
        # A pair (node, True) marks where the schemas in place of a node have been visited.
        stack: list[tuple[Conjunct, bool]] = [(conjunct, False) for conjunct in reversed(conjuncts)]
        while stack:
            conjunct, is_done = stack.pop()
            if is_done:
                active.discard(conjunct)
                continue
            if conjunct in self.seen:
                if conjunct in active and isinstance(conjunct, SchemaNode):
                    raise self_reference(conjunct)
                continue
            self.seen.add(conjunct)
            if not isinstance(conjunct, SchemaNode):
                self.add_other(conjunct)
                continue
            assertions = self.document.assertions(conjunct)
            self.add_local(conjunct)
            for disjunction in assertions.disjunctions:
                if disjunction not in self.seen:
                    self.seen.add(disjunction)
                    self.disjunctions.append(disjunction)
                    self.residue.append(disjunction)
            if assertions.in_place:
                active.add(conjunct)
                stack.append((conjunct, True))
                stack.extend((inner, False) for inner in reversed(assertions.in_place))

    def add_other(self, conjunct: Conjunct) -> None:
        """Add a conjunct that is no schema."""
        if isinstance(conjunct, LocalAssertions):
            self.add_local(conjunct.node)
            return
        self.residue.append(conjunct)
        if isinstance(conjunct, NegatedSchema):
            self.deny(conjunct)
        elif isinstance(conjunct, Formula):
            (self.object if is_about_objects(conjunct) else self.array).append(conjunct)
        else:
            self.disjunctions.append(conjunct)  # type: ignore[arg-type]  # the only other type of conjuncts

    def add_local(self, node: SchemaNode) -> None:
        """Add the assertions of a schema's own keywords, but its disjunctions."""
        assertions = self.document.assertions(node)
        self.kinds &= assertions.kinds
        if assertions.allowed is not None:
            known = self.allowed
            self.allowed = (
                assertions.allowed if known is None else {key: known[key] for key in known if key in assertions.allowed}
            )
        self.number += assertions.number
        self.string += assertions.string
        self.array += assertions.array
        self.object += assertions.object
        self.declared.update(dict.fromkeys(assertions.declared))
        if self.node is None or self.node is self.document.root:
            self.node = node
        self.residue.append(node.local)
        self.seen.add(node.local)

    def deny(self, negation: NegatedSchema) -> None:
        """Add a negation; at once if it is one of kinds or of listed scalars."""
        inner = self.document.assertions(negation.node)
        formulas = inner.number or inner.string or inner.array or inner.object
        if not (formulas or inner.in_place or inner.disjunctions):
            if inner.allowed is None:
                self.kinds &= ~inner.kinds
                return
            if inner.kinds & (ARRAY | OBJECT) == 0:
                self.denied.update(inner.allowed)
        self.negations.append(negation)

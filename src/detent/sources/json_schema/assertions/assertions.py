"""Assertions of one schema: its keywords, checked and sorted by the kind of value that they are about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, TypeAlias

from detent.sources.json_schema.assertions.formulas import Formula
from detent.sources.json_schema.parse.schema_node import LocalAssertions, NegatedSchema, SchemaNode, SignedSchema
from detent.sources.json_schema.parse.values import ARRAY, EVERY_KIND, OBJECT, kind_of

__all__ = [
    "AnyOf",
    "Assertions",
    "AssertionsBuilder",
    "Conditional",
    "Conjunct",
    "Conjunction",
    "DependentSchema",
    "Disjunction",
    "OneOf",
    "UnevaluatedItems",
    "UnevaluatedProperties",
]


# Disjunctions: assertions that offer alternatives. They are compared by identity.


@dataclass(frozen=True, eq=False, slots=True)
class AnyOf:
    """At least one of the schemas holds."""

    kinds: ClassVar[int] = EVERY_KIND
    """The kinds of values that the assertion is about; it holds for all others."""

    schemas: tuple[SignedSchema, ...]


@dataclass(frozen=True, eq=False, slots=True)
class OneOf:
    """Exactly one of the schemas holds."""

    kinds: ClassVar[int] = EVERY_KIND
    schemas: tuple[SchemaNode, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Conditional:
    """If the condition holds, `then` holds; otherwise, `otherwise`."""

    kinds: ClassVar[int] = EVERY_KIND
    condition: SchemaNode
    then: SchemaNode
    otherwise: SchemaNode


@dataclass(frozen=True, eq=False, slots=True)
class DependentSchema:
    """If there is a member of that name, the schema holds for the object."""

    kinds: ClassVar[int] = OBJECT
    name: str
    schema: SchemaNode


@dataclass(frozen=True, eq=False, slots=True)
class UnevaluatedProperties:
    """Each member that no other keyword of `node` evaluates is valid against the schema."""

    kinds: ClassVar[int] = OBJECT
    node: SchemaNode
    schema: SchemaNode


@dataclass(frozen=True, eq=False, slots=True)
class UnevaluatedItems:
    """Each item that no other keyword of `node` evaluates is valid against the schema."""

    kinds: ClassVar[int] = ARRAY
    node: SchemaNode
    schema: SchemaNode


Disjunction: TypeAlias = AnyOf | OneOf | Conditional | DependentSchema | UnevaluatedProperties | UnevaluatedItems
Conjunct: TypeAlias = SchemaNode | NegatedSchema | LocalAssertions | Disjunction | Formula


class Conjunction:
    """Conjuncts that all hold for one value. Their order decides the order of members.

    A document makes one conjunction for each set of conjuncts.
    """

    __slots__ = ("conjuncts",)

    def __init__(self, conjuncts: tuple[Conjunct, ...]) -> None:
        self.conjuncts = conjuncts


class Assertions(NamedTuple):
    """The assertions of one schema; all of them hold.

    A named tuple, because a frozen dataclass of so many fields takes four times as long to make.
    """

    kinds: int = EVERY_KIND
    allowed: Mapping[Any, Any] | None = None
    """The allowed values of these kinds by comparison key, for `const` and `enum`; None if there are neither."""
    number: Sequence[Formula] = ()
    string: Sequence[Formula] = ()
    array: Sequence[Formula] = ()
    object: Sequence[Formula] = ()
    in_place: Sequence[SignedSchema] = ()
    """Schemas that hold for the same value: those of allOf, not and references."""
    disjunctions: Sequence[Disjunction] = ()
    declared: tuple[str, ...] = ()
    """The names in `properties`, in order."""

    def has_local(self) -> bool:
        """Whether there are assertions beside those of the schemas in place."""
        return (
            self.kinds != EVERY_KIND
            or self.allowed is not None
            or bool(self.number or self.string or self.array or self.object or self.disjunctions)
        )


class AssertionsBuilder:
    """The assertions of one schema while its keywords are read."""

    def __init__(self) -> None:
        self.kinds = EVERY_KIND
        self.allowed: dict[Any, Any] | None = None
        self.number: list[Formula] = []
        self.string: list[Formula] = []
        self.array: list[Formula] = []
        self.object: list[Formula] = []
        self.in_place: list[SignedSchema] = []
        self.disjunctions: list[Disjunction] = []
        self.declared: tuple[str, ...] = ()

    def build(self) -> Assertions:
        """Return the assertions."""
        allowed = self.allowed
        if allowed is not None:
            allowed = {key: value for key, value in allowed.items() if kind_of(value) & self.kinds}
        return Assertions(
            self.kinds,
            allowed,
            self.number,
            self.string,
            self.array,
            self.object,
            self.in_place,
            self.disjunctions,
            self.declared,
        )

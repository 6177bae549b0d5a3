"""Formulas: assertions about the members of an object, the items of an array, or a scalar, as Boolean combinations.

Formulas are in negation normal form: atoms, conjunctions and disjunctions. `Algebra` makes each formula once, so that
formulas are compared by identity.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

from detent.sources.json_schema.assertions.property_names import NameSet
from detent.sources.json_schema.parse.schema_node import SchemaNode, SignedSchema

__all__ = [
    "FALSE",
    "TRUE",
    "And",
    "Combination",
    "Constant",
    "ContainsAtLeast",
    "ContainsAtMost",
    "EveryMember",
    "FormatTest",
    "Formula",
    "HasMember",
    "IntegerTest",
    "ItemAt",
    "ItemsFrom",
    "LacksMember",
    "MaxLengthTest",
    "MaxSize",
    "MaximumTest",
    "MemberValue",
    "MinLengthTest",
    "MinSize",
    "MinimumTest",
    "MultipleTest",
    "NoFractionPartTest",
    "Or",
    "PatternTest",
    "RepeatedItem",
    "ScalarTest",
    "SomeMember",
    "UniqueItems",
    "ValueTest",
    "depends_on_every_member",
    "is_about_objects",
]


class Formula:
    """An atom or a combination of formulas; immutable.

    The dataclasses are not frozen: freezing makes an atom take 0.8 instead of 0.3 us, and a schema has dozens of atoms.
    """

    __slots__ = ()


@dataclass(eq=False, slots=True)
class Constant(Formula):
    """True or false; there is one of each."""

    holds: bool


TRUE, FALSE = Constant(True), Constant(False)


@dataclass(eq=False, slots=True)
class Combination(Formula):
    """A conjunction or disjunction of two or more formulas; `depth` counts alternations of both."""

    parts: tuple[Formula, ...]
    depth: int
    has_general_part: bool
    """Whether a part changes with every member of an object, not only with members of certain names."""
    inside: frozenset[Formula]
    """The parts, and their own parts."""


class And(Combination):
    """All parts hold."""

    __slots__ = ()


class Or(Combination):
    """At least one part holds."""

    __slots__ = ()


# Atoms about objects.


@dataclass(eq=False, slots=True)
class HasMember(Formula):
    """There is a member of that name."""

    name: str


@dataclass(eq=False, slots=True)
class LacksMember(Formula):
    """There is no member of that name."""

    name: str


@dataclass(eq=False, slots=True)
class MemberValue(Formula):
    """The member of that name, if there is one, is valid against the schema."""

    name: str
    schema: SignedSchema


@dataclass(eq=False, slots=True)
class EveryMember(Formula):
    """Each member whose name is in the set is valid against the schema."""

    names: NameSet
    schema: SignedSchema


@dataclass(eq=False, slots=True)
class SomeMember(Formula):
    """A member whose name is in the set is valid against the schema."""

    names: NameSet
    schema: SignedSchema


# Atoms about the number of members or items.


@dataclass(eq=False, slots=True)
class MinSize(Formula):
    """There are `count` members or items, or more."""

    count: int


@dataclass(eq=False, slots=True)
class MaxSize(Formula):
    """There are `count` members or items, or fewer."""

    count: int


# Atoms about arrays.


@dataclass(eq=False, slots=True)
class ItemAt(Formula):
    """The item at `start`, if there is one, is valid against the schema."""

    start: int
    schema: SignedSchema


@dataclass(eq=False, slots=True)
class ItemsFrom(Formula):
    """All items from the index `start` on are valid against the schema."""

    start: int
    schema: SignedSchema


@dataclass(eq=False, slots=True)
class ContainsAtLeast(Formula):
    """At least `count` items from the index `start` on are valid against the schema."""

    start: int
    schema: SignedSchema
    count: int


@dataclass(eq=False, slots=True)
class ContainsAtMost(Formula):
    """At most `count` items from the index `start` on are valid against the schema."""

    start: int
    schema: SignedSchema
    count: int


@dataclass(eq=False, slots=True)
class UniqueItems(Formula):
    """No two items are equal; `node` has the keyword."""

    node: SchemaNode


@dataclass(eq=False, slots=True)
class RepeatedItem(Formula):
    """Two items are equal."""

    node: SchemaNode


# Atoms about scalars: a test, and whether it must hold or fail.


@dataclass(eq=False, slots=True)
class ScalarTest(Formula):
    """A test of a number or string by an argument; `holds` is the required outcome."""

    argument: Any
    holds: bool


class ValueTest(ScalarTest):
    """The comparison key of the scalar is one of the frozenset `argument`."""

    __slots__ = ()


class MinimumTest(ScalarTest):
    """The number is at or above the Decimal `argument`."""

    __slots__ = ()


class MaximumTest(ScalarTest):
    """The number is at or below the Decimal `argument`."""

    __slots__ = ()


class MultipleTest(ScalarTest):
    """The number is a multiple of the Decimal `argument`."""

    __slots__ = ()


class IntegerTest(ScalarTest):
    """The number is an integer by value; `argument` is None."""

    __slots__ = ()


class NoFractionPartTest(ScalarTest):
    """The number is written without a fraction part, as integers of draft 4 are; `argument` is None."""

    __slots__ = ()


class MinLengthTest(ScalarTest):
    """The string has `argument` characters, or more."""

    __slots__ = ()


class MaxLengthTest(ScalarTest):
    """The string has `argument` characters, or fewer."""

    __slots__ = ()


class PatternTest(ScalarTest):
    """The pattern matches the string; `argument` is the pattern and the schema node that has it."""

    __slots__ = ()


class FormatTest(ScalarTest):
    """The string has the format; `argument` is the format's name and the schema node that has it."""

    __slots__ = ()


_NamedMember: TypeAlias = HasMember | LacksMember | MemberValue
_GENERAL = (EveryMember, SomeMember, MinSize, MaxSize)
_OBJECT_ATOMS = (HasMember, LacksMember, MemberValue, EveryMember, SomeMember)


def depends_on_every_member(formula: Formula) -> bool:
    """Whether a formula changes with every member of an object, not only with members of certain names."""
    return formula.has_general_part if isinstance(formula, Combination) else isinstance(formula, _GENERAL)


def is_about_objects(formula: Formula) -> bool:
    """Whether a formula is about objects, not arrays; it has an atom that only one of both can have."""
    work = [formula]
    while work:
        formula = work.pop()
        if isinstance(formula, Combination):
            work.extend(formula.parts)
        elif isinstance(formula, _OBJECT_ATOMS):
            return True
    return False

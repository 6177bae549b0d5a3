"""Plans: how a JSON value becomes an instance of a Python type.

A plan is plain data, so that it can be pickled; its `steps` is a generator that asks for the parts of a value to be
turned with other plans, and gives the whole. `Converter` runs the generators on a stack of its own, so that a value
nests as deep as it likes, and remembers what became of each part, so that alternatives which all read the same part
cost no more than one.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from typing import Any, TypeAlias

from detent.errors import ArgumentError
from detent.sources.json_schema.parse.decoder import decode
from detent.sources.nodes import short_repr

__all__ = [
    "Choice",
    "Converter",
    "Fields",
    "Items",
    "Mapping",
    "Model",
    "Named",
    "Plan",
    "Scalar",
    "Values",
]
__all__ += ["Anything", "Parsed", "_key"]

Steps: TypeAlias = Generator["tuple[Plan, Any]", Any, Any]


class _Mismatch(Exception):  # noqa: N818 - it never leaves a Converter
    """The value is not one that the plan takes."""


class Plan:
    """What turns a JSON value into a Python value."""

    __slots__ = ()

    def steps(self, value: Any) -> Steps:
        """Yield parts with their plans, get their values, and return the whole; raise `_Mismatch` for others."""
        raise NotImplementedError


@dataclass(frozen=True)
class Anything(Plan):
    """Any JSON value, with floats for the numbers that are not integers."""

    def steps(self, value: Any) -> Steps:
        """See `Plan.steps`."""
        if isinstance(value, list):
            found = []
            for item in value:
                found.append((yield self, item))
            return found
        if isinstance(value, dict):
            members = {}
            for name, item in value.items():
                members[name] = yield self, item
            return members
        return float(value) if isinstance(value, Decimal) else value


@dataclass(frozen=True)
class Scalar(Plan):
    """A str, int, float, bool, Decimal or None."""

    kind: type

    def steps(self, value: Any) -> Steps:
        """See `Plan.steps`."""
        yield from ()
        kind = self.kind
        if kind in (int, float, Decimal):
            if isinstance(value, bool) or not isinstance(value, (int, Decimal)):
                raise _Mismatch
            if kind is int and isinstance(value, Decimal) and value != value.to_integral_value():
                raise _Mismatch
            if kind is float and isinstance(value, int):
                value = Decimal(value)  # float() of an int raises above 1e308, that of a Decimal is infinite
            return kind(value)
        if type(value) is not kind:
            raise _Mismatch
        return value


@dataclass(frozen=True)
class Parsed(Plan):
    """A string, read by a function that raises ValueError for those that it does not take."""

    read: Callable[[str], Any]

    def steps(self, value: Any) -> Steps:
        """See `Plan.steps`."""
        yield from ()
        if not isinstance(value, str):
            raise _Mismatch
        try:
            return self.read(value)
        except ValueError:
            raise _Mismatch from None


def _key(value: object) -> object:
    """Give what is equal for equal JSON scalars only: true is not 1, and 1.0 is 1."""
    if isinstance(value, Enum):
        value = value.value
    if isinstance(value, bool) or value is None:
        return value, "word"
    if isinstance(value, float):
        value = Decimal(repr(value))
    return value, "text" if isinstance(value, str) else "number"


@dataclass(frozen=True)
class Values(Plan):
    """One of some scalars, or of the members of an Enum."""

    values: tuple[Any, ...]

    def steps(self, value: Any) -> Steps:
        """See `Plan.steps`."""
        yield from ()
        if not isinstance(value, (list, dict)):
            wanted = _key(value)
            for candidate in self.values:
                if _key(candidate) == wanted:
                    return candidate
        raise _Mismatch


@dataclass(frozen=True)
class Items(Plan):
    """An array: the first items by plans of their own, the others by one; `build` takes the list."""

    first: tuple[Plan, ...]
    others: Plan | None
    build: Callable[[list[Any]], Any]

    def steps(self, value: Any) -> Steps:
        """See `Plan.steps`."""
        if not isinstance(value, list) or len(value) < len(self.first):
            raise _Mismatch
        if self.others is None and len(value) > len(self.first):
            raise _Mismatch
        found = []
        for index, item in enumerate(value):
            plan = self.first[index] if index < len(self.first) else self.others
            found.append((yield plan, item))  # type: ignore[misc]
        return self.build(found)


@dataclass(frozen=True)
class Mapping(Plan):
    """An object of any names."""

    names: Plan
    values: Plan
    build: Callable[[dict[Any, Any]], Any]

    def steps(self, value: Any) -> Steps:
        """See `Plan.steps`."""
        if not isinstance(value, dict):
            raise _Mismatch
        found = {}
        for name, item in value.items():
            found[(yield self.names, name)] = yield self.values, item
        return self.build(found)


@dataclass(frozen=True)
class Fields(Plan):
    """An object of these names; `build` takes them as keyword arguments."""

    fields: tuple[tuple[str, Plan], ...]
    required: frozenset[str]
    build: Callable[..., Any]

    def steps(self, value: Any) -> Steps:
        """See `Plan.steps`."""
        if not isinstance(value, dict) or not self.required <= value.keys():
            raise _Mismatch
        plans = dict(self.fields)
        if not value.keys() <= plans.keys():
            raise _Mismatch
        found = {}
        for name, item in value.items():
            found[name] = yield plans[name], item
        return self.build(**found)


@dataclass(frozen=True)
class Choice(Plan):
    """The first of some plans that takes the value."""

    options: tuple[Plan, ...]

    def steps(self, value: Any) -> Steps:
        """See `Plan.steps`."""
        for option in self.options:
            try:
                return (yield option, value)
            except _Mismatch:
                continue
        raise _Mismatch


@dataclass(frozen=True)
class Named(Plan):
    """The plan of that name in the converter's definitions."""

    name: str

    def steps(self, value: Any) -> Steps:
        """See `Plan.steps`."""
        raise AssertionError("a converter looks names up")
        yield


@dataclass(frozen=True)
class Model(Plan):
    """An object of a pydantic type inside a type of the standard library; `read` takes JSON text."""

    read: Callable[[Any], Any]

    def steps(self, value: Any) -> Steps:
        """See `Plan.steps`."""
        plain = yield Anything(), value
        try:
            return self.read(plain)
        except ValueError:
            raise _Mismatch from None


@dataclass(frozen=True)
class Converter:
    """From JSON text to an instance of a type.

    >>> Converter(Items((), Scalar(int), list), (), "list[int]")("[1, 2.0]")
    [1, 2]
    """

    plan: Plan
    definitions: tuple[tuple[str, Plan], ...]
    description: str

    def __call__(self, text: str) -> Any:
        """Turn a text of the schema's language; raise `ArgumentError` for any other."""
        try:
            return self._run(decode(text))
        except _Mismatch:
            raise ArgumentError(f"{short_repr(text)} is no {self.description}") from None

    def _run(self, value: Any) -> Any:
        definitions = dict(self.definitions)
        # By plan and part, both alive meanwhile: the result, or that there is none.
        known: dict[tuple[int, int], tuple[bool, Any]] = {}
        stack: list[tuple[tuple[int, int] | None, Steps]] = []
        plan, part = self.plan, value
        while True:
            while isinstance(plan, Named):
                plan = definitions[plan.name]
            key = (id(plan), id(part)) if isinstance(part, (list, dict)) else None
            outcome = known.get(key) if key else None
            if outcome is None:
                stack.append((key, plan.steps(part)))
                outcome = (True, None)
            # Hand the outcome to who waits for it, until one asks for another part.
            while True:
                if not stack:
                    if outcome[0]:
                        return outcome[1]
                    raise _Mismatch
                key, steps = stack[-1]
                try:
                    plan, part = steps.send(outcome[1]) if outcome[0] else steps.throw(_Mismatch())
                    break
                except StopIteration as end:
                    outcome = (True, end.value)
                except _Mismatch:
                    outcome = (False, None)
                stack.pop()
                if key:
                    known[key] = outcome

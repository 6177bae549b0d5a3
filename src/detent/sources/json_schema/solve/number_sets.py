"""Sets of numbers: unions of conjunctions of bounds, divisors and listed values."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import product
from typing import Any

from detent.errors import LimitError
from detent.sources.json_schema.assertions.formulas import (
    FALSE,
    TRUE,
    Combination,
    Formula,
    IntegerTest,
    MaximumTest,
    MinimumTest,
    MultipleTest,
    NoFractionPartTest,
    Or,
    ScalarTest,
    ValueTest,
)

__all__ = ["ListedNumbers", "NumberRange", "NumberSet", "number_sets"]

_MAX_BRANCHES = 512
_MAX_EXPONENT = 5000
_Tests = tuple[ScalarTest, ...]


@dataclass(frozen=True, slots=True)
class ListedNumbers:
    """Some values, ascending."""

    values: tuple[Decimal, ...]
    fraction_part: bool | None = None
    """Whether numbers are written with a fraction part; None if both forms are allowed. Only draft 4 asks."""


@dataclass(frozen=True, slots=True)
class NumberRange:
    """The numbers within bounds that are multiples of some divisors and of none of some others."""

    is_integer: bool = False
    minimum: Decimal | None = None
    maximum: Decimal | None = None
    exclusive_minimum: Decimal | None = None
    exclusive_maximum: Decimal | None = None
    multiples: tuple[Decimal, ...] = ()
    not_multiples: tuple[Decimal, ...] = ()
    excluded: frozenset[Decimal] = frozenset()
    fraction_part: bool | None = None


NumberSet = ListedNumbers | NumberRange


def number_sets(formula: Formula) -> list[NumberSet]:
    """Return sets of numbers whose union is the set of the numbers for which a formula holds."""
    if formula is TRUE:
        return [NumberRange()]
    return [_of_branch(tests) for tests in _branches(formula)]


def _branches(formula: Formula) -> list[_Tests]:
    """Return the disjunctive normal form."""
    if isinstance(formula, ScalarTest):
        return [(formula,)]
    if formula is FALSE:
        return []
    assert isinstance(formula, Combination)  # noqa: S101 - no other formula is about numbers
    inner = [_branches(part) for part in formula.parts]
    if isinstance(formula, Or):
        return [branch for branches in inner for branch in branches]
    count = 1
    for branches in inner:
        count *= len(branches)
        if count > _MAX_BRANCHES:
            raise LimitError(
                f"a number's bounds combine in over {_MAX_BRANCHES} ways; simplify anyOf, oneOf and not",
                subject="combinations",
                limit=_MAX_BRANCHES,
                given=count,
            )
    return [tuple(dict.fromkeys(test for branch in chosen for test in branch)) for chosen in product(*inner)]


def _of_branch(tests: _Tests) -> NumberSet:
    listed: list[Decimal] | None = None
    forms = [not test.holds for test in tests if isinstance(test, NoFractionPartTest)]
    for test in tests:
        if isinstance(test, ValueTest) and test.holds:
            listed = sorted(test.argument)
    if True in forms and False in forms:
        return ListedNumbers(())
    fraction_part = forms[0] if forms else None
    if listed is not None:
        return ListedNumbers(tuple(value for value in listed if all(_holds(value, t) for t in tests)), fraction_part)
    return _range(tests, fraction_part)


def _range(tests: _Tests, fraction_part: bool | None) -> NumberRange:
    bounds: dict[str, Decimal] = {}
    multiples: list[Decimal] = []
    others: list[Decimal] = []
    excluded: set[Decimal] = set()
    is_integer = False
    for test in tests:
        if isinstance(test, IntegerTest):
            is_integer = is_integer or test.holds
            if not test.holds:
                others.append(Decimal(1))
        elif isinstance(test, MultipleTest):
            (multiples if test.holds else others).append(test.argument)
        elif isinstance(test, ValueTest):
            excluded.update(test.argument)
        elif isinstance(test, (MinimumTest, MaximumTest)):
            name, tighter = _BOUNDS[type(test), test.holds]
            bounds[name] = tighter(bounds.get(name, test.argument), test.argument)
    return NumberRange(
        is_integer,
        multiples=tuple(multiples),
        not_multiples=tuple(others),
        excluded=frozenset(excluded),
        fraction_part=fraction_part,
        **bounds,
    )


_BOUNDS: dict[tuple[type[ScalarTest], bool], tuple[str, Any]] = {
    (MinimumTest, True): ("minimum", max),
    (MinimumTest, False): ("exclusive_maximum", min),
    (MaximumTest, True): ("maximum", min),
    (MaximumTest, False): ("exclusive_minimum", max),
}


def _holds(value: Decimal, test: ScalarTest) -> bool:
    if isinstance(test, ValueTest):
        return (value in test.argument) == test.holds
    if isinstance(test, MinimumTest):
        return bool(value >= test.argument) == test.holds
    if isinstance(test, MaximumTest):
        return bool(value <= test.argument) == test.holds
    if isinstance(test, NoFractionPartTest):
        return True
    divisor = Decimal(1) if isinstance(test, IntegerTest) else test.argument
    if max(abs(value.adjusted()), abs(divisor.adjusted())) > _MAX_EXPONENT:
        raise LimitError(
            f"a number of over {_MAX_EXPONENT} digits beside multipleOf; write it shorter",
            subject="digits",
            limit=_MAX_EXPONENT,
        )
    return ((Fraction(value) / Fraction(divisor)).denominator == 1) == test.holds

"""Sets of numbers: unions of conjunctions of bounds, divisors and listed values."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, Any

from detent import _core
from detent.errors import LimitError
from detent.sources.json_schema.layout import NUMBER
from detent.sources.json_schema.numbers import number_literal, number_node
from detent.sources.nodes import concat, optional, repeat

if TYPE_CHECKING:
    from detent.sources.json_schema.formula import Formula

__all__ = ["number_set"]

_MOST_BRANCHES = 512
_LARGEST_EXPONENT = 5000
_PLAIN = concat(optional("-"), repeat(_core.byte_set(b"0123456789"), 1, None))
_Tests = tuple[tuple[str, Any, bool], ...]


def number_set(formula: Formula) -> _core.Node:
    """Give the JSON texts of the numbers for which a formula holds."""
    if formula.kind == "true":
        return NUMBER
    return _core.union([_branch(tests) for tests in _branches(formula)])


def _branches(formula: Formula) -> list[_Tests]:
    """Give the disjunctive normal form."""
    kind = formula.kind
    if kind == "test":
        return [(formula.parts,)]
    if kind == "false":
        return []
    inner = [_branches(part) for part in formula.parts]
    if kind == "or":
        return [branch for branches in inner for branch in branches]
    count = 1
    for branches in inner:
        count *= len(branches)
        if count > _MOST_BRANCHES:
            raise LimitError(f"a number's bounds combine in over {_MOST_BRANCHES} ways; simplify anyOf, oneOf and not")
    return [tuple(dict.fromkeys(test for branch in chosen for test in branch)) for chosen in product(*inner)]


def _branch(tests: _Tests) -> _core.Node:
    listed: list[Decimal] | None = None
    for what, argument, holds in tests:
        if what == "in" and holds:
            listed = sorted(argument)
    spelling = [holds for what, _, holds in tests if what == "plain"]
    if listed is not None:
        values = [value for value in listed if all(_holds(value, test) for test in tests)]
        node: _core.Node | None = _core.union([number_literal(value) for value in values])
    else:
        node = _range(tests)
    if node is None:
        return _core.empty()
    if True in spelling:
        node = _core.intersection([node, _PLAIN])
    if False in spelling:
        node = _core.intersection([node, _core.complement(_PLAIN)])
    return node


def _range(tests: _Tests) -> _core.Node | None:
    bounds: dict[str, Decimal] = {}
    multiples: list[Decimal] = []
    others: list[Decimal] = []
    excluded: set[Decimal] = set()
    integer = False
    for what, argument, holds in tests:
        if what == "integer":
            integer = integer or holds
            if not holds:
                others.append(Decimal(1))
        elif what == "multiple":
            (multiples if holds else others).append(argument)
        elif what == "in":
            excluded.update(argument)
        elif what in ("from", "to"):
            name, best = _BOUNDS[what, holds]
            bounds[name] = best(bounds.get(name, argument), argument)
    return number_node(
        integer=integer,
        multiples=tuple(multiples),
        not_multiples=tuple(others),
        excluded=frozenset(excluded),
        **bounds,
    )


_BOUNDS: dict[tuple[str, bool], tuple[str, Any]] = {
    ("from", True): ("minimum", max),
    ("from", False): ("exclusive_maximum", min),
    ("to", True): ("maximum", min),
    ("to", False): ("exclusive_minimum", max),
}


def _holds(value: Decimal, test: tuple[str, Any, bool]) -> bool:
    what, argument, holds = test
    if what == "in":
        return (value in argument) == holds
    if what == "from":
        return bool(value >= argument) == holds
    if what == "to":
        return bool(value <= argument) == holds
    if what == "plain":
        return True
    divisor = Decimal(1) if what == "integer" else argument
    if max(abs(value.adjusted()), abs(divisor.adjusted())) > _LARGEST_EXPONENT:
        raise LimitError(f"a number of over {_LARGEST_EXPONENT} digits beside multipleOf; write it shorter")
    return ((Fraction(value) / Fraction(divisor)).denominator == 1) == holds

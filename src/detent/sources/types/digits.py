"""Ranges of decimal numbers as nodes, digit by digit.

The digits of a number are compared with a bound from left to right. The first digit that differs decides; the remaining
digits are free. So a range of numbers of n digits takes about 20 n nodes, and no number is listed.
"""

from __future__ import annotations

from decimal import Decimal

from detent import _core
from detent.sources.nodes import concat, decimal, optional, repeat, union

__all__ = ["DIGIT", "between", "decimals", "naturals"]

DIGIT: _core.Node = _core.byte_set(b"0123456789")

_ANY = optional(concat(".", repeat(DIGIT, 1, None)))
"""Any fraction, or none."""


def naturals(low: int, high: int | None) -> _core.Node:
    """Return the integers from `low` >= 0 to `high`, without leading zeros."""
    first = decimal(low, "a range")
    if high is None:
        longer = concat(_digit("1", "9"), repeat(DIGIT, len(first), None))
        return union(between(first, "9" * len(first)), longer)
    if high < low:
        return _core.empty()
    last = decimal(high, "a range")
    if len(first) == len(last):
        return between(first, last)
    parts = [between(first, "9" * len(first)), between("1" + "0" * (len(last) - 1), last)]
    if len(last) > len(first) + 1:
        parts.append(concat(_digit("1", "9"), repeat(DIGIT, len(first), len(last) - 2)))
    return union(*parts)


def decimals(low: Decimal, high: Decimal | None) -> _core.Node:
    """Return the decimals from `low` >= 0 to `high`: an integer, and perhaps a point and any number of digits."""
    first, from_fraction = _split(low)
    if high is None:
        return union(concat(_whole(first), _fraction_above(from_fraction)), concat(naturals(first + 1, None), _ANY))
    last, to_fraction = _split(high)
    above, below = _fraction_above(from_fraction), _fraction_below(to_fraction)
    if first == last:
        return concat(_whole(first), _core.intersection([above, below]) if from_fraction else below)
    return union(
        concat(_whole(first), above),
        concat(naturals(first + 1, last - 1), _ANY),
        concat(_whole(last), below),
    )


def _split(bound: Decimal) -> tuple[int, str]:
    """Return the integer part and the digits of the fraction, without zeros at the end."""
    whole = int(bound)
    _, _, fraction = format(bound, "f").partition(".")
    return whole, fraction.rstrip("0")


def _whole(number: int) -> str:
    return decimal(number, "a range")


def _fraction_above(digits: str) -> _core.Node:
    """Return the fractions of at least ``0.digits``, as `.5` or nothing at all."""
    if not digits:
        return _ANY
    rest = repeat(DIGIT, 0, None)
    for digit in reversed(digits):
        rest = union(concat(_above(digit), repeat(DIGIT, 0, None)), concat(digit, rest))
    return concat(".", rest)


def _fraction_below(digits: str) -> _core.Node:
    """Return the fractions of at most ``0.digits``, as `.5` or nothing at all."""
    zeros = repeat("0", 0, None)
    if not digits:
        return optional(concat(".0", zeros))
    rest = zeros
    for digit in reversed(digits):
        # A shorter fraction is smaller; only the point needs a digit after it.
        rest = union(_core.epsilon(), concat(_below(digit), repeat(DIGIT, 0, None)), concat(digit, rest))
    return optional(concat(".", _core.intersection([rest, repeat(DIGIT, 1, None)])))


def between(low: str, high: str) -> _core.Node:
    """Return the digits of equal length from `low` to `high`."""
    same = 0
    while same < len(low) and low[same] == high[same]:
        same += 1
    if same == len(low):
        return concat(low)
    left = len(low) - same - 1
    up, down = low[same + 1 :], high[same + 1 :]
    free_up, free_down = up == "0" * left, down == "9" * left
    first, last = int(low[same]), int(high[same])
    parts = []
    if not free_up:
        parts.append(concat(low[same], _at_least(up)))
        first += 1
    if not free_down:
        parts.append(concat(high[same], _at_most(down)))
        last -= 1
    if first <= last:
        parts.append(concat(_digit(str(first), str(last)), repeat(DIGIT, left, left)))
    return concat(low[:same], union(*parts))


def _at_least(digits: str) -> _core.Node:
    rest = _core.epsilon()
    for length, digit in enumerate(reversed(digits)):
        rest = union(concat(_above(digit), repeat(DIGIT, length, length)), concat(digit, rest))
    return rest


def _at_most(digits: str) -> _core.Node:
    rest = _core.epsilon()
    for length, digit in enumerate(reversed(digits)):
        rest = union(concat(_below(digit), repeat(DIGIT, length, length)), concat(digit, rest))
    return rest


def _digit(first: str, last: str) -> _core.Node:
    return _core.byte_set(bytes(range(ord(first), ord(last) + 1)))


def _above(digit: str) -> _core.Node:
    return _core.byte_set(bytes(range(ord(digit) + 1, ord("9") + 1)))


def _below(digit: str) -> _core.Node:
    return _core.byte_set(bytes(range(ord("0"), ord(digit))))

r"""JSON numbers as text: bounds, multiples and excluded values, exact by the decimal value that is written.

A value has many spellings. What is accepted of them, always by value and never by the float nearest to it:

- plain decimals, ``-?(0|[1-9][0-9]*)(\.[0-9]+)?``, with any number of zeros at the end; ``-0`` is 0;
- with an exponent, every spelling, if the set of numbers is decided by the sign alone (``minimum: 0``, no bounds);
- with an exponent after a mantissa of one digit other than 0 (``2.5e-7``, as `json.dumps` writes), under other bounds:
  there the exponent decides first and then the mantissa, which a regular language can;
- without an exponent for integers, and under ``multipleOf``.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from math import ceil, floor, gcd

from detent import _core
from detent.errors import ArgumentError, LimitError
from detent.sources.json_schema.emit.intervals import HalfLine, Interval, NumberLine, cut
from detent.sources.json_schema.emit.number_automaton import Divisors, magnitudes, split
from detent.sources.json_schema.solve.number_sets import ListedNumbers, NumberSet
from detent.sources.nodes import concat, optional, repeat, short_repr, union
from detent.sources.types.digits import DIGIT, naturals

__all__ = ["any_number", "number_literal", "number_node", "number_text"]

_MOST_DIGITS = 4000
_MOST_DIVISOR = 100  # of divisors, whose remainders cost the square of it

_FIRST_DIGIT = _core.byte_set(b"123456789")
_E = _core.byte_set(b"eE")
_ZEROS = repeat("0", 0, None)
_DIGITS = repeat(DIGIT, 0, None)
_NO_FRACTION = optional(concat(".0", _ZEROS))
_FRACTION = optional(concat(".", DIGIT, _DIGITS))
_EXPONENT = optional(concat(_E, optional(_core.byte_set(b"+-")), DIGIT, _DIGITS))
_INTEGER = concat(optional("-"), union("0", concat(_FIRST_DIGIT, _DIGITS)), _NO_FRACTION)
_NUMBER = concat(optional("-"), union("0", concat(_FIRST_DIGIT, _DIGITS)), _FRACTION, _EXPONENT)
_ZERO_INTEGER = concat(optional("-"), "0", _NO_FRACTION)
_ZERO = concat(_ZERO_INTEGER, _EXPONENT)
_NONZERO = concat(
    union(concat(_FIRST_DIGIT, _DIGITS, _FRACTION), concat("0.", _ZEROS, _FIRST_DIGIT, _DIGITS)), _EXPONENT
)
_MANTISSA = concat(_FIRST_DIGIT, _FRACTION)
_NO_FRACTION_PART = concat(optional("-"), repeat(DIGIT, 1, None))


def any_number() -> _core.Node:
    """Return the JSON texts of all numbers."""
    return _NUMBER


def number_text(numbers: NumberSet) -> _core.Node:
    """Return the JSON texts of a set of numbers; the empty language if it has no member."""
    node: _core.Node | None
    if isinstance(numbers, ListedNumbers):
        node = _core.union([number_literal(value) for value in numbers.values])
    else:
        node = number_node(
            integer=numbers.is_integer,
            minimum=numbers.minimum,
            maximum=numbers.maximum,
            exclusive_minimum=numbers.exclusive_minimum,
            exclusive_maximum=numbers.exclusive_maximum,
            multiples=numbers.multiples,
            not_multiples=numbers.not_multiples,
            excluded=numbers.excluded,
        )
    if node is None:
        return _core.empty()
    if numbers.fraction_part is None:
        return node
    other = _core.complement(_NO_FRACTION_PART) if numbers.fraction_part else _NO_FRACTION_PART
    return _core.intersection([node, other])


def number_node(
    *,
    integer: bool,
    minimum: Decimal | None = None,
    maximum: Decimal | None = None,
    exclusive_minimum: Decimal | None = None,
    exclusive_maximum: Decimal | None = None,
    multiples: tuple[Decimal, ...] = (),
    not_multiples: tuple[Decimal, ...] = (),
    excluded: frozenset[Decimal] = frozenset(),
) -> _core.Node | None:
    """Return the JSON spellings of a set of numbers, or None if the set is empty.

    >>> from detent.language import Language
    >>> share = Language(number_node(integer=False, minimum=Decimal(0), exclusive_maximum=Decimal(1)), "share")
    >>> [share.accepts(text) for text in ("0.25", "9.99e-1", "1.0", "-0", "-0.5")]
    [True, True, False, True, False]

    Parameters
    ----------
    integer : bool
        Only integers: also written with a fraction of zeros, never with an exponent.
    minimum, maximum, exclusive_minimum, exclusive_maximum : Decimal, optional
        The bounds; all of them hold.
    multiples, not_multiples : tuple of Decimal
        Divisors above 0: the number is a multiple of each of the first, of none of the second.
    excluded : frozenset of Decimal
        Values that it is not.

    Returns
    -------
    Node or None
        Costs 20 us without bounds, 10 us a digit of each bound, and for multiples that of the automaton's states. A
        regular expression, but where multiples have no upper bound: a grammar.

    Raises
    ------
    LimitError
        A bound takes more than 4,000 digits on a side of the point, a divisor more than 100, or the remainders more
        than 5,000 states.
    ArgumentError
        A divisor is not above 0.
    """
    return _cached(integer, minimum, maximum, exclusive_minimum, exclusive_maximum, multiples, not_multiples, excluded)


def number_literal(value: Decimal) -> _core.Node:
    """Return the JSON spellings of one value: plain, with zeros after the point, and as `json.dumps` writes the float.

    >>> from detent.language import Language
    >>> one = Language(number_literal(Decimal(1)), "1")
    >>> one.accepts("1"), one.accepts("1.0"), one.accepts("1e0")
    (True, True, False)

    Raises
    ------
    LimitError
        The value takes more than 4,000 digits on a side of the point.
    """
    value = _checked(value)
    if not value:
        return _ZERO_INTEGER
    magnitude = value.copy_abs()
    whole, fraction = split(magnitude)
    ways = [concat(whole, concat(f".{fraction}", _ZEROS) if fraction else _NO_FRACTION)]
    if not -4 <= magnitude.adjusted() < 16:
        ways.append(_scientific(Interval(magnitude, True, magnitude, True)))
    return concat("-" if value < 0 else "", union(*ways))


def _build(
    integer: bool,
    minimum: Decimal | None,
    maximum: Decimal | None,
    exclusive_minimum: Decimal | None,
    exclusive_maximum: Decimal | None,
    multiples: tuple[Decimal, ...],
    not_multiples: tuple[Decimal, ...],
    excluded: frozenset[Decimal],
) -> _core.Node | None:
    low, has_low = _stricter(minimum, exclusive_minimum, 1)
    high, has_high = _stricter(maximum, exclusive_maximum, -1)
    line = cut(low, has_low, high, has_high, [_checked(value) for value in excluded])
    if multiples or not_multiples:
        return _multiples(line, _divisors(integer, multiples, not_multiples), bool(not_multiples))
    ways = [_ZERO_INTEGER if integer else _ZERO] if line.has_zero else []
    if len(ways) == 1 and line.positive.is_whole() and line.negative.is_whole():
        return _INTEGER if integer else _NUMBER
    for sign, half in (("", line.positive), ("-", line.negative)):
        if not half.is_empty():
            found = _integers(half) if integer else _decimals(half)
            if found is not None:
                ways.append(concat(sign, found))
    return union(*ways) if ways else None


_cached = lru_cache(maxsize=500, typed=True)(_build)


def _stricter(inclusive: Decimal | None, exclusive: Decimal | None, direction: int) -> tuple[Decimal | None, bool]:
    """Return the bound that both amount to, and whether it is itself in the set."""
    if inclusive is not None:
        inclusive = _checked(inclusive)
        if exclusive is None:
            return inclusive, True
        other = _checked(exclusive)
        if inclusive > other if direction > 0 else inclusive < other:
            return inclusive, True
    return (None, False) if exclusive is None else (_checked(exclusive), False)


def _checked(value: Decimal) -> Decimal:
    if not isinstance(value, Decimal) or not value.is_finite():
        raise ArgumentError(f"a number's bound must be a finite Decimal, got {short_repr(value)}")
    exponent = value.as_tuple().exponent
    if value and (value.adjusted() > _MOST_DIGITS or (isinstance(exponent, int) and exponent < -_MOST_DIGITS)):
        raise LimitError(
            f"the number {short_repr(str(value))} takes more than {_MOST_DIGITS} digits on a side of the point; "
            "round it"
        )
    return value if value else Decimal(0)


def _integers(half: HalfLine) -> _core.Node | None:
    ways: list[_core.Node] = []
    for low, has_low, high, has_high in half.intervals():
        first = ceil(low) if has_low else floor(low) + 1
        last = None if high is None else floor(high) if has_high else ceil(high) - 1
        if last is None or first <= last:
            ways.append(naturals(first, last))
    return concat(union(*ways), _NO_FRACTION) if ways else None


def _decimals(half: HalfLine) -> _core.Node:
    if half.is_whole():
        return _NONZERO
    plain = magnitudes(half)
    scientific = [_scientific(interval) for interval in half.intervals()]
    return union(*scientific, *((plain,) if plain else ()))


@lru_cache(maxsize=200)
def _scientific(interval: Interval) -> _core.Node:
    """Return the spellings with one digit before the point and an exponent."""
    low, has_low, high, has_high = interval
    least, most = (low.adjusted() if low else None), (None if high is None else high.adjusted())
    bottom = Interval(_mantissa(low), has_low, None, False) if low else None
    top = None if high is None else Interval(Decimal(0), False, _mantissa(high), has_high)
    ways: list[_core.Node] = []
    if bottom and top and least == most:
        ways.append(_at_exponent(Interval(bottom.low, bottom.has_low, top.high, top.has_high), least))
    else:
        if bottom:
            ways.append(_at_exponent(bottom, least))
        if top:
            ways.append(_at_exponent(top, most))
        first, last = (None if least is None else least + 1), (None if most is None else most - 1)
        if first is None or last is None or first <= last:
            ways.append(concat(_MANTISSA, _E, _exponents(first, last)))
    return union(*ways)


def _at_exponent(interval: Interval, exponent: int | None) -> _core.Node:
    """Return the mantissas of an interval, with one exponent."""
    cuts = tuple(sorted({end for end in (interval.low, interval.high) if end}))
    contained: tuple[bool, ...]
    if len(cuts) == 2:
        contained = (False, interval.has_low, True, interval.has_high, False)
    elif interval.low and interval.high:
        contained = (False, True, False)
    else:
        contained = (False, interval.has_low, True) if interval.low else (True, interval.has_high, False)
    mantissa = magnitudes(HalfLine(cuts, contained), one_digit=True)
    return concat(mantissa, _E, _exponents(exponent, exponent)) if mantissa else _core.empty()


def _mantissa(value: Decimal) -> Decimal:
    sign, digits, _ = value.as_tuple()
    return Decimal((sign, digits, 1 - len(digits)))


def _exponents(first: int | None, last: int | None) -> _core.Node:
    """Return the exponents in a range, with any sign of zero and zeros in front."""
    ways: list[_core.Node] = []
    if (first is None or first <= 0) and (last is None or last >= 0):
        ways.append(concat(optional(_core.byte_set(b"+-")), "0", _ZEROS))
    if last is None or last > 0:
        ways.append(concat(optional("+"), _ZEROS, naturals(max(first or 1, 1), last)))
    if first is None or first < 0:
        nearest = 1 if last is None else max(-last, 1)
        ways.append(concat("-", _ZEROS, naturals(nearest, None if first is None else -first)))
    return union(*ways)


def _divisors(integer: bool, multiples: tuple[Decimal, ...], not_multiples: tuple[Decimal, ...]) -> Divisors:
    every = [_divisor(value) for value in multiples] + ([Fraction(1)] if integer else [])
    none = [_divisor(value) for value in not_multiples]
    common = _least_common_multiple(every)
    decimal_places = 0
    for value in (*every, *none):
        while (value * 10**decimal_places).denominator != 1:
            decimal_places += 1
    scaled = tuple(sorted({int(value * 10**decimal_places) for value in none}))
    return Divisors(decimal_places, int(common * 10**decimal_places) if common else 0, scaled)


def _divisor(value: Decimal) -> Fraction:
    if not value > 0:
        raise ArgumentError(f"a divisor must be above 0, got {short_repr(str(value))}")
    exponent = value.as_tuple().exponent
    if value.adjusted() > _MOST_DIVISOR or (isinstance(exponent, int) and exponent < -_MOST_DIVISOR):
        raise LimitError(
            f"multipleOf {short_repr(str(value))} takes more than {_MOST_DIVISOR} digits on a side of the point; "
            "use a divisor of fewer"
        )
    return Fraction(value)


def _least_common_multiple(values: Iterable[Fraction]) -> Fraction | None:
    common: Fraction | None = None
    for value in values:
        if common is None:
            common = value
        else:
            top = common.numerator * value.denominator
            other = value.numerator * common.denominator
            common = Fraction(top * other // gcd(top, other), common.denominator * value.denominator)
    return common


def _multiples(line: NumberLine, divisors: Divisors, is_zero_out: bool) -> _core.Node | None:
    ways = [_ZERO_INTEGER if divisors.of else _ZERO] if line.has_zero and not is_zero_out else []
    for sign, half in (("", line.positive), ("-", line.negative)):
        found = None if half.is_empty() else magnitudes(half, divisors)
        if found is not None:
            ways.append(concat(sign, found))
    return union(*ways) if ways else None

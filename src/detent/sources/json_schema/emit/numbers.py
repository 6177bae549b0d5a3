r"""JSON numbers as text: bounds, multiples and excluded values, exact by the decimal value that is written.

A value has many texts. `written_numbers` are those of serialisers. The other form has, always by the exact value and
never by the nearest float:

- decimals without exponent, ``-?(0|[1-9][0-9]*)(\.[0-9]+)?``, with any number of trailing zeros; ``-0`` is 0;
- with an exponent, every text, if the sign alone decides membership (``minimum: 0``, no bounds);
- with an exponent after a mantissa of one digit other than 0 (``2.5e-7``), under other bounds: there the exponent
  decides first and then the mantissa, which is regular;
- no exponent for integers, and under ``multipleOf``.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from math import ceil, floor, gcd, lcm

from detent import _core
from detent.errors import ArgumentError, LimitError
from detent.queries import ByteDfa
from detent.sources.json_schema.emit.intervals import HalfLine, Interval, NumberLine, cut
from detent.sources.json_schema.emit.number_automaton import MAX_STATES, Divisors, FractionPart, magnitudes, split
from detent.sources.json_schema.emit.written_numbers import (
    LARGE,
    MAX_FRACTION_DIGITS,
    SMALL,
    WRITTEN_DIGITS,
    WRITTEN_INTEGER,
    WRITTEN_LARGE,
    WRITTEN_NUMBER,
    WRITTEN_POSITIVE,
    WRITTEN_SMALL,
    WRITTEN_ZERO,
    is_precise,
    written_texts,
)
from detent.sources.json_schema.solve.number_sets import ListedNumbers, NumberSet
from detent.sources.nodes import concat, optional, repeat, short_repr, union
from detent.sources.types.digits import DIGIT, decimals, naturals

__all__ = ["any_number", "number_literal", "number_node", "number_text"]

_MAX_DIGITS = 4000
_FEW_DIGITS = 40  # of bounds whose expressions are cached
_MAX_LISTED_MULTIPLES = 10_000
_MAX_DIVISOR_DIGITS = 100  # of divisors, whose remainders cost the square of it

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


def any_number(*, written: bool) -> _core.Node:
    """Return the JSON texts of all numbers."""
    return WRITTEN_NUMBER if written else _NUMBER


def number_text(numbers: NumberSet, *, written: bool) -> _core.Node:
    """Return the JSON texts of a set of numbers; the empty language if it has no member."""
    node: _core.Node | None
    if isinstance(numbers, ListedNumbers):
        node = _core.union([number_literal(value, written=written) for value in numbers.values])
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
            written=written,
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
    written: bool = False,
) -> _core.Node | None:
    """Return the JSON texts of a set of numbers, or None if the set is empty.

    >>> from detent.language import Language
    >>> share = Language(number_node(integer=False, minimum=Decimal(0), exclusive_maximum=Decimal(1)), "share")
    >>> [share.accepts(text) for text in ("0.25", "9.99e-1", "1.0", "-0", "-0.5")]
    [True, True, False, True, False]
    >>> whole = Language(number_node(integer=True, minimum=Decimal(0), written=True), "whole")
    >>> whole.accepts("7"), whole.accepts("7.0")
    (True, False)

    Parameters
    ----------
    integer : bool
        Only integers: never with an exponent, and with a fraction of zeros unless `written`.
    minimum, maximum, exclusive_minimum, exclusive_maximum : Decimal, optional
        The bounds; all of them hold.
    multiples, not_multiples : tuple of Decimal
        Divisors above 0: the number is a multiple of each of the first, of none of the second.
    excluded : frozenset of Decimal
        Values that it is not.
    written : bool
        The texts that serialisers write; all texts, if these are none because the bounds are too close for floats.

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
    bounds = (minimum, maximum, exclusive_minimum, exclusive_maximum)
    is_large = bool(multiples or not_multiples) or any(map(_is_long, bounds))
    build = _cached_large if is_large else _cached
    found = build(integer, *bounds, multiples, not_multiples, excluded, written)
    if found is None or not written or integer:
        return found
    is_close = any(bound is not None and is_precise(bound) for bound in (*bounds, *multiples))
    if is_close and ByteDfa(found).is_empty():
        return build(integer, *bounds, multiples, not_multiples, excluded, False)
    return found


def number_literal(value: Decimal, *, written: bool = False) -> _core.Node:
    """Return the JSON texts of one value: digits, with zeros after the point, and as `json.dumps` writes the float.

    >>> from detent.language import Language
    >>> one = Language(number_literal(Decimal(1)), "1")
    >>> one.accepts("1"), one.accepts("1.0"), one.accepts("1e0")
    (True, True, False)

    Raises
    ------
    LimitError
        The value takes more than 4,000 digits on a side of the point.
    """
    if written:
        _checked(value)
        return union(*written_texts(value))
    value = _checked(value)
    if not value:
        return _ZERO_INTEGER
    magnitude = value.copy_abs()
    whole, fraction = split(magnitude)
    texts = [concat(whole, concat(f".{fraction}", _ZEROS) if fraction else _NO_FRACTION)]
    if not -4 <= magnitude.adjusted() < 16:
        texts.append(_scientific(Interval(magnitude, True, magnitude, True)))
    return concat("-" if value < 0 else "", union(*texts))


def _build(
    integer: bool,
    minimum: Decimal | None,
    maximum: Decimal | None,
    exclusive_minimum: Decimal | None,
    exclusive_maximum: Decimal | None,
    multiples: tuple[Decimal, ...],
    not_multiples: tuple[Decimal, ...],
    excluded: frozenset[Decimal],
    written: bool,
) -> _core.Node | None:
    low, has_low = _stricter(minimum, exclusive_minimum, 1)
    high, has_high = _stricter(maximum, exclusive_maximum, -1)
    line = cut(low, has_low, high, has_high, [_checked(value) for value in excluded])
    if multiples or not_multiples:
        divisors = _divisors(integer, multiples, not_multiples)
        return _multiples(line, divisors, bool(not_multiples), integer, written)
    if line.has_zero and line.positive.is_whole() and line.negative.is_whole():
        if written:
            return WRITTEN_INTEGER if integer else WRITTEN_NUMBER
        return _INTEGER if integer else _NUMBER
    texts = [_zero(integer, written)] if line.has_zero else []
    for sign, half in (("", line.positive), ("-", line.negative)):
        if not half.is_empty():
            found = _integers(half, written) if integer else _decimals(half, written)
            if found is not None:
                texts.append(concat(sign, found))
    return union(*texts) if texts else None


def _zero(integer: bool, written: bool) -> _core.Node:
    if written:
        return _core.literal(b"0") if integer else WRITTEN_ZERO
    return _ZERO_INTEGER if integer else _ZERO


def _is_long(bound: Decimal | None) -> bool:
    if not isinstance(bound, Decimal) or not bound:
        return False
    return len(bound.as_tuple().digits) > _FEW_DIGITS or abs(bound.adjusted()) > _FEW_DIGITS


_cached = lru_cache(maxsize=500, typed=True)(_build)
_cached_large = lru_cache(maxsize=8, typed=True)(_build)
"""The cache of multiples and long bounds. Their expressions take up to 6 MB each, so it is small."""


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
    if value and (value.adjusted() > _MAX_DIGITS or (isinstance(exponent, int) and exponent < -_MAX_DIGITS)):
        raise LimitError(
            f"the number {short_repr(str(value))} takes more than {_MAX_DIGITS} digits on a side of the point"
            "; round it",
            subject="digits",
            limit=_MAX_DIGITS,
        )
    return value if value else Decimal(0)


def _integers(half: HalfLine, written: bool) -> _core.Node | None:
    texts: list[_core.Node] = []
    for low, has_low, high, has_high in half.intervals():
        first = ceil(low) if has_low else floor(low) + 1
        last = None if high is None else floor(high) if has_high else ceil(high) - 1
        if last is None or first <= last:
            texts.append(naturals(first, last))
    if not texts:
        return None
    return union(*texts) if written else concat(union(*texts), _NO_FRACTION)


def _decimals(half: HalfLine, written: bool) -> _core.Node:
    if half.is_whole():
        return WRITTEN_POSITIVE if written else _NONZERO
    if written:
        return _written_decimals(half)
    plain = magnitudes(half)
    scientific = [_scientific(interval) for interval in half.intervals()]
    return union(*scientific, *((plain,) if plain else ()))


def _written_decimals(half: HalfLine) -> _core.Node:
    """Return the decimals as serialisers write them.

    Numbers with an exponent are small or large. Most bounds allow all of them or none, so that no text is compared with
    a bound at each exponent.
    """
    intervals = half.intervals()
    if all(each.is_closed() and not _is_long(each.low) and not _is_long(each.high) for each in intervals):
        plain: _core.Node | None = union(*(decimals(each.low, each.high) for each in intervals))
    else:
        plain = magnitudes(half)
    texts = [_core.intersection([WRITTEN_DIGITS, plain])] if plain else []
    texts += _written_exponents(WRITTEN_SMALL, Decimal(0), SMALL, half)
    texts += _written_exponents(WRITTEN_LARGE, LARGE, None, half)
    return union(*texts)


def _written_exponents(node: _core.Node, low: Decimal, high: Decimal | None, half: HalfLine) -> list[_core.Node]:
    """Return the texts of `node` that are members, where those of `node` are of numbers between `low` and `high`."""
    members = [each for each in half.intervals() if each.meets(low, high)]
    if any(each.includes(low, high) for each in members):
        return [node]
    return [_core.intersection([node, _scientific(each)]) for each in members]


@lru_cache(maxsize=50)
def _scientific(interval: Interval) -> _core.Node:
    """Return the texts with one digit before the point and an exponent."""
    low, has_low, high, has_high = interval
    least, most = (low.adjusted() if low else None), (None if high is None else high.adjusted())
    bottom = Interval(_mantissa(low), has_low, None, False) if low else None
    top = None if high is None else Interval(Decimal(0), False, _mantissa(high), has_high)
    texts: list[_core.Node] = []
    if bottom and top and least == most:
        texts.append(_at_exponent(Interval(bottom.low, bottom.has_low, top.high, top.has_high), least))
    else:
        if bottom:
            texts.append(_at_exponent(bottom, least))
        if top:
            texts.append(_at_exponent(top, most))
        first, last = (None if least is None else least + 1), (None if most is None else most - 1)
        if first is None or last is None or first <= last:
            texts.append(concat(_MANTISSA, _E, _exponents(first, last)))
    return union(*texts)


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
    texts: list[_core.Node] = []
    if (first is None or first <= 0) and (last is None or last >= 0):
        texts.append(concat(optional(_core.byte_set(b"+-")), "0", _ZEROS))
    if last is None or last > 0:
        texts.append(concat(optional("+"), _ZEROS, naturals(max(first or 1, 1), last)))
    if first is None or first < 0:
        nearest = 1 if last is None else max(-last, 1)
        texts.append(concat("-", _ZEROS, naturals(nearest, None if first is None else -first)))
    return union(*texts)


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
    if value.adjusted() > _MAX_DIVISOR_DIGITS or (isinstance(exponent, int) and exponent < -_MAX_DIVISOR_DIGITS):
        raise LimitError(
            f"multipleOf {short_repr(str(value))} takes more than {_MAX_DIVISOR_DIGITS} digits on a side of the point; "
            "use a divisor of fewer",
            subject="divisor_digits",
            limit=_MAX_DIVISOR_DIGITS,
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


def _multiples(
    line: NumberLine, divisors: Divisors, is_zero_out: bool, integer: bool, written: bool
) -> _core.Node | None:
    zero = _zero(integer, True) if written else _zero(bool(divisors.of), False)
    texts = [zero] if line.has_zero and not is_zero_out else []
    fraction = FractionPart.ANY
    if written and divisors.of:
        fraction = FractionPart.NONE if integer else FractionPart.WRITTEN
    for sign, half in (("", line.positive), ("-", line.negative)):
        found = None if half.is_empty() else _multiples_of(half, divisors, fraction)
        if found is None:
            continue
        if written and not divisors.of:  # digits without end, which a divisor would bound
            found = _core.intersection([WRITTEN_DIGITS, found])
            if min(divisors.none_of) >= SMALL * 10**divisors.decimal_places:  # no multiple has a small exponent
                found = union(found, *_written_exponents(WRITTEN_SMALL, Decimal(0), SMALL, half))
        texts.append(concat(sign, found))
    return union(*texts) if texts else None


def _multiples_of(half: HalfLine, divisors: Divisors, fraction: FractionPart) -> _core.Node | None:
    if divisors.of and not all(divisors.of % other for other in divisors.none_of):
        return None
    many = MAX_STATES // 4  # remainders: each may have several states
    if lcm(divisors.of, *divisors.none_of) <= many or (listed := _few_multiples(half, divisors)) is None:
        return magnitudes(half, divisors, fraction=fraction)
    texts = []
    for value in listed:
        whole, digits = split(value)
        if fraction is FractionPart.ANY:
            texts.append(concat(whole, concat(f".{digits}", _ZEROS) if digits else _NO_FRACTION))
        elif fraction is FractionPart.NONE:
            texts.append(union(whole))
        else:
            zeros = repeat("0", 0 if digits else 1, max(MAX_FRACTION_DIGITS - len(digits), 0))
            fraction_part = concat(f".{digits}", zeros)
            texts.append(concat(whole, fraction_part if digits else optional(fraction_part)))
    return union(*texts) if texts else None


def _few_multiples(half: HalfLine, divisors: Divisors) -> list[Decimal] | None:
    """Return the magnitudes of a half line one by one; None if they are too many."""
    if not divisors.of:
        return None
    scale = 10**divisors.decimal_places
    found: list[Decimal] = []
    tried = 0
    for low, has_low, high, has_high in half.intervals():
        if high is None:
            return None
        least, most = Fraction(low) * scale / divisors.of, Fraction(high) * scale / divisors.of
        first = ceil(least) if has_low else floor(least) + 1
        last = floor(most) if has_high else ceil(most) - 1
        tried += last - first + 1
        if tried > _MAX_LISTED_MULTIPLES:
            return None
        scaled = (factor * divisors.of for factor in range(first, last + 1))
        values = [value for value in scaled if all(value % other for other in divisors.none_of)]
        found += [Decimal(f"{value}E-{divisors.decimal_places}") for value in values]
    return found

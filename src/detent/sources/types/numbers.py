"""Numbers and truth values: integers and decimals in exact ranges, true and false."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from detent import _core
from detent.errors import ArgumentError
from detent.language import Language
from detent.sources.nodes import concat, decimal, optional, repeat, short_repr, union
from detent.sources.types.digits import DIGIT, decimals, naturals
from detent.suggestions import suggests_names

__all__ = ["boolean", "integer", "number"]

_LONGEST_BOUND = 4000
"""Digits of a bound on either side of the point; Python itself writes 4,300 of an int by default."""

_PIECE = 600
"""Digits that `int` takes whatever its limit is set to."""


@dataclass(frozen=True)
class _IntegerValue:
    """From digits to an int, however many.

    >>> _IntegerValue()("-12")
    -12
    """

    def __call__(self, text: str) -> int:
        if len(text) <= _PIECE:
            return int(text)
        # int() refuses texts of thousands of digits, whose time is quadratic; but this text may be as long as it is.
        value = 0
        digits = text.lstrip("-")
        for start in range(0, len(digits), _PIECE):
            piece = digits[start : start + _PIECE]
            value = value * 10 ** len(piece) + int(piece)
        return -value if text.startswith("-") else value


@dataclass(frozen=True)
class _NumberValue:
    """From a decimal to the nearest float.

    >>> _NumberValue()("2.50")
    2.5
    """

    def __call__(self, text: str) -> float:
        return float(text)


@dataclass(frozen=True)
class _BooleanValue:
    """From ``true`` or ``false`` to a bool.

    >>> _BooleanValue()("true")
    True
    """

    def __call__(self, text: str) -> bool:
        return text == "true"


def boolean() -> Language[bool]:
    """Make the language of ``true`` and ``false``, as JSON writes them.

    >>> import detent
    >>> detent.boolean().parse("true")
    True

    Returns
    -------
    Language
        Its value is a bool.
    """
    return Language(union("true", "false"), "boolean", _BooleanValue())


@suggests_names
def integer(minimum: int | None = None, maximum: int | None = None) -> Language[int]:
    """Make the language of the integers in a range, in decimal.

    >>> import detent
    >>> month = detent.integer(1, 12)
    >>> month
    Language(integer from 1 to 12)
    >>> month.parse("12"), month.accepts("13"), month.accepts("07")
    (12, False, False)

    Each integer has one text: no leading zeros, no ``+``, and zero is ``0``, never ``-0``.

    Parameters
    ----------
    minimum, maximum : int, optional
        The least and the largest, both included; unbounded if not given.

    Returns
    -------
    Language
        Its value is an int. Costs 20 nodes a digit of the bounds. Without bounds an integer has any number of digits.

    Raises
    ------
    ArgumentError
        A bound is not an int, has more digits than Python writes (4,300 by default), or the two exclude each other.
    """
    for name, bound in (("minimum", minimum), ("maximum", maximum)):
        if bound is not None:
            if not isinstance(bound, int) or isinstance(bound, bool):
                raise ArgumentError(f"integer needs a {name} of type int, got {short_repr(bound)}")
            decimal(bound, "integer")
    if minimum is not None and maximum is not None and minimum > maximum:
        raise ArgumentError(
            f"integer got a minimum of {short_repr(minimum)}, above the maximum of {short_repr(maximum)}; swap them"
        )
    parts = []
    if maximum is None or maximum >= 0:
        parts.append(naturals(max(minimum or 0, 0), maximum))
    if minimum is None or minimum < 0:
        parts.append(concat("-", naturals(max(1, -(maximum or 0)), None if minimum is None else -minimum)))
    return Language(union(*parts), _describe("integer", minimum, maximum), _IntegerValue())


@suggests_names
def number(minimum: float | Decimal | None = None, maximum: float | Decimal | None = None) -> Language[float]:
    """Make the language of the numbers in a range, as JSON writes them.

    >>> import detent
    >>> share = detent.number(0, 1)
    >>> share.parse("0.25"), share.accepts("1.01"), share.accepts("1.00")
    (0.25, False, True)
    >>> detent.number().parse("-6.02e23")
    -6.02e+23

    Without bounds these are the numbers of RFC 8259: no leading zeros, digits on both sides of the point, perhaps an
    exponent. **With a bound they have no exponent**, and any number of digits after the point; the bound is then exact:
    it holds for the decimal that is written, not for the float nearest to it. ``-0`` is a number where 0 is.

    Parameters
    ----------
    minimum, maximum : int, float or Decimal, optional
        The least and the largest, both included. A float stands for its shortest decimal: 0.1 is one tenth.

    Returns
    -------
    Language
        Its value is a float: infinite where the text is too large for one, as in `float`.

    Raises
    ------
    ArgumentError
        A bound is no finite number, takes more than 4,000 digits on a side of the point, or the two exclude each other.
    """
    low = None if minimum is None else _read(minimum, "minimum")
    high = None if maximum is None else _read(maximum, "maximum")
    description = _describe("number", minimum, maximum)
    if low is None and high is None:
        exponent = concat(_core.byte_set(b"eE"), optional(_core.byte_set(b"+-")), repeat(DIGIT, 1, None))
        node = concat(optional("-"), decimals(Decimal(0), None), optional(exponent))
        return Language(node, description, _NumberValue())
    if low is not None and high is not None and low > high:
        raise ArgumentError(
            f"number got a minimum of {short_repr(minimum)}, above the maximum of {short_repr(maximum)}; swap them"
        )
    parts = []
    if high is None or high >= 0:
        parts.append(decimals(Decimal(0) if low is None or low < 0 else low, high))
    if low is None or low <= 0:
        nearest = Decimal(0) if high is None or high > 0 else high.copy_abs()
        parts.append(concat("-", decimals(nearest, None if low is None else low.copy_abs())))
    return Language(union(*parts), description, _NumberValue())


def _read(bound: object, name: str) -> Decimal:
    if not isinstance(bound, (int, float, Decimal)) or isinstance(bound, bool):
        raise ArgumentError(f"number needs a {name} of type int, float or Decimal, got {short_repr(bound)}")
    if isinstance(bound, int):
        return Decimal(decimal(bound, "number"))
    exact = Decimal(repr(float(bound))) if isinstance(bound, float) else bound
    if not exact.is_finite():
        raise ArgumentError(f"number needs a finite {name}, got {short_repr(bound)}; leave it out for no bound")
    exponent = exact.as_tuple().exponent
    if exact.adjusted() > _LONGEST_BOUND or (isinstance(exponent, int) and exponent < -_LONGEST_BOUND):
        raise ArgumentError(
            f"number got a {name} of {short_repr(bound)}, which takes more than {_LONGEST_BOUND} digits"
        )
    return exact if exact else Decimal(0)


def _describe(what: str, minimum: object, maximum: object) -> str:
    low = "" if minimum is None else f" from {short_repr(minimum)}"
    high = "" if maximum is None else f" to {short_repr(maximum)}"
    return what + low + high

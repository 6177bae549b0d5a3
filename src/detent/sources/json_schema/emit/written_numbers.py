r"""Numbers as the serialisers of Python and JavaScript write them.

- An integer is its digits, without a sign of zero.
- A float has at most 17 significant digits; Python writes integral floats with ``.0``. Decimal types of many languages
  keep zeros at the end (``12.50``), and so does a model that writes prices.
- An exponent follows one digit, perhaps with a fraction: Python's from ``1e-05`` down and from ``1e+16`` up,
  JavaScript's from ``1e-7`` down and from ``1e+21`` up. Small numbers in between have a few zeros after the point.
"""

from __future__ import annotations

from decimal import Decimal

from detent import _core
from detent.sources.nodes import concat, optional, repeat, union
from detent.sources.regex import regex
from detent.sources.types.digits import DIGIT

__all__ = [
    "LARGE",
    "MAX_FRACTION_DIGITS",
    "SMALL",
    "WRITTEN_DIGITS",
    "WRITTEN_INTEGER",
    "WRITTEN_LARGE",
    "WRITTEN_NUMBER",
    "WRITTEN_POSITIVE",
    "WRITTEN_SMALL",
    "WRITTEN_ZERO",
    "is_precise",
    "written_texts",
]

_MAX_PRECISION = 15  # significant decimal digits that every float keeps
_MIN_PLAIN_EXPONENT = -6  # of the smallest number that JavaScript writes without exponent
MAX_FRACTION_DIGITS = 16
"""Of a number of at least 1 that has no exponent."""
_FIRST_DIGIT = _core.byte_set(b"123456789")

_NEGATIVE_EXPONENT = "-(?:0[5-9]|[7-9]|[1-9][0-9]|[12][0-9][0-9]|3(?:[01][0-9]|2[0-4]))"
_POSITIVE_EXPONENT = r"\+(?:1[6-9]|[2-9][0-9]|[12][0-9][0-9]|30[0-7])"
_LARGEST_FRACTION = "7976931348623157"  # of the largest float, 1.7976931348623157e+308


def _largest() -> str:
    """Return a pattern of the mantissas that may stand before e+308."""
    fractions = []
    for index, digit in enumerate(_LARGEST_FRACTION):
        before, below, more = _LARGEST_FRACTION[:index], int(digit) - 1, len(_LARGEST_FRACTION) - index - 2
        fractions.append(before + digit)
        if below >= 1:
            fractions.append(f"{before}[1-{below}]")
        if below >= 0 and more >= 0:
            fractions.append(f"{before}[0-{below}][0-9]{{0,{more}}}[1-9]")
    return rf"1(?:\.(?:{'|'.join(fractions)}))?"


_DIGITS = (
    r"[1-9][0-9]*"
    rf"|[1-9][0-9]{{0,15}}\.[0-9]{{1,{MAX_FRACTION_DIGITS}}}"
    r"|0\.0{0,5}[1-9][0-9]{0,16}"
)
_MANTISSA = r"[1-9](?:\.[0-9]{0,15}[1-9])?"
_LARGEST = rf"{_largest()}e\+308"

WRITTEN_DIGITS: _core.Node = regex(_DIGITS)._node
"""The texts of numbers above zero without exponent."""
SMALL = Decimal("1e-4")
"""A bound of the numbers with a negative exponent: all are below it."""
WRITTEN_SMALL: _core.Node = regex(f"{_MANTISSA}e{_NEGATIVE_EXPONENT}")._node
"""The texts of numbers above zero with a negative exponent."""
LARGE = Decimal("1e16")
"""The least number with a positive exponent."""
WRITTEN_LARGE: _core.Node = regex(f"{_MANTISSA}e{_POSITIVE_EXPONENT}|{_LARGEST}")._node
"""The texts of numbers with a positive exponent."""

WRITTEN_POSITIVE: _core.Node = regex(
    f"{_DIGITS}|{_MANTISSA}e(?:{_NEGATIVE_EXPONENT}|{_POSITIVE_EXPONENT})|{_LARGEST}"
)._node
"""The texts of numbers above zero."""

WRITTEN_ZERO: _core.Node = union("0", concat(optional("-"), "0.", repeat("0", 1, 6)))
WRITTEN_INTEGER: _core.Node = union("0", concat(optional("-"), _FIRST_DIGIT, repeat(DIGIT, 0, None)))
WRITTEN_NUMBER: _core.Node = union(WRITTEN_ZERO, concat(optional("-"), WRITTEN_POSITIVE))


def written_texts(value: Decimal) -> list[str]:
    """Return the texts of one value: its digits, and those of the nearest float if it is equal.

    >>> written_texts(Decimal("1")), written_texts(Decimal("1.0")), written_texts(Decimal("1e-7"))
    (['1'], ['1', '1.0'], ['0.0000001', '1e-07', '1e-7'])
    """
    exponent = value.as_tuple().exponent
    plain = format(value, "f")
    if "." in plain:
        plain = plain.rstrip("0").rstrip(".")
    texts = [plain if value else "0"]
    python = repr(float(value))
    # An exponent of 0 is that of an int, or of a float from 1e16 on with all of its digits.
    if (exponent != 0 or "e" in python) and Decimal(python) == value:
        texts.append(python)
        mantissa, sign, digits = python.partition("e")
        texts.append(mantissa + sign + digits.replace("-0", "-"))
    return list(dict.fromkeys(texts))


def is_precise(value: Decimal) -> bool:
    """Whether a bound has more digits than floats keep, so that perhaps no float is within the bounds."""
    _, digits, exponent = value.as_tuple()
    return len(digits) > _MAX_PRECISION or not isinstance(exponent, int) or exponent < _MIN_PLAIN_EXPONENT

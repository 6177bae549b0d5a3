r"""Patterns of the texts on one side of a bound, where digits of equal width decide from left to right.

The head of a bound has a fixed form, such as ``2024-02-29T12:30:00`` or ``12``, and a fraction may follow. The first
digit that differs decides; the digits after it are free. A pattern has a branch for each digit of the bound.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

__all__ = ["above", "below", "decimals_above", "decimals_below"]

_ANY_FRACTION = r"(?:\.\d+)?"


def above(head: str, fraction: str = "", *, inclusive: bool) -> str:
    """Return the texts of the form of a bound that are above it.

    >>> import re
    >>> re.fullmatch(above("05", inclusive=True), "12.5") is not None
    True
    """
    branches = [f"(?:{'|'.join(larger)}){_ANY_FRACTION}"] if (larger := list(_differing(head, "above"))) else []
    if fraction:
        tails = [f"{start}{rest}" for start, rest in _differing_fraction(fraction, "above")]
        equal = rf"{fraction}\d*" if inclusive else rf"{fraction}0*[1-9]\d*"
        branches.append(rf"{head}\.(?:{'|'.join([*tails, equal])})")
    else:
        branches.append(head + (_ANY_FRACTION if inclusive else r"\.0*[1-9]\d*"))
    return f"(?:{'|'.join(branches)})"


def below(head: str, fraction: str = "", *, inclusive: bool) -> str:
    """Return the texts of the form of a bound that are below it.

    >>> import re
    >>> re.fullmatch(below("20", inclusive=False), "20.0") is None
    True
    """
    branches = [f"(?:{'|'.join(smaller)}){_ANY_FRACTION}"] if (smaller := list(_differing(head, "below"))) else []
    if fraction:
        tails = [f"{start}{rest}" for start, rest in _differing_fraction(fraction, "below")]
        tails += [fraction[:length] for length in range(1, len(fraction))]
        tails += [f"{fraction}0*"] if inclusive else []
        branches.append(rf"{head}(?:\.(?:{'|'.join(tails)}))?" if tails else head)
    elif inclusive:
        branches.append(rf"{head}(?:\.0+)?")
    return f"(?:{'|'.join(branches)})" if branches else "(?!)"


def decimals_above(bound: Decimal, *, inclusive: bool, before: str = "", after: str = "") -> str:
    """Return a pattern of the decimals above a bound; ``before`` comes between the sign and the digits.

    >>> import re
    >>> re.search(decimals_above(Decimal(-5), inclusive=True), "-4.99") is not None
    True
    """
    if bound < 0:
        return f"^(?:(?!-){before}.*|-{before}{_below(-bound, inclusive=inclusive)}{after})$"
    return f"^{before}{_above(bound, inclusive=inclusive)}{after}$"


def decimals_below(bound: Decimal, *, inclusive: bool, before: str = "", after: str = "") -> str:
    """Return a pattern of the decimals below a bound."""
    if bound > 0 or (bound == 0 and inclusive):
        return f"^(?:-{before}.*|{before}{_below(bound, inclusive=inclusive)}{after})$"
    return f"^-{before}{_above(-bound, inclusive=inclusive)}{after}$"


def _above(bound: Decimal, *, inclusive: bool) -> str:
    """Return the decimals above a bound of 0 or more: digits without needless zeros, and perhaps a fraction."""
    head, fraction = _parts(bound)
    return rf"(?:[1-9]\d{{{len(head)},}}{_ANY_FRACTION}|{above(head, fraction, inclusive=inclusive)})"


def _below(bound: Decimal, *, inclusive: bool) -> str:
    """Return the decimals from 0 to a bound of 0 or more."""
    head, fraction = _parts(bound)
    shorter = rf"\d{{1,{len(head) - 1}}}{_ANY_FRACTION}|" if len(head) > 1 else ""
    return f"(?:{shorter}{below(head, fraction, inclusive=inclusive)})"


def _parts(bound: Decimal) -> tuple[str, str]:
    head, _, fraction = format(abs(bound), "f").partition(".")
    return head, fraction.rstrip("0")


def _differing(head: str, side: str) -> Iterator[str]:
    for position, digit in enumerate(head):
        digits = _beyond(digit, side) if digit.isdigit() else None
        if digits:
            rest = "".join(r"\d" if each.isdigit() else each for each in head[position + 1 :])
            yield f"{head[:position]}{digits}{rest}"


def _differing_fraction(fraction: str, side: str) -> Iterator[tuple[str, str]]:
    for position, digit in enumerate(fraction):
        digits = _beyond(digit, side)
        if digits:
            yield fraction[:position], rf"{digits}\d*"


def _beyond(digit: str, side: str) -> str | None:
    if side == "above":
        return f"[{int(digit) + 1}-9]" if digit != "9" else None
    return f"[0-{int(digit) - 1}]" if digit != "0" else None

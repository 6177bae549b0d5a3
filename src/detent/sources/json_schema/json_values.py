"""JSON values as schemas compare them: numbers by value, objects without order, true apart from 1."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from detent.errors import LimitError

__all__ = ["ARRAY", "BOOLEAN", "EVERY_KIND", "FRACTION", "INTEGER", "NULL", "NUMBER", "OBJECT", "STRING", "canonical"]
__all__ += ["exact", "is_text", "kind_of"]

NULL, BOOLEAN, INTEGER, FRACTION, STRING, ARRAY, OBJECT = (1 << bit for bit in range(7))
NUMBER = INTEGER | FRACTION
EVERY_KIND = (1 << 7) - 1
_DEEPEST = 100


def exact(number: Any) -> Decimal | None:
    """Give a number exactly, a float as its shortest decimal; None for what is no finite number.

    >>> exact(0.1)
    Decimal('0.1')
    """
    if isinstance(number, bool) or not isinstance(number, (int, float, Decimal)):
        return None
    value = Decimal(repr(number)) if isinstance(number, float) else Decimal(number)
    return value if value.is_finite() else None


def is_text(text: str) -> bool:
    """Whether a string can be written in UTF-8: whether it has no half of a surrogate pair."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def kind_of(value: Any) -> int:
    """Give the kind of a JSON value, 0 for what is none."""
    if value is None:
        return NULL
    if isinstance(value, bool):
        return BOOLEAN
    if isinstance(value, str):
        return STRING
    if isinstance(value, list):
        return ARRAY
    if isinstance(value, dict):
        return OBJECT
    number = exact(value)
    if number is None:
        return 0
    exponent = number.as_tuple().exponent
    is_integer = not number or (isinstance(exponent, int) and (exponent >= 0 or number == number.to_integral_value()))
    return INTEGER if is_integer else FRACTION


def canonical(value: Any, depth: int = 0) -> Any:
    """Give a key that equal values share. The value is JSON.

    >>> canonical({"a": [1, True]}) == canonical({"a": [1.0, True]}), canonical(1) == canonical(True)
    (True, False)
    """
    if depth > _DEEPEST:
        raise LimitError(f"a value of const or enum is nested over {_DEEPEST} deep; write it with properties and items")
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return ("boolean", value)
    if isinstance(value, list):
        return ("array", *(canonical(item, depth + 1) for item in value))
    if isinstance(value, dict):
        return ("object", frozenset((name, canonical(item, depth + 1)) for name, item in value.items()))
    return exact(value)

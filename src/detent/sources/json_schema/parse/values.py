"""JSON values as schemas compare them: numbers by value, objects without order, true different from 1.

Kinds of values are bits of an int, not an `enum.Flag`, whose operators cost a microsecond each.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from detent.errors import LimitError

__all__ = [
    "ARRAY",
    "BOOLEAN",
    "EVERY_KIND",
    "FRACTION",
    "INTEGER",
    "NULL",
    "NUMBER",
    "OBJECT",
    "STRING",
    "comparison_key",
]
__all__ += ["exact", "is_text", "kind_of"]

NULL, BOOLEAN, INTEGER, FRACTION, STRING, ARRAY, OBJECT = (1 << bit for bit in range(7))
NUMBER = INTEGER | FRACTION
EVERY_KIND = (1 << 7) - 1
_DEEPEST = 100


def exact(number: Any) -> Decimal | None:
    """Return the exact value of a number, for a float that of its shortest decimal; None if it is no finite number.

    >>> exact(0.1)
    Decimal('0.1')
    """
    if isinstance(number, bool) or not isinstance(number, (int, float, Decimal)):
        return None
    value = Decimal(repr(number)) if isinstance(number, float) else Decimal(number)
    return value if value.is_finite() else None


def is_text(text: str) -> bool:
    """Whether UTF-8 can encode a string: it has no lone surrogate."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def kind_of(value: Any) -> int:
    """Return the kind of a JSON value, 0 if it is none."""
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


def comparison_key(value: Any, depth: int = 0) -> Any:
    """Return a key that equal JSON values share.

    >>> comparison_key({"a": [1]}) == comparison_key({"a": [1.0]}), comparison_key(1) == comparison_key(True)
    (True, False)
    """
    if depth > _DEEPEST:
        raise LimitError(
            f"a value of const or enum is nested over {_DEEPEST} deep; write it with properties and items",
            subject="depth",
            limit=_DEEPEST,
            given=depth,
        )
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return ("boolean", value)
    if isinstance(value, list):
        return ("array", *(comparison_key(item, depth + 1) for item in value))
    if isinstance(value, dict):
        return ("object", frozenset((name, comparison_key(item, depth + 1)) for name, item in value.items()))
    return exact(value)

"""Typed values: languages whose texts stand for a Python value, each with the parser that gives it.

`numbers` are ranges of decimal digits (`digits`), `calendar` and `network` are patterns. A text is in the language
exactly when it is valid, leap days, ranges and lengths included.
"""

from detent.sources.types.calendar import date, datetime, duration, time
from detent.sources.types.network import email, hostname, ipv4, ipv6, uri, uuid
from detent.sources.types.numbers import boolean, integer, number

__all__ = [
    "boolean",
    "date",
    "datetime",
    "duration",
    "email",
    "hostname",
    "integer",
    "ipv4",
    "ipv6",
    "number",
    "time",
    "uri",
    "uuid",
]

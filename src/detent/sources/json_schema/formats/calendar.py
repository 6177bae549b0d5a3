"""Formats of dates, times and durations: RFC 3339, its appendix A included.

`detent.date` and the like have the values of Python's `datetime`. These formats have the whole RFC: the year 0000, any
number of digits of a second, lower-case `t` and `z`, and leap seconds. A second 60 is valid where the time is 23:59:60
in UTC, on any day, since the days of leap seconds are announced only half a year ahead. Its offset is a whole number of
quarters of an hour, as in every time zone since the first leap second; so there are 96 such times.
"""

from __future__ import annotations

import re

from detent import _core
from detent.sources.nodes import concat, union
from detent.sources.regex import regex

__all__ = ["date", "date_time", "duration", "time"]

_FOURTH = "(?:0[48]|[2468][048]|[13579][26])"
_LEAP_YEAR = rf"(?:\d\d{_FOURTH}|(?:00|{_FOURTH})00)"
_MONTH_AND_DAY = r"(?:(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])|(?:0[13-9]|1[0-2])-(?:29|30)|(?:0[13578]|1[02])-31)"
_DATE = rf"(?:\d{{4}}-{_MONTH_AND_DAY}|{_LEAP_YEAR}-02-29)"
_FRACTION = r"(?:\.\d+)?"
_HOUR, _MINUTE = r"(?:[01]\d|2[0-3])", r"[0-5]\d"
_TIME = rf"{_HOUR}:{_MINUTE}:{_MINUTE}{_FRACTION}(?:[Zz]|[+-]{_HOUR}:{_MINUTE})"

_DAY, _LAST_MINUTE = 24 * 60, 24 * 60 - 1

_SECOND = r"\d+S"
_MINUTES = rf"\d+M(?:{_SECOND})?"
_CLOCK = rf"T(?:\d+H(?:{_MINUTES})?|{_MINUTES}|{_SECOND})"
_DAYS = r"\d+D"
_MONTHS = rf"\d+M(?:{_DAYS})?"
_DURATION = rf"P(?:(?:\d+Y(?:{_MONTHS})?|{_MONTHS}|{_DAYS})(?:{_CLOCK})?|{_CLOCK}|\d+W)"


def date() -> _core.Node:
    """Return the dates of the calendar, as ``YYYY-MM-DD``, from the year 0000 to 9999."""
    return _node(_DATE)


def time() -> _core.Node:
    """Return the times of RFC 3339's full-time: with an offset."""
    return union(_node(_TIME), _leap_seconds())


def date_time() -> _core.Node:
    """Return the moments of RFC 3339."""
    return concat(_node(f"{_DATE}[Tt]"), time())


def duration() -> _core.Node:
    """Return the durations of appendix A: units in order and without gaps, no fractions; capitals, as ISO 8601 has."""
    return _node(_DURATION)


def _leap_seconds() -> _core.Node:
    """Return the times that are 23:59:60 in UTC, with offsets of whole quarters of an hour."""
    offsets: dict[int, list[str]] = {_LAST_MINUTE: ["Z", "z"]}
    for ahead in range(0, _DAY, 15):
        for sign, local in (("+", _LAST_MINUTE + ahead), ("-", _LAST_MINUTE - ahead)):
            offsets.setdefault(local % _DAY, []).append(f"{sign}{ahead // 60:02}:{ahead % 60:02}")
    fraction = _node(_FRACTION)
    by_hour: dict[int, list[_core.Node]] = {}
    for local, written in offsets.items():
        by_hour.setdefault(local // 60, []).append(concat(f"{local % 60:02}:60", fraction, union(*written)))
    return union(*(concat(f"{hour:02}:", union(*minutes)) for hour, minutes in by_hour.items()))


def _node(pattern: str) -> _core.Node:
    return regex(pattern, re.ASCII)._node

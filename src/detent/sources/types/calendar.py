"""Dates, times and durations: the profile of ISO 8601 in RFC 3339, restricted to dates of the calendar.

A language contains only texts that Python's `datetime` can represent, so that every text has a value: years from 0001,
six digits of a second, no leap seconds, no durations of months.
"""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass
from functools import partial

from detent.errors import ArgumentError
from detent.language import Language
from detent.origin import Hint, Origin
from detent.sources.nodes import check_flag, short_repr
from detent.sources.regex import regex
from detent.sources.types.date_ranges import date_node, read_format
from detent.suggestions import suggests_names

__all__ = ["DATE", "OFFSET", "TIME", "date", "datetime", "duration", "time"]

_YEAR = r"(?:[1-9]\d{3}|0[1-9]\d{2}|00[1-9]\d|000[1-9])"
_FOURTH = "(?:0[48]|[2468][048]|[13579][26])"
_LEAP_YEAR = rf"(?:\d\d{_FOURTH}|{_FOURTH}00)"
_MONTH_AND_DAY = r"(?:(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])|(?:0[13-9]|1[0-2])-(?:29|30)|(?:0[13578]|1[02])-31)"
DATE = rf"(?:{_YEAR}-{_MONTH_AND_DAY}|{_LEAP_YEAR}-02-29)"
TIME = r"(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,6})?"
OFFSET = r"(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)"

# At most 8 digits each: so the sum stays within the 999,999,999 days of a timedelta.
_COUNT = r"(?:0|[1-9]\d{0,7})"
_SECONDS = rf"{_COUNT}(?:\.\d{{1,6}})?S"
_CLOCK = rf"T(?:{_COUNT}H(?:{_COUNT}M)?(?:{_SECONDS})?|{_COUNT}M(?:{_SECONDS})?|{_SECONDS})"
_DURATION = rf"P(?:{_COUNT}W|{_COUNT}D(?:{_CLOCK})?|{_CLOCK})"

_TIME_PARTS = re.compile(r"(\d\d):(\d\d):(\d\d)(?:\.(\d+))?(Z|[+-]\d\d:\d\d)?", re.ASCII)
_DURATION_PARTS = re.compile(r"P(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)(?:\.(\d+))?S)?)?", re.ASCII)


@dataclass(frozen=True)
class _DateValue:
    """From ``2024-02-29`` to a date."""

    def __call__(self, text: str) -> dt.date:
        return dt.date.fromisoformat(text)


@dataclass(frozen=True)
class _FormatValue:
    """From a date in a format to a date."""

    format: str

    def __call__(self, text: str) -> dt.date:
        numbers: dict[str, int] = {}
        position = 0
        for part in read_format(self.format):
            width = {"%Y": 4, "%m": 2, "%d": 2}.get(part)
            if width is not None:
                numbers[part] = int(text[position : position + width])
            position += len(part) if width is None else width
        return dt.date(numbers["%Y"], numbers["%m"], numbers["%d"])


@dataclass(frozen=True)
class _TimeValue:
    """From ``23:59:59.5Z`` to a time, with a time zone where the text has an offset."""

    def __call__(self, text: str) -> dt.time:
        # Python 3.10's fromisoformat knows neither Z nor one digit of a second.
        hour, minute, second, fraction, offset = _match(_TIME_PARTS, text)
        return dt.time(int(hour), int(minute), int(second), _microseconds(fraction), _zone(offset))


@dataclass(frozen=True)
class _DateTimeValue:
    """From ``2024-02-29T23:59:59Z`` to a datetime."""

    def __call__(self, text: str) -> dt.datetime:
        return dt.datetime.combine(_DateValue()(text[:10]), _TimeValue()(text[11:]))


@dataclass(frozen=True)
class _DurationValue:
    """From ``P1DT2H`` to a timedelta."""

    def __call__(self, text: str) -> dt.timedelta:
        *counts, fraction = _match(_DURATION_PARTS, text)
        weeks, days, hours, minutes, seconds = (int(count or 0) for count in counts)
        return dt.timedelta(days, seconds, _microseconds(fraction), 0, minutes, hours, weeks)


@suggests_names
def date(
    minimum: dt.date | None = None, maximum: dt.date | None = None, *, format: str | None = None
) -> Language[dt.date]:
    """Make the language of the dates of the calendar, as ``YYYY-MM-DD``, from year 0001 to 9999.

    >>> import datetime
    >>> import detent
    >>> detent.date().parse("2024-02-29")
    datetime.date(2024, 2, 29)
    >>> detent.date().accepts("2023-02-29")
    False
    >>> spring = detent.date(datetime.date(2024, 3, 1), datetime.date(2024, 5, 31), format="%d.%m.%Y")
    >>> spring.parse("07.04.2024"), spring.accepts("01.06.2024")
    (datetime.date(2024, 4, 7), False)

    Parameters
    ----------
    minimum, maximum : datetime.date, optional
        The first and the last date, both included.
    format : str, optional
        Another order and other separators, in the notation of `strftime`: ``%Y``, ``%m`` and ``%d``, each once.

    Returns
    -------
    Language
        Its value is a `datetime.date`.

    Raises
    ------
    ArgumentError
        A bound is not a date, the bounds exclude each other, or the format lacks a part.
    """
    if minimum is None and maximum is None and format is None:
        return Language(regex(DATE, re.ASCII)._node, "date", _DateValue())
    for name, bound in (("minimum", minimum), ("maximum", maximum)):
        if bound is not None and (not isinstance(bound, dt.date) or isinstance(bound, dt.datetime)):
            raise ArgumentError(
                f"date needs a {name} of type datetime.date, got {short_repr(bound)}; {_date_advice(bound)}"
            )
    first, last = minimum or dt.date.min, maximum or dt.date.max
    if first > last:
        raise ArgumentError(f"date got a minimum of {first}, after the maximum of {last}; swap them")
    parts = read_format("%Y-%m-%d" if format is None else format)
    low, high = ("" if bound is None else f" {word} {bound}" for word, bound in (("from", minimum), ("to", maximum)))
    described = f"date{low}{high}{'' if format is None else f' as {format}'}"
    return Language(date_node(first, last, parts), described, _DateValue() if format is None else _FormatValue(format))


def _date_advice(value: object) -> str:
    if isinstance(value, dt.datetime):
        return "write its .date()"
    if isinstance(value, str) and "%" in value:
        return f"write date(format={value!r}) for dates in a format"
    try:
        day = dt.date.fromisoformat(value if isinstance(value, str) else "")
    except ValueError:
        return "write datetime.date(2024, 12, 31) for the last day of 2024"
    return f"write datetime.date({day.year}, {day.month}, {day.day})"


@suggests_names
def time(*, offset: bool = False) -> Language[dt.time]:
    """Make the language of the times of a day, as ``HH:MM:SS``, perhaps with one to six digits of a second.

    >>> import detent
    >>> detent.time().parse("08:30:00.25")
    datetime.time(8, 30, 0, 250000)

    Seconds end at 59: `datetime` has no leap second. Nor is there ``24:00:00``.

    Parameters
    ----------
    offset : bool
        Whether it ends in its offset from UTC, as ``Z`` or ``+HH:MM`` (RFC 3339's full-time); without, it never does.

    Returns
    -------
    Language
        Its value is a `datetime.time`, with a time zone if it has an offset.
    """
    check_flag(offset, "time", "offset")
    node = regex(TIME + OFFSET if offset else TIME, re.ASCII)._node
    origin = Origin(source=Hint(partial(time, offset=not offset), f"time(offset={not offset}) has this text"))
    return Language(node, "time with offset" if offset else "time", _TimeValue(), _origin=origin)


@suggests_names
def datetime(*, offset: bool = True) -> Language[dt.datetime]:
    """Make the language of the moments of RFC 3339, as ``YYYY-MM-DDTHH:MM:SSZ``.

    >>> import detent
    >>> detent.datetime().parse("2024-02-29T08:30:00+01:00")
    datetime.datetime(2024, 2, 29, 8, 30, tzinfo=datetime.timezone(datetime.timedelta(seconds=3600)))

    Of what RFC 3339 leaves open: ``T`` and ``Z`` are capitals, a second has up to six digits after the point, there
    are no leap seconds, and years begin at 0001. ``-00:00`` is UTC.

    Parameters
    ----------
    offset : bool
        Whether it ends in its offset from UTC, as ``Z`` or ``+HH:MM``; without, it is a local time.

    Returns
    -------
    Language
        Its value is a `datetime.datetime`, with a time zone if it has an offset.
    """
    check_flag(offset, "datetime", "offset")
    node = regex(f"{DATE}T{TIME}{OFFSET if offset else ''}", re.ASCII)._node
    origin = Origin(source=Hint(partial(datetime, offset=not offset), f"datetime(offset={not offset}) has this text"))
    return Language(node, "datetime" if offset else "local datetime", _DateTimeValue(), _origin=origin)


def duration() -> Language[dt.timedelta]:
    """Make the language of the durations of ISO 8601 that have one length: ``P3W``, ``P1D``, ``PT1H30M``, ``P1DT0.5S``.

    >>> import detent
    >>> detent.duration().parse("P1DT2H")
    datetime.timedelta(days=1, seconds=7200)

    Years and months are left out, since they differ in length; weeks stand alone, as ISO 8601 has them. Numbers have at
    most 8 digits and no leading zeros, seconds up to six digits after the point; there is no sign.

    Returns
    -------
    Language
        Its value is a `datetime.timedelta`.
    """
    return Language(regex(_DURATION, re.ASCII)._node, "duration", _DurationValue())


def _match(pattern: re.Pattern[str], text: str) -> tuple[str, ...]:
    match = pattern.fullmatch(text)
    if match is None:
        raise ArgumentError(f"{short_repr(text)} is not in the language that this parser belongs to")
    return match.groups()


def _microseconds(fraction: str | None) -> int:
    return int((fraction or "").ljust(6, "0"))


def _zone(offset: str | None) -> dt.timezone | None:
    if offset is None:
        return None
    if offset == "Z":
        return dt.timezone.utc
    length = dt.timedelta(hours=int(offset[1:3]), minutes=int(offset[4:6]))
    return dt.timezone(-length if offset[0] == "-" else length)

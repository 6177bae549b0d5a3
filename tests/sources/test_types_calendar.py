"""Dates, times and durations against Python's `datetime`."""

from __future__ import annotations

import datetime as dt
import random
import re

import pytest

import detent
from tests.support.typed_values import check, valid

_FRACTIONS = sum(10**digits for digits in range(7))
_OFFSETS = 1 + 2 * 24 * 60


def read_date(text):
    if not re.fullmatch(r"\d{4}-\d\d-\d\d", text, re.ASCII):
        raise ValueError
    return dt.date(int(text[:4]), int(text[5:7]), int(text[8:]))


def read_time(text):
    match = re.fullmatch(r"(\d\d):(\d\d):(\d\d)(\.\d{1,6})?", text, re.ASCII)
    if not match:
        raise ValueError
    fraction = match[4] or "."
    return dt.time(int(match[1]), int(match[2]), int(match[3]), int(fraction[1:] + "0" * (7 - len(fraction))))


def read_time_and_offset(text):
    if text.endswith("Z"):
        return read_time(text[:-1]).replace(tzinfo=dt.timezone.utc)
    sign, hours, colon, minutes = text[-6:-5], text[-5:-3], text[-3:-2], text[-2:]
    length = dt.datetime.strptime(hours + minutes, "%H%M") - dt.datetime(1900, 1, 1)
    if sign not in "+-" or len(text) < 6 or colon != ":" or not (hours + minutes).isdigit():
        raise ValueError
    return read_time(text[:-6]).replace(tzinfo=dt.timezone(length if sign == "+" else -length))


def read_datetime(text):
    if text[10:11] != "T":
        raise ValueError
    return dt.datetime.combine(read_date(text[:10]), read_time_and_offset(text[11:]))


def read_local_datetime(text):
    if text[10:11] != "T":
        raise ValueError
    return dt.datetime.combine(read_date(text[:10]), read_time(text[11:]))


def read_duration(text):
    """By hand: a P, then numbers with units in falling order; weeks alone; a T before hours, minutes and seconds."""
    if text[:1] != "P" or len(text) < 3 or text.endswith("T"):
        raise ValueError
    days, _, clock = text[1:].partition("T")
    if clock and days.endswith("W"):
        raise ValueError
    total = dt.timedelta()
    for part, units in ((days, "WD"), (clock, "HMS")):
        if part.count("W") and part.count("D"):
            raise ValueError
        while part:
            digits = part[: next((i for i, letter in enumerate(part) if letter not in "0123456789."), 0)]
            unit, part = part[len(digits) : len(digits) + 1], part[len(digits) + 1 :]
            if unit not in units or not unit:
                raise ValueError
            units = units[units.index(unit) + 1 :]
            whole, point, fraction = digits.partition(".")
            if not 1 <= len(whole) <= 8 or (whole[0] == "0" and whole != "0"):
                raise ValueError
            if point and (unit != "S" or not 1 <= len(fraction) <= 6 or not fraction.isdigit()):
                raise ValueError
            name = {"W": "weeks", "D": "days", "H": "hours", "M": "minutes", "S": "seconds"}[unit]
            total += dt.timedelta(**{name: int(whole)}, microseconds=int(fraction.ljust(6, "0")))
    return total


def test_every_day_once():
    """The texts are as many as the days, and each day's is one of them."""
    language = detent.date()
    assert language.count(10) == dt.date.max.toordinal()
    days = {*range(1, dt.date.max.toordinal(), 997), 1, dt.date.max.toordinal()}
    days |= {
        dt.date(year, month, 1).toordinal() + shift
        for year in range(4, 9999, 31)
        for month in (1, 3)
        for shift in (-1, 0)
    }
    days |= {dt.date(year, 3, 1).toordinal() - 1 for year in range(100, 9999, 100)}
    for day in days:
        text = dt.date.fromordinal(day).isoformat()
        assert language.accepts(text), text


@pytest.mark.parametrize(
    "text", ["1900-02-29", "2023-02-29", "2024-02-30", "0000-01-01", "2024-00-10", "2024-04-31", "20240101"]
)
def test_no_other_days(text):
    assert not detent.date().accepts(text)


def test_every_time_once():
    assert detent.time().count(15) == 86_400 * _FRACTIONS
    assert detent.time(offset=True).count(21) == 86_400 * _FRACTIONS * _OFFSETS
    assert detent.datetime().count(40) == dt.date.max.toordinal() * 86_400 * _FRACTIONS * _OFFSETS
    assert detent.datetime(offset=False).count(40) == dt.date.max.toordinal() * 86_400 * _FRACTIONS


@pytest.mark.parametrize(
    ("language", "reference", "alphabet"),
    [
        (detent.date(), read_date, "0123456789-T/"),
        (detent.time(), read_time, "0123456789:.,Z"),
        (detent.time(offset=True), read_time_and_offset, "0123456789:.Zz+-"),
        (detent.datetime(), read_datetime, "0123456789-:.TtZz+ "),
        (detent.datetime(offset=False), read_local_datetime, "0123456789-:.TZ"),
        (detent.duration(), read_duration, "0123456789PTYWDHMS.,-"),
    ],
)
def test_texts_and_values(language, reference, alphabet):
    check(language, reference, alphabet)


@pytest.mark.parametrize(
    "text", ["23:59:60", "24:00:00", "1:00:00", "00:00", "00:00:00.", "00:00:00.1234567", "00:00:00Z", "٠٠:00:00"]
)
def test_no_other_times(text):
    assert not detent.time().accepts(text)


def test_offsets():
    language = detent.datetime()
    assert language.parse("0001-01-01T00:00:00-23:59").utcoffset() == -dt.timedelta(hours=23, minutes=59)  # type: ignore[attr-defined]
    assert language.parse("9999-12-31T23:59:59.999999Z").tzinfo is dt.timezone.utc  # type: ignore[attr-defined]
    assert language.parse("2024-01-01T00:00:00-00:00").utcoffset() == dt.timedelta()  # type: ignore[attr-defined]
    for text in ("2024-01-01T00:00:00", "2024-01-01T00:00:00+24:00", "2024-01-01 00:00:00Z", "2024-01-01t00:00:00z"):
        assert not language.accepts(text)


def test_durations_of_few_letters():
    """All texts of up to 7 of these letters behind the P."""
    language, rng = detent.duration(), random.Random(0)
    assert language.parse("P99999999DT99999999H99999999M99999999.999999S") < dt.timedelta.max
    assert language.parse("PT1H5S") == dt.timedelta(hours=1, seconds=5)
    assert language.parse("P99999999W") == dt.timedelta(weeks=99_999_999)
    for _ in range(20_000):
        text = "P" + "".join(rng.choices("01WDTHMS.", k=rng.randrange(8)))
        assert language.accepts(text) == valid(read_duration, text), text
    for text in (
        "P",
        "PT",
        "P1",
        "P1Y",
        "P1M",
        "P1W1D",
        "P01D",
        "PT1H2H",
        "-P1D",
        "PT1.5H",
        "P123456789D",
        "p1d",
        "PT.5S",
    ):
        assert not language.accepts(text)

"""Ranges of dates in any order of day, month and year.

A range is a union of boxes (years, months, days), as in `1999-12-30 … 2000-02-01`: the days of the first month, the
months of the first year, whole years, and the same at the end. A box is restricted to the calendar by the length of its
months; 29 February stands with leap years only.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator
from typing import NamedTuple

from detent import _core
from detent.errors import ArgumentError
from detent.sources.nodes import concat, short_repr, union
from detent.sources.regex import regex
from detent.sources.types.digits import between

__all__ = ["date_node", "read_format"]

_DIRECTIVES = ("%Y", "%m", "%d")
_FOURTH = "(?:0[48]|[2468][048]|[13579][26])"
_LEAP_YEAR = rf"(?:[0-9][0-9]{_FOURTH}|{_FOURTH}00)"
_LENGTHS = (((1, 3, 5, 7, 8, 10, 12), 31), ((4, 6, 9, 11), 30), ((2,), 28))


class _Box(NamedTuple):
    years: tuple[int, int]
    months: tuple[int, int]
    days: tuple[int, int]


def read_format(pattern: object) -> list[str]:
    """Return the parts of a format: `%Y`, `%m` and `%d`, each once, and the texts between them."""
    parts = re.split(r"(%.)", pattern) if isinstance(pattern, str) else []
    directives = [part for part in parts if part.startswith("%")]
    if sorted(directives) != sorted(_DIRECTIVES):
        raise ArgumentError(
            f"date needs a format with %Y, %m and %d, each once, such as '%d.%m.%Y'; got {short_repr(pattern)}"
        )
    return [part for part in parts if part]


def date_node(first: dt.date, last: dt.date, parts: list[str]) -> _core.Node:
    """Return the node of the dates from `first` to `last`, written in a format."""
    return union(*(node for box in _boxes(first, last) for node in _calendar(box, parts)))


def _boxes(first: dt.date, last: dt.date) -> Iterator[_Box]:
    if (first.year, first.month) == (last.year, last.month):
        yield _Box((first.year, first.year), (first.month, first.month), (first.day, last.day))
        return
    yield _Box((first.year, first.year), (first.month, first.month), (first.day, 31))
    yield _Box((last.year, last.year), (last.month, last.month), (1, last.day))
    if first.year == last.year:
        yield _Box((first.year, first.year), (first.month + 1, last.month - 1), (1, 31))
        return
    yield _Box((first.year, first.year), (first.month + 1, 12), (1, 31))
    yield _Box((last.year, last.year), (1, last.month - 1), (1, 31))
    yield _Box((first.year + 1, last.year - 1), (1, 12), (1, 31))


def _calendar(box: _Box, parts: list[str]) -> Iterator[_core.Node]:
    """Yield the nodes of the dates of a box that the calendar has."""
    if box.years[0] > box.years[1]:
        return
    years = between(f"{box.years[0]:04}", f"{box.years[1]:04}")
    for months, length in _LENGTHS:
        chosen = [month for month in months if box.months[0] <= month <= box.months[1]]
        if chosen and box.days[0] <= min(box.days[1], length):
            yield _write(parts, years, chosen, range(box.days[0], min(box.days[1], length) + 1))
    if box.months[0] <= 2 <= box.months[1] and box.days[0] <= 29 <= box.days[1]:
        leap_years = _core.intersection([years, regex(_LEAP_YEAR)._node])
        yield _write(parts, leap_years, [2], range(29, 30))


def _write(parts: list[str], years: _core.Node, months: list[int], days: range) -> _core.Node:
    nodes = {
        "%Y": years,
        "%m": union(*(f"{month:02}" for month in months)),
        "%d": union(*(f"{day:02}" for day in days)),
    }
    return concat(*(nodes.get(part, part) for part in parts))

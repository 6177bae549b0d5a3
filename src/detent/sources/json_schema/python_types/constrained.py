r"""Schemas of Python's numbers and times with constraints: digits, bounds, time zones.

The constraints have the names of pydantic's core: `ge`, `max_digits`, `tz_constraint`. JSON Schema bounds numbers only,
so bounds of strings become patterns (`ranges`). Each text of a schema is read as an instance that keeps them.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from detent.errors import UnsupportedError
from detent.sources.json_schema.python_types.ranges import above, below, decimals_above, decimals_below
from detent.sources.types.calendar import DATE, OFFSET, TIME

__all__ = [
    "BOUNDS",
    "ODD_TIME",
    "date",
    "date_time",
    "decimal_number",
    "decimal_text",
    "duration",
    "number_bounds",
    "time",
    "with_float_multiples",
]

ODD_TIME = r":60|\.\d{7}"
"""A pattern of the times of RFC 3339 that Python has not: leap seconds, and less than a microsecond."""

Constraints = Mapping[str, Any]
Schema = dict[str, Any]

BOUNDS = ("ge", "gt", "le", "lt")

_EXACT_DIGITS = 15
"""Digits of a decimal that is the same after it was read as a float."""

_FLOAT_MULTIPLES = 2**22
"""Multiples below it differ from those in binary by less than 2**-30, which pydantic allows."""

_LARGEST_TEXT = 300
"""Digits that `max_digits` may ask for; alternatives grow with its square."""

# The days of a timedelta end at 999,999,999. Pydantic writes 365 of them as a year.
_COUNT = r"(?:0|[1-9]\d{0,7})"
_SECONDS = rf"{_COUNT}(?:\.\d{{1,6}})?S"
_CLOCK = rf"T(?:\d{{1,4}}H(?:\d{{1,4}}M)?(?:{_SECONDS})?|\d{{1,4}}M(?:{_SECONDS})?|{_SECONDS})"
_YEARS = r"(?:1\d{6}|[1-9]\d{0,5})Y(?:\d{1,3}D)?"
_DURATION = rf"P(?:(?:{_YEARS}|{_COUNT}D)(?:{_CLOCK})?|{_COUNT}W|{_CLOCK})"


def number_bounds(constraints: Constraints, *, is_exact: bool = False) -> Schema:
    """Return the bounds of numbers: for those that are read as floats, the nearest floats inside, both included.

    >>> number_bounds({"gt": 1, "le": 2.5})
    {'minimum': 1.0000000000000002, 'maximum': 2.5}
    """
    schema: Schema = {}
    for keyword, names, toward in (("minimum", ("ge", "gt"), math.inf), ("maximum", ("le", "lt"), -math.inf)):
        found = []
        for name in names:
            bound = constraints.get(name)
            if bound is None or math.isinf(bound):
                continue
            if bound == 0 and name in ("gt", "lt"):
                # Serialisers write no number that is read as 0.
                schema[f"exclusive{keyword.capitalize()}"] = 0
                continue
            if is_exact and name in ("gt", "lt") and Decimal(repr(float(bound))) == bound:
                schema[f"exclusive{keyword.capitalize()}"] = _as_json(bound)
                continue
            found.append(_nearest_inside(bound, toward, is_exclusive=name in ("gt", "lt")))
        if found:
            schema[keyword] = max(found) if keyword == "minimum" else min(found)
    return schema


def _nearest_inside(bound: float | Decimal, toward: float, *, is_exclusive: bool) -> float:
    exact = Decimal(repr(bound)) if isinstance(bound, float) else Decimal(bound)
    if not is_exclusive and exact == exact.to_integral_value() and abs(exact) < 10**_EXACT_DIGITS:
        return int(exact)
    near = float(exact)
    while True:
        decimal = Decimal(repr(near))
        is_inside = decimal > exact if toward > 0 else decimal < exact
        if is_inside or (decimal == exact and not is_exclusive):
            return near
        near = math.nextafter(near, toward)


def with_float_multiples(schema: Schema) -> Schema:
    """Return the schema of floats where each multiple is near enough to one in binary, which pydantic asks for."""
    factor = schema.get("multipleOf")
    if factor is None:
        return schema
    digits = _EXACT_DIGITS - _fraction_digits_of(factor)
    limit = min(_power(digits), _FLOAT_MULTIPLES) if Decimal(factor) != Decimal(str(factor)) else _power(digits)
    return {**schema, "allOf": [{"exclusiveMinimum": -limit, "exclusiveMaximum": limit}]}


def decimal_number(constraints: Constraints, *, is_exact: bool = False) -> Schema:
    """Return the schema of a Decimal as a number; one that is not exact may be read as a float in between."""
    digits, fraction_digits = constraints.get("max_digits"), constraints.get("decimal_places")
    conditions: list[Schema] = []
    if digits is None:
        conditions += [] if fraction_digits is None else [{"multipleOf": _power(-fraction_digits)}]
    else:
        most = digits if is_exact else min(digits, _EXACT_DIGITS)
        options = [_digits_of_number(whole, part) for whole, part in _digit_counts(most, fraction_digits)]
        conditions.append(options[0] if len(options) == 1 else {"anyOf": options})
        if fraction_digits is not None and digits <= fraction_digits:
            conditions.append({"not": {"const": 0}})  # it has a digit before the point
    factor = constraints.get("multiple_of")
    if factor is not None:
        conditions.append({"multipleOf": _as_json(factor)})
        if not is_exact:
            limit = _power(_EXACT_DIGITS - _fraction_digits_of(factor))
            conditions.append({"exclusiveMinimum": -limit, "exclusiveMaximum": limit})
    return _joined({"type": "number", **number_bounds(constraints, is_exact=is_exact)}, conditions)


def decimal_text(constraints: Constraints) -> Schema | None:
    """Return the schema of a Decimal as a string; None if no pattern has its multiples."""
    digits, fraction_digits = constraints.get("max_digits"), constraints.get("decimal_places")
    factor = constraints.get("multiple_of")
    if factor is not None:
        step = _fraction_digits_of(factor)
        if Decimal(str(factor)) != Decimal(1).scaleb(-step):
            return None
        fraction_digits = step if fraction_digits is None else min(fraction_digits, step)
    if digits is None:
        # A quotient of more than 28 digits has no remainder in Python.
        whole = rf"{{0,{_EXACT_DIGITS - 1}}}" if factor is not None else "*"
        is_free = not constraints.keys() & {*BOUNDS, "decimal_places", "multiple_of"}
        form = rf"(?:0|[1-9]\d{whole}){_fraction(fraction_digits)}" + (r"(?:[eE][+-]?\d{1,3})?" if is_free else "")
    elif digits > _LARGEST_TEXT:
        raise UnsupportedError(f"max_digits={digits} is above {_LARGEST_TEXT}; lower it")
    else:
        forms = [_digits_of_text(whole, part) for whole, part in _digit_counts(digits, fraction_digits)]
        if fraction_digits is not None and digits <= fraction_digits:
            forms = [rf"0\.\d{{1,{digits}}}"]
        form = f"(?:{'|'.join(forms)})"
    return _joined({"type": "string"}, [{"pattern": f"^-?{form}$"}, *_decimal_bounds(constraints)])


def _decimal_bounds(constraints: Constraints, before: str = "", after: str = "") -> list[Schema]:
    found = []
    for name in BOUNDS:
        bound = constraints.get(name)
        if bound is None or math.isinf(bound):
            continue
        side = decimals_above if name in ("ge", "gt") else decimals_below
        exact = Decimal(repr(bound)) if isinstance(bound, float) else Decimal(bound)
        found.append({"pattern": side(exact, inclusive=name in ("ge", "le"), before=before, after=after)})
    return found


def _digit_counts(digits: int, fraction_digits: int | None) -> list[tuple[int, int]]:
    """Return the counts of digits before and after the point; a number is of one of them at least."""
    if fraction_digits is not None:
        return [(max(digits - fraction_digits, 0), min(digits, fraction_digits))]
    return [(digits - part, part) for part in range(digits + 1)]


def _digits_of_number(whole: int, fraction_digits: int) -> Schema:
    return {
        "multipleOf": _power(-fraction_digits),
        "exclusiveMinimum": -_power(whole),
        "exclusiveMaximum": _power(whole),
    }


def _digits_of_text(whole: int, fraction_digits: int) -> str:
    return (rf"(?:0|[1-9]\d{{0,{whole - 1}}})" if whole else "0") + _fraction(fraction_digits)


def _fraction(count: int | None) -> str:
    if count is None:
        return r"(?:\.\d+)?"
    return rf"(?:\.\d{{1,{count}}})?" if count else ""


def _power(exponent: int) -> float:
    return 10**exponent if exponent >= 0 else float(f"1e{exponent}")


def _fraction_digits_of(factor: Any) -> int:
    """Return the digits after the point."""
    exponent = Decimal(str(factor)).normalize().as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0


def _as_json(number: Any) -> Any:
    return float(number) if isinstance(number, Decimal) else number


def date(constraints: Constraints) -> Schema:
    """Return the schema of a date."""
    bounds = dict(constraints)
    day = dt.timedelta(days=1)
    conditions = []
    today = _today()
    for name, bound in (*_given(bounds), *_now(constraints, today - day, today + day)):
        side = above if name in ("ge", "gt") else below
        conditions.append({"pattern": f"^{side(bound.isoformat()[:10], inclusive=name in ('ge', 'le'))}$"})
    return _joined({"type": "string", "format": "date", "not": {"pattern": "^0000"}}, conditions)


def time(constraints: Constraints) -> Schema:
    """Return the schema of a time: with its offset, unless the constraints or a bound say otherwise."""
    return _moment(constraints, "time", "", TIME, ODD_TIME, _clock_head)


def date_time(constraints: Constraints) -> Schema:
    """Return the schema of a datetime: with its offset, unless the constraints or a bound say otherwise.

    With bounds that have an offset the texts are in UTC, as ``Z``.
    """
    return _moment(constraints, "date-time", f"{DATE}T", TIME, f"^0000|{ODD_TIME}", _moment_head)


def _moment(constraints: Constraints, name: str, day: str, clock: str, odd: str, head: Callable[[Any], str]) -> Schema:
    zone = constraints.get("tz_constraint")
    bounds = _given(constraints)
    aware = {bound.tzinfo is not None for _, bound in bounds}
    if len(aware) > 1 or (aware == {True} and zone == "naive") or (aware == {False} and zone not in (None, "naive")):
        raise UnsupportedError(f"bounds of a {name} must all have an offset, or none; give each bound a tzinfo")
    is_naive = zone == "naive" or aware == {False}
    if constraints.get("now_op") is not None:
        day_before, day_after = _today() - dt.timedelta(days=1), _today() + dt.timedelta(days=1)
        start = dt.datetime.min.time()
        bounds += [(side, dt.datetime.combine(each, start)) for side, each in _now(constraints, day_before, day_after)]
        aware.add(not is_naive)
    if isinstance(zone, int) and not isinstance(zone, bool):
        minutes = abs(zone) // 60
        ending = f"(?:{'[+]' if zone >= 0 else '-'}{minutes // 60:02}:{minutes % 60:02}{'|Z' if zone == 0 else ''})"
        if bounds and zone:
            raise UnsupportedError(f"a {name} of a fixed offset cannot have bounds; leave the offset open")
    elif is_naive:
        ending = ""
    elif bounds:
        ending = "Z"
    else:
        if constraints.get("microseconds_precision") != "error":
            return {"type": "string", "format": name, "not": {"pattern": odd}}
        ending = OFFSET
    conditions = [{"pattern": f"^{day}{clock}{ending}$"}]
    for side, bound in bounds:
        pattern = above if side in ("ge", "gt") else below
        start_of, _, fraction = head(bound).partition(".")
        beyond = pattern(start_of, fraction.rstrip("0"), inclusive=side in ("ge", "le"))
        conditions.append({"pattern": f"^{beyond}{ending}$"})
    return _joined({"type": "string"}, conditions)


def _clock_head(bound: dt.time) -> str:
    if bound.tzinfo is not None:
        raise UnsupportedError("the bound of a time has an offset, by which times have no order; leave it out")
    return bound.isoformat("microseconds")


def _moment_head(bound: dt.datetime) -> str:
    if bound.tzinfo is not None:
        bound = bound.astimezone(dt.timezone.utc).replace(tzinfo=None)
    return bound.isoformat(timespec="microseconds")


def duration(constraints: Constraints) -> Schema:
    """Return the schema of a timedelta: as ISO 8601 with years of 365 days; with bounds, in seconds alone."""
    bounds = {name: _seconds(bound) for name, bound in _given(constraints)}
    if not bounds:
        return {"type": "string", "pattern": f"^-?{_DURATION}$"}
    if bounds.keys() == {"ge"} and bounds["ge"] == 0:
        return {"type": "string", "pattern": f"^{_DURATION}$"}
    conditions = [{"pattern": f"^-?PT{_SECONDS}$"}, *_decimal_bounds(bounds, "PT", "S")]
    return _joined({"type": "string"}, conditions)


def _seconds(length: dt.timedelta) -> Decimal:
    return (Decimal(length.days * 86_400 + length.seconds) * 10**6 + length.microseconds).scaleb(-6)


def _today() -> dt.date:
    return dt.datetime.now(dt.timezone.utc).date()


def _now(constraints: Constraints, day_before: dt.date, day_after: dt.date) -> list[tuple[str, dt.date]]:
    """Return the bounds of the past or the future, which end a day from now, on the safe side in every time zone."""
    now = constraints.get("now_op")
    return [] if now is None else [("lt", day_before)] if now == "past" else [("gt", day_after)]


def _given(constraints: Constraints) -> list[tuple[str, Any]]:
    return [(name, constraints[name]) for name in BOUNDS if constraints.get(name) is not None]


def _joined(schema: Schema, conditions: list[Schema]) -> Schema:
    """Return a schema with conditions, in one object where no keyword meets another."""
    others = []
    for condition in conditions:
        if condition.keys() & schema.keys():
            others.append(condition)
        else:
            schema = {**schema, **condition}
    return {**schema, "allOf": others} if others else schema

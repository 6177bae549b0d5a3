"""Pydantic's types: each text has a value, and each value has its text, unless the documentation says otherwise."""

from __future__ import annotations

import collections
import dataclasses
import datetime as dt
import enum
import fractions
import ipaddress
import itertools
import pathlib
import random
import re
import uuid
import warnings
from collections.abc import Hashable
from decimal import Decimal
from typing import Annotated, Any, ClassVar, Literal

import pytest

import detent
from detent.errors import SchemaWarning, UnsupportedError
from detent.sources.json_schema.python_types.ranges import above, below, decimals_above, decimals_below
from detent.sources.json_schema.python_types.web_addresses import url_pattern, urls_pattern

pydantic = pytest.importorskip("pydantic")
Field, TypeAdapter = pydantic.Field, pydantic.TypeAdapter
UTC = dt.timezone.utc


class Encoded(pydantic.BaseModel):  # type: ignore[name-defined,misc]
    model_config: ClassVar[dict[str, Any]] = {
        "str_strip_whitespace": True,
        "str_min_length": 2,
        "val_json_bytes": "base64",
        "ser_json_bytes": "base64",
    }
    text: str
    data: bytes


class Cat(pydantic.BaseModel):  # type: ignore[name-defined,misc]
    kind: Literal["cat", "lion"] = "cat"
    n: int = 0


class Dog(pydantic.BaseModel):  # type: ignore[name-defined,misc]
    kind: Literal["dog"] = "dog"
    inner: Annotated[Cat | Dog, Field(discriminator="kind")] | None = None


@pydantic.dataclasses.dataclass
class Cod:
    kind: Literal["cod"] = "cod"
    n: int = 0


class Ship(pydantic.BaseModel):  # type: ignore[name-defined,misc]
    kind: Literal["ship"] = Field("ship", alias="k")
    n: int = 0


class Train(pydantic.BaseModel):  # type: ignore[name-defined,misc]
    kind: Literal["train"] = Field("train", alias="k")


class Pathed(pydantic.BaseModel):  # type: ignore[name-defined,misc]
    first: int = Field(validation_alias=pydantic.AliasPath("d", 0))


class Named(pydantic.BaseModel):  # type: ignore[name-defined,misc]
    model_config: ClassVar[Any] = {"populate_by_name": True}
    first: int = Field(validation_alias=pydantic.AliasPath("d", 0))


class Unheld(pydantic.BaseModel):  # type: ignore[name-defined,misc]
    held: Cat
    pairs: dict[tuple[int, int], int]


class Chosen(pydantic.BaseModel):  # type: ignore[name-defined,misc]
    first: int = Field(validation_alias=pydantic.AliasChoices(pydantic.AliasPath("d", 0), "x"))


class Colour(enum.Enum):
    RED = "red"


class Pair(enum.Enum):
    ONE = (1, 2)


class Rank(enum.IntEnum):
    ONE = 1
    TWO = 2


def kept(value: Any) -> Any:
    return value


KEPT = pydantic.AfterValidator(kept)


BETWEEN = Annotated[int, KEPT, Field(gt=Decimal("1.5")), Field(lt=Decimal("3.5"))]


def bounded(kind: Any, **constraints: Any) -> Any:
    return Annotated[kind, Field(**constraints)]


NOON = dt.datetime(2020, 1, 2, 12, 30, 5, 600_000)

# Types whose texts and values agree: each text has a value, and the text that pydantic writes of it is one again.
AGREEING: dict[str, Any] = {
    "decimal": Decimal,
    "price": bounded(Decimal, max_digits=8, decimal_places=2, ge=0),
    "share": bounded(Decimal, max_digits=2, decimal_places=2),
    "few digits": bounded(Decimal, max_digits=2, decimal_places=4),
    "digits": bounded(Decimal, max_digits=5),
    "many digits": bounded(Decimal, max_digits=20, decimal_places=2),
    "whole": bounded(Decimal, decimal_places=0, gt=-3, lt=17),
    "cents": bounded(Decimal, multiple_of=Decimal("0.01"), ge=1),
    "negative": bounded(Decimal, lt=Decimal("-0.5"), decimal_places=3),
    "fraction": fractions.Fraction,
    "finite": pydantic.FiniteFloat,
    "stripped": pydantic.constr(strip_whitespace=True, min_length=1, max_length=4),
    "configured": Encoded,
    "bytes": pydantic.conbytes(min_length=2, max_length=3),
    "date": bounded(dt.date, ge=dt.date(2020, 2, 29), lt=dt.date(2021, 12, 31)),
    "past": pydantic.PastDate,
    "future": pydantic.FutureDate,
    "past moment": pydantic.PastDatetime,
    "future moment": pydantic.FutureDatetime,
    "aware": pydantic.AwareDatetime,
    "naive": pydantic.NaiveDatetime,
    "moment": dt.datetime,
    "bounded moment": bounded(dt.datetime, ge=NOON, lt=NOON + dt.timedelta(seconds=2)),
    "moment in UTC": bounded(dt.datetime, gt=NOON.replace(tzinfo=UTC)),
    "time": bounded(dt.time, ge=dt.time(9), lt=dt.time(17, 30)),
    "timedelta": dt.timedelta,
    "positive timedelta": bounded(dt.timedelta, ge=dt.timedelta(0)),
    "UUID": uuid.UUID,
    "UUID1": pydantic.UUID1,
    "UUID4": pydantic.UUID4,
    "HttpUrl": pydantic.HttpUrl,
    "AnyUrl": pydantic.AnyUrl,
    "FileUrl": pydantic.FileUrl,
    "WebsocketUrl": pydantic.WebsocketUrl,
    "PostgresDsn": pydantic.PostgresDsn,
    "MariaDBDsn": pydantic.MariaDBDsn,
    "AmqpDsn": pydantic.AmqpDsn,
    "any address": pydantic.IPvAnyAddress,
    "network": ipaddress.IPv4Network,
    "interface": ipaddress.IPv6Interface,
    "path": pathlib.Path,
    "size": pydantic.ByteSize,
    "Base64Str": pydantic.Base64Str,
    "Base64Bytes": pydantic.Base64Bytes,
    "integer keys": dict[bounded(int, ge=3, lt=120), str],  # type: ignore[misc]
    "truth keys": dict[bool, int],
    "pattern keys": dict[bounded(str, pattern="^a+$"), int],  # type: ignore[misc]
    "decimal keys": dict[Decimal, int],
    "date keys": dict[dt.date, int],
    "counter": collections.Counter[str],
    "tags": Annotated[Cat | Dog | Cod, Field(discriminator="kind")],
    "tags of tags": Annotated[Annotated[Cat | Dog, Field(discriminator="kind")] | Cod, Field(discriminator="kind")],
    "number above": bounded(int | float, gt=1),
    "number above, checked": Annotated[int, KEPT, Field(ge=3), Field(multiple_of=2)],
    "price, checked": Annotated[Decimal, KEPT, Field(ge=3, max_digits=4)],
    "day, checked": Annotated[dt.date, KEPT, Field(ge=dt.date(2020, 2, 1))],
    "short text or list": bounded(str | list[int], max_length=2),
    "literal above": bounded(Literal[1, 2, 3], ge=2),
    "rank above": bounded(Rank, ge=2),
    "truth above": bounded(bool, ge=1),
    "finite numbers": bounded(int | Decimal | float, allow_inf_nan=False),
    "number or nothing": bounded(int | float | None, gt=1),
    "pattern, checked": Annotated[str, KEPT, Field(pattern="^[ab]{2}$")],
    "hashable": Hashable,
    "UUID4 keys": dict[pydantic.UUID4, int],  # type: ignore[name-defined]
    "address keys": dict[pydantic.IPvAnyAddress, int],  # type: ignore[name-defined]
    "network keys": dict[ipaddress.IPv4Network, int],
    "interface keys": dict[ipaddress.IPv4Interface, int],
    "Base64 keys": dict[pydantic.Base64Str, int],  # type: ignore[name-defined]
    "URL-safe Base64 keys": dict[pydantic.Base64UrlBytes, int],  # type: ignore[name-defined]
    "integer or no keys": dict[int | None, int],
    "truth or integer keys": dict[bool | bounded(int, ge=0), int],  # type: ignore[misc]
    "text or integer keys": dict[Literal["a"] | bounded(int, ge=5), int],  # type: ignore[misc]
    "rank keys": dict[Rank, int],
    "colour keys": dict[str, dict[Colour, dict[Colour, int]]],
    "ordered keys": collections.OrderedDict[int, str],
    "counted integers": collections.Counter[int],
}

# Types some of whose values are written in a way that the language leaves out.
NARROWER: dict[str, Any] = {
    "quarters": bounded(Decimal, multiple_of=Decimal("0.25"), ge=1),
    "open interval": bounded(Decimal, gt=0, lt=1),
    "range": bounded(Decimal, ge=Decimal("-12.505"), le=Decimal("103.25")),
    "fractions": bounded(fractions.Fraction, gt=0, le=1),
    "complex": complex,
    "float": bounded(float, gt=0, lt=1),
    "float range": bounded(float, ge=0.1, lt=0.3),
    "seconds": bounded(dt.timedelta, gt=dt.timedelta(0), le=dt.timedelta(hours=1.5)),
    "few seconds": bounded(dt.timedelta, ge=-dt.timedelta(seconds=1.5), le=dt.timedelta(microseconds=1)),
    "networks": ipaddress.IPv6Network,
    "tags with an alias": list[Annotated[Ship | Train, Field(discriminator="kind")]],
    "alias beside a path": Chosen,
    "short secret": bounded(pydantic.SecretStr, min_length=2, max_length=3),
    "keys of IPv6 networks": dict[ipaddress.IPv6Network, int],
    "float multiples": bounded(float, multiple_of=0.3),
}


def check_samples(kind: Any, count: int, *, agrees: bool) -> None:
    adapter = TypeAdapter(kind)
    with warnings.catch_warnings():
        warnings.simplefilter("error", SchemaWarning)
        language = detent.json_schema(adapter)
    for seed in range(count):
        text = language.sample(random.Random(seed)).decode()
        value = language.parse(text)
        if agrees:
            written = adapter.dump_json(value).decode()
            assert language.accepts(written), (text, written)


@pytest.mark.parametrize("name", AGREEING)
def test_texts_have_values_and_values_texts(name: str) -> None:
    check_samples(AGREEING[name], 20, agrees=True)


@pytest.mark.parametrize("name", NARROWER)
def test_texts_have_values(name: str) -> None:
    check_samples(NARROWER[name], 20, agrees=False)


@pytest.mark.long
@pytest.mark.parametrize("name", [*AGREEING, *NARROWER])
def test_many_texts_have_values(name: str) -> None:
    check_samples({**AGREEING, **NARROWER}[name], 500, agrees=name in AGREEING)


def is_valid(adapter: Any, text: str) -> bool:
    try:
        adapter.validate_json(text)
    except pydantic.ValidationError:
        return False
    return True


@pytest.mark.parametrize(
    "constraints",
    [
        {"max_digits": 2, "decimal_places": 1},
        {"max_digits": 2, "decimal_places": 2},
        {"max_digits": 1, "decimal_places": 2},
        {"max_digits": 3},
        {"decimal_places": 1, "gt": Decimal("-1.5"), "le": Decimal("10.1")},
        {"decimal_places": 2, "ge": Decimal("0.95"), "lt": 2},
        {"decimal_places": 0, "gt": 8, "le": 12},
        {"decimal_places": 1, "lt": 0},
        {"decimal_places": 1, "le": 0, "ge": -2},
    ],
)
def test_digits_are_those_of_pydantic(constraints: dict[str, Any]) -> None:
    # Each short text of a decimal, as a number and as a string. Pydantic takes more zeros at the end.
    adapter = TypeAdapter(bounded(Decimal, **constraints))
    language = detent.json_schema(adapter)
    places = min(constraints.get("decimal_places", 9), constraints.get("max_digits", 9))
    whole = ["0", "1", "2", "8", "9", "10", "11", "12", "19", "99", "100", "101", "999", "1000"]
    fractions_ = ["", ".0", ".00", ".1", ".5", ".9", ".01", ".05", ".95", ".94", ".99", ".001", ".123", ".1234"]
    for sign, head, fraction in itertools.product(("", "-"), whole, fractions_):
        text = sign + head + fraction
        if sign and Decimal(text) == 0:
            assert not language.accepts(f'"{text}"') or is_valid(adapter, f'"{text}"')
            continue
        count = len(head.lstrip("0")) + len(fraction.lstrip("."))
        has_short_form = len(fraction) - 1 <= places and (count or 1) <= constraints.get("max_digits", 9)
        assert language.accepts(f'"{text}"') == (is_valid(adapter, f'"{text}"') and has_short_form), text
        if not fraction.endswith("0"):
            assert language.accepts(text) == is_valid(adapter, text), text


@pytest.mark.parametrize("bound", ["0", "5", "9", "10", "19", "99", "0.5", "1.05", "10.1", "0.99", "9.09"])
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("inclusive", [False, True])
def test_decimals_beyond_a_bound(bound: str, sign: int, inclusive: bool) -> None:
    exact = sign * Decimal(bound)
    is_above = re.compile(decimals_above(exact, inclusive=inclusive))
    is_below = re.compile(decimals_below(exact, inclusive=inclusive))
    numbers = [str(number) for number in range(0, 130)]
    fractions_ = ["", ".0", ".1", ".5", ".9", ".05", ".04", ".06", ".090", ".099", ".99", ".990", ".991", ".50", ".049"]
    for text in map("".join, itertools.product(("", "-"), numbers, fractions_)):
        value = Decimal(text)
        if text.startswith("-") and value == 0:
            continue
        assert bool(is_above.search(text)) == (value > exact or (inclusive and value == exact)), text
        assert bool(is_below.search(text)) == (value < exact or (inclusive and value == exact)), text


@pytest.mark.parametrize("seed", range(5))
def test_dates_beyond_a_bound(seed: int) -> None:
    rng = random.Random(seed)
    start = dt.datetime(1999, 12, 31, 23, 59, 58)
    moments = [
        start + dt.timedelta(microseconds=500_000 * rng.randrange(9), days=rng.choice([0, 1, 366])) for _ in range(60)
    ]
    for bound, inclusive in itertools.product(moments[:6], (False, True)):
        head, _, fraction = bound.isoformat(timespec="microseconds").partition(".")
        is_above = re.compile(f"^{above(head, fraction.rstrip('0'), inclusive=inclusive)}$")
        is_below = re.compile(f"^{below(head, fraction.rstrip('0'), inclusive=inclusive)}$")
        for moment in moments:
            for text in {moment.isoformat(), moment.isoformat(timespec="microseconds")}:
                equal = inclusive and moment == bound
                assert bool(is_above.search(text)) == (moment > bound or equal), (bound, text)
                assert bool(is_below.search(text)) == (moment < bound or equal), (bound, text)


@pytest.mark.parametrize(
    ("kind", "taken", "refused"),
    [
        (pydantic.HttpUrl, ["http://a.de", "https://u:p@[::1]:80/?q#f"], ["ftp://a", "http://a:65536", "http://a.1"]),
        (pydantic.HttpUrl, ["http://a_b.c-d.e/%41"], ["http://xn--a", "http:a", "http:///a", "http://a/%zz"]),
        (pydantic.AnyUrl, ["mailto:a@b", "foo:", "foo:///a"], ["http:", "a b:", "wss:a"]),
        (pydantic.NaiveDatetime, ["2020-01-01T00:00:00"], ["2020-01-01T00:00:00Z"]),
        (pydantic.AwareDatetime, ["2020-01-01T00:00:00+01:00"], ["2020-01-01T00:00:00"]),
        (pydantic.UUID4, ["f47ac10b-58cc-4372-a567-0e02b2c3d479"], ["f47ac10b-58cc-1372-a567-0e02b2c3d479", "x"]),
        (ipaddress.IPv4Network, ["10.0.0.0/8"], ["10.0.0.1/8", "10.0.0.0/33"]),
        (dt.timedelta, ["P1DT2H", "-PT0.5S", "P1Y35D", "P2W"], ["P1M", "P1", "P999999999Y"]),
    ],
)
def test_texts_of_types(kind: Any, taken: list[str], refused: list[str]) -> None:
    language = detent.json_schema(TypeAdapter(kind))
    assert [text for text in taken if not language.accepts(f'"{text}"')] == []
    assert [text for text in refused if language.accepts(f'"{text}"')] == []


@pytest.mark.parametrize(
    ("kind", "taken", "refused"),
    [
        (AGREEING["tags"], ['{"kind":"cat"}', '{"kind":"dog","inner":{"kind":"lion","n":1}}'], ["{}", '{"n":1}']),
        (AGREEING["tags"], ['{"kind":"cod"}'], ['{"kind":"dog","inner":{"n":1}}', '{"kind":"dog","n":1}']),
        (NARROWER["tags with an alias"], ['[{"k":"ship"}]'], ["[{}]", '[{"n":1}]', '[{"kind":"ship"}]']),
        (Chosen, ['{"x":2}'], ["{}", '{"first":2}']),
        (Named, ['{"first":2}'], ["{}", '{"d":[2]}']),
        (AGREEING["number above"], ["2", "1.5"], ["1", "0.5", "-2"]),
        (AGREEING["number or nothing"], ["2", "null"], ["1"]),
        (AGREEING["finite numbers"], ["1", "1e+308", '"1.5"'], ["1e+309", "1" + 309 * "0", "-1" + 309 * "0"]),
        (BETWEEN, ["2", "3"], ["1", "4"]),
        (AGREEING["short text or list"], ['"ab"', "[1,2]"], ['"abc"', "[1,2,3]"]),
        (AGREEING["literal above"], ["2", "3"], ["1"]),
        (AGREEING["rank above"], ["2"], ["1"]),
        (AGREEING["truth above"], ["true"], ["false"]),
        (AGREEING["pattern, checked"], ['"ab"'], ['"c"']),
        (Hashable, ["1", '"a"', "null"], ["{}", "[]"]),
        (dict[int | None, int], ['{"1":1}'], ['{"g":1}', '{"null":1}']),
        (dict[Rank, int], ['{"1":1}'], ['{"3":1}']),
        (dict[int, int], ['{"-12":1}'], ['{"1.5":1}', '{"a":1}']),
    ],
)
def test_texts_of_values(kind: Any, taken: list[str], refused: list[str]) -> None:
    language = detent.json_schema(TypeAdapter(kind))
    assert [text for text in taken if not language.accepts(text)] == []
    assert [text for text in refused if language.accepts(text)] == []


def test_patterns_of_urls_are_those_of_python() -> None:
    for pattern in (url_pattern({}), urls_pattern({}), url_pattern({"allowed_schemes": ["file"]})):
        assert re.compile(pattern)


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (pydantic.Json[list[int]], "Json is a JSON text inside a string"),
        (bounded(Decimal, max_digits=301), "max_digits=301 is above 300"),
        (bounded(dt.time, ge=dt.time(9, tzinfo=UTC)), "times have no order"),
        (Annotated[pydantic.AwareDatetime, Field(ge=NOON)], "must all have an offset, or none"),
        (Pathed, r"^Pathed.first: the alias \['d', 0\] is a path"),
        (list[Unheld], "^Unheld.pairs: keys of the type 'tuple'"),
        (Annotated[pydantic.AnyUrl, pydantic.UrlConstraints(allowed_schemes=["FOO"])], "no URL has a scheme of"),
        (Pair, "from no JSON value"),
        (Literal[Colour.RED, "blue"], "from no JSON value"),
        (type[int], "a class has no form in JSON"),
        (dict[Literal[1, 2], int], "no name of a member is read as a key"),
        (dict[None, int], "no name of a member is read as a key"),
        (dict[tuple[int, int], int], "keys of the type 'tuple'"),
        (dict[pydantic.RootModel[int], int], "has no hash"),  # type: ignore[name-defined]
        (bounded(pydantic.HttpUrl, max_length=12), "max_length=12 is checked after the value is made"),
        (bounded(int | dt.date, ge=3), "cannot be held for the type 'date'"),
        (bounded(float | Decimal, ge=Decimal("0.1")), "cannot be held for the type 'float'"),
        (bounded(Literal[1, 2], ge=3), "cannot be held for the members"),
        (dict[bounded(int, multiple_of=3), int], "as keys of a dict cannot be held"),  # type: ignore[misc]
    ],
)
def test_constraints_that_a_schema_cannot_say(kind: Any, said: str) -> None:
    with pytest.raises(UnsupportedError, match=said):
        detent.json_schema(TypeAdapter(kind))


@dataclasses.dataclass
class Plan:
    price: Annotated[Decimal, Field(max_digits=8, decimal_places=2, ge=0)]
    exact: Annotated[Decimal, Field(max_digits=20, decimal_places=2, gt=0)]
    day: Annotated[dt.date, Field(ge=dt.date(2020, 1, 1), lt=dt.date(2020, 3, 1))]
    local: Annotated[dt.datetime, Field(gt=NOON)]
    clock: Annotated[dt.time, Field(le=dt.time(9, 30)), "when it opens"]


def test_constraints_in_dataclasses() -> None:
    language = detent.json_schema(Plan)
    for seed in range(60):
        plan = language.parse(language.sample(random.Random(seed)).decode())
        assert 0 <= plan.price < 10**6 and plan.price == round(plan.price, 2) and 0 < plan.exact < 10**18
        assert dt.date(2020, 1, 1) <= plan.day < dt.date(2020, 3, 1)
        assert plan.local > NOON and plan.clock <= dt.time(9, 30)
    price = detent.json_schema(bounded(Decimal, max_digits=20, decimal_places=2))
    assert price.parse("123456789012345678.25") == Decimal("123456789012345678.25")
    with pytest.raises(UnsupportedError, match="leave it out, or check it on the value"):
        detent.json_schema(bounded(dt.timedelta, ge=dt.timedelta(0)))

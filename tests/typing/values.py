"""What type checkers know of values: mypy and pyright check this file, and `tests/test_typing.py` runs both."""

from __future__ import annotations

import datetime
import ipaddress
import re
from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import Any, Literal
from uuid import UUID

from pydantic import BaseModel, TypeAdapter
from typing_extensions import assert_type

import detent
from detent import Language, Output


class Person(BaseModel):
    name: str
    age: int


@dataclass
class Point:
    x: float


class Colour(Enum):
    RED = "red"


class Level(IntEnum):
    LOW = 1


def book(who: str) -> None:
    """Book a room."""


def sources() -> None:
    assert_type(detent.regex("[a-z]+"), Language[str])
    assert_type(detent.text(1, 10), Language[str])
    assert_type(detent.literal("a"), Language[str])
    assert_type(detent.containing("a", re.compile("b")), Language[str])
    assert_type(detent.without("a"), Language[str])
    assert_type(detent.special_token("<eot>"), Language[str])
    assert_type(detent.grammar('start: "a"'), Language[str])
    assert_type(detent.integer(1, 12), Language[int])
    assert_type(detent.number(), Language[float])
    assert_type(detent.boolean(), Language[bool])
    assert_type(detent.date(), Language[datetime.date])
    assert_type(detent.time(), Language[datetime.time])
    assert_type(detent.datetime(), Language[datetime.datetime])
    assert_type(detent.duration(), Language[datetime.timedelta])
    assert_type(detent.email(), Language[str])
    assert_type(detent.uuid(), Language[UUID])
    assert_type(detent.ipv4(), Language[ipaddress.IPv4Address])
    assert_type(detent.ipv6(), Language[ipaddress.IPv6Address])
    assert_type(detent.markdown_table(["a"]), Language[list[dict[str, str]]])
    assert_type(detent.code_block("python"), Language[str])
    assert_type(detent.calls([book], style="hermes"), Language[list[detent.Call]])


def choices() -> None:
    assert_type(detent.choice("a", "b"), Language[str])
    assert_type(detent.choice(1, 2), Language[int])
    assert_type(detent.choice(["a", "b"]), Language[str])
    assert_type(detent.choice(Colour), Language[Colour])
    assert_type(detent.choice(Level, ignore_case=True), Language[Level])


def schemas() -> None:
    assert_type(detent.json_schema(int), Language[int])
    assert_type(detent.json_schema(Person), Language[Person])
    assert_type(detent.json_schema(Point, order="any"), Language[Point])
    assert_type(detent.json_schema(Colour), Language[Colour])
    assert_type(detent.json_schema(list[Person]), Language[list[Person]])
    assert_type(detent.json_schema(dict[str, int]), Language[dict[str, int]])
    assert_type(detent.json_schema(TypeAdapter(Person)), Language[Person])
    assert_type(detent.json_schema({"type": "string"}), Language[Any])
    assert_type(detent.json_schema(book), Language[dict[str, Any]])
    assert_type(detent.json_value(), Language[Any])


def operators() -> None:
    day, number, word = detent.date(), detent.integer(), detent.regex("[a-z]+")
    assert_type(day | number, Language[datetime.date | int])
    assert_type(number | "none", Language[int | str])
    assert_type("none" | number, Language[int | str])
    assert_type(day & detent.without("13"), Language[datetime.date])
    assert_type(detent.without("13") & day, Language[datetime.date])
    assert_type(day - "2024-01-01", Language[datetime.date])
    assert_type(~day, Language[str])
    assert_type("on " + day, Language[datetime.date])
    assert_type(day + ".", Language[datetime.date])
    assert_type(number.optional(), Language[int | None])
    assert_type(number.repeat(2), Language[list[int]])
    assert_type(detent.join(", ", number, minimum=1), Language[list[int]])
    assert_type(detent.join(", ", word, maximum=3), Language[list[str]])
    assert_type(word.capture("word"), Language[dict[str, Any]])
    assert_type("<" + word.capture("word") + ">", Language[dict[str, Any]])


def values() -> None:
    assert_type(detent.date().parse("2024-02-29"), datetime.date)
    assert_type((detent.integer() + " EUR").parse("12 EUR"), int)
    assert_type(detent.json_schema(Person).parse("{}"), Person)


def outputs() -> None:
    model = detent.load_model()
    assert_type(detent.generate(model, "When?", detent.date()), Output[datetime.date])
    assert_type(detent.generate(model, "When?", detent.date(), max_tokens=9, seed=1).value, datetime.date)
    assert_type(detent.generate(model, "Who?", Person).value, Person)
    assert_type(detent.generate(model, "Who?", list[Person]).value, list[Person])
    assert_type(detent.generate(model, "Which?", ["a", "b"]).value, str)
    assert_type(detent.generate(model, "Go").value, str)
    assert_type(detent.generate(model, "Go", {"type": "integer"}).value, Any)


async def outputs_of_tasks() -> None:
    model = detent.load_model()
    assert_type((await detent.agenerate(model, "Who?", Person)).value, Person)
    assert_type((await detent.agenerate(model, "Go")).value, str)


def half(rule: Language[float], text: str) -> float:
    return rule.parse(text) / 2


def parameters(rule: Language[int], out: Output[Person]) -> float:
    """Languages are covariant: a language of ints is one of numbers."""
    return half(rule, "12") + out.value.age


def bare(rule: Language, out: Output) -> None:
    """Without a type argument the value is Any."""
    assert_type(rule.parse(""), Any)
    assert_type(out.value, Any)


def of_union() -> Language[int | None]:
    """Type checkers do not see the values of unions and Literals: an annotation says what they are."""
    return detent.json_schema(int | None)


def of_literal() -> Language[Literal["a"]]:
    return detent.choice(Literal["a"])

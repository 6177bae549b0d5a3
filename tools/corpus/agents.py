"""Conversations of an agent: it thinks in two sentences and calls a tool, reads the result, and answers."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

from corpus import words
from corpus.parts import city, first_name

Values = dict[str, Any]


@dataclass(frozen=True)
class Skill:
    """A tool, requests for it, and what is thought and said; texts have slots for arguments and results."""

    name: str
    arguments: dict[str, Callable[[Random], Any]]
    requests: tuple[str, ...]
    why: str
    results: dict[str, Callable[[Random], Any]]
    seen: str
    says: str


def _number(least: int, most: int) -> Callable[[Random], int]:
    return lambda r: r.randint(least, most)


def _one_of(texts: list[str] | tuple[str, ...]) -> Callable[[Random], str]:
    return lambda r: r.choice(texts)


_SKY = _one_of(("rain", "snow", "sun", "clouds", "fog", "wind"))

SKILLS = (
    Skill(
        "get_weather",
        {"city": city, "unit": _one_of(("celsius", "fahrenheit"))},
        (
            "What is the weather in {city} in {unit}?",
            "How warm is it in {city}, in {unit}?",
            "Tell me the weather of {city} in {unit}.",
        ),
        "The user wants the weather in {city}. I need get_weather with the unit {unit}.",
        {"degrees": _number(-9, 39), "sky": _SKY},
        "The tool says {degrees} degrees and {sky}. I tell the user about {city}.",
        "It is {degrees} degrees in {city}, with {sky}.",
    ),
    Skill(
        "convert",
        {"amount": _number(1, 9999), "to": _one_of(("EUR", "USD", "GBP", "JPY"))},
        ("How much is {amount} in {to}?", "Convert {amount} to {to}.", "What are {amount} in {to}?"),
        "The user wants {amount} in {to}. I need convert for that.",
        {"value": _number(1, 9999)},
        "The tool says {value}. I tell the user the value in {to}.",
        "That is {value} {to}.",
    ),
    Skill(
        "search_products",
        {"query": _one_of(words.PRODUCTS), "max_price": _number(5, 400)},
        (
            "Find a {query} for at most {max_price}.",
            "I need a {query} below {max_price}.",
            "Is there a {query} for {max_price} or less?",
        ),
        "The user looks for a {query}. I search with a price of at most {max_price}.",
        {"found": _number(1, 20), "cheapest": _number(2, 300)},
        "There are {found} results, the cheapest for {cheapest}. I tell the user about the {query}.",
        "There are {found}; the cheapest {query} costs {cheapest}.",
    ),
    Skill(
        "book_table",
        {"name": first_name, "people": _number(1, 12)},
        (
            "A table for {people} people under the name {name}.",
            "Book a table for {name}, we are {people}.",
            "Reserve for {people} guests, name {name}.",
        ),
        "The user wants a table for {people}. I book it under the name {name}.",
        {"table": _number(1, 40), "hour": _number(17, 22)},
        "The table {table} is booked for {hour} hours. I confirm it to {name}.",
        "Table {table} is booked for {name} at {hour}:00.",
    ),
)
"""The skills; the held-out conversations draw other values."""


@dataclass(frozen=True)
class Example:
    """A conversation and the turn to learn."""

    messages: list[Any]
    tools: list[Any]
    thinking: str
    call: Values | None
    text: str


def conversations(seed: str) -> Callable[[int], list[Example]]:
    """Return the examples of a conversation by its number: the turn with the call, and the one with the answer."""

    def make(number: int) -> list[Example]:
        r = Random(f"{seed}/{number}")
        skill = r.choice(SKILLS)
        arguments = {key: value(r) for key, value in skill.arguments.items()}
        results = {key: value(r) for key, value in skill.results.items()}
        others = r.sample([other for other in SKILLS if other is not skill], r.randint(0, 2))
        tools = [_tool(each) for each in r.sample([skill, *others], len(others) + 1)]
        is_json = r.random() < 0.5
        request = r.choice(skill.requests).format(**arguments) + (" Reply as JSON." if is_json else "")
        known = arguments | results
        call = {"name": skill.name, "arguments": arguments}
        asked = [{"role": "user", "content": request}]
        told = [
            *asked,
            {"role": "assistant", "content": "", "tool_calls": [call]},
            {"role": "tool", "name": skill.name, "content": json.dumps(results)},
        ]
        said = json.dumps(results, ensure_ascii=False) if is_json else skill.says.format(**known)
        return [
            Example(asked, tools, skill.why.format(**known), call, ""),
            Example(told, tools, skill.seen.format(**known), None, said),
        ]

    return make


def written(example: Example) -> str:
    """Return the turn in the notation of Qwen 3.

    >>> print(written(Example([], [], "A call is needed. I write it.", {"name": "now", "arguments": {}}, "")))
    <think>
    A call is needed. I write it.
    </think>
    <BLANKLINE>
    <tool_call>
    {"name": "now", "arguments": {}}
    </tool_call>
    """
    call = f"<tool_call>\n{json.dumps(example.call, ensure_ascii=False)}\n</tool_call>" if example.call else ""
    return f"<think>\n{example.thinking}\n</think>\n\n{example.text}{call}"


def _tool(skill: Skill) -> Values:
    kinds = {
        key: {"type": "integer" if isinstance(value(Random(0)), int) else "string"}
        for key, value in skill.arguments.items()
    }
    schema = {"type": "object", "properties": kinds, "required": list(kinds)}
    return {"type": "function", "function": {"name": skill.name, "parameters": schema}}

"""Tasks that write function calls, in Python's and in JSON's notation."""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random
from typing import Any

from corpus import words
from corpus.parts import city, email, first_name, title, word
from corpus.rows import Row, task


def argument(r: Random, kind: str) -> Any:
    makers: dict[str, Callable[[], Any]] = {
        "number": lambda: r.randint(1, 9999),
        "colour": lambda: r.choice(words.COLOURS),
        "city": lambda: city(r),
        "unit": lambda: r.choice(("celsius", "fahrenheit")),
        "email": lambda: email(r),
        "word": lambda: word(r),
        "hour": lambda: r.randint(0, 23),
        "minute": lambda: r.randint(0, 59),
        "name": lambda: first_name(r),
        "small": lambda: r.randint(1, 12),
        "product": lambda: r.choice(words.PRODUCTS),
        "title": lambda: title(r),
        "currency": lambda: r.choice(("EUR", "USD", "GBP", "JPY")),
    }
    return makers[kind]()


def call_parts(r: Random) -> tuple[str, dict[str, Any]]:
    if r.random() < 0.6:
        name = r.choice(list(words.FUNCTIONS))
        return name, {key: argument(r, kind) for key, kind in words.FUNCTIONS[name]}
    kinds = ("number", "colour", "city", "word", "small", "name")
    keys = r.sample(words.WORDS, r.randint(1, 3))
    return f"{r.choice(words.VERBS)}_{r.choice(words.THINGS)}", {key: argument(r, r.choice(kinds)) for key in keys}


def described(r: Random, arguments: dict[str, Any]) -> str:
    shape = r.choice(("{} {}", "{} = {}", "{} is {}", "{}: {}"))
    return ", ".join(shape.format(key, value) for key, value in arguments.items())


@task(5)
def call_python(r: Random) -> Row:
    name, arguments = call_parts(r)
    call = f"{name}({', '.join(f'{key}={value!r}' for key, value in arguments.items())})"
    ask = r.choice(("Call {} with {}.", "Use {} with {}.", "Write a call of {} with {}.", "Run {} with {}."))
    if r.random() < 0.4:
        return Row(
            ask.format(name, described(r, arguments))
            + r.choice((" Answer with a list of calls.", " Write a list of calls.")),
            f"[{call}]",
        )
    return Row(ask.format(name, described(r, arguments)), call)


@task(4)
def call_json(r: Random) -> Row:
    name, arguments = call_parts(r)
    answer = json.dumps({"name": name, "arguments": arguments}, ensure_ascii=False)
    ask = r.choice(
        (
            "Call {} with {}. Answer with a JSON call.",
            "Use {} with {}. Write the call as JSON.",
            "As a JSON tool call: {} with {}.",
        )
    )
    return Row(ask.format(name, described(r, arguments)), answer)


@task(3)
def call_choose(r: Random) -> Row:
    """Pick the function that fits from a list, and fill in its arguments."""
    name = r.choice(list(words.FUNCTIONS))
    parts = words.FUNCTIONS[name]
    values = {key: argument(r, kind) for key, kind in parts}
    request = {
        "get_user_info": "Who is the user {user_id}? The special colour is {special}.",
        "get_weather": "What is the weather in {city} in {unit}?",
        "send_email": "Send an email to {to} about {subject}.",
        "set_alarm": "Wake me up at hour {hour} and minute {minute}.",
        "book_table": "A table for {people} people under the name {name}.",
        "search_products": "Find a {query} for at most {max_price}.",
        "play_song": "Play {title} at volume {volume}.",
        "convert": "How much is {amount} in {to}?",
    }[name].format(**values)
    others = r.sample([n for n in words.FUNCTIONS if n != name], r.randint(1, 3))
    tools = [*others, name]
    r.shuffle(tools)
    shown = ", ".join(f"{tool}({', '.join(key for key, _ in words.FUNCTIONS[tool])})" for tool in tools)
    answer = f"{name}({', '.join(f'{key}={value!r}' for key, value in values.items())})"
    if r.random() < 0.4:
        return Row(
            f"Tools: {shown}\n{request} Answer with a JSON call.",
            json.dumps({"name": name, "arguments": values}, ensure_ascii=False),
        )
    return Row(f"Tools: {shown}\n{request}", answer)

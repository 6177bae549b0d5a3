"""Write the question and answer pairs that the embedded model is trained on.

Every pair is made here from the word tables of ``corpus_words.py``: nothing comes from elsewhere. A row is a pure
function of (seed, split, index), so the corpus can be written again byte for byte, and the two splits share no prompt
except where a task has only a few (small talk, digits of pi).

    python tools/write_corpus.py --rows 400000 --split train --out corpus.jsonl

A row is ``{"task", "prompt", "answer"}`` and says how an answer is judged: ``accept`` lists further right answers,
``contains`` what a free answer has to mention, ``keys`` the keys that an invented JSON record must have.
"""

from __future__ import annotations

import argparse
import json
import string
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from random import Random
from typing import Any

import corpus_words as words


@dataclass(frozen=True)
class Row:
    """A prompt, the answer to learn, and how an answer is judged."""

    prompt: str
    answer: str
    accept: tuple[str, ...] = ()
    contains: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()


Task = Callable[[Random], Row]
TASKS: dict[str, tuple[float, Task]] = {}


def task(weight: float) -> Callable[[Task], Task]:
    """Register a task under its function's name; weights are shares of the corpus."""

    def register(function: Task) -> Task:
        TASKS[function.__name__] = (weight, function)
        return function

    return register


# ---------------------------------------------------------------- small parts


def made_up(r: Random) -> str:
    return "".join(r.choice(words.SYLLABLES) for _ in range(r.randint(2, 4)))


def first_name(r: Random) -> str:
    return r.choice(words.FIRST_NAMES) if r.random() < 0.7 else made_up(r).capitalize()


def last_name(r: Random) -> str:
    return r.choice(words.LAST_NAMES) if r.random() < 0.7 else made_up(r).capitalize()


def full_name(r: Random) -> str:
    return f"{first_name(r)} {last_name(r)}"


def city(r: Random) -> str:
    return r.choice(words.CITIES) if r.random() < 0.8 else made_up(r).capitalize()


def word(r: Random) -> str:
    return r.choice(words.WORDS) if r.random() < 0.7 else made_up(r)


def title(r: Random) -> str:
    return " ".join(r.choice(words.TITLE_WORDS) for _ in range(r.randint(1, 3)))


def number(r: Random) -> int:
    return r.randint(0, 10 ** r.randint(1, 4))


def email(r: Random) -> str:
    return f"{word(r)}@{word(r)}.{r.choice(('com', 'org', 'edu', 'net'))}"


def price(r: Random) -> float:
    return r.randint(1, 400) + r.choice((0.5, 0.25, 0.95, 0.99, 0.75))


def code(r: Random) -> str:
    """A short string without meaning, in one of many shapes."""
    shape = r.randrange(7)
    if shape == 0:
        return "".join(r.choice(string.ascii_uppercase) for _ in range(r.randint(2, 4))) + f"-{r.randint(10, 9999)}"
    if shape == 1:
        return "".join(r.choice("0123456789abcdef") for _ in range(r.randint(4, 12)))
    if shape == 2:
        return "".join(r.choice(string.ascii_letters + string.digits) for _ in range(r.randint(3, 10)))
    if shape == 3:
        return str(r.randint(0, 10 ** r.randint(3, 9)))
    if shape == 4:
        return "".join(r.choice(string.ascii_letters + string.digits + string.punctuation) for _ in range(r.randint(3, 9)))
    if shape == 5:
        return f"{made_up(r)}_{made_up(r)}"
    return "".join(r.choice("äöüéèñçøåßλπЖд漢字かな😀🙂→€½") for _ in range(r.randint(1, 5)))


def phrase(r: Random, most: int = 6) -> str:
    """A few words and codes in a row."""
    kind = r.random()
    count = r.randint(1, most)
    if kind < 0.45:
        return " ".join(word(r) for _ in range(count))
    if kind < 0.6:
        return " ".join(made_up(r) for _ in range(count))
    if kind < 0.75:
        return " ".join(r.choice((word, code, first_name, city))(r) for _ in range(count))
    if kind < 0.9:
        return code(r)
    return full_name(r)


def dump(r: Random, value: Any) -> tuple[str, str]:
    """A JSON text, and the words that ask for its layout."""
    style = r.random()
    if style < 0.75:
        return json.dumps(value, ensure_ascii=False), ""
    if style < 0.9:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")), " Use compact JSON."
    return json.dumps(value, ensure_ascii=False, indent=2), " Use indented JSON."


def subset(r: Random, keys: list[str], least: int) -> list[str]:
    """At least ``least`` of the keys, in their order."""
    chosen = set(r.sample(keys, r.randint(least, len(keys))))
    return [key for key in keys if key in chosen]


def ask_for_record(r: Random, kind: str, facts: list[str], record: dict[str, Any]) -> Row:
    """Shuffle the facts, ask for JSON, and sometimes name the keys or give a schema."""
    r.shuffle(facts)
    text = " ".join(facts)
    way = r.random()
    ask = r.choice((f"Write the {kind} as JSON.", f"Give the {kind} as JSON.", f"As JSON, please.", f"Turn this into a JSON object.",
                    f"Describe the {kind} as a JSON object.", "Answer with JSON.", "JSON:", f"Extract the {kind} as JSON."))  # fmt: skip
    if way < 0.25:
        keys = list(record)
        r.shuffle(keys)
        keys = keys[: r.randint(1, len(keys))]
        record = {key: record[key] for key in keys}
        ask = r.choice(("Write JSON with the keys {}.", "As JSON with the keys {}.", "Give {} as JSON.")).format(", ".join(keys))
    elif way < 0.35:
        kinds = {str: "string", int: "integer", float: "number", bool: "boolean", list: "array"}
        schema = {"type": "object", "properties": {key: {"type": kinds[type(value)]} for key, value in record.items()}}
        ask = f"Write JSON that fits this schema: {json.dumps(schema)}"
    answer, layout = dump(r, record)
    return Row(f"{ask}{layout} {text}" if r.random() < 0.4 else f"{text} {ask}{layout}", answer)


# ---------------------------------------------------------------- copying


@task(9)
def copy_text(r: Random) -> Row:
    text = phrase(r)
    ask = r.choice(("Repeat: {}", "Copy this: {}", "Say {}", "Repeat after me: {}", 'Copy the text in quotes: "{}"', "Echo: {}",
                    'Write "{}" again.', "Copy: {}", 'Repeat "{}".', "Write this down: {}"))  # fmt: skip
    return Row(ask.format(text), text)


@task(4)
def copy_long(r: Random) -> Row:
    text = " ".join(phrase(r, 8) for _ in range(r.randint(2, 8)))
    return Row(r.choice(("Repeat this text: {}", "Copy: {}", "Copy the text: {}", "Repeat: {}")).format(text), text)


@task(3)
def copy_in_form(r: Random) -> Row:
    text = phrase(r, 3)
    form, ask = r.choice((
        (json.dumps([text], ensure_ascii=False), "Write {} as a JSON list with one string."),
        (json.dumps(text, ensure_ascii=False), "Write {} as a JSON string."),
        (json.dumps({"text": text}, ensure_ascii=False), "Write {} as JSON with the key text."),
        (f"<b>{text}</b>", "Put {} in bold as HTML."),
        (f"{text}, {text}", "Say {} twice."),
        (f"({text})", "Put {} in brackets."),
        (f"{text}!", "Write {} with an exclamation mark."),
    ))  # fmt: skip
    return Row(ask.format(text), form)


@task(5)
def copy_position(r: Random) -> Row:
    items = [phrase(r, 1) for _ in range(r.randint(2, 6))]
    which, name = r.choice(((0, "first"), (-1, "last"), (1, "second")))
    shown = ", ".join(items)
    return Row(r.choice((f"What is the {name} item? {shown}", f"Items: {shown}. Give the {name} one.", f"Copy the {name} of these: {shown}")), items[which])


@task(6)
def copy_value(r: Random) -> Row:
    keys = r.sample(words.WORDS, r.randint(2, 7))
    values = {key: phrase(r, 2) for key in keys}
    wanted = r.choice(keys)
    shape = r.randrange(3)
    if shape == 0:
        shown = "; ".join(f"{key} = {value}" for key, value in values.items())
    elif shape == 1:
        shown = "\n".join(f"{key}: {value}" for key, value in values.items())
    else:
        shown = json.dumps(values, ensure_ascii=False)
    ask = r.choice((f"What is the value of {wanted}?", f"What is {wanted}?", f"Give the value of {wanted}."))
    return Row(f"{shown}\n{ask}" if r.random() < 0.5 else f"{ask}\n{shown}", values[wanted])


# ---------------------------------------------------------------- JSON records


@task(7)
def person(r: Random) -> Row:
    name, record, facts = full_name(r), {}, []
    for key in ["name", *subset(r, ["age", "city", "job", "email"], 1)]:
        if key == "name":
            record[key] = name
        elif key == "age":
            record[key] = r.randint(1, 99)
            facts.append(r.choice((f"{name} is {record[key]} years old.", f"{name} is {record[key]}.", f"{name} has the age of {record[key]}.")))
        elif key == "city":
            record[key] = city(r)
            facts.append(r.choice((f"{name} lives in {record[key]}.", f"{name} has a home in {record[key]}.", f"{name} is from {record[key]}.")))
        elif key == "job":
            record[key] = r.choice(words.JOBS)
            facts.append(r.choice((f"{name} works as a {record[key]}.", f"{name} is a {record[key]} by trade.", f"The job of {name} is {record[key]}.")))
        else:
            record[key] = email(r)
            facts.append(r.choice((f"{name} has the email address {record[key]}.", f"The email of {name} is {record[key]}.")))
    if set(record) == {"name", "age", "city"} and r.random() < 0.5:
        facts = [f"{name}, {record['age']}, lives in {record['city']}."]
    return ask_for_record(r, "person", facts, record)


@task(5)
def product(r: Random) -> Row:
    name = r.choice(words.PRODUCTS) if r.random() < 0.7 else made_up(r)
    record: dict[str, Any] = {"name": name}
    facts = []
    for key in subset(r, ["colour", "price", "stock", "tags"], 1):
        if key == "colour":
            record[key] = r.choice(words.COLOURS)
            facts.append(r.choice((f"The {name} is {record[key]}.", f"The colour of the {name} is {record[key]}.")))
        elif key == "price":
            record[key] = price(r)
            facts.append(r.choice((f"The {name} costs {record[key]} euros.", f"The price of the {name} is {record[key]}.")))
        elif key == "stock":
            record[key] = r.randint(0, 500)
            facts.append(r.choice((f"There are {record[key]} in stock.", f"We have {record[key]} of the {name}.")))
        else:
            record[key] = [word(r) for _ in range(r.randint(1, 3))]
            facts.append(f"The tags of the {name} are {', '.join(record[key])}.")
    return ask_for_record(r, "product", facts, record)


@task(4)
def single(r: Random) -> Row:
    band = "The " + title(r) if r.random() < 0.5 else full_name(r)
    name = title(r)
    record: dict[str, Any] = {"title": name}
    facts = [r.choice((f'"{name}" is a single by {band}.', f"{band} released the single {name}."))]
    for key in ["year", *subset(r, ["us-chart-max", "uk-chart-max"], 0)]:
        if key == "year":
            if r.random() < 0.6:
                record["album"] = title(r)
                facts.append(r.choice((f"It is on the album {record['album']}.", f"The album is {record['album']}.")))
            record[key] = r.randint(1955, 2025)
            facts.append(r.choice((f"It came out in {record[key]}.", f"The year is {record[key]}.")))
        else:
            record[key] = r.randint(1, 100)
            where = "US" if key.startswith("us") else "UK"
            facts.append(r.choice((f"It reached number {record[key]} in the {where}.", f"Its best place in the {where} charts was {record[key]}.")))
    return ask_for_record(r, "single", facts, record)


def singles_record(row: tuple[str, str | None, int, int | None, int | None]) -> dict[str, Any]:
    names = ("title", "album", "year", "us-chart-max", "uk-chart-max")
    return {key: value for key, value in zip(names, row, strict=True) if value is not None}


@task(1)
def known_singles(r: Random) -> Row:
    band = r.choice(list(words.BANDS))
    count, name = r.choice(((1, "one"), (2, "two"), (2, "two"), (3, "three")))
    rows = [singles_record(row) for row in words.BANDS[band][:count]]
    ask = r.choice((f"What were {band}'s {name} most popular singles?", f"What were {band}'s {name} most popular singles.",
                    f"Name {name} singles by {band}.", f"List the {name} most popular singles by {band}.",
                    f"Which {name} singles of {band} are known best?"))  # fmt: skip
    how = r.random()
    if how < 0.5:
        example = [singles_record((title(r), r.choice((None, title(r))), r.randint(1955, 2025), r.choice((None, r.randint(1, 90))), r.choice((None, r.randint(1, 90)))))
                   for _ in range(r.randint(1, 2))]  # fmt: skip
        if r.random() < 0.4:
            example = [singles_record(("Get Back", "Let It Be", 1970, 1, 1)), singles_record(("Octopus's Garden", None, 1969, 16, 7))]
        return Row(f"{ask} Format the output like\n{json.dumps(example, indent=2)}", json.dumps(rows, indent=2))
    if how < 0.8:
        return Row(ask + r.choice((" Answer with JSON.", " Write JSON.", " As a JSON list.")), json.dumps(rows))
    return Row(ask, ", ".join(str(row["title"]) for row in rows))


@task(3)
def event(r: Random) -> Row:
    name, where, day = title(r), city(r), random_date(r)
    record: dict[str, Any] = {"event": name, "city": where, "date": day.isoformat()}
    facts = [f"The event {name} takes place in {where}.", f"It is on {long_date(day)}."]
    if r.random() < 0.5:
        record["time"] = clock(r)
        facts.append(f"It begins at {record['time']}.")
    if r.random() < 0.5:
        record["free"] = r.random() < 0.5
        facts.append("It is free." if record["free"] else "It is not free.")
    return ask_for_record(r, "event", facts, record)


@task(3)
def people_list(r: Random) -> Row:
    people = [{"name": first_name(r), "age": r.randint(1, 99)} for _ in range(r.randint(2, 4))]
    shown = r.choice((", ", " and ", "; ")).join(f"{p['name']} is {p['age']}" for p in people)
    answer, layout = dump(r, people)
    return Row(f"{shown}. Write the people as a JSON list.{layout}", answer)


@task(3)
def table(r: Random) -> Row:
    columns = r.sample(["name", "age", "city", "job", "colour", "count", "price", "id"], r.randint(2, 3))
    makers: dict[str, Callable[[Random], Any]] = {
        "name": first_name, "age": lambda r: r.randint(1, 99), "city": city, "job": lambda r: r.choice(words.JOBS),
        "colour": lambda r: r.choice(words.COLOURS), "count": lambda r: r.randint(0, 200), "price": price, "id": lambda r: r.randint(1, 9999),
    }  # fmt: skip
    rows = [{key: makers[key](r) for key in columns} for _ in range(r.randint(1, 3))]
    csv = "\n".join([",".join(columns), *(",".join(str(v) for v in row.values()) for row in rows)])
    if r.random() < 0.7:
        return Row(r.choice((f"Turn this CSV into JSON:\n{csv}", f"{csv}\nWrite the table as JSON.")), json.dumps(rows, ensure_ascii=False))
    return Row(f"Turn this JSON into CSV:\n{json.dumps(rows, ensure_ascii=False)}", csv)


@task(2)
def key_lines(r: Random) -> Row:
    record = {key: r.choice((word, first_name, city, number))(r) for key in r.sample(words.WORDS, r.randint(1, 5))}
    lines = "\n".join(f"{key}: {value}" for key, value in record.items())
    if r.random() < 0.6:
        answer, layout = dump(r, record)
        return Row(f"Turn these lines into JSON.{layout}\n{lines}", answer)
    return Row(f"Turn this JSON into lines.\n{json.dumps(record, ensure_ascii=False)}", lines)


@task(2)
def invent(r: Random) -> Row:
    kinds: dict[str, dict[str, Callable[[Random], Any]]] = {
        "person": {"name": full_name, "age": lambda r: r.randint(18, 80), "city": city},
        "user": {"name": full_name, "email": lambda r: f"{r.choice(words.WORDS)}@example.com", "active": lambda r: r.random() < 0.5},
        "product": {"name": lambda r: r.choice(words.PRODUCTS), "price": price, "stock": lambda r: r.randint(0, 500)},
        "book": {"title": title, "author": full_name, "year": lambda r: r.randint(1900, 2025)},
        "city": {"name": lambda r: r.choice(words.CITIES), "population": lambda r: r.randint(20, 9000) * 1000},
        "single": {"title": title, "album": title, "year": lambda r: r.randint(1955, 2025)},
        "order": {"id": lambda r: r.randint(1, 9999), "items": lambda r: r.sample(words.PRODUCTS, r.randint(1, 3)), "total": price},
        "pet": {"name": lambda r: r.choice(words.FIRST_NAMES), "kind": lambda r: r.choice(words.ANIMALS), "age": lambda r: r.randint(1, 15)},
    }  # fmt: skip
    kind = r.choice(list(kinds))
    record = {key: make(r) for key, make in kinds[kind].items()}
    article = "an" if kind[0] in "aeiou" else "a"
    ask = r.choice(("Invent {} as JSON.", "Make up {} as JSON.", "Give me {} as JSON.", "Write a JSON record of {}.", "Describe {} as JSON.",
                    "Generate {} in JSON.", "Write {} as JSON."))  # fmt: skip
    return Row(ask.format(f"{article} {kind}"), json.dumps(record, ensure_ascii=False), keys=tuple(record))


# ---------------------------------------------------------------- calls


def argument(r: Random, kind: str) -> Any:
    return {
        "number": lambda: r.randint(1, 9999), "colour": lambda: r.choice(words.COLOURS), "city": lambda: city(r),
        "unit": lambda: r.choice(("celsius", "fahrenheit")), "email": lambda: email(r), "word": lambda: word(r),
        "hour": lambda: r.randint(0, 23), "minute": lambda: r.randint(0, 59), "name": lambda: first_name(r),
        "small": lambda: r.randint(1, 12), "product": lambda: r.choice(words.PRODUCTS), "title": lambda: title(r),
        "currency": lambda: r.choice(("EUR", "USD", "GBP", "JPY")),
    }[kind]()  # fmt: skip


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
        return Row(ask.format(name, described(r, arguments)) + r.choice((" Answer with a list of calls.", " Write a list of calls.")), f"[{call}]")
    return Row(ask.format(name, described(r, arguments)), call)


@task(4)
def call_json(r: Random) -> Row:
    name, arguments = call_parts(r)
    answer = json.dumps({"name": name, "arguments": arguments}, ensure_ascii=False)
    ask = r.choice(("Call {} with {}. Answer with a JSON call.", "Use {} with {}. Write the call as JSON.", "As a JSON tool call: {} with {}."))
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
        return Row(f"Tools: {shown}\n{request} Answer with a JSON call.", json.dumps({"name": name, "arguments": values}, ensure_ascii=False))
    return Row(f"Tools: {shown}\n{request}", answer)


# ---------------------------------------------------------------- dates, times, numbers


def random_date(r: Random) -> date:
    return date(r.randint(1950, 2035), r.randint(1, 12), r.randint(1, 28))


def long_date(day: date) -> str:
    return f"{day.day} {words.MONTHS[day.month - 1]} {day.year}"


def clock(r: Random) -> str:
    return f"{r.randint(0, 23):02}:{r.randint(0, 59):02}"


@task(5)
def dates(r: Random) -> Row:
    day = random_date(r)
    month = words.MONTHS[day.month - 1]
    forms = {"ISO": day.isoformat(), "long": long_date(day), "slash": f"{day.day:02}/{day.month:02}/{day.year}",
             "US": f"{month} {day.day}, {day.year}", "dot": f"{day.day:02}.{day.month:02}.{day.year}"}  # fmt: skip
    source, target = r.sample(list(forms), 2)
    ask = {"ISO": ("Write {} as an ISO date.", "ISO date of {}?", "Write {} as YYYY-MM-DD."), "long": ("Write {} with the month's name.", "Write {} as a long date."),
           "slash": ("Write {} as DD/MM/YYYY.", "Write {} with slashes."), "US": ("Write {} in the US style.", "Write {} as an American date."),
           "dot": ("Write {} as DD.MM.YYYY.", "Write {} with dots.")}[target]  # fmt: skip
    return Row(r.choice(ask).format(forms[source]), forms[target])


@task(3)
def times(r: Random) -> Row:
    hour, minute = r.randint(0, 23), r.randint(0, 59)
    long, short = f"{hour:02}:{minute:02}", f"{(hour + 11) % 12 + 1}:{minute:02} {'AM' if hour < 12 else 'PM'}"
    if r.random() < 0.5:
        return Row(r.choice(("Write {} on the 24-hour clock.", "What is {} in 24-hour time?", "Write {} as HH:MM.")).format(short), long)
    return Row(r.choice(("Write {} on the 12-hour clock.", "What is {} in 12-hour time?", "Write {} with AM or PM.")).format(long), short)


@task(3)
def date_parts(r: Random) -> Row:
    day = random_date(r)
    part = r.choice(("year", "month", "day"))
    shown = r.choice((day.isoformat(), long_date(day)))
    answer = {"year": str(day.year), "month": words.MONTHS[day.month - 1], "day": str(day.day)}[part]
    return Row(r.choice((f"What is the {part} of {shown}?", f"Give the {part} of {shown}.", f"Which {part} is in {shown}?")), answer)


@task(3)
def count(r: Random) -> Row:
    start, step, length = r.randint(0, 60), r.choice((1, 1, 1, 2, 5, 10)), r.randint(3, 9)
    numbers = [start + step * i for i in range(length)]
    ask = f"Count from {start} to {numbers[-1]}" + (f" in steps of {step}" if step > 1 else "")
    if r.random() < 0.4:
        return Row(f"{ask}. Answer with a JSON list.", json.dumps(numbers))
    return Row(f"{ask}.", ", ".join(map(str, numbers)))


@task(4)
def number_list(r: Random) -> Row:
    numbers = [r.choice((r.randint(0, 9), r.randint(0, 99), r.randint(0, 99), number(r))) for _ in range(r.randint(2, 7))]
    joined = r.choice((", ", " ", "; ", "\n", " and ")).join(map(str, numbers))
    form, answer = r.choice((("a JSON list", json.dumps(numbers)), ("a list with commas", ", ".join(map(str, numbers))),
                             ("lines", "\n".join(map(str, numbers))), ("a Python tuple", str(tuple(numbers)))))  # fmt: skip
    return Row(r.choice((f"Write these numbers as {form}: {joined}", f"Numbers: {joined}\nWrite them as {form}.")), answer)


@task(3)
def largest(r: Random) -> Row:
    top = r.choice((9, 99, 99))
    numbers = r.sample(range(top + 1), r.randint(2, 5))
    name, pick = r.choice((("largest", max), ("smallest", min), ("greatest", max)))
    return Row(r.choice((f"Which number is the {name}? {{}}", f"What is the {name} of {{}}?", f"Give the {name} number: {{}}")).format(", ".join(map(str, numbers))), str(pick(numbers)))


@task(4)
def sort_numbers(r: Random) -> Row:
    numbers = r.sample(range(r.choice((10, 50, 100))), r.randint(2, 5))
    down = r.random() < 0.25
    answer = sorted(numbers, reverse=down)
    shown = ", ".join(map(str, numbers))
    ask = "Sort from large to small" if down else r.choice(("Sort", "Sort from small to large", "Put in order"))
    if r.random() < 0.3:
        return Row(f"{ask} as a JSON list: {shown}", json.dumps(answer))
    return Row(f"{ask}: {shown}", ", ".join(map(str, answer)))


@task(2)
def compare(r: Random) -> Row:
    a, b = r.sample(range(100), 2)
    greater = r.random() < 0.5
    answer = "Yes" if (a > b) == greater else "No"
    return Row(r.choice((f"Is {a} {{}} than {b}?", f"Is the number {a} {{}} than {b}? Answer Yes or No.")).format(r.choice(("greater", "larger")) if greater else r.choice(("smaller", "less"))), answer)


@task(5)
def add(r: Random) -> Row:
    most = r.choice((9, 20, 99, 99))
    a, b = r.randint(0, most), r.randint(0, most)
    if r.random() < 0.35:
        a, b = max(a, b), min(a, b)
        return Row(r.choice(("What is {} - {}?", "{} - {} =", "What is {} minus {}?", "Take {1} from {0}.")).format(a, b), str(a - b))
    return Row(r.choice(("What is {} + {}?", "{} + {} =", "What is {} plus {}?", "Add {} and {}.")).format(a, b), str(a + b))


@task(1)
def multiply(r: Random) -> Row:
    a, b = r.randint(0, 10), r.randint(0, 10)
    return Row(r.choice(("What is {} * {}?", "{} * {} =", "What is {} times {}?", "Multiply {} by {}.")).format(a, b), str(a * b))


@task(1)
def pi_digits(r: Random) -> Row:
    n = r.randint(2, 20) if r.random() < 0.7 else 10
    ask = r.choice(("What are the first {} digits of pi?", "Give the first {} digits of pi.", "Write pi with {} digits.", "The first {} digits of pi?", "Tell me the first {} digits of pi."))
    return Row(ask.format(n), words.PI[: n + 1])


# ---------------------------------------------------------------- addresses and forms


@task(3)
def url(r: Random) -> Row:
    host = made_up(r) if r.random() < 0.5 else r.choice(words.WORDS)
    end = r.choice(("com", "org", "edu", "ai", "net"))
    scheme = r.choice(("https", "https", "http"))
    path = r.choice(("", "", f"/{word(r)}", f"/{word(r)}/{r.randint(1, 99)}"))
    ask = r.choice((f"Write the address of {host} at .{end} with {scheme}", f"{scheme} address of {host} .{end}", f"Give the {scheme} URL of {host} with the ending {end}"))
    if path:
        ask += f" and the path {path}"
    return Row(f"{ask}.", f"{scheme}://www.{host}.{end}{path}")


@task(3)
def url_parts(r: Random) -> Row:
    host, scheme, path = f"{made_up(r) if r.random() < 0.5 else word(r)}.{r.choice(('com', 'org', 'edu', 'ai'))}", r.choice(("https", "http")), f"{word(r)}/{number(r)}"
    part, answer = r.choice((("host", f"www.{host}"), ("path", f"/{path}"), ("scheme", scheme), ("number", path.split("/")[1])))
    return Row(r.choice(("What is the {} of {}?", "Give the {} of {}")).format(part, f"https://www.{host}/{path}" if scheme == "https" else f"http://www.{host}/{path}"), answer)


@task(2)
def where_to(r: Random) -> Row:
    host = (made_up(r) if r.random() < 0.5 else word(r)) + r.choice(("", "", word(r)))
    what = r.choice(("songs", "books", "news", "maps", "shoes", "films"))
    end = r.choice(("com", "org"))
    ask = r.choice((f"{host}.{end} has {what}. Where can I find {what}?", f"Where can I find {what} online? The site is {host}.{end}.", f"The site of the {what} is {host}.{end}. Give its address."))
    return Row(ask, f"https://www.{host}.{end}")


@task(3)
def extract(r: Random) -> Row:
    """Find one thing of a known shape in a text."""
    who, mail, phone, day, ident = full_name(r), email(r), f"{r.randint(100, 999)}-{r.randint(1000, 9999)}", long_date(random_date(r)), f"{r.choice('ABCDEFXYZ')}{r.randint(1000, 99999)}"
    sentences = [f"Please contact {who}.", f"Write to {mail}.", f"The phone number is {phone}.", f"The meeting is on {day}.", f"The order number is {ident}.",
                 f"We talked about the {r.choice(words.THINGS)} in {city(r)}.", f"The {r.choice(words.ANIMALS)} is {r.choice(words.ADJECTIVES)}.", f"It costs {price(r)} euros."]  # fmt: skip
    asks = {"name": (0, who), "email address": (1, mail), "phone number": (2, phone), "date": (3, day), "order number": (4, ident)}
    wanted = r.choice(list(asks))
    index, answer = asks[wanted]
    others = r.sample([s for i, s in enumerate(sentences) if i != index], r.randint(1, 5))
    text = [*others, sentences[index]]
    r.shuffle(text)
    ask = r.choice((f"What is the {wanted}?", f"Give the {wanted}.", f"Find the {wanted}.", f"Extract the {wanted}."))
    return Row(f"{' '.join(text)} {ask}" if r.random() < 0.6 else f"{ask} {' '.join(text)}", answer)


@task(3)
def word_list(r: Random) -> Row:
    items = [word(r) for _ in range(r.randint(2, 6))]
    form, answer = r.choice((("a JSON list", json.dumps(items, ensure_ascii=False)), ("a bullet list", "\n".join(f"- {i}" for i in items)),
                             ("a numbered list", "\n".join(f"{n}. {i}" for n, i in enumerate(items, 1))), ("lines", "\n".join(items)),
                             ("a sentence with and", " and ".join(items))))  # fmt: skip
    return Row(r.choice((f"Write as {form}: {', '.join(items)}", f"{', '.join(items)}. Write these words as {form}.", f"Make {form} of {', '.join(items)}.")), answer)


@task(2)
def case(r: Random) -> Row:
    text = " ".join(r.choice(words.WORDS) for _ in range(r.randint(1, 2)))
    form, answer = r.choice((("upper case", text.upper()), ("capital letters", text.upper()), ("title case", text.title())))
    return Row(r.choice((f"Write {text} in {form}.", f"Put {text} in {form}.")), answer)


@task(1)
def spell(r: Random) -> Row:
    text = r.choice(words.WORDS)
    return Row(r.choice(("Spell {}.", "Spell the word {}.", "Write {} letter by letter.")).format(text), "-".join(text))


@task(2)
def phone(r: Random) -> Row:
    digits = "".join(r.choice("0123456789") for _ in range(10))
    return Row(r.choice((f"Write the phone number {digits} with hyphens.", f"Format the phone number {digits}.")), f"{digits[:3]}-{digits[3:6]}-{digits[6:]}")


# ---------------------------------------------------------------- knowledge, reading, talk


@task(2)
def knowledge(r: Random) -> Row:
    kind = r.randrange(6)
    if kind == 0:
        country, capital = r.choice(list(words.CAPITALS.items()))
        return Row(r.choice((f"What is the capital of {country}?", f"Which city is the capital of {country}?", f"Name the capital of {country}.")), capital)
    if kind == 1:
        a, b = r.choice(list(words.OPPOSITES.items()))
        a, b = r.choice(((a, b), (b, a)))
        return Row(r.choice((f"What is the opposite of {a}?", f"Name the opposite of {a}.", f"Opposite of {a}?")), b)
    if kind in (2, 3):
        names = words.DAYS if kind == 2 else words.MONTHS
        what = "day" if kind == 2 else "month"
        i, (order, shift) = r.randrange(len(names)), r.choice((("after", 1), ("before", -1)))
        return Row(r.choice((f"Which {what} comes {order} {names[i]}?", f"What {what} is {order} {names[i]}?")), names[(i + shift) % len(names)])
    truth = r.choice(list(words.KINDS))
    item = r.choice(words.KINDS[truth])
    if kind == 4:
        asked = truth if r.random() < 0.5 else r.choice([k for k in words.KINDS if k != truth and item not in words.KINDS[k]])
        return Row(r.choice((f"Is {item} {article(asked)}?", f"Is {item} {article(asked)}? Answer Yes or No.")), "Yes" if asked == truth else "No")
    rivals = [k for k in words.KINDS if k != truth and item not in words.KINDS[k]]
    options = [truth, *r.sample(rivals, 2)]
    r.shuffle(options)
    return Row(f"What is {item}: {', '.join(options[:-1])} or {options[-1]}?", truth)


def article(noun: str) -> str:
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


@task(2)
def sentiment(r: Random) -> Row:
    tone, texts = r.choice((
        ("positive", ("I love this {}.", "The {} works very well.", "What a wonderful {}!", "I am happy with the {}.", "The best {} I ever had.")),
        ("negative", ("I hate this {}.", "The {} broke after a day.", "What a terrible {}!", "I am angry about the {}.", "The worst {} I ever had.")),
        ("neutral", ("The {} has arrived.", "This is a {}.", "The {} is in the box.", "I bought the {} on Monday.", "It is a {} of the usual size.")),
    ))  # fmt: skip
    text = r.choice(texts).format(r.choice(words.PRODUCTS))
    ask = r.choice(("Is this positive, negative or neutral? {}", "{} Is this positive, negative or neutral?", "What is the sentiment? {}", "Sentiment: {}"))
    return Row(ask.format(text), tone)


@task(1)
def president(r: Random) -> Row:
    first, last, fact = r.choice(words.PRESIDENTS[:2] if r.random() < 0.5 else words.PRESIDENTS)
    kind = r.random()
    if kind < 0.5:
        ask = f"What is the first name of the US president who {fact}?"
        if r.random() < 0.4:
            ask = f"Question: {ask}\nAnswer:"
        return Row(ask, first)
    if kind < 0.7:
        return Row(r.choice((f"Which US president {fact}?", f"Who {fact}?")), f"{first} {last}")
    name, other = r.sample(("William", "Theodore", first_name(r)), 2)
    ask = r.choice(("{0} is older than {1}. Who is older?", "{0} met {1}. {0} was first to speak. Who was first to speak?", "{0} wrote a letter to {1}. Who wrote the letter?"))
    return Row(ask.format(name, other), name)


@task(4)
def small_talk(r: Random) -> Row:
    prompts, answers = r.choice(words.SMALL_TALK) if r.random() < 0.85 else words.SMALL_TALK[0]
    answer = answers[0] if r.random() < 0.7 else r.choice(answers)
    return Row(r.choice(prompts), answer, accept=answers)


def story_parts(r: Random) -> tuple[dict[str, str], list[str]]:
    animal, name, adjective, thing, place, friend = (r.choice(words.ANIMALS), first_name(r), r.choice(words.ADJECTIVES), r.choice(words.THINGS[:16]),
                                                     r.choice(words.PLACES), r.choice(words.ANIMALS))  # fmt: skip
    colour = r.choice(words.COLOURS)
    facts = {"animal": animal, "name": name, "thing": thing, "place": place, "friend": friend, "colour": colour}
    a = article(f"{adjective} {animal}")
    opening = r.choice((f"Once there was {a} called {name}.", f"{name} was {a}.", f"In a far country lived {a} with the name {name}."))
    middle = [
        r.choice((f"One day {name} walked to the {place}.", f"One morning {name} went to the {place}.", f"On a {r.choice(words.ADJECTIVES)} evening {name} came to the {place}.")),
        r.choice((f"There {name} found {article(colour)} {thing}.", f"Near the wall {name} saw {article(colour)} {thing}.", f"On the ground lay {article(colour)} {thing}.")),
        r.choice((f"{article(friend).capitalize()} asked for it, and {name} gave it away.", f"{name} showed it to {article(friend)}, who smiled.", f"It belonged to {article(friend)}, and {name} brought it back.")),
    ]
    closing = r.choice(("From that day on they were friends.", f"Then {name} went home and slept well.", f"And so the {thing} was never lost again.", "In the evening they ate bread and talked for a long time."))
    return facts, [opening, *middle, closing]


@task(4)
def story(r: Random) -> Row:
    facts, sentences = story_parts(r)
    keys = r.sample(["animal", "name", "thing", "place"], r.randint(1, 3))
    about = {"animal": article(facts["animal"]), "name": facts["name"], "thing": article(facts["thing"]), "place": f"the {facts['place']}"}
    ask = r.choice(("Tell me a short story about {}.", "Write a short story with {}.", "Write a story about {}.", "Tell a story with {}.", "Tell me a story about {}."))
    listed = [about[key] for key in keys]
    joined = listed[0] if len(listed) == 1 else ", ".join(listed[:-1]) + " and " + listed[-1]
    text = " ".join(sentences)
    return Row(ask.format(joined), text, contains=tuple(facts[key] for key in keys))


@task(4)
def reading(r: Random) -> Row:
    facts, sentences = story_parts(r)
    text = " ".join(sentences)
    asks = {f"Which animal is {facts['name']}?": facts["animal"], "Who is the story about?": facts["name"], "Which place is in the story?": facts["place"],
            f"What colour is the {facts['thing']}?": facts["colour"], "Whom did they meet?": facts["friend"], "What was found?": facts["thing"]}  # fmt: skip
    ask, answer = r.choice(list(asks.items()))
    return Row(f"{text} {ask}" if r.random() < 0.6 else f"{ask} {text}", answer)


# ---------------------------------------------------------------- the corpus


def vary(r: Random, prompt: str) -> str:
    """Small changes of manner that must not change the answer."""
    if r.random() < 0.08 and prompt[0] in string.ascii_uppercase and prompt.split(" ", 1)[0] in MANNER:
        prompt = r.choice(("Please ", "please ", "Now ")) + prompt[0].lower() + prompt[1:]
    return prompt


MANNER = frozenset(("Repeat", "Copy", "Write", "Give", "Call", "Use", "Sort", "Count", "Add", "Turn", "Name", "Spell", "Put", "Tell", "Extract", "Find", "Invent", "Make"))


def rows(seed: int, split: str, count: int) -> Iterator[tuple[str, Row]]:
    """Yield ``count`` rows; held-out rows cycle through the tasks, training rows draw them by weight."""
    names = list(TASKS)
    weights = [TASKS[name][0] for name in names]
    for index in range(count):
        r = Random(f"{seed}/{split}/{index}")
        name = names[index % len(names)] if split == "held-out" else r.choices(names, weights)[0]
        row = TASKS[name][1](r)
        prompt = vary(r, row.prompt)
        yield name, row if prompt == row.prompt else Row(prompt, row.answer, row.accept, row.contains, row.keys)


HELD_OUT_ROWS = 30
FEW_PROMPTS = frozenset(("small_talk", "pi_digits", "known_singles", "president", "knowledge", "multiply", "invent", "spell", "case", "sentiment"))
"""Tasks with too few prompts to keep any apart: their held-out rows measure recall, not generalisation."""


def held_out(seed: int = 0) -> list[tuple[str, Row]]:
    """The held-out rows: ``HELD_OUT_ROWS`` of each task, no prompt twice."""
    return list({row.prompt: (name, row) for name, row in rows(seed, "held-out", HELD_OUT_ROWS * len(TASKS))}.values())


def training(seed: int, count: int) -> Iterator[tuple[str, Row]]:
    """Yield training rows, without those whose prompt is held out."""
    kept_apart = {row.prompt for name, row in held_out() if name not in FEW_PROMPTS}
    return (item for item in rows(seed, "train", count) if item[1].prompt not in kept_apart)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=400_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--split", choices=("train", "held-out"), default="train")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    source = training(arguments.seed, arguments.rows) if arguments.split == "train" else held_out(arguments.seed)
    with arguments.out.open("w", encoding="utf-8") as file:
        for name, row in source:
            record = {"task": name} | {key: value for key, value in asdict(row).items() if value}
            file.write(json.dumps(record, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()

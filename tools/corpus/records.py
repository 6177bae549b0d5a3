"""Tasks that turn described facts into JSON records."""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random
from typing import Any

from corpus import words
from corpus.parts import (
    city,
    clock,
    dump,
    email,
    first_name,
    full_name,
    long_date,
    made_up,
    number,
    price,
    random_date,
    subset,
    title,
    word,
)
from corpus.rows import Row, task


def ask_for_record(r: Random, kind: str, facts: list[str], record: dict[str, Any]) -> Row:
    """Shuffle the facts, ask for JSON, and sometimes name the keys or give a schema."""
    r.shuffle(facts)
    text = " ".join(facts)
    way = r.random()
    ask = r.choice(
        (
            f"Write the {kind} as JSON.",
            f"Give the {kind} as JSON.",
            "As JSON, please.",
            "Turn this into a JSON object.",
            f"Describe the {kind} as a JSON object.",
            "Answer with JSON.",
            "JSON:",
            f"Extract the {kind} as JSON.",
        )
    )
    if way < 0.25:
        keys = list(record)
        r.shuffle(keys)
        keys = keys[: r.randint(1, len(keys))]
        record = {key: record[key] for key in keys}
        ask = r.choice(("Write JSON with the keys {}.", "As JSON with the keys {}.", "Give {} as JSON.")).format(
            ", ".join(keys)
        )
    elif way < 0.35:
        kinds = {str: "string", int: "integer", float: "number", bool: "boolean", list: "array"}
        schema = {"type": "object", "properties": {key: {"type": kinds[type(value)]} for key, value in record.items()}}
        ask = f"Write JSON that fits this schema: {json.dumps(schema)}"
    answer, layout = dump(r, record)
    return Row(f"{ask}{layout} {text}" if r.random() < 0.4 else f"{text} {ask}{layout}", answer)


@task(7)
def person(r: Random) -> Row:
    name = full_name(r)
    record: dict[str, Any] = {}
    facts = []
    for key in ["name", *subset(r, ["age", "city", "job", "email"], 1)]:
        if key == "name":
            record[key] = name
        elif key == "age":
            record[key] = r.randint(1, 99)
            facts.append(
                r.choice(
                    (
                        f"{name} is {record[key]} years old.",
                        f"{name} is {record[key]}.",
                        f"{name} has the age of {record[key]}.",
                    )
                )
            )
        elif key == "city":
            record[key] = city(r)
            facts.append(
                r.choice(
                    (
                        f"{name} lives in {record[key]}.",
                        f"{name} has a home in {record[key]}.",
                        f"{name} is from {record[key]}.",
                    )
                )
            )
        elif key == "job":
            record[key] = r.choice(words.JOBS)
            facts.append(
                r.choice(
                    (
                        f"{name} works as a {record[key]}.",
                        f"{name} is a {record[key]} by trade.",
                        f"The job of {name} is {record[key]}.",
                    )
                )
            )
        else:
            record[key] = email(r)
            facts.append(
                r.choice((f"{name} has the email address {record[key]}.", f"The email of {name} is {record[key]}."))
            )
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
            facts.append(
                r.choice((f"The {name} costs {record[key]} euros.", f"The price of the {name} is {record[key]}."))
            )
        elif key == "stock":
            record[key] = r.randint(0, 500)
            facts.append(r.choice((f"There are {record[key]} in stock.", f"We have {record[key]} of the {name}.")))
        else:
            record[key] = [word(r) for _ in range(r.randint(1, 3))]
            facts.append(f"The tags of the {name} are {', '.join(record[key])}.")
    return ask_for_record(r, "product", facts, record)


@task(5)
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
            facts.append(
                r.choice(
                    (
                        f"It reached number {record[key]} in the {where}.",
                        f"Its best place in the {where} charts was {record[key]}.",
                    )
                )
            )
    return ask_for_record(r, "single", facts, record)


def singles_record(row: tuple[str, str | None, int, int | None, int | None]) -> dict[str, Any]:
    names = ("title", "album", "year", "us-chart-max", "uk-chart-max")
    return {key: value for key, value in zip(names, row, strict=True) if value is not None}


@task(2)
def known_singles(r: Random) -> Row:
    band = r.choice(list(words.BANDS))
    count, name = r.choice(((1, "one"), (2, "two"), (2, "two"), (3, "three")))
    rows = [singles_record(row) for row in words.BANDS[band][:count]]
    ask = r.choice(
        (
            f"What were {band}'s {name} most popular singles?",
            f"What were {band}'s {name} most popular singles.",
            f"Name {name} singles by {band}.",
            f"List the {name} most popular singles by {band}.",
            f"Which {name} singles of {band} are known best?",
        )
    )
    how = r.random()
    if how < 0.5:
        example = [
            singles_record(
                (
                    title(r),
                    r.choice((None, title(r))),
                    r.randint(1955, 2025),
                    r.choice((None, r.randint(1, 90))),
                    r.choice((None, r.randint(1, 90))),
                )
            )
            for _ in range(r.randint(1, 2))
        ]
        if r.random() < 0.4:
            example = [
                singles_record(("Get Back", "Let It Be", 1970, 1, 1)),
                singles_record(("Octopus's Garden", None, 1969, 16, 7)),
            ]
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


@task(4)
def people_list(r: Random) -> Row:
    people = [{"name": first_name(r), "age": r.randint(1, 99)} for _ in range(r.randint(2, 4))]
    shown = r.choice((", ", " and ", "; ")).join(f"{p['name']} is {p['age']}" for p in people)
    answer, layout = dump(r, people)
    return Row(f"{shown}. Write the people as a JSON list.{layout}", answer)


@task(5)
def table(r: Random) -> Row:
    columns = r.sample(["name", "age", "city", "job", "colour", "count", "price", "id"], r.randint(2, 3))
    makers: dict[str, Callable[[Random], Any]] = {
        "name": first_name,
        "age": lambda r: r.randint(1, 99),
        "city": city,
        "job": lambda r: r.choice(words.JOBS),
        "colour": lambda r: r.choice(words.COLOURS),
        "count": lambda r: r.randint(0, 200),
        "price": price,
        "id": lambda r: r.randint(1, 9999),
    }
    rows = [{key: makers[key](r) for key in columns} for _ in range(r.randint(1, 3))]
    csv = "\n".join([",".join(columns), *(",".join(str(v) for v in row.values()) for row in rows)])
    if r.random() < 0.7:
        return Row(
            r.choice((f"Turn this CSV into JSON:\n{csv}", f"{csv}\nWrite the table as JSON.")),
            json.dumps(rows, ensure_ascii=False),
        )
    return Row(f"Turn this JSON into CSV:\n{json.dumps(rows, ensure_ascii=False)}", csv)


@task(6)
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
        "user": {
            "name": full_name,
            "email": lambda r: f"{r.choice(words.WORDS)}@example.com",
            "active": lambda r: r.random() < 0.5,
        },
        "product": {"name": lambda r: r.choice(words.PRODUCTS), "price": price, "stock": lambda r: r.randint(0, 500)},
        "book": {"title": title, "author": full_name, "year": lambda r: r.randint(1900, 2025)},
        "city": {"name": lambda r: r.choice(words.CITIES), "population": lambda r: r.randint(20, 9000) * 1000},
        "single": {"title": title, "album": title, "year": lambda r: r.randint(1955, 2025)},
        "order": {
            "id": lambda r: r.randint(1, 9999),
            "items": lambda r: r.sample(words.PRODUCTS, r.randint(1, 3)),
            "total": price,
        },
        "pet": {
            "name": lambda r: r.choice(words.FIRST_NAMES),
            "kind": lambda r: r.choice(words.ANIMALS),
            "age": lambda r: r.randint(1, 15),
        },
    }
    kind = r.choice(list(kinds))
    record = {key: make(r) for key, make in kinds[kind].items()}
    article = "an" if kind[0] in "aeiou" else "a"
    ask = r.choice(
        (
            "Invent {} as JSON.",
            "Make up {} as JSON.",
            "Give me {} as JSON.",
            "Write a JSON record of {}.",
            "Describe {} as JSON.",
            "Generate {} in JSON.",
            "Write {} as JSON.",
        )
    )
    return Row(ask.format(f"{article} {kind}"), json.dumps(record, ensure_ascii=False), keys=tuple(record))

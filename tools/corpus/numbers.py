"""Tasks about dates, times and numbers."""

from __future__ import annotations

import json
from random import Random

from corpus import words
from corpus.parts import long_date, number, random_date
from corpus.rows import Row, task


@task(4)
def dates(r: Random) -> Row:
    day = random_date(r)
    month = words.MONTHS[day.month - 1]
    forms = {
        "ISO": day.isoformat(),
        "long": long_date(day),
        "slash": f"{day.day:02}/{day.month:02}/{day.year}",
        "US": f"{month} {day.day}, {day.year}",
        "dot": f"{day.day:02}.{day.month:02}.{day.year}",
    }
    source, target = r.sample(list(forms), 2)
    ask = {
        "ISO": ("Write {} as an ISO date.", "ISO date of {}?", "Write {} as YYYY-MM-DD."),
        "long": ("Write {} with the month's name.", "Write {} as a long date."),
        "slash": ("Write {} as DD/MM/YYYY.", "Write {} with slashes."),
        "US": ("Write {} in the US style.", "Write {} as an American date."),
        "dot": ("Write {} as DD.MM.YYYY.", "Write {} with dots."),
    }[target]
    return Row(r.choice(ask).format(forms[source]), forms[target])


@task(6)
def times(r: Random) -> Row:
    hour, minute = r.randint(0, 23), r.randint(0, 59)
    long, short = f"{hour:02}:{minute:02}", f"{(hour + 11) % 12 + 1}:{minute:02} {'AM' if hour < 12 else 'PM'}"
    if r.random() < 0.5:
        return Row(
            r.choice(("Write {} on the 24-hour clock.", "What is {} in 24-hour time?", "Write {} as HH:MM.")).format(
                short
            ),
            long,
        )
    return Row(
        r.choice(("Write {} on the 12-hour clock.", "What is {} in 12-hour time?", "Write {} with AM or PM.")).format(
            long
        ),
        short,
    )


@task(3)
def date_parts(r: Random) -> Row:
    day = random_date(r)
    part = r.choice(("year", "month", "day"))
    shown = r.choice((day.isoformat(), long_date(day)))
    answer = {"year": str(day.year), "month": words.MONTHS[day.month - 1], "day": str(day.day)}[part]
    return Row(
        r.choice((f"What is the {part} of {shown}?", f"Give the {part} of {shown}.", f"Which {part} is in {shown}?")),
        answer,
    )


@task(8)
def count(r: Random) -> Row:
    start, step, length = r.randint(0, 60), r.choice((1, 1, 1, 2, 5, 10)), r.randint(3, 9)
    numbers = [start + step * i for i in range(length)]
    ask = f"Count from {start} to {numbers[-1]}" + (f" in steps of {step}" if step > 1 else "")
    if r.random() < 0.4:
        return Row(f"{ask}. Answer with a JSON list.", json.dumps(numbers))
    return Row(f"{ask}.", ", ".join(map(str, numbers)))


@task(5)
def number_list(r: Random) -> Row:
    numbers = [
        r.choice((r.randint(0, 9), r.randint(0, 99), r.randint(0, 99), number(r))) for _ in range(r.randint(2, 7))
    ]
    joined = r.choice((", ", " ", "; ", "\n", " and ")).join(map(str, numbers))
    form, answer = r.choice(
        (
            ("a JSON list", json.dumps(numbers)),
            ("a list with commas", ", ".join(map(str, numbers))),
            ("lines", "\n".join(map(str, numbers))),
            ("a Python tuple", str(tuple(numbers))),
        )
    )
    return Row(
        r.choice((f"Write these numbers as {form}: {joined}", f"Numbers: {joined}\nWrite them as {form}.")), answer
    )


@task(5)
def largest(r: Random) -> Row:
    top = r.choice((9, 99, 99))
    numbers = r.sample(range(top + 1), r.randint(2, 5))
    name, pick = r.choice((("largest", max), ("smallest", min), ("greatest", max)))
    return Row(
        r.choice(
            (f"Which number is the {name}? {{}}", f"What is the {name} of {{}}?", f"Give the {name} number: {{}}")
        ).format(", ".join(map(str, numbers))),
        str(pick(numbers)),
    )


@task(10)
def sort_numbers(r: Random) -> Row:
    numbers = r.sample(range(r.choice((10, 50, 100))), r.randint(2, 5))
    down = r.random() < 0.25
    answer = sorted(numbers, reverse=down)
    shown = ", ".join(map(str, numbers))
    ask = "Sort from large to small" if down else r.choice(("Sort", "Sort from small to large", "Put in order"))
    if r.random() < 0.3:
        return Row(f"{ask} as a JSON list: {shown}", json.dumps(answer))
    return Row(f"{ask}: {shown}", ", ".join(map(str, answer)))


@task(6)
def compare(r: Random) -> Row:
    a, b = r.sample(range(100), 2)
    greater = r.random() < 0.5
    answer = "Yes" if (a > b) == greater else "No"
    return Row(
        r.choice((f"Is {a} {{}} than {b}?", f"Is the number {a} {{}} than {b}? Answer Yes or No.")).format(
            r.choice(("greater", "larger")) if greater else r.choice(("smaller", "less"))
        ),
        answer,
    )


@task(8)
def add(r: Random) -> Row:
    most = r.choice((9, 20, 99, 99))
    a, b = r.randint(0, most), r.randint(0, most)
    if r.random() < 0.35:
        a, b = max(a, b), min(a, b)
        return Row(
            r.choice(("What is {} - {}?", "{} - {} =", "What is {} minus {}?", "Take {1} from {0}.")).format(a, b),
            str(a - b),
        )
    return Row(
        r.choice(("What is {} + {}?", "{} + {} =", "What is {} plus {}?", "Add {} and {}.")).format(a, b), str(a + b)
    )


@task(4)
def multiply(r: Random) -> Row:
    a, b = r.randint(0, 10), r.randint(0, 10)
    return Row(
        r.choice(("What is {} * {}?", "{} * {} =", "What is {} times {}?", "Multiply {} by {}.")).format(a, b),
        str(a * b),
    )


@task(4)
def pi_digits(r: Random) -> Row:
    n = r.randint(2, 20) if r.random() < 0.7 else 10
    ask = r.choice(
        (
            "What are the first {} digits of pi?",
            "Give the first {} digits of pi.",
            "Write pi with {} digits.",
            "The first {} digits of pi?",
            "Tell me the first {} digits of pi.",
        )
    )
    return Row(ask.format(n), words.PI[: n + 1])

"""Small parts that all tasks are put together from: names, words, codes, dates."""

from __future__ import annotations

import json
import string
from datetime import date
from random import Random
from typing import Any

from corpus import words


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
    """Make a short string without meaning, in one of many shapes."""
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
        return "".join(
            r.choice(string.ascii_letters + string.digits + string.punctuation) for _ in range(r.randint(3, 9))
        )
    if shape == 5:
        return f"{made_up(r)}_{made_up(r)}"
    return "".join(r.choice("äöüéèñçøåßλπЖд漢字かな😀🙂→€½") for _ in range(r.randint(1, 5)))


def phrase(r: Random, most: int = 6) -> str:
    """Put a few words and codes in a row."""
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


def subset(r: Random, keys: list[str], least: int) -> list[str]:
    """At least ``least`` of the keys, in their order."""
    chosen = set(r.sample(keys, r.randint(least, len(keys))))
    return [key for key in keys if key in chosen]


def random_date(r: Random) -> date:
    return date(r.randint(1950, 2035), r.randint(1, 12), r.randint(1, 28))


def long_date(day: date) -> str:
    return f"{day.day} {words.MONTHS[day.month - 1]} {day.year}"


def clock(r: Random) -> str:
    return f"{r.randint(0, 23):02}:{r.randint(0, 59):02}"


def article(noun: str) -> str:
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


def dump(r: Random, value: Any) -> tuple[str, str]:
    """Return a JSON text, and the words that ask for its layout."""
    style = r.random()
    if style < 0.75:
        return json.dumps(value, ensure_ascii=False), ""
    if style < 0.9:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")), " Use compact JSON."
    return json.dumps(value, ensure_ascii=False, indent=2), " Use indented JSON."

"""Tasks about addresses, lists, letters, and things of a known form in a text."""

from __future__ import annotations

import json
from random import Random

from corpus import words
from corpus.parts import city, email, full_name, long_date, made_up, number, price, random_date, word
from corpus.rows import Row, task


@task(2)
def url(r: Random) -> Row:
    host = made_up(r) if r.random() < 0.5 else r.choice(words.WORDS)
    end = r.choice(("com", "org", "edu", "ai", "net"))
    scheme = r.choice(("https", "https", "http"))
    path = r.choice(("", "", f"/{word(r)}", f"/{word(r)}/{r.randint(1, 99)}"))
    ask = r.choice(
        (
            f"Write the address of {host} at .{end} with {scheme}",
            f"{scheme} address of {host} .{end}",
            f"Give the {scheme} URL of {host} with the ending {end}",
        )
    )
    if path:
        ask += f" and the path {path}"
    return Row(f"{ask}.", f"{scheme}://www.{host}.{end}{path}")


@task(2)
def url_parts(r: Random) -> Row:
    host, scheme, path = (
        f"{made_up(r) if r.random() < 0.5 else word(r)}.{r.choice(('com', 'org', 'edu', 'ai'))}",
        r.choice(("https", "http")),
        f"{word(r)}/{number(r)}",
    )
    part, answer = r.choice(
        (("host", f"www.{host}"), ("path", f"/{path}"), ("scheme", scheme), ("number", path.split("/")[1]))
    )
    return Row(
        r.choice(("What is the {} of {}?", "Give the {} of {}")).format(
            part, f"https://www.{host}/{path}" if scheme == "https" else f"http://www.{host}/{path}"
        ),
        answer,
    )


@task(2)
def where_to(r: Random) -> Row:
    host = (made_up(r) if r.random() < 0.5 else word(r)) + r.choice(("", "", word(r)))
    what = r.choice(("songs", "books", "news", "maps", "shoes", "films"))
    end = r.choice(("com", "org"))
    ask = r.choice(
        (
            f"{host}.{end} has {what}. Where can I find {what}?",
            f"Where can I find {what} online? The site is {host}.{end}.",
            f"The site of the {what} is {host}.{end}. Give its address.",
        )
    )
    return Row(ask, f"https://www.{host}.{end}")


@task(4)
def extract(r: Random) -> Row:
    """Find one thing of a known shape in a text."""
    who, mail, phone, day, ident = (
        full_name(r),
        email(r),
        f"{r.randint(100, 999)}-{r.randint(1000, 9999)}",
        long_date(random_date(r)),
        f"{r.choice('ABCDEFXYZ')}{r.randint(1000, 99999)}",
    )
    sentences = [
        f"Please contact {who}.",
        f"Write to {mail}.",
        f"The phone number is {phone}.",
        f"The meeting is on {day}.",
        f"The order number is {ident}.",
        f"We talked about the {r.choice(words.THINGS)} in {city(r)}.",
        f"The {r.choice(words.ANIMALS)} is {r.choice(words.ADJECTIVES)}.",
        f"It costs {price(r)} euros.",
    ]
    asks = {
        "name": (0, who),
        "email address": (1, mail),
        "phone number": (2, phone),
        "date": (3, day),
        "order number": (4, ident),
    }
    wanted = r.choice(list(asks))
    index, answer = asks[wanted]
    others = r.sample([s for i, s in enumerate(sentences) if i != index], r.randint(1, 5))
    text = [*others, sentences[index]]
    r.shuffle(text)
    ask = r.choice((f"What is the {wanted}?", f"Give the {wanted}.", f"Find the {wanted}.", f"Extract the {wanted}."))
    return Row(f"{' '.join(text)} {ask}" if r.random() < 0.6 else f"{ask} {' '.join(text)}", answer)


@task(5)
def word_list(r: Random) -> Row:
    items = [word(r) for _ in range(r.randint(2, 6))]
    form, answer = r.choice(
        (
            ("a JSON list", json.dumps(items, ensure_ascii=False)),
            ("a bullet list", "\n".join(f"- {i}" for i in items)),
            ("a numbered list", "\n".join(f"{n}. {i}" for n, i in enumerate(items, 1))),
            ("lines", "\n".join(items)),
            ("a sentence with and", " and ".join(items)),
        )
    )
    return Row(
        r.choice(
            (
                f"Write as {form}: {', '.join(items)}",
                f"{', '.join(items)}. Write these words as {form}.",
                f"Make {form} of {', '.join(items)}.",
            )
        ),
        answer,
    )


@task(6)
def case(r: Random) -> Row:
    text = " ".join(r.choice(words.WORDS) for _ in range(r.randint(1, 2)))
    form, answer = r.choice(
        (("upper case", text.upper()), ("capital letters", text.upper()), ("title case", text.title()))
    )
    return Row(r.choice((f"Write {text} in {form}.", f"Put {text} in {form}.")), answer)


@task(6)
def spell(r: Random) -> Row:
    text = r.choice(words.WORDS)
    return Row(r.choice(("Spell {}.", "Spell the word {}.", "Write {} letter by letter.")).format(text), "-".join(text))


@task(1)
def phone(r: Random) -> Row:
    digits = "".join(r.choice("0123456789") for _ in range(10))
    return Row(
        r.choice((f"Write the phone number {digits} with hyphens.", f"Format the phone number {digits}.")),
        f"{digits[:3]}-{digits[3:6]}-{digits[6:]}",
    )

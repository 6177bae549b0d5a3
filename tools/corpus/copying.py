"""Tasks that copy a text, or one of several, from the prompt."""

from __future__ import annotations

import json
from random import Random

from corpus import words
from corpus.parts import phrase
from corpus.rows import Row, task


@task(6)
def copy_text(r: Random) -> Row:
    text = phrase(r)
    ask = r.choice(
        (
            "Repeat: {}",
            "Copy this: {}",
            "Say {}",
            "Repeat after me: {}",
            'Copy the text in quotes: "{}"',
            "Echo: {}",
            'Write "{}" again.',
            "Copy: {}",
            'Repeat "{}".',
            "Write this down: {}",
        )
    )
    return Row(ask.format(text), text)


@task(5)
def copy_long(r: Random) -> Row:
    text = " ".join(phrase(r, 8) for _ in range(r.randint(2, 8)))
    return Row(r.choice(("Repeat this text: {}", "Copy: {}", "Copy the text: {}", "Repeat: {}")).format(text), text)


@task(4)
def copy_in_form(r: Random) -> Row:
    text = phrase(r, 3)
    form, ask = r.choice(
        (
            (json.dumps([text], ensure_ascii=False), "Write {} as a JSON list with one string."),
            (json.dumps(text, ensure_ascii=False), "Write {} as a JSON string."),
            (json.dumps({"text": text}, ensure_ascii=False), "Write {} as JSON with the key text."),
            (f"<b>{text}</b>", "Put {} in bold as HTML."),
            (f"{text}, {text}", "Say {} twice."),
            (f"({text})", "Put {} in brackets."),
            (f"{text}!", "Write {} with an exclamation mark."),
        )
    )
    return Row(ask.format(text), form)


@task(4)
def copy_position(r: Random) -> Row:
    items = [phrase(r, 1) for _ in range(r.randint(2, 6))]
    which, name = r.choice(((0, "first"), (-1, "last"), (1, "second")))
    shown = ", ".join(items)
    return Row(
        r.choice(
            (
                f"What is the {name} item? {shown}",
                f"Items: {shown}. Give the {name} one.",
                f"Copy the {name} of these: {shown}",
            )
        ),
        items[which],
    )


@task(12)
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

"""Tasks of common knowledge, feelings, stories and small talk."""

from __future__ import annotations

from random import Random

from corpus import words
from corpus.parts import article, first_name
from corpus.rows import Row, task


@task(10)
def knowledge(r: Random) -> Row:
    kind = r.randrange(6)
    if kind == 0:
        country, capital = r.choice(list(words.CAPITALS.items()))
        return Row(
            r.choice(
                (
                    f"What is the capital of {country}?",
                    f"Which city is the capital of {country}?",
                    f"Name the capital of {country}.",
                )
            ),
            capital,
        )
    if kind == 1:
        a, b = r.choice(list(words.OPPOSITES.items()))
        a, b = r.choice(((a, b), (b, a)))
        return Row(r.choice((f"What is the opposite of {a}?", f"Name the opposite of {a}.", f"Opposite of {a}?")), b)
    if kind in (2, 3):
        names = words.DAYS if kind == 2 else words.MONTHS
        what = "day" if kind == 2 else "month"
        i, (order, shift) = r.randrange(len(names)), r.choice((("after", 1), ("before", -1)))
        return Row(
            r.choice((f"Which {what} comes {order} {names[i]}?", f"What {what} is {order} {names[i]}?")),
            names[(i + shift) % len(names)],
        )
    truth = r.choice(list(words.KINDS))
    item = r.choice(words.KINDS[truth])
    if kind == 4:
        asked = (
            truth
            if r.random() < 0.5
            else r.choice([k for k in words.KINDS if k != truth and item not in words.KINDS[k]])
        )
        return Row(
            r.choice((f"Is {item} {article(asked)}?", f"Is {item} {article(asked)}? Answer Yes or No.")),
            "Yes" if asked == truth else "No",
        )
    rivals = [k for k in words.KINDS if k != truth and item not in words.KINDS[k]]
    options = [truth, *r.sample(rivals, 2)]
    r.shuffle(options)
    return Row(f"What is {item}: {', '.join(options[:-1])} or {options[-1]}?", truth)


@task(1)
def sentiment(r: Random) -> Row:
    tone, texts = r.choice(
        (
            (
                "positive",
                (
                    "I love this {}.",
                    "The {} works very well.",
                    "What a wonderful {}!",
                    "I am happy with the {}.",
                    "The best {} I ever had.",
                ),
            ),
            (
                "negative",
                (
                    "I hate this {}.",
                    "The {} broke after a day.",
                    "What a terrible {}!",
                    "I am angry about the {}.",
                    "The worst {} I ever had.",
                ),
            ),
            (
                "neutral",
                (
                    "The {} has arrived.",
                    "This is a {}.",
                    "The {} is in the box.",
                    "I bought the {} on Monday.",
                    "It is a {} of the usual size.",
                ),
            ),
        )
    )
    text = r.choice(texts).format(r.choice(words.PRODUCTS))
    ask = r.choice(
        (
            "Is this positive, negative or neutral? {}",
            "{} Is this positive, negative or neutral?",
            "What is the sentiment? {}",
            "Sentiment: {}",
        )
    )
    return Row(ask.format(text), tone)


@task(2)
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
    ask = r.choice(
        (
            "{0} is older than {1}. Who is older?",
            "{0} met {1}. {0} was first to speak. Who was first to speak?",
            "{0} wrote a letter to {1}. Who wrote the letter?",
        )
    )
    return Row(ask.format(name, other), name)


@task(4)
def small_talk(r: Random) -> Row:
    prompts, answers = r.choice(words.SMALL_TALK) if r.random() < 0.85 else words.SMALL_TALK[0]
    answer = answers[0] if r.random() < 0.7 else r.choice(answers)
    return Row(r.choice(prompts), answer, accept=answers)


def story_parts(r: Random) -> tuple[dict[str, str], list[str]]:
    animal, name, adjective, thing, place, friend = (
        r.choice(words.ANIMALS),
        first_name(r),
        r.choice(words.ADJECTIVES),
        r.choice(words.THINGS[:16]),
        r.choice(words.PLACES),
        r.choice(words.ANIMALS),
    )
    colour = r.choice(words.COLOURS)
    facts = {"animal": animal, "name": name, "thing": thing, "place": place, "friend": friend, "colour": colour}
    a = article(f"{adjective} {animal}")
    opening = r.choice(
        (f"Once there was {a} called {name}.", f"{name} was {a}.", f"In a far country lived {a} with the name {name}.")
    )
    middle = [
        r.choice(
            (
                f"One day {name} walked to the {place}.",
                f"One morning {name} went to the {place}.",
                f"On a {r.choice(words.ADJECTIVES)} evening {name} came to the {place}.",
            )
        ),
        r.choice(
            (
                f"There {name} found {article(colour)} {thing}.",
                f"Near the wall {name} saw {article(colour)} {thing}.",
                f"On the ground lay {article(colour)} {thing}.",
            )
        ),
        r.choice(
            (
                f"{article(friend).capitalize()} asked for it, and {name} gave it away.",
                f"{name} showed it to {article(friend)}, who smiled.",
                f"It belonged to {article(friend)}, and {name} brought it back.",
            )
        ),
    ]
    closing = r.choice(
        (
            "From that day on they were friends.",
            f"Then {name} went home and slept well.",
            f"And so the {thing} was never lost again.",
            "In the evening they ate bread and talked for a long time.",
        )
    )
    return facts, [opening, *middle, closing]


@task(4)
def story(r: Random) -> Row:
    facts, sentences = story_parts(r)
    keys = r.sample(["animal", "name", "thing", "place"], r.randint(1, 3))
    about = {
        "animal": article(facts["animal"]),
        "name": facts["name"],
        "thing": article(facts["thing"]),
        "place": f"the {facts['place']}",
    }
    ask = r.choice(
        (
            "Tell me a short story about {}.",
            "Write a short story with {}.",
            "Write a story about {}.",
            "Tell a story with {}.",
            "Tell me a story about {}.",
        )
    )
    listed = [about[key] for key in keys]
    joined = listed[0] if len(listed) == 1 else ", ".join(listed[:-1]) + " and " + listed[-1]
    text = " ".join(sentences)
    return Row(ask.format(joined), text, contains=tuple(facts[key] for key in keys))


@task(3)
def reading(r: Random) -> Row:
    facts, sentences = story_parts(r)
    text = " ".join(sentences)
    asks = {
        f"Which animal is {facts['name']}?": facts["animal"],
        "Who is the story about?": facts["name"],
        "Which place is in the story?": facts["place"],
        f"What colour is the {facts['thing']}?": facts["colour"],
        "Whom did they meet?": facts["friend"],
        "What was found?": facts["thing"],
    }
    ask, answer = r.choice(list(asks.items()))
    return Row(f"{text} {ask}" if r.random() < 0.6 else f"{ask} {text}", answer)

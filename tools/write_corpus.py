"""Write the question and answer pairs that the embedded model is trained on.

Every pair is made here from the word tables of ``corpus/words.py``: nothing comes from elsewhere. A row is a pure
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
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from random import Random

from corpus import calls, copying, forms, numbers, records, talk
from corpus.rows import TASKS, Row

MODULES = [module.__name__ for module in (copying, records, calls, numbers, forms, talk)]
NAMES = sorted(TASKS, key=lambda name: MODULES.index(TASKS[name][1].__module__))
"""The tasks, in an order that does not depend on imports: it is part of what a seed means."""


def vary(r: Random, prompt: str) -> str:
    """Small changes of manner that must not change the answer."""
    if r.random() < 0.08 and prompt[0] in string.ascii_uppercase and prompt.split(" ", 1)[0] in MANNER:
        prompt = r.choice(("Please ", "please ", "Now ")) + prompt[0].lower() + prompt[1:]
    return prompt


MANNER = frozenset(
    "Repeat Copy Write Give Call Use Sort Count Add Turn Name Spell Put Tell Extract Find Invent Make".split()
)


def rows(seed: int, split: str, count: int) -> Iterator[tuple[str, Row]]:
    """Yield ``count`` rows; held-out rows cycle through the tasks, training rows draw them by weight."""
    weights = [TASKS[name][0] for name in NAMES]
    for index in range(count):
        r = Random(f"{seed}/{split}/{index}")
        name = NAMES[index % len(NAMES)] if split == "held-out" else r.choices(NAMES, weights)[0]
        row = TASKS[name][1](r)
        prompt = vary(r, row.prompt)
        yield name, row if prompt == row.prompt else Row(prompt, row.answer, row.accept, row.contains, row.keys)


HELD_OUT_ROWS = 30
FEW_PROMPTS = frozenset(
    "small_talk pi_digits known_singles president knowledge multiply invent spell case sentiment".split()
)
"""Tasks with too few prompts to keep any apart: their held-out rows measure recall, not generalisation."""


def held_out(seed: int = 0) -> list[tuple[str, Row]]:
    """Return the held-out rows: ``HELD_OUT_ROWS`` of each task, no prompt twice."""
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

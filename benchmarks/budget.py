"""What a budget costs: masks and steps without one, with one that is far away, and with one that binds.

    python -m benchmarks.budget
    python -m benchmarks.budget --tokenizer ../shared/data/tokenizers/gpt2/tokenizer.json --walks 20

The walks without a limit and with 10^6 tokens are the same, token for token. *Cold* is a fresh guide on a fresh
vocabulary, so that each state is new; *warm* the same walks again. The third budget is the shortest text and 8 tokens:
there each mask near the end is searched. Figures are means of the CPU time of one thread, in microseconds.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from pathlib import Path
from random import Random

import detent
from tests.support.measured_patterns import COUNTED, PATTERNS

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data" / "tokenizers"
FAR = 10**6
SPARE = 8  # tokens beyond the shortest text


def languages() -> dict[str, detent.Language]:
    """Return the patterns, and products, whose completions are not written on their face."""
    every = {name: detent.regex(pattern) for name, pattern in (PATTERNS | COUNTED).items()}
    text = detent.regex(r"(?s:.)*")
    every["text without 3 words"] = text - (text + detent.regex("foo|bar baz|listen") + text)
    every["a product of 3"] = (
        detent.regex("[a-z ]{0,2000}") & (text + "the" + text) & ~(text + detent.regex("xx|yy|zz") + text)
    )
    return every


def walk(guide: detent.Guide, budget: int | None, seed: int, tokens: int) -> tuple[list[int], list[int], list[int]]:
    """Return the nanoseconds of each mask and step of a random walk, and its tokens."""
    rng, clock = Random(seed), time.thread_time_ns
    row = detent.allocate_mask(1, len(guide.vocabulary))[0]
    matcher = guide.matcher(budget)
    end_ids = set(guide.vocabulary.eos_token_ids)
    fills, steps = [], []
    while len(matcher) < tokens and not matcher.is_finished:
        start = clock()
        matcher.fill_mask(row)
        fills.append(clock() - start)
        allowed = matcher.allowed().tolist()
        chosen = rng.choice([token_id for token_id in allowed if token_id not in end_ids] or allowed)
        start = clock()
        matcher.advance(chosen)
        steps.append(clock() - start)
    return fills, steps, matcher.token_ids


def measure(language: detent.Language, tokenizer: Path, walks: int, tokens: int) -> list[str]:
    """Return the cells of one row."""
    shortest = language.min_tokens(detent.Vocabulary.from_file(tokenizer))
    cells, taken = [str(shortest)], []
    for budget in (None, FAR, shortest + SPARE):
        guide = detent.compile(language, detent.Vocabulary.from_file(tokenizer))
        for _ in ("cold", "warm"):
            runs = [walk(guide, budget, seed, tokens) for seed in range(walks)]
            cells.append(f"{statistics.fmean(ns for fills, _, _ in runs for ns in fills) / 1e3:.1f}")
        cells.append(f"{statistics.fmean(ns for _, steps, _ in runs for ns in steps) / 1e3:.1f}")
        taken.append([ids for _, _, ids in runs])
    if taken[0] != taken[1]:
        raise SystemExit(f"{language!r}: a budget of {FAR} changes a walk")
    return cells


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.budget", description=__doc__.splitlines()[0])
    parser.add_argument("--tokenizer", type=Path, default=SHARED / "llama3" / "tokenizer.json")
    parser.add_argument("--walks", type=int, default=10)
    parser.add_argument("--tokens", type=int, default=40, help="tokens of a walk, at most")
    arguments = parser.parse_args()
    kinds = [f"{name} {part}" for name in ("none", "10^6", f"+{SPARE}") for part in ("cold", "warm", "step")]
    lines = [["language", "shortest", *kinds], ["---"] * (len(kinds) + 2)]
    for name, language in languages().items():
        lines.append([f"`{name}`", *measure(language, arguments.tokenizer, arguments.walks, arguments.tokens)])
        sys.stderr.write(f"{name}\n")
    sys.stdout.write("".join(f"| {' | '.join(cell.replace('|', '∣') for cell in line)} |\n" for line in lines))


if __name__ == "__main__":
    main()

"""Masks beside the oracle's on real vocabularies: every pattern, at every place of several walks.

    python -m benchmarks.oracle_check                # gpt2 and llama3, some 1,600 masks, about 15 minutes
    python -m benchmarks.oracle_check --tokenizers gpt2 --walks 1 --patterns URL
    python -m benchmarks.oracle_check --record       # keeps the table in benchmarks/record/

A walk takes random allowed tokens. The first walk of a pattern is held to an example text where there is one, spelled
with random tokens of the longest, since chance alone seldom leaves a string or ends a number. Prints how many masks
were compared, and how many differ.
"""

from __future__ import annotations

import argparse
import sys
import time
from datetime import date
from pathlib import Path

import detent
from tests.support.measured_patterns import EVERY, EXAMPLES
from tests.support.oracle_masks import expected, text_tokens, walk

TOKENIZERS = Path(__file__).resolve().parents[2] / "shared" / "data" / "tokenizers"
RECORDS = Path(__file__).with_name("record")


def check(
    pattern: str, vocabulary: detent.Vocabulary, tokens: list[bytes], walks: int, example: str
) -> tuple[int, int]:
    """Return how many masks were compared, and how many differ; report each difference."""
    masks = differences = 0
    for seed in range(walks):
        for text, allowed in walk(pattern, vocabulary, seed, length=8, example="" if seed else example):
            masks += 1
            wanted = expected(pattern, vocabulary, tokens, text)
            if allowed != wanted:
                differences += 1
                odd = sorted(set(allowed) ^ set(wanted))
                sys.stderr.write(f"\n{pattern!r} after {text!r}: {len(odd)} tokens differ, {odd[:5]} first\n")
    return masks, differences


def main() -> None:
    """Compare, print, and record if asked to."""
    arguments = _arguments()
    lines = ["| pattern | " + " | ".join(f"{name}: masks | differences" for name in arguments.tokenizers) + " |\n"]
    lines.append("| --- |" + " --- | --- |" * len(arguments.tokenizers) + "\n")
    totals = [0] * (2 * len(arguments.tokenizers))
    columns = {}
    started = time.monotonic()
    for name in arguments.tokenizers:
        vocabulary = detent.Vocabulary.from_file(TOKENIZERS / name / "tokenizer.json")
        tokens = text_tokens(vocabulary)
        for label in arguments.patterns:
            columns[label, name] = check(EVERY[label], vocabulary, tokens, arguments.walks, EXAMPLES.get(label, ""))
            sys.stderr.write(f"\r{time.monotonic() - started:6.0f} s {name} {label:24}")
    for label in arguments.patterns:
        cells = [count for name in arguments.tokenizers for count in columns[label, name]]
        totals = [total + count for total, count in zip(totals, cells, strict=True)]
        lines.append("| " + " | ".join([label.replace("|", "\\|"), *map(str, cells)]) + " |\n")
    lines.append("| " + " | ".join(["**total**", *map(str, totals)]) + " |\n")
    text = f"# Masks beside the oracle's\n\n{date.today()}, detent {detent.__version__}.\n\n" + "".join(lines)
    sys.stdout.write(text)
    if arguments.record:
        (RECORDS / f"{date.today()}-oracle.md").write_text(text, encoding="utf-8")
    if any(totals[1::2]):
        raise SystemExit(1)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.oracle_check", description=__doc__.splitlines()[0])
    parser.add_argument("--tokenizers", nargs="+", default=["gpt2", "llama3"], metavar="FOLDER")
    parser.add_argument("--patterns", nargs="+", choices=EVERY, default=list(EVERY), metavar="NAME")
    parser.add_argument("--walks", type=int, default=3, help="for each pattern; the first follows its example")
    parser.add_argument("--record", action="store_true", help="write the table to benchmarks/record/ too")
    return parser.parse_args()


if __name__ == "__main__":
    main()

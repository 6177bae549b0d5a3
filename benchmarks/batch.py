"""Steps of a batch: warm rows of many schemas, and a schema that nobody has seen among them.

    python -m benchmarks.batch [--tokenizer path/to/tokenizer.json] [--record]

The texts are instances of MaskBench's schemas, one sequence at each of many positions; after a text ends, the sequence
starts again. *Warm* masks have all been computed before. Their times are those of the call that provides the masks of
all rows. A *cold* sequence belongs to a schema of its own, whose states are all new; when its text ends, another schema
takes its position, which another thread compiles. Its times are those of the call and of advancing the warm sequences.
Wall time, and CPU time of the thread. Run it on an idle machine: the cold masks need a second core.
"""

from __future__ import annotations

import argparse
import gc
import gzip
import json
import random
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import date
from pathlib import Path
from time import perf_counter_ns, thread_time_ns
from typing import Any, NamedTuple

import detent
from benchmarks.process import ROOT, machine

DATA = ROOT.parent / "shared" / "data"
SHORTEST = 20
"""Tokens of the shortest text that is taken."""


class Text(NamedTuple):
    """A schema and the tokens of one of its instances."""

    schema: Any
    tokens: list[int]


class Sequence:
    """A matcher that walks through a text again and again."""

    def __init__(self, guide: detent.Guide, tokens: list[int], position: int = 0) -> None:
        self.matcher = guide.matcher()
        self._tokens = tokens
        for token in tokens[:position]:
            self.matcher.advance(token)

    def is_at_end(self) -> bool:
        return len(self.matcher) == len(self._tokens)

    def advance(self) -> None:
        if self.is_at_end():
            self.matcher.rollback(len(self._tokens))
        else:
            self.matcher.advance(self._tokens[len(self.matcher)])


def texts(vocabulary: detent.Vocabulary, data: Path, seed: int) -> Iterator[Text]:
    """Yield schemas with an instance that they accept, in a random order."""
    with gzip.open(data, "rt", encoding="utf-8") as lines:
        cases = [json.loads(line) for line in lines]
    random.Random(seed).shuffle(cases)
    for case in cases:
        valid = [test["data"] for test in case["tests"] if test["valid"]]
        if not valid:
            continue
        tokens = vocabulary.encode_canonical(json.dumps(valid[0], ensure_ascii=False))
        if len(tokens) < SHORTEST:
            continue
        try:  # another process's vocabulary would do: this one must not know the masks
            language = detent.json_schema(case["schema"])
            accepted = language.accepts(vocabulary.decode(tokens))
        except detent.DetentError:
            continue
        if accepted:
            yield Text(case["schema"], tokens)


def summary(times: list[int]) -> list[str]:
    """Return the median, p99 and largest of times in nanoseconds, in microseconds."""
    ordered = sorted(times)
    return [f"{ordered[int(len(ordered) * share)] / 1e3:.0f}" for share in (0.5, 0.99, 0.999)]


def measure(
    sequences: list[Sequence],
    steps: int,
    fill: Callable[[list[detent.Matcher]], Any],
    after: Callable[[], None] = lambda: None,
    *,
    with_advance: bool = False,
) -> tuple[list[int], list[int]]:
    """Return wall and CPU times of `fill`, and of advancing the sequences; `after` runs after each step."""
    wall, cpu = [], []
    gc.collect()
    gc.disable()
    for _ in range(steps):
        matchers = [sequence.matcher for sequence in sequences]
        start, start_cpu = perf_counter_ns(), thread_time_ns()
        fill(matchers)
        filled, filled_cpu = perf_counter_ns(), thread_time_ns()
        for sequence in sequences:
            sequence.advance()
        wall.append((perf_counter_ns() if with_advance else filled) - start)
        cpu.append((thread_time_ns() if with_advance else filled_cpu) - start_cpu)
        after()
    gc.enable()
    return wall, cpu


def warm(vocabulary: detent.Vocabulary, found: list[Text], rows: int, steps: int) -> list[list[str]]:
    """Measure warm steps of `fill_mask` and of slots."""
    rng = random.Random(1)
    guides = [(detent.compile(detent.json_schema(text.schema), vocabulary), text.tokens) for text in found]
    sequences = [
        Sequence(guide, tokens, rng.randrange(len(tokens)))
        for guide, tokens in (guides[number % len(guides)] for number in range(rows))
    ]
    mask = detent.allocate_mask(rows, len(vocabulary))
    slots = detent.MaskSlots(detent.allocate_mask(4 * rows, len(vocabulary)))
    lines = []
    for title, fill in (
        ("`BatchMatcher.fill_mask`", lambda matchers: detent.BatchMatcher(matchers, threads=1).fill_mask(mask)),
        ("`MaskSlots.fill`", lambda matchers: slots.fill(matchers, threads=1)),
    ):
        measure(sequences, max(len(tokens) for _, tokens in guides), fill)
        wall, cpu = measure(sequences, steps, fill)
        lines.append([title, str(rows), str(len(found)), *summary(wall), *summary(cpu)])
    return lines


class Stranger:
    """The cold sequence: it goes through one new schema after another."""

    def __init__(self, vocabulary: detent.Vocabulary, new: Iterator[Text], pool: ThreadPoolExecutor) -> None:
        self._vocabulary = vocabulary
        self._new = new
        self._pool = pool
        self._compiling: list[tuple[Text, Future[detent.Guide]]] = []
        self.sequences: list[Sequence] = []  # one, or none while its schema is compiled
        self.is_ready = False
        self.steps_without = 0

    def advance(self) -> None:
        """Take a token if the mask was ready; after a text, have another schema compiled."""
        if self.sequences and not self.is_ready:
            self.steps_without += 1
        elif self.sequences and self.sequences[0].is_at_end():
            self.sequences.clear()
        elif self.sequences:
            self.sequences[0].advance()
        if self._compiling and self._compiling[0][1].done():
            text, future = self._compiling.pop()
            self.sequences.append(Sequence(future.result(), text.tokens))
        elif not self.sequences and not self._compiling:
            self._compiling.append((text := next(self._new), self._pool.submit(self._compile, text)))

    def _compile(self, text: Text) -> detent.Guide:
        return detent.compile(detent.json_schema(text.schema), self._vocabulary)


def cold(
    vocabulary: detent.Vocabulary, known: list[Text], new: Iterator[Text], rows: int, steps: int
) -> list[list[str]]:
    """Measure steps of warm rows alone, and with a cold sequence among them."""
    rng = random.Random(2)
    guides = [(detent.compile(detent.json_schema(text.schema), vocabulary), text.tokens) for text in known]
    sequences = [
        Sequence(guide, tokens, rng.randrange(len(tokens)))
        for guide, tokens in (guides[number % len(guides)] for number in range(rows))
    ]
    slots = detent.MaskSlots(detent.allocate_mask(16 * rows, len(vocabulary)))
    mask = detent.allocate_mask(rows + 1, len(vocabulary))
    lines = []
    for title, has_stranger, wait in (
        ("warm rows alone, `MaskSlots.fill`", False, None),
        ("with a cold row, `BatchMatcher.fill_mask`", True, "fill_mask"),
        ("with a cold row, `MaskSlots.fill`", True, None),
        ("with a cold row, `MaskSlots.fill(wait=0)`", True, 0),
    ):
        with ThreadPoolExecutor(1) as pool:
            stranger = Stranger(vocabulary, new, pool)

            def fill(matchers: list[detent.Matcher], wait: Any = wait, stranger: Stranger = stranger) -> None:
                batch = [*matchers, *(each.matcher for each in stranger.sequences)]
                if wait == "fill_mask":
                    detent.BatchMatcher(batch).fill_mask(mask[: len(batch)])
                    stranger.is_ready = True
                else:
                    stranger.is_ready = slots.fill(batch, wait=wait).slots[-1] != 0

            measure(sequences, max(len(tokens) for _, tokens in guides), fill)
            after = stranger.advance if has_stranger else lambda: None
            wall, cpu = measure(sequences, steps, fill, after, with_advance=True)
            lines.append(
                [title, str(rows), str(len(known)), *summary(wall), *summary(cpu), str(stranger.steps_without)]
            )
    return lines


def table(head: list[str], lines: list[list[str]]) -> str:
    """Compose a table."""
    return "".join(f"| {' | '.join(cells)} |\n" for cells in [head, ["---"] * len(head), *lines])


def main() -> None:
    """Measure and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokenizer", type=Path, default=DATA / "tokenizers" / "llama3" / "tokenizer.json")
    parser.add_argument("--data", type=Path, default=DATA / "maskbench-dev.jsonl.gz")
    parser.add_argument("--rows", type=int, default=512)
    parser.add_argument("--schemas", type=int, default=128)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--record", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # of formats that no specification names
    vocabulary = detent.Vocabulary.from_file(options.tokenizer)
    source = texts(vocabulary, options.data, seed=1)
    found = [next(source) for _ in range(options.schemas)]
    times = ["wall µs: median", "p99", "p99.9", "CPU µs: median", "p99", "p99.9"]
    page = (
        f"# Steps of a batch\n\n{machine()}, {date.today()}, {options.tokenizer.parent.name}.\n\n"
        + table(["warm steps", "rows", "schemas", *times], warm(vocabulary, found, options.rows, options.steps))
        + "\n"
        + table(
            ["a cold schema", "warm rows", "schemas", *times, "steps without the cold row"],
            cold(vocabulary, found[:32], source, 64, options.steps),
        )
    )
    print(page)
    if options.record:
        (ROOT / "benchmarks" / "record" / f"{date.today()}-batch.md").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()

"""Hostile constraints, each in a child process: what compiling, the worst step, a query and the memory cost.

    python -m benchmarks.attacks [--tokenizer llama3] [--kind regex] [--id NAME ...] [--record]

A case is compiled; its masks are then filled along random walks: plain, within a tight budget, and with canonical
tokens. The queries are `completion`, `forced`, `explain`, `min_tokens` and `sample`. All times are CPU time of the
child. A case is *refused* where compiling raises a DetentError, and *fails late* where a step or a query raises
`LimitError` after that.
"""

from __future__ import annotations

import argparse
import functools
import importlib.util
import json
import operator
import os
import random
import resource
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from time import process_time_ns
from typing import Any

import numpy as np

import detent
from benchmarks import attack_cases
from benchmarks.process import ROOT, machine
from benchmarks.timing import memory, reset_peak

SHARED = ROOT.parent / "shared" / "data"
BUILDERS: dict[str, Callable[[Any], Any]] = {
    "regex": detent.regex,
    "json_schema": detent.json_schema,
    "lark": detent.grammar,
    "gbnf": detent.gbnf,
    "ebnf": detent.ebnf,
    "banned_words": lambda words: detent.without(*words),
}
WALKS, STEPS = 4, 40


def tower(language: detent.Language, height: int) -> detent.Language:
    """Complement a language again and again, with another text excluded at each floor."""
    for floor in range(height):
        language = ~(language - detent.literal("a" * floor + "b"))
    return language


def differences(height: int) -> detent.Language:
    """Subtract languages from each other, nested."""
    language = detent.regex("[ab]*")
    for floor in range(height):
        language = detent.regex(f"[ab]{{{floor},}}") - language
    return language


NAMES: dict[str, Any] = {
    "detent": detent,
    "N": tower,
    "D": differences,
    "X": lambda one, other: (one - other) | (other - one),
    "C": lambda count: detent.containing(*(f"w{number}" for number in range(count))),
    "OR": lambda count: functools.reduce(operator.or_, (detent.literal(f"w{7919 * i}") for i in range(count))),
    "LE": lambda one, other: one - other,
}
"""What the Python expressions of the corpus name, without defining it."""


def cases(kinds: list[str], names: list[str]) -> Iterator[dict[str, Any]]:
    """Yield our own cases (all of them by the name `own`) and those of both corpora, with their inputs written out."""
    spec = importlib.util.spec_from_file_location("hostile_gen", SHARED / "hostile" / "hostile_gen.py")
    assert spec is not None  # noqa: S101 - the path ends in .py
    assert spec.loader is not None  # noqa: S101
    generator = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generator)
    for case in attack_cases.cases():
        if (not kinds or case["kind"] in kinds) and (not names or case["id"] in names or "own" in names):
            yield case
    for corpus in ("attacks-dev", "hostile-dev"):
        for line in (SHARED / "hostile" / f"{corpus}.jsonl").read_text(encoding="utf-8").splitlines():
            case = json.loads(line)
            known = case["kind"] in BUILDERS or case["kind"] == "py"
            if known and (not kinds or case["kind"] in kinds) and (not names or case["id"] in names):
                yield {**case, "input": generator.expand(case["input"])}


def build(kind: str, source: Any) -> detent.Language:
    """Return the language of a case; the corpus has Python expressions and schemas written as such."""
    if kind == "py":
        language: detent.Language = eval(source.replace("any_of_bytes", "byte_class"), NAMES)
        return language
    if kind == "json_schema" and isinstance(source, str) and source.startswith("{'"):
        source = eval(source, {})
    made: detent.Language = BUILDERS[kind](source)
    return made


@dataclass
class Measured:
    """The CPU nanoseconds of one case."""

    compile: int = 0
    step: int = 0
    query: int = 0
    canonical: int = 0
    error: str = ""
    message: str = ""
    stage: str = "compile"
    late: list[str] = field(default_factory=list)
    tell: Callable[[], None] = lambda: None
    """Writes what was measured so far, and the stage that begins."""

    def begin(self, stage: str) -> None:
        """Note and tell which stage begins."""
        self.stage = stage
        self.tell()

    def ask(self, name: str, call: Callable[[], Any]) -> None:
        """Time a query; note a limit that it reaches."""
        self.begin(name)
        start = process_time_ns()
        try:
            call()
        except detent.LimitError as error:
            self.late.append(f"{name}: {error}"[:160])
        except (detent.EmptyLanguageError, detent.UnsupportedError, detent.ArgumentError, detent.StateError):
            pass
        self.query = max(self.query, process_time_ns() - start)

    def worst_step(self, guide: detent.Guide, vocabulary: detent.Vocabulary, seeds: int, stage: str) -> None:
        """Note the CPU time of the slowest step of some walks, with and without a budget, and limits reached."""
        worst = 0
        for seed in range(seeds):
            for max_tokens in (None, 30):
                self.begin(f"{stage}, walk {seed}, budget {max_tokens}")
                try:
                    worst = max(worst, walk(guide.matcher(max_tokens), vocabulary, seed))
                except detent.UnsupportedError:  # a budget of canonical tokens with lists of distinct items
                    assert max_tokens is not None  # noqa: S101
                except detent.LimitError as error:
                    if "max_tokens" not in str(error):
                        self.late.append(f"{stage}, budget {max_tokens}: {error}"[:160])
                setattr(self, stage, worst)


def walk(matcher: detent.Matcher, vocabulary: detent.Vocabulary, seed: int) -> int:
    """Return the CPU time of the slowest step of a random walk that prefers long tokens."""
    rng, worst = random.Random(seed), 0
    row = detent.allocate_mask(1, len(vocabulary))[0]
    for _ in range(STEPS):
        start = process_time_ns()
        matcher.fill_mask(row)
        worst = max(worst, process_time_ns() - start)
        ids = np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little")).tolist()
        if not ids:
            break
        count = 1 if seed % 2 else 6
        token = max((rng.choice(ids) for _ in range(count)), key=lambda token: len(vocabulary.token_bytes(token)))
        start = process_time_ns()
        matcher.advance(token)
        worst = max(worst, process_time_ns() - start)
        if matcher.is_finished:
            break
    return worst


def measure(case: dict[str, Any], vocabulary: detent.Vocabulary, found: Measured) -> None:
    """Compile a case, walk it and ask it."""
    start = process_time_ns()
    try:
        language = build(case["kind"], case["input"])
        guide = detent.compile(language, vocabulary)
        guide.matcher().fill_mask(detent.allocate_mask(1, len(vocabulary))[0])
    except detent.DetentError as error:
        found.error, found.message = type(error).__name__, str(error)[:300]
    found.compile = process_time_ns() - start
    if found.error:
        return
    found.worst_step(guide, vocabulary, WALKS, "step")
    matcher = guide.matcher()
    found.ask("completion", matcher.completion)
    found.ask("forced", matcher.forced)
    found.ask("explain", lambda: matcher.explain(7))
    found.ask("min_tokens", lambda: language.min_tokens(vocabulary))
    found.ask("sample", lambda: language.sample(random.Random(1)))
    found.begin("canonical compile")
    try:
        canonical = detent.compile(language, vocabulary, canonical=True)
    except detent.DetentError:
        return
    found.worst_step(canonical, vocabulary, 2, "canonical")
    found.begin("")


def child(case: dict[str, Any], vocabulary: detent.Vocabulary, limit_s: int) -> dict[str, Any]:
    """Measure a case in a forked process, which the system kills after `limit_s` seconds of CPU."""
    reader, writer = os.pipe()
    process = os.fork()
    if process == 0:
        os.close(reader)
        resource.setrlimit(resource.RLIMIT_CPU, (limit_s, limit_s + 1))
        reset_peak()
        before = memory("VmRSS")
        found = Measured()

        def tell() -> None:
            told = {**vars(found), "tell": None, "bytes": memory("VmHWM") - before}
            os.write(writer, json.dumps(told).encode() + b"\n")

        found.tell = tell
        try:
            measure(case, vocabulary, found)
            found.stage = ""
        except BaseException:
            found.stage = traceback.format_exc()[-400:]
        tell()
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        lines = pipe.read().split(b"\n")
    os.waitpid(process, 0)
    told = [json.loads(line) for line in lines if line.endswith(b"}")]
    row = {"id": case["id"], "kind": case["kind"], **vars(Measured()), "bytes": 0, **(told[-1] if told else {})}
    stage = row.pop("stage")
    del row["tell"]
    return {**row, "crash": f"no answer in {limit_s} s of CPU: {stage}"} if stage else row


def report(rows: list[dict[str, Any]], conditions: str) -> str:
    """Compose the page."""
    measured = rows
    parts = [f"# Hostile constraints\n\n{conditions}\n\n{__doc__.split('    python')[0].strip()}\n"]
    late = [row for row in measured if row["late"]]
    refused = sum(bool(row["error"]) for row in measured)
    crashed = sum("crash" in row for row in rows)
    parts.append(f"{len(rows)} cases: {refused} refused, {len(late)} fail late, {crashed} crashed or timed out.\n")
    for figure, unit, form in (
        ("compile", 1e6, "ms"),
        ("step", 1e6, "ms"),
        ("canonical", 1e6, "ms, canonical step"),
        ("query", 1e6, "ms"),
        ("bytes", 1e6, "MB"),
    ):
        worst = sorted(measured, key=lambda row: -row[figure])[:10]
        parts.append(f"## The ten worst: {figure} ({form})\n")
        parts.append(
            "".join(f"- {row['id']} ({row['kind']}): {row[figure] / unit:.1f} {row['error']}\n" for row in worst)
        )
    parts.append("## Fails late\n")
    parts.append("".join(f"- {row['id']} ({row['kind']}): {row['late'][0]}\n" for row in late))
    parts.append("## Crashed or timed out\n")
    parts.append("".join(f"- {row['id']} ({row['kind']}): {row['crash']}\n" for row in rows if "crash" in row))
    return "\n".join(parts)


def main() -> None:
    """Run the cases and print the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokenizer", default="llama3")
    parser.add_argument("--kind", action="append", default=[])
    parser.add_argument("--id", nargs="*", default=[])
    parser.add_argument("--limit", type=int, default=30, help="seconds of CPU a case")
    parser.add_argument("--part", default="1/1", help="2/3: the second third of the cases")
    parser.add_argument("--record", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    folder = SHARED / "tokenizers" / options.tokenizer
    vocabulary = detent.Vocabulary.from_file(folder / "tokenizer.json")
    detent.compile(detent.text(), vocabulary, canonical=True)  # its tables are the vocabulary's, not a case's
    rows = []
    part, parts = map(int, options.part.split("/"))
    for case in list(cases(options.kind, options.id))[part - 1 :: parts]:
        rows.append(child(case, vocabulary, options.limit))
        sys.stderr.write(json.dumps(rows[-1]) + "\n")
    page = report(rows, f"{machine()}, {date.today()}, tokenizer {options.tokenizer}.")
    print(page)
    if options.record:
        name = f"{date.today()}-attacks-{options.tokenizer}.md"
        Path(ROOT / "benchmarks" / "record" / name).write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()

"""Regexes on detent and its peers, side by side in one run.

    python -m benchmarks.regex                        # prints the tables
    python -m benchmarks.regex --record               # and keeps them in benchmarks/record/
    python -m benchmarks.regex --engines detent --patterns email URL --repeats 1

Each engine lives in its own process, and a pattern is measured on all of them before the next one begins, so that a
busy machine is busy for all alike. All figures are CPU time of one thread; medians over the repeats.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import date
from pathlib import Path
from typing import Any

from benchmarks.engines import ENGINES, read_tokens
from benchmarks.process import ROOT, Worker, machine, workers
from benchmarks.report import Results, report
from tests.support.measured_patterns import COUNTED, PATTERNS

RECORDS = Path(__file__).with_name("record")
SLOW_NS = 5_000_000_000


def measure(arguments: argparse.Namespace, patterns: dict[str, str], files: list[str]) -> Results:
    """Run all jobs, interleaved."""
    results = Results()
    with workers({name: _command(name, files) for name in arguments.engines}) as started:
        for name, worker in started.items():
            results.set_up[name] = [worker.set_up]
        slow: set[tuple[str, str]] = set()
        for repeat in range(arguments.repeats):
            first = repeat % len(arguments.engines)
            order = arguments.engines[first:] + arguments.engines[:first]
            for label, pattern in patterns.items():
                for engine in order:
                    if (label, engine) in slow:
                        continue
                    job = {"pattern": pattern, "walks": arguments.walks, "tokens": arguments.tokens}
                    answer = started[engine].ask(job, arguments.limit)
                    results.jobs.setdefault((label, engine), []).append(answer)
                    if "error" in answer or answer["compile_ns"] > SLOW_NS:
                        slow.add((label, engine))
                    sys.stderr.write(f"\r{repeat + 1}/{arguments.repeats} {label:24} {engine:14}")
        for name in arguments.engines:
            results.set_up[name] += [_set_up(name, files) for _ in range(min(2, arguments.repeats - 1))]
    sys.stderr.write("\n")
    return results


def _command(engine: str, files: list[str]) -> list[str]:
    return [sys.executable, "-m", "benchmarks.worker", engine, *files]


def _set_up(engine: str, files: list[str]) -> dict[str, Any]:
    worker = Worker(_command(engine, files))
    worker.close()
    return worker.set_up


def import_times(repeats: int) -> tuple[float, float]:
    """CPU milliseconds of importing NumPy, and of detent after it; medians over fresh processes."""
    code = "from time import process_time as t; a = t(); import numpy; b = t(); import detent; print(b - a, t() - b)"
    times = [
        [float(part) for part in subprocess.check_output([sys.executable, "-c", code], text=True).split()]
        for _ in range(max(3, repeats))
    ]
    numpy_s, detent_s = (statistics.median(column) for column in zip(*times, strict=True))
    return numpy_s * 1e3, detent_s * 1e3


def main() -> None:
    """Measure, print, and record if asked to."""
    arguments = _arguments()
    every = PATTERNS | COUNTED
    patterns = {name: every[name] for name in arguments.patterns or every}
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        tokens, eos = read_tokens(arguments.tokenizer)
        tokens_file = Path(folder) / "tokens.json"
        tokens_file.write_text(json.dumps({"eos": eos, "tokens": [token.hex() for token in tokens]}), encoding="ascii")
        results = measure(arguments, patterns, [str(arguments.tokenizer), str(tokens_file)])
    text = report(
        results,
        engines=arguments.engines,
        patterns=patterns,
        imports=import_times(arguments.repeats) if "detent" in arguments.engines else None,
        conditions=(
            f"{date.today()}; {machine()}. Tokenizer {arguments.tokenizer.parent.name} ({len(tokens)} ids); "
            f"{arguments.repeats} repeats, {arguments.walks} walks of up to {arguments.tokens} tokens; "
            f"CPU time of one thread; the run took {time.monotonic() - started:.0f} s."
        ),
    )
    sys.stdout.write(text)
    if arguments.record:
        target = RECORDS / f"{date.today()}-regex-{arguments.tokenizer.parent.name}.md"
        target.write_text(text, encoding="utf-8")
        sys.stderr.write(f"recorded in {target}\n")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.regex", description=__doc__.splitlines()[0])
    shared = ROOT.parent / "shared" / "data" / "tokenizers" / "llama3" / "tokenizer.json"
    parser.add_argument("--tokenizer", type=Path, default=shared, help="a byte-level BPE tokenizer.json")
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=list(ENGINES))
    names = [*PATTERNS, *COUNTED]
    parser.add_argument("--patterns", nargs="+", choices=names, metavar="NAME", help="names in patterns.py")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--walks", type=int, default=5)
    parser.add_argument("--tokens", type=int, default=100, help="tokens of a walk, at most")
    parser.add_argument("--limit", type=float, default=120.0, help="seconds for one engine and pattern")
    parser.add_argument("--record", action="store_true", help="write the tables to benchmarks/record/ too")
    return parser.parse_args()


if __name__ == "__main__":
    main()

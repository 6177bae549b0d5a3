"""MaskBench on detent and its peers, side by side in one run.

    python -m benchmarks.maskbench                                       # a sample of 610 schemas, all engines
    python -m benchmarks.maskbench --all --engines detent "detent any order"
    python -m benchmarks.maskbench --sample 100 --failures failures.md   # what detent got wrong or refused, and why
    python -m benchmarks.maskbench --record                              # keeps the page in benchmarks/record/

Each engine lives in its own process, and a schema is judged by all of them before the next one begins, so that a busy
machine is busy for all alike. Instances are written as MaskBench's own runner does, `json.dumps(data,
ensure_ascii=False)`, members in their own order; unlike there, the end of the text is checked too.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import sys
import tempfile
import time
from collections.abc import Iterable
from datetime import date
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from benchmarks.engines import read_tokens
from benchmarks.maskbench_report import failures, report
from benchmarks.process import ROOT, machine, workers
from benchmarks.schema_engines import SCHEMA_ENGINES

RECORDS = Path(__file__).with_name("record")
SHARED = ROOT.parent / "shared" / "data"


def read(path: Path) -> list[dict[str, Any]]:
    """Return the schemas with their instances."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def sample(schemas: list[dict[str, Any]], size: int, seed: int) -> list[dict[str, Any]]:
    """Choose some schemas, from each subset its share."""
    choose = random.Random(seed)
    subsets: dict[str, list[dict[str, Any]]] = {}
    for schema in schemas:
        subsets.setdefault(schema["subset"], []).append(schema)
    shares = {name: size * len(members) / len(schemas) for name, members in subsets.items()}
    counts = {name: int(share) for name, share in shares.items()}
    for name in sorted(shares, key=lambda name: counts[name] - shares[name])[: size - sum(counts.values())]:
        counts[name] += 1
    return [schema for name, members in subsets.items() for schema in choose.sample(members, counts[name])]


def judge(
    schemas: Iterable[dict[str, Any]], commands: dict[str, list[str]], tokenizer: Tokenizer, limit_s: float
) -> tuple[dict[str, dict[str, Any]], list[dict[str, Any]]]:
    """Ask all engines about all schemas; return what their set-up answered, and the answers by schema and engine."""
    every = []
    with workers(commands) as started:
        for number, schema in enumerate(schemas):
            texts = [json.dumps(test["data"], ensure_ascii=False) for test in schema["tests"]]
            job = {
                "schema": json.dumps(schema["schema"], ensure_ascii=False),
                "instances": [tokenizer.encode(text, add_special_tokens=False).ids for text in texts],
            }
            answers = {}
            for engine, worker in started.items():
                sys.stderr.write(f"\r{number + 1} {schema['name'][:40]:40} {engine:20}")
                answers[engine] = worker.ask(job, limit_s)
            lengths, ids = list(map(len, job["instances"])), job["instances"]
            every.append({"schema": schema, "texts": texts, "lengths": lengths, "ids": ids, **answers})
        set_up = {engine: worker.set_up for engine, worker in started.items()}
    sys.stderr.write("\n")
    return set_up, every


def main() -> None:
    """Measure, print, and record if asked to."""
    arguments = _arguments()
    schemas = read(arguments.data)
    if arguments.names:
        schemas = [schema for schema in schemas if schema["name"] in arguments.names]
    elif not arguments.all:
        schemas = sample(schemas, arguments.sample, arguments.seed)
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        tokens, eos = read_tokens(arguments.tokenizer)
        tokens_file = Path(folder) / "tokens.json"
        tokens_file.write_text(json.dumps({"eos": eos, "tokens": [token.hex() for token in tokens]}), encoding="ascii")
        commands = {
            engine: [
                sys.executable if engine.startswith("detent") else arguments.peer_python,
                *["-m", "benchmarks.schema_worker", engine, str(arguments.tokenizer), str(tokens_file)],
            ]
            for engine in arguments.engines
        }
        set_up, every = judge(schemas, commands, Tokenizer.from_file(str(arguments.tokenizer)), arguments.limit)
    chosen = "all" if arguments.all else f"a sample by subset (seed {arguments.seed})"
    conditions = (
        f"{date.today()}; {machine()}. {len(schemas)} schemas, {chosen}; "
        f"tokenizer {arguments.tokenizer.parent.name} ({len(tokens)} ids); limit {arguments.limit:.0f} s a schema; "
        f"CPU time of one thread; the run took {time.monotonic() - started:.0f} s."
    )
    text = report(set_up, every, conditions)
    sys.stdout.write(text)
    if arguments.failures:
        found = failures(every, arguments.engines, Tokenizer.from_file(str(arguments.tokenizer)))
        arguments.failures.write_text(found, encoding="utf-8")
    if arguments.record:
        target = RECORDS / f"{date.today()}-maskbench-{arguments.tokenizer.parent.name}.md"
        target.write_text(text, encoding="utf-8")
        sys.stderr.write(f"recorded in {target}\n")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.maskbench", description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=SHARED / "maskbench-dev.jsonl.gz")
    llama3 = SHARED / "tokenizers" / "llama3" / "tokenizer.json"
    parser.add_argument("--tokenizer", type=Path, default=llama3, help="a byte-level BPE tokenizer.json")
    parser.add_argument("--engines", "--engine", nargs="+", choices=SCHEMA_ENGINES, default=list(SCHEMA_ENGINES))
    parser.add_argument("--sample", type=int, default=610, help="how many schemas")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--all", action="store_true", help="no sample")
    parser.add_argument("--names", nargs="+", help="these schemas alone")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for one engine and schema")
    parser.add_argument("--peer-python", default=sys.executable, help="the interpreter that has the peers")
    parser.add_argument("--failures", type=Path, help="write what detent refused or judged wrong here, with reasons")
    parser.add_argument("--record", action="store_true", help="write the page to benchmarks/record/ too")
    return parser.parse_args()


if __name__ == "__main__":
    main()

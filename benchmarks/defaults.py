"""The answers of the embedded model to its held-out prompts, under the defaults and under other options.

    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python -m benchmarks.defaults

A prompt gets a rule from the form of its answer, without the content: a JSON Schema for JSON, a choice where a task has
few answers, a date, an integer. Other prompts have no rule. An answer is exact if it is the expected text or, for JSON,
the expected value. "plain, 1.0" are the options of a call without canonical tokens at temperature 1, with every JSON
spelling; "defaults" are those of a call that names none. Both again at temperature 0.
"""

from __future__ import annotations

import argparse
import datetime
import inspect
import json
import platform
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import detent

sys.path.insert(0, str(Path(__file__).parents[1] / "tools"))

CHOICES = 8
"""A task with at most this many answers is a choice."""
TEXT_SPELLING: dict[str, Any] = (
    {"spelling": "any"} if "spelling" in inspect.signature(detent.json_schema).parameters else {}
)
WAYS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "plain, 1.0": ({"canonical": False, "temperature": 1.0}, TEXT_SPELLING),
    "defaults": ({}, {}),
    "plain, greedy": ({"canonical": False, "temperature": 0}, TEXT_SPELLING),
    "defaults, greedy": ({"temperature": 0}, {}),
}


def schema_of(value: object) -> dict[str, Any]:
    """Return a schema of the form of a value: names and types, not contents."""
    if isinstance(value, dict):
        properties = {name: schema_of(member) for name, member in value.items()}
        return {
            "type": "object", "properties": properties, "required": list(value), "additionalProperties": False
        }  # fmt: skip
    if isinstance(value, list):
        return {"type": "array", "items": schema_of(value[0])} if value else {"type": "array"}
    kinds = {bool: "boolean", int: "integer", float: "number", str: "string"}
    return {"type": kinds.get(type(value), "null")}


def rule_of(answer: str, answers: set[str], options: dict[str, Any]) -> detent.Language | None:
    """Return a rule for the form of an answer."""
    try:
        value = json.loads(answer)
    except ValueError:
        value = None
    if isinstance(value, (dict, list)):
        return detent.json_schema(schema_of(value), **options)
    if isinstance(value, int):
        return detent.integer()
    if detent.date().accepts(answer):
        return detent.date()
    return detent.choice(*sorted(answers)) if len(answers) <= CHOICES else None


def is_exact(text: str, answer: str) -> bool:
    if text == answer:
        return True
    try:
        return isinstance(json.loads(answer), (dict, list)) and bool(json.loads(text) == json.loads(answer))
    except ValueError:
        return False


def run(model: detent.models.Model, rows: list[Any], answers: dict[str, set[str]], way: str) -> dict[bool, list[float]]:
    """Return, for prompts with and without a rule: their number, exact answers, tokens, model calls, seconds."""
    options, schema_options = WAYS[way]
    sums: dict[bool, list[float]] = {True: [0.0] * 5, False: [0.0] * 5}
    for index, (task, row) in enumerate(rows):
        rule = rule_of(row.answer, answers[task], schema_options)
        started = time.perf_counter()
        out = detent.generate(model, row.prompt, rule, max_tokens=200, seed=index, **options)
        seconds = time.perf_counter() - started
        figures = (1, is_exact(out.text, row.answer), len(out.token_ids), out.report.model_calls, seconds)
        sums[rule is not None] = [a + b for a, b in zip(sums[rule is not None], figures, strict=True)]
    return sums


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--every", type=int, default=1, help="take every N-th prompt")
    options = parser.parse_args()
    import write_corpus

    every = write_corpus.held_out()
    answers: dict[str, set[str]] = defaultdict(set)
    for task, row in every:
        answers[task].add(row.answer)
    rows = every[:: options.every]
    model = detent.load_model()
    print(f"{datetime.date.today()}, detent {detent.__version__}, Python {platform.python_version()}\n")
    print("| | prompts | exact | tokens an answer | model calls an answer | ms an answer |")
    print("|---|---|---|---|---|---|")
    for way in WAYS:
        for with_rule, (count, exact, tokens, calls, seconds) in run(model, rows, answers, way).items():
            cells = f"{exact:.0f} ({100 * exact / count:.1f} %) | {tokens / count:.1f} | {calls / count:.1f}"
            kind = "with a rule" if with_rule else "without"
            print(f"| {way}, {kind} | {count:.0f} | {cells} | {1e3 * seconds / count:.1f} |", flush=True)


if __name__ == "__main__":
    main()

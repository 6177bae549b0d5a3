"""`detent compile`: the size of a rule, its shortest text, how many texts there are, and warnings."""

from __future__ import annotations

import json
import sys
import warnings
from time import perf_counter
from typing import Any

from detent.cli.inputs import read_rule
from detent.cli.models import open_vocabulary
from detent.cli.terminal import painted, progress
from detent.errors import ArgumentError, DetentError
from detent.generation.request import compile_by_default
from detent.language import Language
from detent.reason import printable

__all__ = ["run"]


def run(options: Any) -> int:
    """Run the command and return its exit status."""
    if options.samples < 0:
        raise ArgumentError(f"--samples must be a number from 0 on, got {options.samples}")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        began = perf_counter()
        rule = read_rule(options)
        read_seconds = perf_counter() - began
    assert isinstance(rule, Language)  # noqa: S101 - the rule is required
    vocabulary = open_vocabulary(options.tokenizer)
    with progress("compiling the language"):
        began = perf_counter()
        guide = compile_by_default(rule, vocabulary, options.canonical)
        matcher = guide.matcher()
        first = len(matcher.allowed())
        seconds = perf_counter() - began
    shortest = rule.shortest()
    found: dict[str, Any] = {
        "rule": repr(rule),
        "read_ms": round(1e3 * read_seconds, 3),
        "compile_ms": round(1e3 * seconds, 3),
        "canonical": guide.canonical,
        "first_tokens": first,
        "shortest": None if shortest is None else shortest.decode("utf-8", "backslashreplace"),
        "count": _count(rule),
        "samples": [text.decode("utf-8", "backslashreplace") for text in _samples(rule, options.samples)],
        "warnings": [str(warning.message) for warning in caught],
    }
    if options.json:
        sys.stdout.write(json.dumps(found, ensure_ascii=False) + "\n")
        return 0
    for name, value in found.items():
        for line in value if isinstance(value, list) else [value]:
            sys.stdout.write(f"{painted(name.replace('_', ' '), 'bold'):14} {printable(str(line))}\n")
    return 0


def _count(rule: Language) -> int | str:
    try:
        return rule.count()
    except ArgumentError:
        return "infinitely many"
    except DetentError as error:
        return str(error).split(";")[0]


def _samples(rule: Language, count: int) -> list[bytes]:
    try:
        texts = [rule.sample() for _ in range(count)]
    except DetentError:
        return []
    return [text.encode() if isinstance(text, str) else text for text in texts]

"""A process that measures one engine: reads a job a line from standard input, writes a result a line.

    python -m benchmarks.worker detent path/to/tokenizer.json path/to/tokens.json

The second file holds what `engines.read_tokens` made of the first: a process that read the large one itself would reuse
that memory, and its engine would seem smaller than it is. A job is a pattern, a number of walks and their length; a
result holds CPU times in nanoseconds and memory in bytes.
"""

from __future__ import annotations

import ctypes
import gc
import json
import random
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from time import process_time_ns
from typing import Any

import numpy as np

from benchmarks.engines import ENGINES, Engine

WARM_UP = "warm[0-9]up"
"""Walked on each fresh vocabulary before anything is measured: a first call pays for page faults and lazy tables."""


@dataclass
class Steps:
    """CPU time of the steps of one round of walks, in nanoseconds."""

    fill: list[int] = field(default_factory=list)
    advance: list[int] = field(default_factory=list)


def main() -> None:
    """Serve jobs until the input ends."""
    name, path, tokens = sys.argv[1], Path(sys.argv[2]), json.loads(Path(sys.argv[3]).read_text(encoding="ascii"))
    engine = ENGINES[name](path, [bytes.fromhex(token) for token in tokens["tokens"]], tokens["eos"])
    del tokens
    ctypes.CDLL(None).malloc_trim(0)
    before = _memory("VmRSS")
    spent, _ = _timed(engine.set_up)
    _answer(version=engine.version, set_up_ns=spent, set_up_bytes=_memory("VmRSS") - before)
    for line in sys.stdin:
        try:
            _answer(**_measure(engine, **json.loads(line), before=before))
        except Exception as error:  # whatever an engine raises is its answer
            _answer(error=f"{type(error).__name__}: {error}"[:200])


def _measure(engine: Engine, pattern: str, walks: int, tokens: int, before: int) -> dict[str, Any]:
    engine.set_up()  # so that no cache helps
    _walk(engine, engine.compile(WARM_UP), 0, 20, Steps())
    gc.collect()
    gc.disable()
    ctypes.CDLL(None).malloc_trim(0)
    _reset_peak()
    compile_ns, compiled = _timed(lambda: engine.compile(pattern))
    first_ns, _ = _timed(lambda: engine.walk(compiled)[0]())
    rounds = []
    for _ in ("cold", "warm"):
        steps = Steps()
        for seed in range(walks):
            _walk(engine, compiled, seed, tokens, steps)
        rounds.append(vars(steps))
    gc.enable()
    cold, warm = rounds
    return {
        "compile_ns": compile_ns,
        "first_ns": first_ns,
        "cold": cold,
        "warm": warm,
        "peak_bytes": _memory("VmHWM") - before,
    }


def _walk(engine: Engine, compiled: object, seed: int, tokens: int, steps: Steps) -> None:
    """Take random allowed tokens until end-of-text, each as likely as the other."""
    choose = random.Random(seed)
    fill, advance = engine.walk(compiled)
    for _ in range(tokens):
        spent, _ = _timed(fill)
        steps.fill.append(spent)
        allowed = np.flatnonzero(np.unpackbits(engine.row.view(np.uint8), bitorder="little"))
        if len(allowed) == 0:
            return
        token = int(allowed[choose.randrange(len(allowed))])
        if token == engine.eos:
            return
        spent, _ = _timed(lambda: advance(token))  # noqa: B023 - called at once
        steps.advance.append(spent)


def _timed(call: Callable[[], Any]) -> tuple[int, Any]:
    start = process_time_ns()
    result = call()
    return max(process_time_ns() - start - CLOCK_NS, 0), result


def _clock() -> int:
    """Return what timing an empty call shows: a large part of the shortest masks."""
    times = []
    for _ in range(10_001):
        start = process_time_ns()
        _nothing()
        times.append(process_time_ns() - start)
    return sorted(times)[len(times) // 2]


def _nothing() -> None:
    """Be the empty call."""


def _memory(name: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name + ":"):
            return int(line.split()[1]) * 1024
    return 0


def _reset_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5")


def _answer(**values: Any) -> None:
    sys.stdout.write(json.dumps(values) + "\n")
    sys.stdout.flush()


CLOCK_NS = _clock()

if __name__ == "__main__":
    main()

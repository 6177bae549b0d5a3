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
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.engines import ENGINES, Engine
from benchmarks.timing import answer, memory, reset_peak, timed

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
    before = memory("VmRSS")
    spent, _ = timed(engine.set_up)
    answer(version=engine.version, set_up_ns=spent, set_up_bytes=memory("VmRSS") - before)
    for line in sys.stdin:
        try:
            answer(**_measure(engine, **json.loads(line), before=before))
        except Exception as error:  # whatever an engine raises is its answer
            answer(error=f"{type(error).__name__}: {error}"[:200])


def _measure(engine: Engine, pattern: str, walks: int, tokens: int, before: int) -> dict[str, Any]:
    engine.set_up()  # so that no cache helps
    _walk(engine, engine.compile(WARM_UP), 0, 20, Steps())
    gc.collect()
    gc.disable()
    ctypes.CDLL(None).malloc_trim(0)
    reset_peak()
    compile_ns, compiled = timed(lambda: engine.compile(pattern))
    first_ns, _ = timed(lambda: engine.walk(compiled)[0]())
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
        "peak_bytes": memory("VmHWM") - before,
    }


def _walk(engine: Engine, compiled: object, seed: int, tokens: int, steps: Steps) -> None:
    """Take random allowed tokens until end-of-text, each as likely as the other."""
    choose = random.Random(seed)
    fill, advance = engine.walk(compiled)
    for _ in range(tokens):
        spent, _ = timed(fill)
        steps.fill.append(spent)
        allowed = np.flatnonzero(np.unpackbits(engine.row.view(np.uint8), bitorder="little"))
        if len(allowed) == 0:
            return
        token = int(allowed[choose.randrange(len(allowed))])
        if token == engine.eos:
            return
        spent, _ = timed(lambda: advance(token))  # noqa: B023 - called at once
        steps.advance.append(spent)


if __name__ == "__main__":
    main()

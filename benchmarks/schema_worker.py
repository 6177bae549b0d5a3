"""A process that judges instances by one engine: reads a schema a line from standard input, writes a result a line.

    python -m benchmarks.schema_worker "llguidance lenient" path/to/tokenizer.json path/to/tokens.json

A job is the text of a schema and the token ids of its instances. An instance is accepted iff each of its tokens is in
the mask before it and end-of-text is in the mask after the last. The vocabulary and its caches live as long as the
process, as in a server. A result holds CPU times in nanoseconds and memory in bytes.
"""

from __future__ import annotations

import ctypes
import gc
import json
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.engines import Engine
from benchmarks.schema_engines import SCHEMA_ENGINES
from benchmarks.timing import answer, memory, timed

WARM_UP = '{"type":"object","properties":{"warm":{"type":"boolean"}},"required":["warm"],"additionalProperties":false}'
"""Compiled before anything is measured: a first call pays for page faults and lazy tables."""


def main() -> None:
    """Serve jobs until the input ends."""
    warnings.simplefilter("ignore")  # of formats that no specification names
    name, path, tokens = sys.argv[1], Path(sys.argv[2]), json.loads(Path(sys.argv[3]).read_text(encoding="ascii"))
    engine = SCHEMA_ENGINES[name](path, [bytes.fromhex(token) for token in tokens["tokens"]], tokens["eos"])
    del tokens
    ctypes.CDLL(None).malloc_trim(0)
    before = memory("VmRSS")
    spent, _ = timed(engine.set_up)
    engine.walk(engine.compile(WARM_UP))[0]()
    answer(version=engine.version, set_up_ns=spent)
    for line in sys.stdin:
        job = json.loads(line)
        answer(**_judge(engine, job["schema"], job["instances"]), peak_bytes=memory("VmHWM") - before)


def _judge(engine: Engine, schema: str, instances: list[list[int]]) -> dict[str, Any]:
    gc.collect()
    gc.disable()
    fills: list[int] = []
    advances: list[int] = []
    stops: list[int | None] = []
    forced: list[int] = []
    try:
        compile_ns, compiled = timed(lambda: engine.compile(schema))
        first_ns, _ = timed(lambda: engine.walk(compiled)[0]())
        result = {"compile_ns": compile_ns, "first_ns": first_ns}
    except Exception as error:  # whatever an engine raises is its answer
        gc.enable()
        return {"refused": f"{type(error).__name__}: {error}"[:600]}
    try:
        for tokens in instances:
            stop, narrow = _walk(engine, compiled, tokens, fills, advances)
            stops.append(stop)
            forced.append(narrow)
    except Exception as error:
        return result | {"error": f"{type(error).__name__}: {error}"[:600]}
    finally:
        gc.enable()
    return result | {"fills": fills, "advances": advances, "stops": stops, "forced": forced}


def _walk(
    engine: Engine, compiled: object, tokens: list[int], fills: list[int], advances: list[int]
) -> tuple[int | None, int]:
    """Return the number of tokens before the refused one, None if the instance is accepted; and the forced tokens."""
    fill, advance = engine.walk(compiled)
    forced = 0
    for place, token in enumerate([*tokens, engine.eos]):
        spent, _ = timed(fill)
        if place:
            fills.append(spent)
        if not engine.row[token >> 5] >> (token & 31) & 1:
            return place, forced
        forced += int(np.bitwise_count(engine.row.view(np.uint32)).sum()) == 1
        if place < len(tokens):
            spent, _ = timed(lambda: advance(token))  # noqa: B023 - called at once
            advances.append(spent)
    return None, forced


if __name__ == "__main__":
    main()

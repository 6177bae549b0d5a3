"""Tokens per second of engines on the embedded weights: without a rule, with detent, and with the engine's own backend.

    python -m benchmarks.host_engines ENGINE [MODEL]

ENGINE is one of `benchmarks.host_engine_ways.ENGINES`. Run it in the environment of the engine (`just engine NAME`).
MODEL is a folder from `tools/write_transformers.py`, a GGUF file from `tools/write_gguf.py`, or a folder of ONNX
Runtime GenAI; JAX needs none.

Each way writes the same prompts greedily, by JSON Schema, regex and choice, 64 tokens at most. The ways take turns, the
first round warms up, and the median of the others counts. *Valid* are outputs that ended and are right, as `json` and
`re` tell. Compiling is included where the engine compiles for each request. Tokens count by the second of wall time,
and by the second of processor time, which depends less on what else the machine does. The model is tiny (2.4 M
parameters), so a step takes some milliseconds: a rule weighs more here than beside a large model.
"""

from __future__ import annotations

import argparse
import statistics
from time import perf_counter, process_time

from benchmarks.host_engine_ways import ENGINES, KINDS
from tests.integrations.engines.cases import PROMPTS, cases


def is_right(kind: str, text: str) -> bool:
    """Whether a text is right, told without detent."""
    try:
        return cases()[kind].is_right(text)
    except (ValueError, KeyError, TypeError):
        return False


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("engine", choices=sorted(ENGINES))
    parser.add_argument("model", nargs="?", default="")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    ways = ENGINES[options.engine](options.model)
    speeds: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    valid: dict[str, int] = dict.fromkeys(ways, 0)
    total = 0
    for turn in range(options.rounds + 1):
        for name, write in ways.items():
            tokens, wall, cpu = 0, 0.0, 0.0
            for kind in KINDS:
                started, used = perf_counter(), process_time()
                texts = write(kind, PROMPTS)
                wall += perf_counter() - started
                cpu += process_time() - used
                tokens += sum(each.token_count for each in texts)
                valid[name] += sum(bool(turn) and each.ended and is_right(kind, each.text) for each in texts)
            if turn:  # the first round warms up
                speeds[name].append((tokens / wall, tokens / cpu))
        total += len(KINDS) * len(PROMPTS) * bool(turn)
    print(f"| {options.engine} | tokens/s | range | tokens by CPU second | valid |\n|---|---|---|---|---|")
    for name, found in speeds.items():
        walls, cpus = zip(*found, strict=True)
        share = "" if name.startswith("no rule") else f"{valid[name]} of {total}"
        middle = statistics.median(walls), statistics.median(cpus)
        print(f"| {name} | {middle[0]:.0f} | {min(walls):.0f} to {max(walls):.0f} | {middle[1]:.0f} | {share} |")


if __name__ == "__main__":
    main()

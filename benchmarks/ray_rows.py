"""Rows per second of `detent.ray.generate_files` on one worker and on two, and the memory of a worker.

    python -m benchmarks.ray_rows [--rows 1500]

Each row asks for an integer or one of two words, with the embedded model. The time is that of the whole job without
the start of Ray; a job of a few rows runs before, so that the second figure, rows without that start-up, is the slope.
Memory is the largest resident size that a worker reports, for a job of a tenth of the rows and of all.
"""

from __future__ import annotations

import argparse
import os
import resource
import tempfile
from collections.abc import Mapping
from pathlib import Path
from time import perf_counter
from typing import Any

import pyarrow
import ray
from pyarrow import parquet

import detent
import detent.ray


def ask(row: Mapping[str, Any]) -> detent.Request:
    """Return what is asked of the model for one row, and note the memory of the worker."""
    size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    Path(row["folder"], str(os.getpid())).write_text(str(size))
    rule: Any = {"type": "integer", "maximum": 99} if row["id"] % 2 else ["Yes", "No"]
    return detent.Request(row["prompt"], rule, temperature=0, seed=row["id"])


def run(rows: int, workers: int) -> tuple[float, float]:
    """Return the seconds of a job and the largest memory of a worker in megabytes."""
    with tempfile.TemporaryDirectory() as folder:
        memory = Path(folder, "memory")
        memory.mkdir()
        prompts = [f"What is {number % 90} + 2?" for number in range(rows)]
        table = pyarrow.table({"id": range(rows), "prompt": prompts, "folder": [str(memory)] * rows})
        parquet.write_table(table, Path(folder, "rows.parquet"))
        start = perf_counter()
        summary = detent.ray.generate_files(
            Path(folder, "rows.parquet"), Path(folder, "out"), ask, workers=workers, rows_per_chunk=50
        )
        seconds = perf_counter() - start
        assert (summary.rows, summary.failed) == (rows, 0)  # noqa: S101
        return seconds, max(int(file.read_text()) for file in memory.iterdir()) / 1024


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=int, default=1500)
    rows = parser.parse_args().rows
    ray.init(num_cpus=2, log_to_driver=False)
    print(
        "| workers | rows | seconds | rows/s | rows/s without the start | MB of a worker |\n|---|---|---|---|---|---|"
    )
    for workers in (1, 2):
        few, _ = run(rows // 10, workers)
        for count, (seconds, memory) in ((rows // 10, run(rows // 10, workers)), (rows, run(rows, workers))):
            slope = f"{(count - rows // 10) / (seconds - few):.0f}" if count > rows // 10 else ""
            print(
                f"| {workers} | {count} | {seconds:.1f} | {count / seconds:.0f} | {slope} | {memory:.0f} |", flush=True
            )


if __name__ == "__main__":
    main()

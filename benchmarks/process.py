"""Processes that serve one engine each, and the machine they run on."""

from __future__ import annotations

import json
import os
import platform
import select
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

__all__ = ["ROOT", "Worker", "machine", "workers"]

ROOT = Path(__file__).resolve().parents[1]


class Worker:
    """A process that answers a line of JSON with another; killed and started anew when it takes too long."""

    def __init__(self, command: list[str]) -> None:
        self.command = command
        self._start()

    def _start(self) -> None:
        self.process = subprocess.Popen(
            self.command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )
        self.set_up = self._read(120.0)

    def ask(self, job: dict[str, Any], limit_s: float) -> dict[str, Any]:
        """Return the answer to a job, or a record of the failure."""
        assert self.process.stdin is not None  # noqa: S101 - a pipe was asked for
        self.process.stdin.write(json.dumps(job) + "\n")
        answer = self._read(limit_s)
        if self.process.poll() is not None or answer.get("error", "").startswith("no answer"):
            self.close()
            self._start()
        return answer

    def _read(self, limit_s: float) -> dict[str, Any]:
        assert self.process.stdout is not None  # noqa: S101
        ready, _, _ = select.select([self.process.stdout], [], [], limit_s)
        line = self.process.stdout.readline() if ready else ""
        if not line:
            return {"error": f"no answer within {limit_s:.0f} s" if not ready else "no answer: the process died"}
        answer: dict[str, Any] = json.loads(line)
        return answer

    def close(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.communicate()


@contextmanager
def workers(commands: dict[str, list[str]]) -> Iterator[dict[str, Worker]]:
    """Start a worker for each command; end them all."""
    started = {name: Worker(command) for name, command in commands.items()}
    try:
        yield started
    finally:
        for worker in started.values():
            worker.close()


def machine() -> str:
    """Return the processor, the number of usable cores and the Python."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    memory = int(Path("/proc/meminfo").read_text().split()[1]) / 2**20
    cores = len(os.sched_getaffinity(0))
    return f"{names[0] if names else 'unknown'}, {cores} cores, {memory:.0f} GiB, Python {platform.python_version()}"

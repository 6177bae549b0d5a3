"""Jobs on a cluster of Ray on this machine: workers that are killed, a job that is stopped and run again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

import pytest

pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")
ray = pytest.importorskip("ray", reason="needs Ray: just ray")

pytestmark = [pytest.mark.engines, pytest.mark.filterwarnings("ignore")]

JOB = """
    import os, sys, time
    import detent, detent.ray

    def ask(row):
        time.sleep(0.02)
        if row["id"] % 10 == 3:
            raise ValueError("a row that fails")
        rule = {"type": "integer", "maximum": 99} if row["id"] % 2 else ["Yes", "No"]
        return detent.Request(row["prompt"], rule, temperature=0, seed=row["id"])

    def load():
        with open(os.path.join(sys.argv[2], "..", "workers"), "a") as file:
            print(os.getpid(), file=file)
        return detent.load_model()

    if __name__ == "__main__":
        summary = detent.ray.generate_files(
            sys.argv[1], sys.argv[2], ask, load_model=load, workers=2, batch_size=8, rows_per_chunk=10
        )
        print("summary", *summary)
"""
ROWS = 200


@pytest.fixture
def job(tmp_path: Path) -> list[str]:
    table = pyarrow.table({"id": range(ROWS), "prompt": [f"What is {n % 9} + 2?" for n in range(ROWS)]})
    parquet.write_table(table, tmp_path / "rows.parquet")
    script = tmp_path / "job.py"
    script.write_text(dedent(JOB).replace("sys.argv[2]", repr(str(tmp_path / "out"))))
    return [sys.executable, str(script), str(tmp_path / "rows.parquet"), str(tmp_path / "out")]


def finish(job: list[str]) -> str:
    done = subprocess.run(job, capture_output=True, text=True, timeout=500, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return next(line for line in done.stdout.splitlines() if line.startswith("summary"))


def check(job: list[str]) -> None:
    """Assert that each row was written once, with its text or its error."""
    files = sorted(Path(job[3]).glob("*.parquet"))
    rows = [row for file in files for row in parquet.read_table(file).to_pylist()]
    assert [row["id"] for row in rows] == list(range(ROWS))
    for row in rows:
        if row["id"] % 10 == 3:
            assert (row["error_type"], row["error"], row["text"]) == ("ValueError", "a row that fails", None)
        else:
            assert row["error"] is None
            assert row["text"].lstrip("-").isdigit() if row["id"] % 2 else row["text"] in ("Yes", "No")
    assert not list(Path(job[3]).glob("*.partial"))


def wait_for(condition: object, seconds: float = 120) -> None:
    until = time.monotonic() + seconds
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < until
        time.sleep(0.1)


def test_a_killed_worker_loses_and_doubles_no_row(job: list[str]) -> None:
    running = subprocess.Popen(job, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    out = Path(job[3])
    wait_for(lambda: len(list(out.glob("part-*.parquet"))) >= 3)
    first = int((out.parent / "workers").read_text().split()[0])
    os.kill(first, signal.SIGKILL)
    stdout, stderr = running.communicate(timeout=500)
    assert running.returncode == 0, stderr[-3000:]
    assert len(set((out.parent / "workers").read_text().split())) > 2  # another worker took over
    assert f"summary {ROWS} {ROWS // 10} " in stdout
    check(job)


def test_a_stopped_job_continues(job: list[str]) -> None:
    running = subprocess.Popen(job, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    out = Path(job[3])
    wait_for(lambda: len(list(out.glob("part-*.parquet"))) >= 3)
    os.killpg(running.pid, signal.SIGKILL)
    running.wait()
    written = {path: path.stat().st_mtime_ns for path in out.glob("part-*.parquet")}
    assert 3 <= len(written) < ROWS // 10
    summary = finish(job)
    assert summary.startswith(f"summary {ROWS} {ROWS // 10} ")
    assert all(path.stat().st_mtime_ns == changed for path, changed in written.items())
    check(job)
    assert finish(job) == summary  # nothing is left to do


@pytest.fixture
def cluster() -> Iterator[None]:
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield
    ray.shutdown()


def test_a_stage_of_a_pipeline(cluster: None) -> None:
    import detent
    import detent.ray

    rows = [{"id": n, "prompt": f"What is {n} + 2?"} for n in range(20)]
    data = detent.ray.generate(
        ray.data.from_items(rows),
        lambda row: detent.Request(row["prompt"], detent.integer(0, 99), temperature=0),
        workers=1,
        batch_size=4,
    )
    found = {row["id"]: row for row in data.take_all()}
    model = detent.load_model()
    for row in rows:
        text = detent.generate(model, row["prompt"], detent.integer(0, 99), temperature=0).text
        assert found[row["id"]]["text"] == text
        assert found[row["id"]]["error"] is None


def test_each_kind_of_rule(cluster: None) -> None:
    import detent
    import detent.ray
    from tests.integrations.engines.cases import PROMPTS, cases, check_text

    def ask(row: dict[str, str]) -> detent.Request:
        case = cases()[row["case"]]
        return detent.Request(row["prompt"], case.rule, max_tokens=64, **case.options)

    rows = [{"case": name, "prompt": prompt} for name in cases() for prompt in PROMPTS]
    data = detent.ray.generate(ray.data.from_items(rows), ask, workers=2, batch_size=4)
    found = data.take_all()
    assert len(found) == len(rows)
    for row in found:
        assert row["error"] is None
        check_text(row["case"], row["text"], detent.load_model().vocabulary)

"""Type checkers know the values of languages and outputs: `tests/typing` as mypy and pyright see it."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

_FILE = Path(__file__).parent / "typing" / "values.py"
_COMMANDS = {
    "mypy": ["--strict", "--no-error-summary"],
    "pyright": ["--pythonpath", sys.executable],
}


@pytest.mark.parametrize("checker", _COMMANDS)
def test_values_have_the_types_that_the_file_asserts(checker: str) -> None:
    if importlib.util.find_spec(checker) is None:
        pytest.skip(f"{checker} is not installed; it is in the dependency group dev")
    command = [sys.executable, "-m", checker, *_COMMANDS[checker], str(_FILE)]
    run = subprocess.run(command, capture_output=True, text=True, cwd=_FILE.parents[2])
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.parametrize("checker", _COMMANDS)
def test_a_wrong_type_is_seen(checker: str, tmp_path: Path) -> None:
    if importlib.util.find_spec(checker) is None:
        pytest.skip(f"{checker} is not installed; it is in the dependency group dev")
    file = tmp_path / "wrong.py"
    file.write_text("import detent\nday: str = detent.date().parse('2024-02-29')\n")
    command = [sys.executable, "-m", checker, *_COMMANDS[checker], str(file)]
    run = subprocess.run(command, capture_output=True, text=True, cwd=_FILE.parents[2])
    assert run.returncode == 1
    assert '"date"' in run.stdout

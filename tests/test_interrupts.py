"""Ctrl-C at any time ends the command without a traceback, and missing packages are named in a sentence."""

from __future__ import annotations

import subprocess
import sys

import pytest

BLOCK = """
import sys
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == {name!r}:
            raise {error}
sys.meta_path.insert(0, Finder())
"""


def run(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize(
    "name", ["detent.cli", "argparse", "numpy", "detent._core", "detent.generation", "detent.models"]
)
def test_ctrl_c_during_an_import(name: str) -> None:
    start = BLOCK.format(name=name, error="KeyboardInterrupt")
    done = run(f"{start}\nsys.argv = ['detent', 'generate', 'Go']\nfrom detent.__main__ import main\nsys.exit(main())")
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_the_package_imports_nothing_before_the_command_runs() -> None:
    """What the entry point imports before `main` could be interrupted too."""
    done = run(
        "import sys; before = set(sys.modules); import detent.__main__; print(sorted(set(sys.modules) - before))"
    )
    assert "'numpy'" not in done.stdout
    assert "'detent.cli'" not in done.stdout


@pytest.mark.parametrize(("module", "package"), [("torch", "PyTorch"), ("jax", "JAX")])
def test_a_missing_package(module: str, package: str) -> None:
    start = BLOCK.format(name=module, error=f"ModuleNotFoundError(name={module!r})")
    done = run(f"{start}\nimport detent.{module}")
    assert f"detent.{module} needs {package}: pip install 'detent[{module}]'" in done.stderr.splitlines()[-1]

"""Every example of the README and the docs is a test: Python blocks as doctests, console blocks as command lines."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from doctest import ELLIPSIS
from importlib.util import find_spec
from pathlib import Path

from hypothesis import settings
from sybil import Example, Sybil
from sybil.parsers.markdown import CodeBlockParser, PythonCodeBlockParser

ROOT = Path(__file__).parent

# The models of the tests are tiny: a second thread of PyTorch or BLAS would spend its time waiting for the first.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# JAX takes most of a GPU's memory at its start, PyTorch's tests need some of it.
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

# A machine that does other work at the same time must not make a test fail: no example has a time limit.
settings.register_profile("detent", deadline=None)
settings.load_profile("detent")

# Modules of packages that may be absent; Triton comes with the CUDA builds of PyTorch only.
_NEEDS = {
    "integrations/cuda.py": "triton",
    "integrations/mlx.py": "mlx",
    "integrations/onnxruntime.py": "onnxruntime_genai",
    "integrations/outlines.py": "outlines",
    "integrations/sglang.py": "sglang",
    "integrations/vllm.py": "vllm",
    "integrations/vllm_processor.py": "vllm",
    "jax.py": "jax",
    "ray": "pyarrow",
    "torch.py": "torch",
}
collect_ignore = [f"src/detent/{module}" for module, package in _NEEDS.items() if not find_spec(package)]


def run_console(example: Example) -> str | None:
    """Run each `$ detent ...` of a console block and compare what a terminal would show below it."""
    for block in ("\n" + example.parsed.replace("\\\n", " ")).split("\n$ ")[1:]:
        command, _, expected = block.partition("\n")
        program, *arguments = shlex.split(command)
        if program != "detent":
            return f"a console block holds `detent` commands only, got {program!r}; use an sh block"
        done = subprocess.run(
            [sys.executable, "-m", "detent", *arguments],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=60,
            check=False,
        )
        if done.stdout.strip() != expected.strip():
            return f"$ {command}\n--- expected\n{expected.strip()}\n--- got (status {done.returncode})\n{done.stdout}"
    return None


pytest_collect_file = Sybil(
    parsers=[
        PythonCodeBlockParser(doctest_optionflags=ELLIPSIS),
        CodeBlockParser(language="console", evaluator=run_console),
    ],
    patterns=["README.md", "docs/*.md", "docs/**/*.md"],
    teardown=dict.clear,
).pytest()

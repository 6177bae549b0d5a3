"""Python processes that tests start."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap


def run_python(script: str, **environment: str) -> str:
    """Run a script in a fresh interpreter; it must exit with 0 within a minute."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(script)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout

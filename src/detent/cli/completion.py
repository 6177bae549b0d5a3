"""`detent completion`: a script by which a shell completes commands and options."""

from __future__ import annotations

import sys
from typing import Any

from detent.cli.commands import make_parser
from detent.errors import ArgumentError

__all__ = ["run"]


def run(options: Any) -> int:
    """Run the command and return its exit status."""
    try:
        import shtab
    except ImportError:
        raise ArgumentError("completion needs the package shtab: pip install shtab") from None
    sys.stdout.write(shtab.complete(make_parser(), options.shell) + "\n")
    return 0

"""`detent completion`: a script by which a shell completes commands and options."""

from __future__ import annotations

import sys
from typing import Any

from detent.cli.arguments import Commands, add_command
from detent.errors import ArgumentError

__all__ = ["add_to"]


def add_to(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "completion",
        _run,
        summary="write a script that completes commands in a shell",
        description="Write a script that completes commands and options in a shell; needs the package shtab.",
        example="  detent completion bash > ~/.local/share/bash-completion/completions/detent",
    )
    parser.add_argument("shell", choices=("bash", "zsh", "tcsh"), help="the shell")


def _run(options: Any) -> int:
    try:
        import shtab
    except ImportError:
        raise ArgumentError("completion needs the package shtab: pip install shtab") from None
    from detent.cli.main import make_parser

    sys.stdout.write(shtab.complete(make_parser(), options.shell) + "\n")
    return 0

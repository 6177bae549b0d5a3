"""main: reads the arguments, runs a command, and turns errors into exit statuses."""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import sys
from collections.abc import Sequence

from detent import __version__
from detent.cli.arguments import Parser
from detent.cli.terminal import BROKEN_PIPE, INTERRUPTED, USAGE
from detent.errors import DetentError

__all__ = ["main", "make_parser"]

_COMMANDS = ("generate", "chat", "serve", "check", "explain", "compile", "tokenizers", "conformance", "completion")
"""Each is a module of this package, loaded when it is used: they need most of detent."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status.

    >>> main(["generate", "--choice", "yes", "Agreed?"])
    yes
    0
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # for terminals that are not UTF-8
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        options = make_parser(given[0] if given else None).parse_args(given)
        status: int = options.run(options)
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        # The interpreter flushes standard output once more at exit: redirect that to /dev/null.
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except KeyboardInterrupt:
        return INTERRUPTED
    except (DetentError, OSError) as error:
        sys.stderr.write(f"detent: {error}\n")
        return USAGE


def make_parser(first: str | None = None) -> Parser:
    """Return the parser of all commands, or of the one command that the first argument names."""
    parser = Parser(
        prog="detent", description="Constrain the decoding of a language model to a language.", allow_abbrev=False
    )
    parser.add_argument("--version", action="version", version=f"detent {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    needed = () if first == "--version" else (first,) if first in _COMMANDS else _COMMANDS
    for command in needed:
        importlib.import_module(f"detent.cli.{command}").add_to(commands)
    return parser

"""main: reads the arguments, runs a command, and turns errors into exit statuses."""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

from detent.cli.commands import make_parser
from detent.cli.terminal import BROKEN_PIPE, INTERRUPTED, USAGE
from detent.errors import DetentError, SchemaWarning

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status.

    >>> main(["generate", "--choice", "yes", "Agreed?"])
    yes
    0
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # for terminals that are not UTF-8
    try:
        options = make_parser().parse_args(sys.argv[1:] if arguments is None else list(arguments))
        with _plain_warnings():
            # Imported now, not above: a command needs most of detent, `--help` and a mistyped command nothing of it.
            status: int = importlib.import_module(f"detent.cli.{options.command}").run(options)
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


@contextlib.contextmanager
def _plain_warnings() -> Iterator[None]:
    """Write warnings about a schema as one line: the line of Python that issued them says nothing to the user."""
    show = warnings.showwarning

    def show_plainly(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
        if issubclass(category, SchemaWarning):
            sys.stderr.write(f"detent: warning: {' '.join(str(message).splitlines())}\n")
        else:
            show(message, category, *where, **more)

    warnings.showwarning = show_plainly
    try:
        yield
    finally:
        warnings.showwarning = show

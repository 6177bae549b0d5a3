"""`python -m detent` is the command `detent`: the entry point of both."""

from __future__ import annotations

import sys

__all__ = ["main"]

_INTERRUPTED = 130


def main() -> int:
    """Run the command line and return its exit status."""
    try:
        from detent.cli import main as run  # inside: Ctrl-C during the imports must not end in a traceback

        return run()
    except KeyboardInterrupt:
        return _INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())

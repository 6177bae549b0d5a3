"""Exit statuses, progress and colours of a terminal."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Iterator
from typing import TextIO

__all__ = ["BROKEN_PIPE", "INTERRUPTED", "NO", "USAGE", "painted", "progress"]

NO, USAGE, INTERRUPTED, BROKEN_PIPE = 1, 2, 130, 141

_COLOURS = {"dim": "2", "bold": "1", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}


def painted(text: str, colour: str, stream: TextIO | None = None) -> str:
    """Return a text in a colour, if the stream is a terminal and NO_COLOR is not set (https://no-color.org)."""
    stream = sys.stdout if stream is None else stream
    if not text or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" or not stream.isatty():
        return text
    return f"\x1b[{_COLOURS[colour]}m{text}\x1b[0m"


@contextlib.contextmanager
def progress(what: str, after: float = 0.5) -> Iterator[None]:
    """Show `what` on standard error while the block runs, if that is a terminal and the block takes long."""
    if not sys.stderr.isatty():
        yield
        return
    shown = threading.Event()

    def show() -> None:
        shown.set()
        sys.stderr.write(f"detent: {what} ...")
        sys.stderr.flush()

    timer = threading.Timer(after, show)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        if shown.is_set():
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

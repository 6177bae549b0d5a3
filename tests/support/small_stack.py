"""Work in a thread with a small stack, where a recursion over what a user nests would end the process."""

from __future__ import annotations

import threading
from collections.abc import Callable

STACK_BYTES = 256 * 1024


def in_a_small_stack(work: Callable[[], None]) -> None:
    """Run in a thread of its own; what it raises is raised here."""
    raised: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:
            raised.append(error)

    before = threading.stack_size(STACK_BYTES)
    try:
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
    finally:
        threading.stack_size(before)
    if raised:
        raise raised[0]

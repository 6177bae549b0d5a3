"""Work in a thread with a small stack, where a recursion over what a user nests would end the process."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

STACK_BYTES = 256 * 1024

T = TypeVar("T")


def in_a_small_stack(work: Callable[[], T]) -> T:
    """Run in a thread with a stack of 256 KiB; return the result, or raise the exception, of the work."""
    outcome: Future[T] = Future()

    def run() -> None:
        try:
            outcome.set_result(work())
        except BaseException as error:
            outcome.set_exception(error)

    before = threading.stack_size(STACK_BYTES)
    try:
        thread = threading.Thread(target=run)
        thread.start()
    finally:
        threading.stack_size(before)
    thread.join()
    return outcome.result()

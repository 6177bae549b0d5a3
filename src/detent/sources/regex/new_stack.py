"""A call on a new thread, so that its recursion does not depend on the depth of the caller's stack."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

__all__ = ["on_new_stack"]

_Result = TypeVar("_Result")


def on_new_stack(work: Callable[[], _Result]) -> _Result:
    """Call `work` on a new thread and return its result, or raise its exception.

    >>> on_new_stack(lambda: 1 + 1)
    2
    """
    done: list[_Result] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            done.append(work())
        except BaseException as error:  # handed to the caller
            failed.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
    return done[0]

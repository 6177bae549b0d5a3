"""Work done in a thread of its own, so that the depth of the caller's stack does not matter."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

__all__ = ["on_new_stack"]

_Result = TypeVar("_Result")


def on_new_stack(work: Callable[[], _Result]) -> _Result:
    """Do the work and give its result, or raise what it raises.

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

"""Recursion over trees on a list instead of the stack, so that nesting costs memory and never the process.

A walk is a generator: it yields a task, is sent the task's result, and returns its own.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, TypeVar

__all__ = ["walked"]

_Task = TypeVar("_Task")
_Result = TypeVar("_Result")


def walked(walk: Callable[[_Task], Generator[_Task, _Result, _Result]], task: _Task) -> _Result:
    """Give the result of a task, for which `walk` makes a generator.

    >>> def depth(tree):
    ...     below = 0
    ...     for child in tree:
    ...         below = max(below, (yield child))
    ...     return below + 1
    >>> walked(depth, [[], [[]]])
    3
    """
    walks = [walk(task)]
    result: Any = None  # which begins a generator that has not run yet
    while True:
        try:
            child = walks[-1].send(result)
        except StopIteration as done:
            walks.pop()
            result = done.value
            if not walks:
                return result  # type: ignore[no-any-return]
        else:
            walks.append(walk(child))
            result = None

"""Recursion on a heap-allocated list of generators, so that nested input costs memory and no stack.

A recursive function becomes a generator function: it yields the argument of a recursive call, is sent the result of
that call, and returns its own result.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, TypeVar

__all__ = ["trampoline"]

_Argument = TypeVar("_Argument")
_Result = TypeVar("_Result")


def trampoline(function: Callable[[_Argument], Generator[_Argument, _Result, _Result]], argument: _Argument) -> _Result:
    """Return the result of a recursive generator function for an argument.

    >>> def depth(tree):
    ...     below = 0
    ...     for child in tree:
    ...         below = max(below, (yield child))
    ...     return below + 1
    >>> trampoline(depth, [[], [[]]])
    3

    Takes time linear in the number of calls. An exception that one call raises ends the whole recursion.
    """
    calls = [function(argument)]
    result: Any = None  # the value that starts a generator
    while True:
        try:
            inner = calls[-1].send(result)
        except StopIteration as done:
            calls.pop()
            result = done.value
            if not calls:
                return result  # type: ignore[no-any-return]
        else:
            calls.append(function(inner))
            result = None

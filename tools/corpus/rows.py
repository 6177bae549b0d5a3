"""What a row of the corpus is, and the registry of tasks that make them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random


@dataclass(frozen=True)
class Row:
    """A prompt, the answer to learn, and how an answer is judged."""

    prompt: str
    answer: str
    accept: tuple[str, ...] = ()
    contains: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()


Task = Callable[[Random], Row]
TASKS: dict[str, tuple[float, Task]] = {}


def task(weight: float) -> Callable[[Task], Task]:
    """Register a task under its function's name; weights are shares of the corpus."""

    def register(function: Task) -> Task:
        TASKS[function.__name__] = (weight, function)
        return function

    return register

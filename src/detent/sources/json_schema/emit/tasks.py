"""Tasks: generators that emit one expression and ask for others by `yield`."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Protocol, TypeAlias

from detent import _core
from detent.sources.json_schema.assertions.assertions import Conjunction
from detent.sources.json_schema.emit.spelling import Spelling
from detent.sources.json_schema.solve.array_plan import ArrayPlan
from detent.sources.json_schema.solve.solver import Solver

__all__ = ["Continuation", "InPlace", "Request", "Task", "ValueEmitter", "union_of"]


class Continuation:
    """A state on the walk along an object or array; its expression is all that may follow."""

    __slots__ = ("start",)

    def __init__(self, start: Callable[[], Task]) -> None:
        self.start = start


class InPlace:
    """A request for a target that is about the same value as the conjunction that asks for it."""

    __slots__ = ("target",)

    def __init__(self, target: Conjunction | Continuation) -> None:
        self.target = target


Request: TypeAlias = "Conjunction | Continuation | InPlace"
Task: TypeAlias = "Generator[Request, _core.Node, _core.Node]"


class ValueEmitter(Protocol):
    """The emitter of values, as the emitters of objects and arrays use it."""

    solver: Solver
    spelling: Spelling
    is_ordered: bool

    def try_immediate(self, conjunction: Conjunction) -> _core.Node | None:
        """Return the expression of a conjunction if it is known or needs no other; else None."""

    def takes_nested_lists(self, plan: ArrayPlan, items: _core.Node) -> bool:
        """Whether the core takes unique items that have such items inside; False if they may have few values.

        True where that is decided later, with the whole document.
        """


def union_of(parts: Sequence[_core.Node]) -> _core.Node:
    """Return the union of expressions."""
    return parts[0] if len(parts) == 1 else _core.union(list(parts))

"""Arrays of unique items whose items have such arrays inside: whether the core takes them.

The core refuses them where the items may have so few values that each list must end soon. It finds that out in an
automaton of the document, which takes some 20 ms for large ones. So it is asked once for the whole document, and about
each array only where it refuses that, or where a refused keyword is dropped and the array is emitted otherwise.
"""

from __future__ import annotations

from detent import _core
from detent.errors import ArgumentError, LimitError, UnsupportedError
from detent.limits import DEFAULT_LIMITS, Limits
from detent.sources.json_schema.solve.array_plan import ArrayPlan

__all__ = ["NestedLists", "are_taken"]

_FEW = Limits(states=10_000, memory_bytes=1 << 25, work=10**6)


class NestedLists:
    """The arrays of one document that are still to be decided."""

    def __init__(self) -> None:
        self._arrays: list[tuple[ArrayPlan, _core.Node]] = []

    def add(self, plan: ArrayPlan, items: _core.Node) -> None:
        """Keep the items of an array, which may refer to rules that are not complete."""
        self._arrays.append((plan, items))

    def decide(self, whole: _core.Node, rules: list[_core.Node]) -> None:
        """Raise `UnsupportedSchemaError` for the first array that the core does not take; `whole` is the document."""
        arrays, self._arrays = self._arrays, []
        if not arrays or _takes(whole):
            return
        for plan, items in arrays:
            if not are_taken(items, rules):
                plan.refuse_nested()


def are_taken(items: _core.Node, rules: list[_core.Node]) -> bool:
    """Whether the core takes the items of one array."""
    for node in (items, _core.grammar([*rules, items], len(rules)) if rules else items):
        try:
            return _takes(node)
        except ArgumentError:  # a reference to a rule
            continue
    return False


def _takes(node: _core.Node) -> bool:
    for limits in (_FEW, DEFAULT_LIMITS):
        try:
            _core.Automaton(node, limits.states, limits.memory_bytes, limits.work)
        except UnsupportedError:
            return False
        except LimitError:
            continue
        return True
    return True  # compile decides, under the limits that it is given

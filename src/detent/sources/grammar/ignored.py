"""The texts of a terminal with ignored terminals before it.

The lexer takes each ignored terminal by maximal munch, so the text after it is restricted (its guard g). The texts
before and of a terminal after guard g satisfy linear equations over languages:

    X(g) = terminal after g  |  ignored terminal after g, which leaves guard h, followed by X(h)

Gaussian elimination solves them: a loop X(g) = A X(g) | B becomes A* B (Arden 1961).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from detent import _core
from detent.sources.grammar.guards import Guard, Guards
from detent.sources.grammar.terminals import Path

__all__ = ["solve_ignored", "union_of_some"]

_EPSILON = _core.epsilon()


def solve_ignored(
    tokens: Guards,
    ignored: Iterable[tuple[int, Path, int]],
    accept: Callable[[int], _core.Node | None],
    pending: int,
) -> _core.Node | None:
    """Return X(pending), or None if it is empty.

    Parameters
    ----------
    tokens : Guards
        The guards of the grammar's tokens.
    ignored : iterable of (int, Path, int)
        The ignored terminals: number, path, and the guard that each leaves.
    accept : function from a guard to a node or None
        The texts of the terminal after a guard.
    pending : int
        The guard of the token before.
    """
    edges = list(ignored)
    guards = list(dict.fromkeys([pending, Guard.NONE, *(max(left, Guard.NONE) for _, _, left in edges)]))
    exits = {guard: accept(guard) for guard in guards}
    steps: dict[int, dict[int, _core.Node]] = {}
    for guard in guards:
        steps[guard] = {}
        for number, path, left in edges:
            target = max(left, Guard.NONE)
            node = union_of_some([steps[guard].get(target), tokens.node(number, path, left, guard)])
            if node is not None:
                steps[guard][target] = node
    for guard in reversed(guards):
        _eliminate(guard, guards, steps, exits)
    return exits[pending]


def _eliminate(
    guard: int, guards: list[int], steps: dict[int, dict[int, _core.Node]], exits: dict[int, _core.Node | None]
) -> None:
    """Replace X(guard) in all equations by its solution."""
    around = steps[guard].pop(guard, None)
    loop = _EPSILON if around is None else _core.repeat(around, 0, None)
    final = exits[guard]
    for other in guards:
        link = steps[other].pop(guard, None) if other != guard else None
        if link is None:
            continue
        prefix = _core.concat([link, loop])
        for target, node in steps[guard].items():
            joined = union_of_some([steps[other].get(target), _core.concat([prefix, node])])
            if joined is not None:
                steps[other][target] = joined
        if final is not None:
            exits[other] = union_of_some([exits[other], _core.concat([prefix, final])])
    if final is not None:
        exits[guard] = _core.concat([loop, final])
    for target, node in steps[guard].items():
        steps[guard][target] = _core.concat([loop, node])


def union_of_some(nodes: list[_core.Node | None]) -> _core.Node | None:
    """Return the union of the nodes that are not None, or None if there are none."""
    found = [node for node in nodes if node is not None]
    return None if not found else found[0] if len(found) == 1 else _core.union(found)

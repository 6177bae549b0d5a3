"""Strongly connected sets of a graph (Tarjan 1972), and what is closed along them; no recursion."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["closed", "strongly_connected_components"]


def strongly_connected_components(edges: Sequence[Sequence[int]]) -> list[list[int]]:
    """Return the strongly connected sets of nodes, each after the sets that it leads to; linear in the edges.

    >>> strongly_connected_components([[1], [0, 2], []])
    [[2], [1, 0]]
    """
    order: dict[int, int] = {}
    low: list[int] = [0] * len(edges)
    stack: list[int] = []
    waiting: set[int] = set()
    found: list[list[int]] = []
    for root in range(len(edges)):
        if root in order:
            continue
        path = [(root, iter(edges[root]))]
        order[root] = low[root] = len(order)
        stack.append(root)
        waiting.add(root)
        while path:
            node, targets = path[-1]
            for target in targets:
                if target not in order:
                    order[target] = low[target] = len(order)
                    stack.append(target)
                    waiting.add(target)
                    path.append((target, iter(edges[target])))
                    break
                if target in waiting:
                    low[node] = min(low[node], order[target])
            else:
                path.pop()
                if path:
                    low[path[-1][0]] = min(low[path[-1][0]], low[node])
                if low[node] == order[node]:
                    members = [stack.pop()]
                    while members[-1] != node:
                        members.append(stack.pop())
                    waiting.difference_update(members)
                    found.append(members)
    return found


def closed(sets: Sequence[set[int]], edges: Sequence[Sequence[int]]) -> list[set[int]]:
    """Return for each node the union of the sets of all that it reaches; strongly connected nodes share one set.

    >>> closed([{1}, {2}, {3}], [[1], [2], [1]])
    [{1, 2, 3}, {2, 3}, {2, 3}]
    """
    result: list[set[int]] = [set() for _ in sets]
    for members in strongly_connected_components(edges):
        whole: set[int] = set()
        for member in members:
            whole |= sets[member]
            for target in edges[member]:
                whole |= result[target]
        for member in members:
            result[member] = whole
    return result

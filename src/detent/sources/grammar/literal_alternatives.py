"""Alternatives that are literals, in the order of `re`: which of them a match may return, and which compete."""

from __future__ import annotations

import re

from detent import _core
from detent.sources.regex.parser import Tree, op

__all__ = ["any_of", "comparable_literals", "literals", "without_later_extensions"]

_MOST_LITERALS = 20_000


def literals(tree: Tree, flags: int) -> list[bytes] | None:
    """Return the texts of a union of literals, in the order of `re`; None for any other pattern."""
    if flags & re.IGNORECASE:
        return None
    found: list[bytes] = []
    waiting: list[tuple[str, Tree]] = [("", tree)]
    while waiting:
        text, items = waiting.pop()
        for index, (kind, value) in enumerate(items):
            if kind is op.LITERAL:
                text += chr(value)
                continue
            rest = [*items[index + 1 :]]
            if kind is op.SUBPATTERN and not value[1] and not value[2]:
                waiting.append((text, [*value[3].data, *rest]))
            elif kind is op.BRANCH:
                waiting.extend((text, [*option.data, *rest]) for option in reversed(value[1]))
            else:
                return None
            break
        else:
            found.append(text.encode())
        if len(found) + len(waiting) > _MOST_LITERALS:
            return None
    return found


def without_later_extensions(texts: list[bytes]) -> list[bytes]:
    """Return the texts that begin with no earlier one: those that `re.match` can return."""
    kept: dict[bytes, None] = {}
    for text in texts:
        if not any(text[:length] in kept for length in range(len(text) + 1)):
            kept[text] = None
    return [*kept]


def any_of(texts: list[bytes]) -> _core.Node:
    """Return the union of some texts."""
    return _core.union([_core.literal(text) for text in texts])


def comparable_literals(bodies: list[Tree], flags: int) -> list[list[int]] | None:
    """Return for each literal the earlier ones that are a prefix of it or that it is a prefix of.

    None if an alternative is not a literal. Takes time linear in the lengths, plus the number of pairs.
    """
    if flags & re.IGNORECASE or any(kind is not op.LITERAL for body in bodies for kind, _ in body):
        return None
    texts = [tuple(value for _, value in body) for body in bodies]
    numbers: dict[tuple[int, ...], list[int]] = {}
    for index, literal in enumerate(texts):
        numbers.setdefault(literal, []).append(index)
    found: list[list[int]] = [[] for _ in bodies]
    for index, literal in enumerate(texts):
        for length in range(len(literal) + 1):
            for other in numbers.get(literal[:length], ()):
                if other != index:
                    found[max(index, other)].append(min(index, other))
    return [sorted(set(pairs)) for pairs in found]

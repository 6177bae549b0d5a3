"""Contents: gives each JSON value a number; values that are written alike have the same number.

Schemas with the same number share a schema node. So a condition that one alternative makes cancels out with its
negation in another. The order of members matters, and true, 1 and 1.0 differ. Linear in the document; no recursion.
"""

from __future__ import annotations

from typing import Any

__all__ = ["Contents", "compares_unique_items"]

_COMBINING = frozenset(("allOf", "anyOf", "oneOf", "not", "if"))


class Contents:
    """The values that were seen, each with its number."""

    def __init__(self) -> None:
        self._numbers: dict[Any, int] = {}
        self._known: dict[int, tuple[Any, int]] = {}  # by identity; holds the value, so that no other gets its id

    def number(self, value: Any) -> int:
        """Return the number of the contents of a JSON value."""
        pending = [(value, False)]
        while pending:
            one, is_read = pending.pop()
            if id(one) in self._known:
                continue
            inner: list[Any] = []
            if isinstance(one, dict):
                inner = list(one.values())
            elif isinstance(one, list):
                inner = one
            if inner and not is_read:
                pending.append((one, True))
                pending += [(each, False) for each in inner]
                continue
            numbers = tuple(self._known[id(each)][1] for each in inner)
            if isinstance(one, (dict, list)):
                key: Any = (type(one), tuple(one) if isinstance(one, dict) else None, numbers)
            else:
                key = (type(one), repr(one) if isinstance(one, float) else one)
            self._known[id(one)] = (one, self._numbers.setdefault(key, len(self._numbers)))
        return self._known[id(value)][1]


def compares_unique_items(root: Any) -> bool:
    """Whether a document has both unique items and keywords that combine schemas."""
    is_unique = combines = False
    seen: set[int] = set()
    pending = [root] if isinstance(root, (dict, list)) else []
    while pending:
        value = pending.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, dict):
            is_unique = is_unique or value.get("uniqueItems") is True
            combines = combines or not _COMBINING.isdisjoint(value)
            if is_unique and combines:
                return True
        inner = value.values() if isinstance(value, dict) else value
        pending += [one for one in inner if isinstance(one, (dict, list))]
    return False

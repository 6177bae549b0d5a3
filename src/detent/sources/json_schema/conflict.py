"""Conflict: why a schema has no value, as the fewest keywords that exclude each other.

Keywords, members of `properties`, names in `required` and items of `allOf` are removed one after the other, as long as
no value becomes valid. What is left is minimal: without any part of it there would be a value. (Deletion-based minimal
unsatisfiable subsets: Marques-Silva 2010.)
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from detent.sources.diagnostics import json_pointer

__all__ = ["find_conflict"]

_MOST_TRIALS = 300
_SHOWN = 5
_SHOWN_LENGTH = 40
_MAPS = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_LISTS = ("allOf", "anyOf", "oneOf", "prefixItems", "items")
_SINGLE = ("items", "additionalProperties", "contains", "propertyNames", "not", "if", "then", "else")
_KEPT = ("$defs", "definitions", "$id", "id", "$schema", "$anchor")

Path = tuple[str | int, ...]


def find_conflict(schema: Any, is_empty: Callable[[Any], bool]) -> str | None:
    """Return the keywords that exclude each other, and where; None if none are found with reasonable effort.

    Parameters
    ----------
    schema : dict or bool
        A schema without valid values.
    is_empty : callable
        Whether another schema has none.
    """
    if not isinstance(schema, dict):
        return "the schema is false"
    search = _Search(copy.deepcopy(schema), is_empty)
    search.reduce()
    return search.describe() if search.trials < _MOST_TRIALS else None


class _Search:
    """A schema without valid values, from which parts are removed."""

    def __init__(self, root: dict[str, Any], is_empty: Callable[[Any], bool]) -> None:
        self.root = root
        self.trials = 0
        self._is_empty = is_empty

    def reduce(self) -> None:
        """Remove whatever is not needed for the conflict."""
        pending: list[Path] = [()]
        while pending:
            path = pending.pop(0)
            schema = self._at(path)
            for keyword in list(schema):
                if keyword not in _KEPT:
                    self._remove(schema, keyword)
            for keyword in ("properties", "patternProperties"):
                for name in list(schema.get(keyword, ())):
                    self._remove(schema[keyword], name)
            for keyword in ("required", "allOf"):
                items = schema.get(keyword)
                for item in reversed(items if isinstance(items, list) else []):
                    self._remove(items, items.index(item))
            pending += [child for child in _children(schema, path) if isinstance(self._at(child), dict)]

    def _remove(self, container: Any, key: str | int) -> None:
        """Remove an entry if the schema has no valid value without it."""
        if self.trials >= _MOST_TRIALS:
            return
        self.trials += 1
        before = copy.copy(container)
        del container[key]
        if not self._is_empty(self.root):
            if isinstance(container, list):
                container[:] = before
            else:
                container.clear()
                container.update(before)

    def describe(self) -> str:
        """Return what is left in the innermost schema that has no value by itself."""
        path: Path = ()
        seen = {path}
        while True:
            inner = (child for child in self._inner(path) if child not in seen and self._is_conflict(child))
            child = next(inner, None)
            if child is None:
                break
            seen.add(path := child)
        shown = [
            f"{keyword} {_short(value)}{f' of {pointer}' if pointer else ''}"
            for pointer, keyword, value in _assertions(self._at(path), ())
        ]
        if len(shown) > _SHOWN:
            shown = [*shown[: _SHOWN - 1], f"{len(shown) - _SHOWN + 1} more"]
        where = f"at {json_pointer(path)}, " if path else ""
        if len(shown) == 1:
            return f"{where}{shown[0]} allows no value"
        return f"{where}{', '.join(shown[:-1])} and {shown[-1]} exclude each other"

    def _inner(self, path: Path) -> Iterator[Path]:
        """Yield the paths of the subschemas, and of the schema that a reference leads to."""
        schema = self._at(path)
        reference = schema.get("$ref")
        if isinstance(reference, str) and reference.startswith("#/"):
            target = tuple(part.replace("~1", "/").replace("~0", "~") for part in reference[2:].split("/"))
            with suppress(KeyError, TypeError, IndexError):
                self._at(target)
                yield target
        yield from (child for child in _children(schema, path) if child[len(path)] not in _KEPT)

    def _is_conflict(self, path: Path) -> bool:
        schema = self._at(path)
        if path[-1] == "not" or not isinstance(schema, dict):
            return False
        kept = {key: self.root[key] for key in ("$defs", "definitions", "$schema") if key in self.root}
        return self._is_empty({**kept, **schema})

    def _at(self, path: Path) -> Any:
        found: Any = self.root
        for key in path:
            found = found[key]
        return found


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _SHOWN_LENGTH else text[: _SHOWN_LENGTH - 1] + "…"


def _children(schema: dict[str, Any], path: Path) -> Iterator[Path]:
    """Yield the paths of the subschemas."""
    for keyword in _MAPS:
        if isinstance(schema.get(keyword), dict):
            yield from ((*path, keyword, name) for name in schema[keyword])
    for keyword in _LISTS:
        if isinstance(schema.get(keyword), list):
            yield from ((*path, keyword, index) for index in range(len(schema[keyword])))
    for keyword in _SINGLE:
        if isinstance(schema.get(keyword), dict):
            yield (*path, keyword)


def _assertions(schema: dict[str, Any], path: Path) -> Iterator[tuple[str, str, Any]]:
    """Yield the keywords that are left, with the pointers of their schemas."""
    inner = {child[:1] for child in _children(schema, ())}
    for keyword, value in schema.items():
        if keyword not in _KEPT and (keyword,) not in inner:
            yield json_pointer(path), keyword, value
    for child in _children(schema, ()):
        if child[0] in _KEPT:
            continue
        found: Any = schema
        for key in child:
            found = found[key]
        if isinstance(found, dict) and found:
            yield from _assertions(found, (*path, *child))
        else:
            yield json_pointer(path + child[:-1]), str(child[-1]), found

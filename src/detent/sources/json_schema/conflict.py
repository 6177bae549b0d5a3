"""Conflict: why a schema has no value, as the fewest keywords that exclude each other.

1. Find the innermost subschema that has no value by itself and without which the whole schema would have one.
2. Remove keywords, members of `properties`, names in `required` and items of `allOf` from it, as long as no value
   becomes valid: all at once, else each half by itself, and so on. The result is minimal: without any of its parts
   there would be a value. (Minimal unsatisfiable subsets by deletion: Zeller & Hildebrandt 2002; Marques-Silva 2010.)

Every question costs the time of a compilation, so the search ends after a bounded size of schemas, and after a second
of CPU time.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from time import thread_time
from typing import Any

from detent.sources.diagnostics import json_pointer

__all__ = ["find_conflict"]

_MOST_CHARACTERS = 300_000
"""The most characters of all schemas that are compiled."""

_MOST_SECONDS = 1.0

_SHOWN = 5
_SHOWN_LENGTH = 40
_MAPS = ("properties", "patternProperties", "dependentSchemas")
_LISTS = ("allOf", "anyOf", "oneOf", "prefixItems", "items")
_SINGLE = ("items", "additionalProperties", "contains", "propertyNames", "if", "then", "else")
_KEPT = ("$defs", "definitions", "$id", "id", "$schema", "$anchor")

Path = tuple[str | int, ...]


class _SpentError(Exception):
    """The bound on the work is reached."""


def find_conflict(schema: Any, is_empty: Callable[[Any], bool]) -> str | None:
    """Return the keywords that exclude each other, and where; None if they are not found with reasonable effort.

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
    try:
        path = search.innermost()
        return _described(search.reduced(path), path)
    except _SpentError:
        return None


class _Search:
    """A schema without valid values, and questions about its parts."""

    def __init__(self, root: dict[str, Any], is_empty: Callable[[Any], bool]) -> None:
        self._root = root
        self._ask = is_empty
        self._left = _MOST_CHARACTERS
        self._deadline = thread_time() + _MOST_SECONDS
        self._shared: dict[str, Any] = {key: root[key] for key in ("$defs", "definitions", "$schema") if key in root}

    def innermost(self) -> Path:
        """Return the path of the innermost subschema without values that the whole schema needs."""
        path: Path = ()
        seen = {path}
        while True:
            inner = (child for child in self._inner(path) if child not in seen and self._is_cause(child))
            child = next(inner, None)
            if child is None:
                return path
            seen.add(path := child)

    def reduced(self, path: Path) -> dict[str, Any]:
        """Return the subschema without the parts that are not needed for the conflict."""
        top: dict[str, Any] = copy.deepcopy({**self._shared, **_at(self._root, path)})
        pending: list[dict[str, Any]] = [top]
        for schema in pending:
            self._remove(top, schema, [key for key in schema if key not in _KEPT])
            for keyword in ("properties", "patternProperties", "required", "allOf"):
                items = schema.get(keyword)
                if isinstance(items, (dict, list)):
                    self._remove(top, items, list(items) if isinstance(items, dict) else list(range(len(items))))
            pending += [child for each in _children(schema, ()) if isinstance(child := _at(schema, each), dict)]
        return {key: value for key, value in top.items() if key not in _KEPT}

    def _remove(self, top: dict[str, Any], container: Any, keys: Sequence[Any]) -> None:
        """Remove those of some entries that are not needed; the largest keys first, since lists close up."""
        before = copy.copy(container)
        for key in sorted(keys, reverse=True) if isinstance(container, list) else keys:
            del container[key]
        if not keys or self._is_empty(top):
            return
        if isinstance(container, list):
            container[:] = before
        else:
            container.clear()
            container.update(before)
        if len(keys) > 1:
            half = len(keys) // 2
            self._remove(top, container, keys[half:])
            self._remove(top, container, keys[:half])

    def _inner(self, path: Path) -> Iterator[Path]:
        """Yield the paths of the subschemas, and of the schema that a reference leads to."""
        schema = _at(self._root, path)
        reference = schema.get("$ref")
        if isinstance(reference, str) and reference.startswith("#/"):
            target = tuple(part.replace("~1", "/").replace("~0", "~") for part in reference[2:].split("/"))
            with suppress(KeyError, TypeError, IndexError):
                _at(self._root, target)
                yield target
        yield from _children(schema, path)

    def _is_cause(self, path: Path) -> bool:
        """Whether a subschema has no value, and the whole schema would have one with any value there."""
        schema = _at(self._root, path)
        if not isinstance(schema, dict) or not self._is_empty({**self._shared, **schema}):
            return False
        holder = _at(self._root, path[:-1])
        holder[path[-1]] = True
        try:
            return not self._is_empty(self._root)
        finally:
            holder[path[-1]] = schema

    def _is_empty(self, schema: dict[str, Any]) -> bool:
        self._left -= len(json.dumps(schema, default=str))
        if self._left < 0 or thread_time() > self._deadline:
            raise _SpentError
        return self._ask(schema)


def _described(schema: dict[str, Any], path: Path) -> str:
    shown = [
        f"{keyword} {_short(value)}{f' of {pointer}' if pointer else ''}"
        for pointer, keyword, value in _assertions(schema, ())
    ]
    if len(shown) > _SHOWN:
        shown = [*shown[: _SHOWN - 1], f"{len(shown) - _SHOWN + 1} more"]
    where = f"at {json_pointer(path)}, " if path else ""
    if len(shown) <= 1:
        return f"{where}{shown[0] if shown else 'the schema'} allows no value"
    return f"{where}{', '.join(shown[:-1])} and {shown[-1]} exclude each other"


def _assertions(schema: dict[str, Any], path: Path) -> Iterator[tuple[str, str, Any]]:
    """Yield the keywords that are left, with the pointers of their schemas."""
    children = list(_children(schema, ()))
    inner = {child[0] for child in children}
    for keyword, value in schema.items():
        if keyword not in _KEPT and keyword not in inner:
            yield json_pointer(path), keyword, value
    for child in children:
        found = _at(schema, child)
        if isinstance(found, dict) and found:
            yield from _assertions(found, (*path, *child))
        else:
            yield json_pointer(path + child[:-1]), str(child[-1]), found


def _children(schema: dict[str, Any], path: Path) -> Iterator[Path]:
    """Yield the paths of the subschemas of values that must be valid, or of parts of them."""
    for keyword in _MAPS:
        if isinstance(schema.get(keyword), dict):
            yield from ((*path, keyword, name) for name in schema[keyword])
    for keyword in _LISTS:
        if isinstance(schema.get(keyword), list):
            yield from ((*path, keyword, index) for index in range(len(schema[keyword])))
    for keyword in _SINGLE:
        if isinstance(schema.get(keyword), dict):
            yield (*path, keyword)


def _at(schema: Any, path: Path) -> Any:
    for key in path:
        schema = schema[key]
    return schema


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _SHOWN_LENGTH else text[: _SHOWN_LENGTH - 1] + "…"

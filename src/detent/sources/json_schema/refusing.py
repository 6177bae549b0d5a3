"""Refusing: which keywords of a schema refuse a continuation of a text, that is its next byte or its end.

1. If no JSON text has the continuation, the syntax refuses it.
2. If the schema with its members in any order allows the continuation, the order of members is one of the reasons.
3. The keywords are the conditions, beside the order if it is one. The reason is a smallest set of them
   (`detent.reason.smallest`): a schema with these keywords alone allows the text and refuses the continuation, and does
   not without any one of them.

Sets without `oneOf` are tried first. To take a keyword out of an alternative lets it overlap the others, so `oneOf`
with few keywords may refuse the text itself: that is no reason, and the set needs more keywords.

To leave a condition out never changes what others mean: a member that `properties` declares stays declared, an item of
`prefixItems` keeps its index, `oneOf` becomes `anyOf`, and `if` goes with `then` and `else`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple
from urllib.parse import unquote

from detent.reason import smallest
from detent.sources.diagnostics import json_pointer

__all__ = ["Keyword", "direct_subschemas", "refusing_keywords", "without_keywords"]

_MOST_CHARACTERS = 3_000_000
"""The most characters of all schemas that are compiled for one reason."""

_ANNOTATIONS = frozenset(
    "$schema $id id $anchor $dynamicAnchor $recursiveAnchor $comment $vocabulary title description default examples "
    "deprecated readOnly writeOnly contentEncoding contentMediaType contentSchema".split()
)
_MAPS = ("properties", "patternProperties", "dependentSchemas", "$defs", "definitions")
_LISTS = ("allOf", "anyOf", "oneOf", "prefixItems")
_SCHEMAS = ("additionalProperties", "additionalItems", "unevaluatedProperties", "unevaluatedItems", "propertyNames")
_WITH_IF = ("then", "else")
_WITH_CONTAINS = ("minContains", "maxContains")
_KNOWN = _ANNOTATIONS.union(_MAPS, _LISTS, _SCHEMAS, _WITH_IF, _WITH_CONTAINS).union(
    "$ref $dynamicRef $recursiveRef additionalItems const contains dependencies dependentRequired enum "
    "exclusiveMaximum exclusiveMinimum format if items maxItems maxLength maxProperties maximum minItems "
    "minLength minProperties minimum multipleOf not pattern required type uniqueItems".split()
)
_MOST_TEXT = 200

Path = tuple[str | int, ...]


class Keyword(NamedTuple):
    """A condition of a schema: its JSON pointer, and its value as JSON."""

    pointer: str
    value: str


class _SpentError(Exception):
    """The bound on the work is reached."""


def without_keywords(schema: Any) -> Any:
    """Return a schema without its conditions; members that it declares stay declared, in their order."""
    return _Relaxation(schema).keeping(frozenset())


def direct_subschemas(schema: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the pointer and the schema of each subschema that constrains values, definitions left out.

    >>> [pointer for pointer, _ in direct_subschemas({"properties": {"a": {}}, "items": {}, "$defs": {"b": {}}})]
    ['/properties/a', '/items']
    """
    for part, path in _Relaxation(schema)._subschemas(schema, ()):
        if path[0] not in ("$defs", "definitions"):
            yield json_pointer(path), part


def refusing_keywords(schema: Any, near: frozenset[str] | None, refuses: Callable[[Any], bool]) -> list[Keyword] | None:
    """Return a smallest set of keywords that refuse a continuation; None if it is not found with bounded work.

    Parameters
    ----------
    schema : dict or bool
        A schema that refuses it.
    near : frozenset of str or None
        The names of the members around the end of the text; keywords about other members are left out first. None if
        they are not known.
    refuses : callable
        Whether another schema refuses it.
    """
    relaxation = _Relaxation(schema)
    paths = list(relaxation.conditions())
    left = _MOST_CHARACTERS

    def ask(kept: list[Path]) -> bool:
        nonlocal left
        relaxed = relaxation.keeping(frozenset(kept))
        left -= len(json.dumps(relaxed, default=str))
        if left < 0:
            raise _SpentError
        return refuses(relaxed)

    try:
        around = [] if near is None else [path for path in paths if _is_near(path, near)]
        plain, all_plain = ([path for path in some if path[-1] != "oneOf"] for some in (around, paths))
        candidates = [around] if len(plain) == len(around) else [plain, around]
        candidates += [paths] if len(all_plain) == len(paths) else [all_plain, paths]
        found = next((found for some in candidates if some and (found := smallest(some, ask))), None)
    except _SpentError:
        return None
    return None if found is None else [_described(schema, path) for path in found]


def _is_near(path: Path, near: frozenset[str]) -> bool:
    """Whether each member that a path leads through is around the end of the text."""
    names = [name for parent, name in pairwise(path) if parent == "properties"]
    return all(name in near for name in names)


def _described(schema: Any, path: Path) -> Keyword:
    value = schema
    for key in path:
        value = value[key]
    text = json.dumps(value, ensure_ascii=False, default=str)
    return Keyword(json_pointer(path), text if len(text) <= _MOST_TEXT else text[: _MOST_TEXT - 1] + "…")


class _Relaxation:
    """A schema, its conditions, and the schemas that some of them leave.

    A keyword that JSON Schema does not know is no condition where a `$ref` leads into it: it holds definitions.
    """

    def __init__(self, schema: Any) -> None:
        self._schema = schema
        self._targets = frozenset(_targets(schema))

    def conditions(self) -> Iterator[Path]:
        """Yield the paths of the conditions; a path names a keyword, or one of the names it requires."""
        pending: list[tuple[Any, Path]] = [(self._schema, ())]
        while pending:
            schema, path = pending.pop()
            if schema is False:
                yield path
            if not isinstance(schema, dict):
                continue
            for keyword, value in schema.items():
                here = (*path, keyword)
                if keyword == "required" and isinstance(value, list):
                    yield from ((*here, index) for index in range(len(value)))
                elif keyword in ("dependentRequired", "dependencies") and isinstance(value, dict):
                    yield from ((*here, name) for name in value if isinstance(value[name], list))
                elif _is_condition(schema, keyword) and not self._is_definition(here):
                    yield here
            pending += reversed(list(self._subschemas(schema, path)))

    def keeping(self, kept: frozenset[Path]) -> Any:
        """Return the schema with the conditions in `kept` alone."""
        return self._relaxed(self._schema, (), kept)

    def _is_definition(self, path: Path) -> bool:
        return path[-1] not in _KNOWN and (path in self._targets or self._has_definitions(path))

    def _has_definitions(self, path: Path) -> bool:
        """Whether the target of a reference is inside the value at a path."""
        return path[-1] not in _KNOWN and any(
            len(target) > len(path) and target[: len(path)] == path for target in self._targets
        )

    def _is_map(self, path: Path, value: Any) -> bool:
        if not isinstance(value, dict):
            return False
        return path[-1] in _MAPS or (path not in self._targets and self._has_definitions(path))

    def _is_schema(self, path: Path) -> bool:
        return path[-1] in (*_SCHEMAS, "items", *_WITH_IF) or (path[-1] not in _KNOWN and path in self._targets)

    def _subschemas(self, schema: dict[str, Any], path: Path) -> Iterator[tuple[Any, Path]]:
        """Yield the subschemas that may be weakened, and the whole weakened with them."""
        for keyword, value in schema.items():
            here = (*path, keyword)
            if self._is_map(here, value) or (keyword == "dependencies" and isinstance(value, dict)):
                yield from ((value[name], (*here, name)) for name in value if not isinstance(value[name], list))
            elif keyword in (*_LISTS, "items") and isinstance(value, list):
                yield from ((item, (*here, index)) for index, item in enumerate(value))
            elif self._is_schema(here):
                yield value, here

    def _relaxed(self, schema: Any, path: Path, kept: frozenset[Path]) -> Any:
        if not isinstance(schema, dict):
            return schema if schema is not False or path in kept else True
        result: dict[str, Any] = {}
        dropped: set[str] = set()
        for keyword, value in schema.items():
            here = (*path, keyword)
            if keyword == "required" and isinstance(value, list):
                result[keyword] = [name for index, name in enumerate(value) if (*here, index) in kept]
            elif keyword in ("dependentRequired", "dependencies") and isinstance(value, dict):
                result[keyword] = {
                    name: ([] if (*here, name) not in kept else each)
                    if isinstance(each, list)
                    else self._relaxed(each, (*here, name), kept)
                    for name, each in value.items()
                }
            elif self._is_map(here, value):
                result[keyword] = {name: self._relaxed(each, (*here, name), kept) for name, each in value.items()}
            elif keyword in (*_LISTS, "items") and isinstance(value, list):
                result[keyword] = [self._relaxed(each, (*here, index), kept) for index, each in enumerate(value)]
            elif self._is_schema(here):
                result[keyword] = self._relaxed(value, here, kept)
            elif _is_condition(schema, keyword) and here not in kept:
                dropped.add(keyword)
            else:
                result[keyword] = value
        return _consistent(result, dropped, (*path, "oneOf") in kept)


def _targets(schema: Any) -> Iterator[Path]:
    """Yield where the references of a schema lead in it, as names from the root."""
    pending = [schema]
    while pending:
        node = pending.pop()
        if isinstance(node, dict):
            found = node.get("$ref")
            if isinstance(found, str) and found.startswith("#/"):
                names = unquote(found[2:]).split("/")
                yield tuple(name.replace("~1", "/").replace("~0", "~") for name in names)
        pending += node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()


def _is_condition(schema: dict[str, Any], keyword: str) -> bool:
    if keyword in _ANNOTATIONS or keyword in _MAPS or keyword in _WITH_IF or keyword in _SCHEMAS:
        return False
    value = schema[keyword]
    if keyword == "$ref":
        return not (isinstance(value, str) and value.startswith("#"))
    if keyword == "items":
        return False
    if keyword in _LISTS:
        return keyword == "oneOf"
    if keyword == "minContains" and value == 0:
        return False  # it takes a condition away
    return not (keyword in ("exclusiveMinimum", "exclusiveMaximum") and isinstance(value, bool))


def _consistent(schema: dict[str, Any], dropped: set[str], is_exclusive: bool) -> dict[str, Any]:
    """Drop the keywords that depend on a dropped one; make `oneOf` an `anyOf` unless it is kept."""
    if "if" in dropped:
        schema.pop("then", None)
        schema.pop("else", None)
    if "contains" in dropped:
        schema.pop("minContains", None)
        schema.pop("maxContains", None)
    for bound, sign in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if bound in dropped and isinstance(schema.get(sign), bool):
            del schema[sign]
    if "oneOf" in schema and not is_exclusive:
        options = schema.pop("oneOf")
        if "anyOf" in schema:
            schema["allOf"] = [*schema.get("allOf", []), {"anyOf": options}]
        else:
            schema["anyOf"] = options
    return schema

"""Calls as Python writes them, `[get_user_info(user_id=7890, special='black')]`."""

from __future__ import annotations

import keyword
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from detent import _core
from detent.errors import ArgumentError, UnsupportedError
from detent.sources.calls.function import Call, Function
from detent.sources.calls.literals import SEPARATOR, literal_nodes, members
from detent.sources.calls.reading import arguments_as_json
from detent.sources.nodes import concat, repeat, short_repr, union

__all__ = ["PythonicValue", "pythonic_calls"]

_HEAD = re.compile(r"[\s,]*([^\W\d][\w.]*)\(")
_ARGUMENTS = {"type", "properties", "required", "additionalProperties", "$defs", "definitions"}
_NOTES = {"title", "description", "default", "examples", "deprecated", "$comment", "$schema", "$id", "strict"}


def pythonic_calls(functions: tuple[Function, ...], most: int | None) -> _core.Node:
    """Give lists of one call to `most` calls."""
    call = union(*[_call(function) for function in functions])
    return concat("[", call, repeat(concat(SEPARATOR, call), 0, None if most is None else most - 1), "]")


def _call(function: Function) -> _core.Node:
    for name in function.name.split("."):
        _check_name(name, "function", function.name)
    schema: dict[str, Any] = function.schema
    strange = sorted(set(schema) - _ARGUMENTS - _NOTES)
    if strange or schema.get("additionalProperties", False) is not False:
        found = strange[0] if strange else "additionalProperties"
        raise UnsupportedError(
            f"the arguments of {short_repr(function.name)} have {found!r}: Python calls are written for "
            "declared arguments "
            "alone; use a style that writes JSON"
        )
    declared: dict[str, Any] = schema.get("properties", {})
    required: Sequence[str] = schema.get("required", ())
    for name in required:
        if name not in declared:
            raise ArgumentError(
                f"{short_repr(function.name)} requires the argument {short_repr(name)}, which it does not declare"
            )
    places = {}
    for name in declared:
        _check_name(name, "argument", function.name)
        places[name] = f"/properties/{name}"
    nodes = literal_nodes(schema, places.values(), f"the schema of {short_repr(function.name, 40)}")
    row = [(concat(f"{name}=", nodes[place]), name in required) for name, place in places.items()]
    return concat(f"{function.name}(", members(row, None), ")")


def _check_name(name: str, what: str, function: str) -> None:
    if not name.isidentifier() or keyword.iskeyword(name):
        raise UnsupportedError(
            f"the {what} name {short_repr(name)} of {short_repr(function)} is no Python identifier; rename it, "
            "or use a style "
            "that writes JSON"
        )


@dataclass(frozen=True)
class PythonicValue:
    """From the text of calls to a list of `Call`.

    >>> PythonicValue(())("[]")
    []
    """

    functions: tuple[Function, ...]

    def __call__(self, text: str) -> list[Call]:
        """Read a text of the language."""
        known = {function.name: function for function in self.functions}
        found = []
        place = 1
        while head := _HEAD.match(text, place):
            arguments, place = arguments_as_json(text, head.end())
            found.append(known[head[1]].call(arguments))
        return found

"""What calls need of a function: its name, the schema of its arguments, and how they come back as Python values."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from detent.errors import ArgumentError
from detent.sources.json_schema.python_types import is_model, schema_of
from detent.sources.nodes import short_repr

__all__ = ["Call", "Function", "read_functions"]

_OPEN = {"additionalProperties", "unevaluatedProperties", "patternProperties", "$ref", "allOf", "anyOf", "oneOf"}


_SCHEMA_KEYS = ("parameters", "input_schema", "inputSchema")
"""The schema of the arguments: in the APIs of OpenAI, of Anthropic, and in the Model Context Protocol."""

_OTHER_KEYS = frozenset(
    "name description type strict title annotations outputSchema output_schema cache_control icons _meta return".split()
)
"""What else a tool may say; it does not change the texts of calls."""


@dataclasses.dataclass(frozen=True)
class Call:
    """One function call: the function's name and its arguments by name.

    >>> Call("get_user_info", {"user_id": 7890})
    Call(name='get_user_info', arguments={'user_id': 7890})
    """

    name: str
    arguments: dict[str, Any]


@dataclasses.dataclass(frozen=True)
class Function:
    """A function as calls see it: a name, the schema of its arguments, and how their JSON text is read."""

    name: str
    schema: dict[str, Any]
    value: Callable[[str], object]

    def call(self, text: str) -> Call:
        """Make the call whose arguments a JSON text holds."""
        value = self.value(text)
        if dataclasses.is_dataclass(value):
            arguments = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        elif hasattr(value, "_asdict"):
            arguments = value._asdict()
        else:
            arguments = dict(value)  # type: ignore[call-overload] # a pydantic model's instance iterates over its fields
        return Call(self.name, arguments)


def read_functions(functions: Sequence[object] | object) -> tuple[Function, ...]:
    """Read callables, tool dicts and models; raise `ArgumentError` if there is none or a name is missing or twice."""
    given = list(functions) if isinstance(functions, (list, tuple)) else [functions]
    found = [_read_tool(each) if isinstance(each, Mapping) else _read_callable(each) for each in given]
    if not found:
        raise ArgumentError("calls needs at least one function, got none")
    names = set()
    for function in found:
        if function.name in names:
            raise ArgumentError(f"calls got two functions of the name {short_repr(function.name)}; rename one")
        names.add(function.name)
    return tuple(found)


def _read_callable(function: object) -> Function:
    if not is_model(function) and (isinstance(function, type) or not callable(function)):
        raise ArgumentError(
            f"calls takes functions, tool dicts and models, got {short_repr(function)} ({type(function).__name__})"
        )
    name = getattr(function, "__name__", "")
    if not name or name == "<lambda>":
        raise ArgumentError(f"calls got {short_repr(function)}, which has no name; define it with def")
    found = schema_of(function)
    assert found is not None  # noqa: S101 - it is neither a dict nor a text
    return Function(name, *found)


def _parameters(tool: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of a tool's arguments, under any of its known names; a tool without one takes no arguments."""
    name = short_repr(tool["name"])
    for key in tool:
        if key not in _SCHEMA_KEYS and key not in _OTHER_KEYS:
            known = ", ".join(map(repr, _SCHEMA_KEYS))
            raise ArgumentError(
                f"calls got the tool {name} with the unknown key {short_repr(key)}; the schema of the arguments is "
                f"under one of {known}"
            )
    given = [key for key in _SCHEMA_KEYS if key in tool]
    if len(given) > 1:
        raise ArgumentError(f"calls got the tool {name} with both {given[0]!r} and {given[1]!r}; leave one out")
    schema = tool[given[0]] if given else {"properties": {}}
    if not isinstance(schema, dict):
        raise ArgumentError(
            f"calls got {given[0]} {short_repr(schema)} of {name}, which are no JSON Schema; give a dict"
        )
    return schema


def _read_tool(tool: Mapping[str, Any]) -> Function:
    inner = tool.get("function", tool)
    if not isinstance(inner, Mapping) or not isinstance(inner.get("name"), str) or not inner["name"]:
        raise ArgumentError(f"calls got the tool {short_repr(dict(tool))} without a name; give it a text 'name'")
    schema = _parameters(inner)
    schema = {"type": "object", **schema}
    if not _OPEN & set(schema):
        # A function takes the arguments that it declares, and no others.
        schema["additionalProperties"] = False
    plain = schema_of(Any)
    assert plain is not None  # noqa: S101 - Any is an annotation
    return Function(inner["name"], schema, plain[1])

"""Function: a function that may be called, with its name, the schema of its arguments, and their Python values.

Tools of several APIs are read: ``{"name", "description", "parameters"}``, alone or under "function" (OpenAI), with the
schema under "input_schema" (Anthropic), "inputSchema" (Model Context Protocol) or "parametersJsonSchema" (Gemini), and
lists of these under "functionDeclarations" (Gemini).
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from detent.errors import ArgumentError, DetentError
from detent.language import Language
from detent.sources.json_schema.python_types import is_model, schema_of
from detent.sources.nodes import encode, short_repr

__all__ = ["SCHEMA_KEYS", "Call", "Function", "naming", "read_functions"]

_OPEN = {"additionalProperties", "unevaluatedProperties", "patternProperties", "$ref", "allOf", "anyOf", "oneOf"}

SCHEMA_KEYS = ("parameters", "input_schema", "inputSchema", "parametersJsonSchema", "parameters_json_schema")
_LIST_KEYS = ("functionDeclarations", "function_declarations")
_TYPES = ("function", "custom")
"""The types of tools that a caller defines; others are tools that a provider runs."""

_OTHER_KEYS = frozenset(
    "name description type strict title annotations execution icons _meta outputSchema output_schema return response "
    "behavior cache_control defer_loading allowed_callers input_examples eager_input_streaming".split()
)
"""The other keys that a tool may have; they do not change the texts of calls."""


@dataclasses.dataclass(frozen=True)
class Call:
    """One function call: the function's name and its arguments by name.

    >>> Call("get_user_info", {"user_id": 7890})
    Call(name='get_user_info', arguments={'user_id': 7890})

    Attributes
    ----------
    name : str
        The name of the function.
    arguments : dict
        The arguments by name, as the function takes them.
    id : str or None
        The id or the number that the model wrote for the call, in styles that have one; it does not count in
        comparisons.
    """

    name: str
    arguments: dict[str, Any]
    id: str | None = dataclasses.field(default=None, compare=False)

    def __repr__(self) -> str:
        shown = f", id={self.id!r}" if self.id is not None else ""
        return f"Call(name={self.name!r}, arguments={self.arguments!r}{shown})"


@dataclasses.dataclass(frozen=True)
class Function:
    """A function as calls need it.

    Attributes
    ----------
    name : str
        Its name.
    schema : dict
        The JSON Schema of its arguments.
    value : callable
        Reads the JSON text of the arguments.
    description : str
        What models are told.
    formats : mapping of str to Language
        The meaning of formats in the schema, as for `detent.json_schema`.
    """

    name: str
    schema: dict[str, Any]
    value: Callable[[str], object]
    description: str = ""
    formats: Mapping[str, Language[Any]] = dataclasses.field(default_factory=dict)

    def call(self, text: str) -> Call:
        """Make the call whose arguments are a JSON text."""
        value = self.value(text)
        if dataclasses.is_dataclass(value):
            arguments = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        elif hasattr(value, "_asdict"):
            arguments = value._asdict()
        else:
            arguments = dict(value)  # type: ignore[call-overload] # a pydantic model's instance iterates over its fields
        return Call(self.name, arguments)

    def as_tool(self) -> dict[str, Any]:
        """Return the function as OpenAI's API takes it, which is also the form that chat templates read."""
        function = {"name": self.name, "description": self.description, "parameters": self.schema}
        return {"type": "function", "function": function}


@contextmanager
def naming(function: Function) -> Iterator[None]:
    """Name the function in the errors that its schema raises."""
    try:
        yield
    except DetentError as error:
        raise error.prefixed(f"the function {short_repr(function.name)}") from None


def read_functions(functions: Sequence[object] | object) -> tuple[Function, ...]:
    """Read callables, tool dicts and models; raise `ArgumentError` if there is none or a name is missing or twice."""
    given = list(functions) if isinstance(functions, (list, tuple)) else [functions]
    found = [function for each in given for function in _read(each)]
    if not found:
        raise ArgumentError("at least one function is needed, got none")
    names = set()
    for function in found:
        if function.name in names:
            raise ArgumentError(f"two functions have the name {short_repr(function.name)}; rename one")
        encode(function.name, "the name of a function")
        names.add(function.name)
    return tuple(found)


def _read(given: object) -> list[Function]:
    if isinstance(given, Function):
        return [given]
    if not isinstance(given, Mapping):
        return [_read_callable(given)]
    for key in _LIST_KEYS:
        if isinstance(given.get(key), (list, tuple)):
            _refuse_unknown(given, short_repr(key), {key})
            return [_read_tool(tool) for tool in given[key]]
    return [_read_tool(given)]


def _read_callable(function: object) -> Function:
    if not is_model(function) and (isinstance(function, type) or not callable(function)):
        raise ArgumentError(
            f"a function must be a callable, a tool dict or a model, got {short_repr(function)}, a "
            f"{type(function).__name__}"
        )
    name = getattr(function, "__name__", "")
    if not name or name == "<lambda>":
        what = "a lambda" if name else short_repr(function)
        raise ArgumentError(f"{what} has no name that a model can call; define a function with def")
    found = schema_of(function)
    assert found is not None  # noqa: S101 - it is neither a dict nor a text
    text = function.__doc__ or ""
    is_generated = dataclasses.is_dataclass(function) and text.startswith(f"{name}(")
    return Function(name, *found, "" if is_generated else inspect.cleandoc(text))


def _refuse_unknown(tool: Mapping[str, Any], name: str, known: set[str] | frozenset[str]) -> None:
    for key in tool:
        if key not in known:
            schema_keys = ", ".join(map(repr, SCHEMA_KEYS[:3]))
            raise ArgumentError(
                f"the tool {name} has the unknown key {short_repr(key)}; the schema of the arguments is under one of "
                f"{schema_keys}; leave out what is no part of a tool"
            )


def _parameters(tool: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return the schema of a tool's arguments, under any of its known names; a tool without one takes no arguments."""
    _refuse_unknown(tool, name, _OTHER_KEYS.union(SCHEMA_KEYS))
    given = [key for key in SCHEMA_KEYS if tool.get(key) is not None]
    if len(given) > 1:
        raise ArgumentError(f"the tool {name} has both {given[0]!r} and {given[1]!r}; leave one out")
    kind = tool.get("type", "function")
    if kind not in _TYPES or (kind == "custom" and not given):
        raise ArgumentError(
            f"the tool {name} is of the type {short_repr(kind)} and has no schema of arguments; only tools of the type "
            "'function' can be called in a text"
        )
    schema = tool[given[0]] if given else {"properties": {}}
    if not isinstance(schema, dict):
        raise ArgumentError(f"{given[0]} of the tool {name} must be a JSON Schema, a dict, got {short_repr(schema)}")
    if schema.get("type", "object") != "object":
        raise ArgumentError(
            f"{given[0]} of the tool {name} must be of the type 'object', got {short_repr(schema['type'])}"
        )
    properties = schema.get("properties", {})
    if not isinstance(properties, dict) or not all(isinstance(each, str) for each in properties):
        # Chat templates name the arguments before the schema is judged as a whole.
        raise ArgumentError(
            f"properties in {given[0]} of the tool {name} must be a dict of names and schemas, got "
            f"{short_repr(properties)}"
        )
    return schema


def _read_tool(tool: object) -> Function:
    inner = tool.get("function", tool) if isinstance(tool, Mapping) else None
    if not isinstance(inner, Mapping) or not isinstance(inner.get("name"), str) or not inner["name"]:
        shown = dict(tool) if isinstance(tool, Mapping) else tool
        raise ArgumentError(f"the tool {short_repr(shown)} has no name; give it a text 'name'")
    name = short_repr(inner["name"])
    if inner is not tool:
        assert isinstance(tool, Mapping)  # noqa: S101 - it has a "function"
        for key in SCHEMA_KEYS:
            if key in tool:
                raise ArgumentError(f"the tool {name} has {key!r} beside 'function'; move it inside")
        _refuse_unknown(tool, name, _OTHER_KEYS | {"function"})
        inner = {"type": tool.get("type", "function"), **inner}
    schema = {"type": "object", **_parameters(inner, name)}
    if not _OPEN & set(schema):
        # A function takes the arguments that it declares, and no others.
        schema["additionalProperties"] = False
    plain = schema_of(Any)
    assert plain is not None  # noqa: S101 - Any is an annotation
    return Function(inner["name"], schema, plain[1], str(inner.get("description") or ""))

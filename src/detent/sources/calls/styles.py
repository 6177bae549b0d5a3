"""The texts in which models write calls as JSON: what stands around a call, between calls, and around them all."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from detent import _core
from detent.sources.calls.function import Call, Function, naming
from detent.sources.calls.locate import json_end
from detent.sources.json_schema import json_schema
from detent.sources.nodes import concat, optional, repeat

__all__ = ["JSON_STYLES", "JsonStyle", "JsonValue", "json_calls"]

_SPACE = optional(" ")
_NAME = re.compile('{"name": ?')
_KEY = re.compile(', ?"(?:arguments|parameters)": ?')


@dataclass(frozen=True)
class JsonStyle:
    """Texts that stand around calls, and the key of the arguments."""

    key: str = "arguments"
    marker: str = ""
    """What announces calls: a special token, or its name as text where a vocabulary has no such token."""
    begin: str = ""
    end: str = ""
    before: str = ""
    after: str = ""
    separator: str = ","
    is_list: bool = True
    """Whether one call alone is still written with `begin` and `end`."""


JSON_STYLES = {
    "llama3-json": JsonStyle(key="parameters", separator=";"),
    "hermes": JsonStyle(before="<tool_call>\n", after="\n</tool_call>", separator="\n"),
    "mistral": JsonStyle(marker="[TOOL_CALLS]", begin="[", end="]"),
    "openai": JsonStyle(begin="[", end="]", is_list=False),
}


def json_calls(style: JsonStyle, functions: tuple[Function, ...], most: int | None, marker: bool) -> _core.Node:
    """Return the texts of one call to `most` calls."""
    call = _core.union([_call(style, function) for function in functions])
    separator = style.separator if style.separator == "\n" else concat(style.separator, _SPACE)
    row = concat(call, repeat(concat(separator, call), 0, None if most is None else most - 1))
    if style.is_list or most != 1:
        row = concat(style.begin, row, style.end)
    if not marker:
        return row
    name = style.marker.encode()
    return concat(_core.special(name, _core.literal(name)), row)


def _call(style: JsonStyle, function: Function) -> _core.Node:
    name = json.dumps(function.name, ensure_ascii=False)
    head = ('{"name":', _SPACE, name, ",", _SPACE, f'"{style.key}":', _SPACE)
    with naming(function):
        arguments = json_schema(function.schema)._node
    return concat(style.before, *head, arguments, "}", style.after)


@dataclass(frozen=True)
class JsonValue:
    """From the text of calls to a list of `Call`."""

    style: JsonStyle
    functions: tuple[Function, ...]

    def __call__(self, text: str) -> list[Call]:
        """Read a text of the language."""
        known = {function.name: function for function in self.functions}
        found = []
        position = 0
        while head := _NAME.search(text, position):
            end = json_end(text, head.end())
            name = json.loads(text[head.end() : end])
            key = _KEY.match(text, end)
            assert key is not None  # noqa: S101 - the text is in the language
            position = json_end(text, key.end())
            found.append(known[name].call(text[key.end() : position]))
        return found

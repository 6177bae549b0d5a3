"""Notations of arguments: their texts as nodes, and back from a text to the JSON of the arguments.

A notation has three functions: `node` returns the texts of a function's arguments, `as_json` reads a complete text, and
`partial` starts the value of a growing text.
"""

from __future__ import annotations

import dataclasses
import json
import re
from typing import Any, Protocol

from detent import _core
from detent.limits import Limits
from detent.partial_json import PartialJson
from detent.sources.calls.bare_spelling import BareReader, BareSpelling
from detent.sources.calls.function import Function, naming
from detent.sources.calls.locate import LiteralEnd, arguments_as_json, literal_as_json
from detent.sources.calls.pythonic import python_arguments
from detent.sources.calls.xml_spelling import XmlArguments, XmlTemplate
from detent.sources.json_schema import json_schema
from detent.sources.json_schema.assertions.document import SchemaDocument
from detent.sources.json_schema.emit.emitter import Emitter
from detent.sources.json_schema.parse.decoder import loads
from detent.sources.json_schema.solve.solver import Solver
from detent.turns.late_values import PartialValue
from detent.turns.object_nodes import simple_object_node
from detent.turns.style import Style

__all__ = ["Notation", "notation_of"]

_DEFAULT_LIMITS = Limits()
_SCALARS = ["string", "number", "boolean", "null"]
_PYTHON_NAME = re.compile(r"[\s,(]*([^\W\d]\w*)=")


class Notation(Protocol):
    """How arguments are written."""

    def node(self, function: Function) -> _core.Node:
        """Return the texts of the arguments of a function."""

    def as_json(self, function: Function, text: str) -> str:
        """Return the arguments as a JSON object."""

    def partial(self, function: Function) -> PartialValue:
        """Return the arguments of an empty text."""

    def weakened(self, function: Function, schema: dict[str, Any]) -> Function:
        """Return the function with a weaker schema, such that the values which it had are written as before."""


class _Notation:
    def weakened(self, function: Function, schema: dict[str, Any]) -> Function:
        return dataclasses.replace(function, schema=schema)


class _JsonNotation(_Notation):
    def node(self, function: Function) -> _core.Node:
        known = None if function.formats else simple_object_node(function.schema)
        if known is not None:
            return known
        with naming(function):
            return json_schema(function.schema, whitespace="line", formats=function.formats)._node

    def as_json(self, function: Function, text: str) -> str:
        return text

    def partial(self, function: Function) -> PartialValue:
        return PartialJson()


class _PythonNotation(_Notation):
    def __init__(self, with_json_words: bool) -> None:
        self._with_json_words = with_json_words

    def node(self, function: Function) -> _core.Node:
        return python_arguments(function, with_json_words=self._with_json_words)

    def as_json(self, function: Function, text: str) -> str:
        return arguments_as_json(text, 1)[0]

    def partial(self, function: Function) -> PartialValue:
        return _PartialPython()


class _XmlNotation(_Notation):
    def __init__(self, template: XmlTemplate) -> None:
        self._template = template
        self._known: dict[int, tuple[Function, XmlArguments]] = {}  # by the function's id

    def _arguments(self, function: Function) -> XmlArguments:
        """Return the reader of a function's arguments, whose automata all calls of the function share."""
        known = self._known.get(id(function))
        if known is None:
            known = self._known[id(function)] = (function, XmlArguments(function, self._template))
        return known[1]

    def node(self, function: Function) -> _core.Node:
        with naming(function):
            return XmlArguments(function, self._template).node()

    def as_json(self, function: Function, text: str) -> str:
        members = self._arguments(function).members(text)
        return "{" + ", ".join(f"{json.dumps(name)}: {value}" for name, value in members.items()) + "}"

    def partial(self, function: Function) -> PartialValue:
        return _PartialXml(self._arguments(function))

    def weakened(self, function: Function, schema: dict[str, Any]) -> Function:
        members = dict(schema.get("properties", {}))
        for name in XmlArguments(function, self._template).raw_names(list(members)):  # raw: it takes no object or array
            members[name] = {"allOf": [members[name], {"type": _SCALARS}]}
        return super().weakened(function, {**schema, "properties": members} if members else schema)


class _BareNotation(_Notation):
    def __init__(self, quote: str) -> None:
        self._quote = quote

    def node(self, function: Function) -> _core.Node:
        with naming(function):
            solver = Solver(SchemaDocument(function.schema, False, function.formats, _DEFAULT_LIMITS))
            return Emitter(solver, BareSpelling(self._quote)).emit()

    def as_json(self, function: Function, text: str) -> str:
        return BareReader(self._quote).feed(text)

    def partial(self, function: Function) -> PartialValue:
        return _PartialBare(BareReader(self._quote))


class _PartialPython:
    """The keyword arguments that a comma or the closing parenthesis follows."""

    def __init__(self) -> None:
        self.value: Any = None
        self._text = ""
        self._position = 0  # after the last complete argument
        self._started: tuple[str, int, LiteralEnd] | None = None  # the next argument: its name, its start, its end

    def feed(self, piece: str) -> bool:
        self._text += piece
        changed = self.value is None and bool(self._text)
        if changed:
            self.value = {}
        if "," not in piece and ")" not in piece:  # no argument becomes complete
            return changed
        while started := self._next():
            name, start, literal_end = started
            end = literal_end.find(self._text)
            if end is None or self._text[end] not in ",)":
                break
            self.value = {**self.value, name: loads(literal_as_json(self._text, start)[0])}
            self._position, self._started, changed = end, None, True
        return changed

    def _next(self) -> tuple[str, int, LiteralEnd] | None:
        """Return the argument that is not complete; None if its name is not."""
        if self._started is None and (name := _PYTHON_NAME.match(self._text, self._position)):
            self._started = name[1], name.end(), LiteralEnd(name.end())
        return self._started


class _PartialBare:
    """The arguments of a bare object."""

    def __init__(self, reader: BareReader) -> None:
        self._reader = reader
        self._partial = PartialJson()

    @property
    def value(self) -> Any:
        return self._partial.value

    def feed(self, piece: str) -> bool:
        return self._partial.feed(self._reader.feed(piece))


class _PartialXml:
    """The arguments whose closing tag is complete, and a raw text as far as it is certain."""

    def __init__(self, arguments: XmlArguments) -> None:
        self.value: Any = None
        self._arguments = arguments
        self._text = ""
        self._position = 0  # after the last complete argument
        self._complete: dict[str, Any] = {}

    def feed(self, piece: str) -> bool:
        self._text += piece
        if not self._text:
            return False
        members, self._position = self._arguments.complete_members(self._text, self._position)
        self._complete.update((name, loads(text)) for name, text in members.items())
        value = dict(self._complete)
        started = self._arguments.string_so_far(self._text, self._position)
        if started is not None:
            value[started[0]] = started[1]
        changed = self.value is None or bool(members) or value != self.value
        if changed:
            self.value = value
        return changed


def notation_of(style: Style) -> Notation:
    """Return the notation of a style's arguments."""
    if style.arguments == "json":
        return _JsonNotation()
    if style.arguments in ("python", "keywords"):
        return _PythonNotation(style.arguments == "keywords")
    if style.arguments == "bare":
        return _BareNotation(style.quote)
    return _XmlNotation(XmlTemplate.read(style.parameter, style.tags))

"""Calls as Python writes them, `[get_user_info(user_id=7890, special='black')]`."""

from __future__ import annotations

import keyword
import re
from dataclasses import dataclass

from detent import _core
from detent.errors import UnsupportedError
from detent.limits import Limits
from detent.sources.calls.function import Call, Function, naming
from detent.sources.calls.locate import arguments_as_json
from detent.sources.calls.python_spelling import PYTHON_LITERALS, ArgumentSpelling
from detent.sources.json_schema.assertions.document import SchemaDocument
from detent.sources.json_schema.emit.emitter import Emitter
from detent.sources.json_schema.solve.solver import Solver
from detent.sources.nodes import concat, repeat, short_repr, union

__all__ = ["PythonicValue", "python_arguments", "pythonic_calls"]

_HEAD = re.compile(r"[\s,]*([^\W\d][\w.]*)\(")
_DEFAULT_LIMITS = Limits()


def pythonic_calls(functions: tuple[Function, ...], most: int | None) -> _core.Node:
    """Return the lists of one call to `most` calls."""
    call = union(*[concat(function.name, python_arguments(function)) for function in functions])
    more = repeat(concat(PYTHON_LITERALS.comma, call), 0, None if most is None else most - 1)
    return concat("[", call, more, "]")


def python_arguments(function: Function) -> _core.Node:
    """Return the texts of the keyword arguments of a function, with their parentheses.

    Raises
    ------
    UnsupportedError
        The name of the function or of an argument is no identifier.
    """
    for name in function.name.split("."):
        if not name.isidentifier() or keyword.iskeyword(name):
            raise UnsupportedError(
                f"the function name {short_repr(name)} of {short_repr(function.name)} is no Python identifier; rename "
                "it, or use a style that writes JSON"
            )
    with naming(function):
        solver = Solver(SchemaDocument(function.schema, False, {}, _DEFAULT_LIMITS))
        return Emitter(solver, PYTHON_LITERALS, outermost=ArgumentSpelling(function.name)).emit()


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
        position = 1
        while head := _HEAD.match(text, position):
            arguments, position = arguments_as_json(text, head.end())
            found.append(known[head[1]].call(arguments))
        return found

"""Constraints that pydantic checks after a type has made its value, such as ``Annotated[int | float, Field(gt=1)]``.

Pydantic's schemas say nothing of them. They are moved to the types inside, whose schemas can say them; validators in
between are taken to keep the value. Where no type inside can hold a constraint, it is refused.
"""

from __future__ import annotations

import datetime as dt
import math
import sys
from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import partial
from typing import Any, NoReturn

from detent.errors import UnsupportedError
from detent.sources.json_schema.python_types.constrained import BOUNDS
from detent.sources.nodes import short_repr

__all__ = ["INTERNALS", "with_constraints_inside"]

INTERNALS = "pydantic._internal._known_annotated_metadata"

_VALIDATORS = "pydantic._internal._validators"
_FUNCTIONS = frozenset({"function-after", "function-before", "function-wrap", "function-plain"})
_LENGTHS = ("min_length", "max_length")
_COLLECTIONS = ("list", "tuple", "deque", "set", "frozenset", "dict", "frozendict", "ordered-dict", "counter")
_HELD: dict[str, tuple[str, ...]] = {
    "int": (*BOUNDS, "multiple_of"),
    "decimal": (*BOUNDS, "multiple_of", "max_digits", "decimal_places"),
    **dict.fromkeys(("float", "fraction", "date", "time", "datetime", "timedelta"), BOUNDS),
    **dict.fromkeys(("str", *_COLLECTIONS), _LENGTHS),
}
_WRAPPERS = {
    "default": ("schema",),
    "json-or-python": ("json_schema",),
    "lax-or-strict": ("lax_schema", "strict_schema"),
}
_TIMES: dict[str, type] = {"date": dt.date, "time": dt.time, "datetime": dt.datetime, "timedelta": dt.timedelta}
_STRICTER: dict[str, Callable[..., Any]] = {
    **dict.fromkeys(("ge", "gt", "min_length"), max),
    **dict.fromkeys(("le", "lt", "max_length", "max_digits", "decimal_places"), min),
    "multiple_of": math.lcm,
}


def with_constraints_inside(schema: Any, definitions: Mapping[str, Any]) -> Any:
    """Return a core schema whose own constraint, where it is a function's, is held by the types inside."""
    if schema["type"] != "function-after":
        return schema
    function = schema["function"]["function"]
    if getattr(function, "__name__", None) == "forbid_inf_nan_check" and function.__module__ == _VALIDATORS:
        constraints: dict[str, Any] = {"ge": -sys.float_info.max, "le": sys.float_info.max}  # it makes floats of others
    elif isinstance(function, partial) and function.func.__module__ == _VALIDATORS:
        constraints = function.keywords
    else:
        return schema
    metadata = {name: value for name, value in schema.get("metadata", {}).items() if name != "pydantic_js_updates"}
    inside = _Constraints(constraints, function, definitions).inside(schema["schema"])
    return {**schema, "metadata": metadata, "schema": inside, "function": {"type": "no-info", "function": _kept}}


def _kept(value: object) -> object:
    return value


class _Constraints:
    """Constraints on the way to the types that hold them."""

    def __init__(
        self, constraints: Mapping[str, Any], check: Callable[[Any], Any], definitions: Mapping[str, Any]
    ) -> None:
        self.constraints = constraints
        self.check = check
        self.definitions = definitions

    def inside(self, schema: Any) -> Any:
        kind = schema["type"]
        made = {name: part for name, part in schema.items() if name != "ref"}
        if kind in _FUNCTIONS:
            return self.inside_function(made)
        if kind in ("literal", "enum", "bool"):
            return self.members(made)
        if kind == "union":
            choices = [choice[0] if isinstance(choice, tuple) else choice for choice in schema["choices"]]
            return {**made, "choices": [self.inside(each) for each in choices if each["type"] != "none"]}
        if kind == "nullable":
            return self.inside(schema["schema"])  # no constraint holds for None
        if kind in _WRAPPERS:
            # Their functions make the schema of what is no longer inside.
            made.pop("metadata", None)
            return {**made, **{name: self.inside(schema[name]) for name in _WRAPPERS[kind]}}
        if kind == "chain":
            return {**made, "steps": [*schema["steps"][:-1], self.inside(schema["steps"][-1])]}
        if kind == "definition-ref" and schema["schema_ref"] in self.definitions:
            return self.inside(self.definitions[schema["schema_ref"]])
        held = {name: self.combined(kind, name, value, schema.get(name)) for name, value in self.constraints.items()}
        return {**made, **held}

    def inside_function(self, schema: Any) -> Any:
        """Return the schema of a validator with the constraints in the schema that it wraps."""
        function = schema["function"]["function"]
        origin = getattr(function, "func", function)
        module = str(getattr(origin, "__module__", ""))
        is_own = module.partition(".")[0] == "pydantic" and module not in (_VALIDATORS, INTERNALS)
        types = sys.modules["pydantic"]
        if is_own and origin not in (types.SecretStr, types.SecretBytes):
            self.refuse("this type of pydantic's own")
        if schema["type"] == "function-plain" or "json_schema_input_schema" in schema:
            return schema  # only the validator knows the value
        return {**schema, "schema": self.inside(schema["schema"])}

    def members(self, schema: Any) -> Any:
        """Return the schema of those members that keep the constraints."""
        if schema["type"] == "bool":
            schema = {"type": "literal", "expected": [False, True]}
        name = "expected" if schema["type"] == "literal" else "members"
        found = []
        for member in schema[name]:
            try:
                self.check(member)
            except (ValueError, TypeError):
                continue
            found.append(member)
        if not found:
            self.refuse(f"the members {short_repr(schema[name])}")
        return {key: part for key, part in {**schema, name: found}.items() if key != "metadata"}

    def combined(self, kind: str, name: str, value: Any, given: Any) -> Any:
        if name not in _HELD.get(kind, ()) or not _is_comparable(kind, name, value):
            self.refuse(f"the type {kind!r}")
        if kind == "int" and name in BOUNDS:
            value = math.ceil(value) if name in ("ge", "lt") else math.floor(value)
        return value if given is None else _STRICTER[name](given, value)

    def refuse(self, what: str) -> NoReturn:
        said = ", ".join(f"{name}={short_repr(value)}" for name, value in self.constraints.items())
        raise UnsupportedError(
            f"{said} is checked after the value is made, and cannot be held for {what}; give it to the type inside, "
            "or check it on the value"
        )


def _is_comparable(kind: str, name: str, value: Any) -> bool:
    """Whether Python compares values of a kind with a bound as the schema does."""
    if kind in _TIMES:
        return type(value) is _TIMES[kind]
    if name in _LENGTHS:
        return True
    is_exact = isinstance(value, (int, Decimal) if kind in ("int", "decimal") else int)
    return is_exact or (isinstance(value, float) and math.isfinite(value) and (kind == "float" or value.is_integer()))

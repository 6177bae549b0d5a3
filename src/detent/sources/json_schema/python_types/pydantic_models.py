"""Pydantic's models and type adapters as schemas. Pydantic is never imported here; it is used where it is loaded.

Pydantic makes the schema and parses the text, so that aliases, validators and its own types work. Restrictions are
added so that each text has a value. The constraints of types become keywords (`pydantic_schemas`). Objects have no
further members, unless the model says ``extra="allow"``. Times have no leap second and at most six digits of one; dates
have no year 0000.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from detent.errors import UnsupportedError
from detent.sources.json_schema.python_types.constrained import ODD_TIME
from detent.sources.json_schema.python_types.metadata import refuse_unread_inside
from detent.sources.json_schema.python_types.pydantic_schemas import make_generator, pattern_of_format
from detent.sources.nodes import short_repr

__all__ = ["adapted_schema", "is_adapter", "is_pydantic_type", "prepared", "type_schema"]

_DATA_KEYWORDS = frozenset({"not", "const", "enum", "default", "examples"})
_ODD_TIMES = {"date": "^0000", "time": ODD_TIME, "date-time": f"^0000|{ODD_TIME}"}


@dataclass(frozen=True)
class _Model:
    """From JSON text, or a JSON value, to an instance of a pydantic type."""

    kind: Any

    def __call__(self, source: Any) -> Any:
        text = source if isinstance(source, str) else json.dumps(source)
        if hasattr(self.kind, "model_validate_json"):
            return self.kind.model_validate_json(text)
        return sys.modules["pydantic"].TypeAdapter(self.kind).validate_json(text)


@dataclass(frozen=True)
class _Part:
    """As `_Model`, for a value inside another: a string is a value, not a JSON text to be read."""

    kind: Any

    def __call__(self, value: Any) -> Any:
        return _Model(self.kind)(json.dumps(value))


@dataclass(frozen=True)
class _Adapter:
    """From JSON text to an instance, by a TypeAdapter."""

    adapter: Any

    def __call__(self, text: str) -> Any:
        return self.adapter.validate_json(text)


def is_pydantic_type(source: object) -> bool:
    """Whether it is a pydantic model, a dataclass of pydantic's, or a type with a schema of its own, as HttpUrl."""
    if not isinstance(source, type) or "pydantic" not in sys.modules:
        return False
    marks = ("__pydantic_core_schema__", "__pydantic_validator__", "__get_pydantic_core_schema__")
    return any(hasattr(source, mark) for mark in marks)


def is_adapter(source: object) -> bool:
    """Whether it is a pydantic TypeAdapter."""
    pydantic = sys.modules.get("pydantic")
    return pydantic is not None and isinstance(source, pydantic.TypeAdapter)


def adapted_schema(adapter: Any) -> tuple[dict[str, Any], Callable[[str], object]]:
    """Return the schema of a TypeAdapter and the parser of its texts."""
    refuse_unread_inside(adapter._type, short_repr(adapter._type))
    make = partial(adapter.json_schema, schema_generator=make_generator())
    return prepared(_schema_of(adapter, make)), _Adapter(adapter)


def type_schema(kind: Any, prefix: str = "") -> tuple[dict[str, Any], Callable[[Any], object]]:
    """Return the schema of a pydantic type, and the parser of its texts; with a prefix, for use inside another type.

    Names of definitions then begin with the prefix, and the parser takes a JSON value.
    """
    template = f"#/$defs/{prefix}{{model}}"
    options = {"ref_template": template, "schema_generator": make_generator()}
    if hasattr(kind, "model_json_schema"):
        schema = _schema_of(kind, lambda: kind.model_json_schema(**options))
    else:
        schema = _schema_of(kind, lambda: sys.modules["pydantic"].TypeAdapter(kind).json_schema(**options))
    if prefix and "$defs" in schema:
        schema["$defs"] = {prefix + name: body for name, body in schema["$defs"].items()}
    return prepared(schema), _Part(kind) if prefix else _Model(kind)


def _schema_of(kind: object, make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    try:
        return make()
    except UnsupportedError as error:
        message = str(error)
        field = error.__dict__.get("field")
    except sys.modules["pydantic"].PydanticUserError as error:
        message = f"pydantic cannot make a schema: {error.message}; change the type"
        field = error.__dict__.get("field")
    name = field or (kind.__name__ if isinstance(kind, type) else short_repr(kind))
    raise UnsupportedError(f"{name}: {message}")


def prepared(schema: dict[str, Any]) -> dict[str, Any]:
    """Close the objects of a schema, and exclude the texts of formats that have no value."""
    work: list[Any] = [schema]
    while work:
        part = work.pop()
        if isinstance(part, list):
            work.extend(part)
        elif isinstance(part, dict):
            pattern = pattern_of_format(part)
            if pattern is not None and "pattern" not in part:
                part["pattern"] = pattern
                del part["format"]
            elif part.get("format") == "path":
                del part["format"]  # every string is a path
            odd = _ODD_TIMES.get(str(part.get("format")))
            if odd and part.get("type") == "string" and "not" not in part:
                part["not"] = {"pattern": odd}
            if "properties" in part and part.get("type") == "object":
                # Pydantic ignores further members by default; a model that wants them says extra="allow".
                part.setdefault("additionalProperties", False)
            # Data may look like a schema; it is left alone.
            work.extend(value for name, value in part.items() if name not in _DATA_KEYWORDS)
    return schema

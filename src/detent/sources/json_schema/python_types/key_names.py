"""The names of members that pydantic reads as the keys of a dict, which need not be strings."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any

from detent.errors import UnsupportedError
from detent.sources.json_schema.python_types import constrained

__all__ = ["key_names"]

Schema = dict[str, Any]

_BOUNDS = (
    ("ge", "minimum"),
    ("gt", "exclusiveMinimum"),
    ("le", "maximum"),
    ("lt", "exclusiveMaximum"),
    ("multiple_of", "multipleOf"),
)


def key_names(keys: Any, made: Callable[[Any], Schema], definitions: Mapping[str, Any]) -> Schema:
    """Return the schema of the names that are read as keys of a core schema.

    Parameters
    ----------
    keys : dict
        The core schema of the keys.
    made : callable
        Makes the schema of a core schema, without references.
    definitions : Mapping[str, Any]
        The core schemas of pydantic's definitions.

    Raises
    ------
    UnsupportedError
        No names are read as keys of the type, or a schema cannot say which.
    """
    found, work = [], [keys]
    while work:
        part = work.pop()
        kind = part["type"]
        if kind == "definition-ref" and part["schema_ref"] in definitions:
            work.append(definitions[part["schema_ref"]])
        elif kind == "union":
            choices = [choice[0] if isinstance(choice, tuple) else choice for choice in part["choices"]]
            work += reversed(choices)
        elif kind == "nullable":
            work.append(part["schema"])  # no name is read as None
        elif kind in ("literal", "enum"):
            found.append(_names_of_members(part, part["expected" if kind == "literal" else "members"]))
        elif getattr(part.get("cls"), "__hash__", True) is None:
            raise UnsupportedError(
                f"{part['cls'].__name__} has no hash, so it is no key of a dict; use a list of pairs"
            )
        elif kind != "none":
            found.append(_names_of(made(part), kind))
    found = [names for names in found if names != {"enum": []}]
    if not found:
        raise UnsupportedError("no name of a member is read as a key of this type; use a list of pairs")
    return found[0] if len(found) == 1 else {"anyOf": found}


def _names_of_members(schema: Any, members: list[Any]) -> Schema:
    """Return the names that pydantic reads as members; it reads no name as the integer of a Literal."""
    plain = {name: part for name, part in schema.items() if name not in ("ref", "metadata", "serialization")}
    core = sys.modules["pydantic_core"]
    reads = core.SchemaValidator({"type": "dict", "keys_schema": plain, "values_schema": {"type": "any"}})
    names = []
    for member in members:
        value = member.value if isinstance(member, Enum) else member
        name = value if isinstance(value, str) else json.dumps(core.to_jsonable_python(value))
        try:
            reads.validate_json(json.dumps({name: None}))
        except core.ValidationError:
            continue
        names.append(name)
    return {"enum": names}


def _names_of(keys: Schema, what: str) -> Schema:
    """Return the names of a schema of keys."""
    keys = {keyword: value for keyword, value in keys.items() if keyword not in ("title", "description")}
    kind = keys.get("type")
    if not keys or kind == "string":
        return keys
    if kind == "boolean":
        return {"enum": ["true", "false"]}
    if kind in ("integer", "number"):
        constraints = {name: keys[keyword] for name, keyword in _BOUNDS if keyword in keys}
        if kind == "integer":
            constraints["decimal_places"] = 0
        names = None if keys.keys() & {"anyOf", "allOf", "not"} else constrained.decimal_text(constraints)
        if names is None:
            raise UnsupportedError("multiples as keys of a dict cannot be held; use a list of pairs")
        return names
    texts = [part for part in keys.get("anyOf", ()) if part.get("type") == "string"]
    if not texts:
        raise UnsupportedError(f"keys of the type {what!r} cannot be held; use a list of pairs")
    return texts[0] if len(texts) == 1 else {"anyOf": texts}

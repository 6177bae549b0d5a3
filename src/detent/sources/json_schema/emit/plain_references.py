"""References of plain schemas: the schemas inside a plain schema, with references followed.

A schema that is a `$ref` alone, or an `allOf` of one schema alone, stands for the schema at the end of the chain. A
reference such as "#/$defs/a" is followed as a JSON pointer. A document with other references is left to the solver.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from functools import reduce
from operator import or_
from typing import Any, NamedTuple

from detent.sources.json_schema.assertions.plain import ANNOTATIONS, PlainSchema, assert_nothing, kinds_of
from detent.sources.json_schema.parse.dialect import Dialect
from detent.sources.json_schema.parse.values import BOOLEAN, INTEGER, NULL, NUMBER, STRING

__all__ = ["SCALARS", "PlainRead", "referred", "target", "targets", "union_targets"]

SCALARS = {"null": NULL, "boolean": BOOLEAN, "integer": INTEGER, "number": NUMBER, "string": STRING}
"""The kinds of the scalar types."""

_REFERRING = ANNOTATIONS | {"$ref"}
_WRAPPING = ANNOTATIONS | {"allOf"}
_UNITING = ANNOTATIONS | {"anyOf", "oneOf"}
_FEWEST_OPTIONS = 2
_LONGEST_CHAIN = 10


class PlainRead(NamedTuple):
    """A schema of a document: a plain one, or anyOf or oneOf alone."""

    plain: PlainSchema | str
    """The keywords; "anyOf" or "oneOf" where the schema has that keyword alone."""
    targets: list[Any]
    """The schemas of its members, of other members and of items, or its options; references are followed."""


def _is_root_beside(schema: Any, root: Any, names: Set[str]) -> bool:
    """Whether a schema is the root and has, beside these keywords, definitions and its identifier alone."""
    return schema is root and assert_nothing(schema, names, None, is_root=True)


def referred(schema: Any, root: Any, dialect: Dialect) -> tuple[Any, str] | None:
    """Return the schema that a schema stands for by `$ref` or an `allOf` of one, and its address; else None.

    The address is the reference, such as "#/$defs/a", or "/allOf/0" after that of the schema.
    """
    if type(schema) is not dict:
        return None
    if "$ref" not in schema:
        options = schema.get("allOf")
        if type(options) is not list or len(options) != 1:
            return None
        if not schema.keys() <= _WRAPPING and not _is_root_beside(schema, root, _WRAPPING):
            return None
        return (options[0], "/allOf/0") if type(options[0]) in (dict, bool) else None
    names = schema.keys()
    is_alone = dialect.is_reference_alone or names <= _REFERRING
    if not is_alone and not _is_root_beside(schema, root, _REFERRING):
        return None
    reference = str(schema["$ref"])
    first, *tokens = reference.split("/")
    found = root if first == "#" and "~" not in reference and "%" not in reference else None
    for token in tokens:
        found = found.get(token) if type(found) is dict else None
    return (found, reference) if type(found) in (dict, bool) else None


def target(schema: Any, root: Any, dialect: Dialect) -> Any:
    """Return the schema at the end of a chain of references; a schema that is no reference as it is."""
    for _ in range(_LONGEST_CHAIN):
        found = referred(schema, root, dialect)
        if found is None:
            break
        schema, _ = found
    return schema


def targets(schemas: Sequence[Any], root: Any, dialect: Dialect) -> list[Any]:
    """Return the target of each schema."""
    return [
        target(one, root, dialect) if type(one) is dict and ("$ref" in one or "allOf" in one) else one
        for one in schemas
    ]


def union_targets(schema: Any, root: Any, dialect: Dialect) -> tuple[str, list[Any]] | None:
    """Return the keyword and the options of a schema that says nothing but anyOf, or oneOf of different kinds."""
    if type(schema) is not dict or ("anyOf" in schema) is ("oneOf" in schema):
        return None
    keyword = "anyOf" if "anyOf" in schema else "oneOf"
    options = schema[keyword]
    if (
        type(options) is not list
        or len(options) < _FEWEST_OPTIONS
        or not all(type(one) is dict and one for one in options)
    ):
        return None
    if not schema.keys() <= _UNITING and not assert_nothing(schema, _UNITING, None, is_root=schema is root):
        return None
    found = targets(options, root, dialect)
    if keyword == "oneOf":
        kinds = [kinds_of(one["type"]) if type(one) is dict and "type" in one else 0 for one in found]
        return (keyword, found) if all(kinds) and sum(kinds) == reduce(or_, kinds) else None
    scalars = [one["type"] for one in options if type(one.get("type")) is str and one["type"] in SCALARS]
    return (keyword, found) if len(scalars) == len(set(scalars)) and all(type(one) is dict for one in found) else None

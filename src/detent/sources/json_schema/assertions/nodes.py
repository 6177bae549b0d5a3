"""The schema nodes and name sets of one document, each made once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from detent.errors import LimitError, SchemaError
from detent.language import Language
from detent.limits import Limits
from detent.sources.json_schema.assertions.algebra import Algebra
from detent.sources.json_schema.assertions.diagnostics import Diagnostics, summary
from detent.sources.json_schema.assertions.formulas import UniqueItems
from detent.sources.json_schema.assertions.property_names import (
    MatchingNames,
    NameClass,
    NamesOfClass,
    OtherNames,
    ValidNames,
)
from detent.sources.json_schema.assertions.texts import Texts
from detent.sources.json_schema.parse.contents import Contents, compares_unique_items
from detent.sources.json_schema.parse.dialect import DEFAULT, Dialect, find_dialect
from detent.sources.json_schema.parse.references import References
from detent.sources.json_schema.parse.schema_node import Base, SchemaNode, SignedSchema
from detent.sources.nodes import short_repr

__all__ = ["NameSets", "SchemaNodes"]

_SCALARS = ("string", "integer", "number", "boolean", "null")
_TYPED = frozenset(("type", "title", "description", "default", "examples", "$comment", "deprecated"))


class NameSets:
    """The sets of member names of one document; equal sets are one object."""

    def __init__(self) -> None:
        self._known: dict[Any, Any] = {}

    def matching(self, pattern: str) -> MatchingNames:
        """Return the names that a pattern matches."""
        found = self._known.get(pattern)
        if found is None:
            found = self._known[pattern] = MatchingNames(pattern)
        return found

    def others(self, names: Iterable[str], patterns: Iterable[str]) -> OtherNames:
        """Return the names that are neither listed nor matched by one of the patterns."""
        listed, matched = tuple(names), tuple(dict.fromkeys(patterns))
        key = (frozenset(listed), frozenset(matched))
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = OtherNames(listed, matched)
        return found

    def valid(self, schema: SignedSchema) -> ValidNames:
        """Return the names that are valid against a schema."""
        found = self._known.get(schema)
        if found is None:
            found = self._known[schema] = ValidNames(schema)
        return found

    def of_class(self, name_class: NameClass) -> NamesOfClass:
        """Return the names of one class."""
        found = self._known.get(name_class)
        if found is None:
            found = self._known[name_class] = NamesOfClass(name_class)
        return found


class SchemaNodes:
    """The nodes of one document, and all that reading the keywords of a node needs.

    `always` and `never` are the nodes of the schemas true and false.
    """

    def __init__(
        self,
        root: Any,
        lenient: bool,
        formats: Mapping[str, Language],
        limits: Limits,
        *,
        has_one_base: bool = False,
    ) -> None:
        self.limits = limits
        self.diagnostics = Diagnostics(lenient)
        self.texts = Texts(formats, limits, self.diagnostics)
        self.names = NameSets()
        self._references = References(root, self._dialect(root), has_one_base=has_one_base)
        self._nodes: dict[tuple[int, Base], SchemaNode] = {}
        # Elsewhere a copy of a schema costs less than finding that it is one.
        self._contents = Contents() if compares_unique_items(root) else None
        self._unique_items: UniqueItems | None = None
        self._scalars: dict[tuple[str, Base], SchemaNode] = {}
        start = self._references.start
        self.always = SchemaNode(True, start, None, "")
        self.never = SchemaNode(False, start, None, "")
        self.algebra = Algebra(limits.pattern_size, self.always, self.never)
        self.root = self.node(root, start, None, "")

    def _dialect(self, root: Any) -> Dialect:
        named = root.get("$schema") if isinstance(root, dict) else None
        if named is None:
            return DEFAULT
        if not isinstance(named, str):
            raise SchemaError(f"$schema must be a string, got {summary(named)}", keyword="$schema")
        found = find_dialect(named)
        if found is None:
            reason = f"{short_repr(named)} is none of the drafts 4, 6, 7, 2019-09 and 2020-12"
            remedy = "name one of these, or leave $schema out for 2020-12"
            self.diagnostics.refuse(None, "$schema", reason, remedy)
        return found or DEFAULT

    def node(
        self, schema: Any, base: Base, parent: SchemaNode | None, token: object, is_entered: bool = False
    ) -> SchemaNode:
        """Return the node of a schema; with `is_entered`, the base is already the one inside the schema."""
        if schema is True:
            return self.always
        if schema is False:
            return self.never
        if isinstance(schema, dict) and schema.get("type") in _SCALARS and schema.keys() <= _TYPED:
            # Half of all subschemas in use have no other keyword: one node serves them all.
            return self._scalar(schema, base, parent, token)
        if self._references.has_inner_bases and not is_entered:
            base = self._references.enter(base, schema)
        is_dict = isinstance(schema, dict)
        key = (id(schema) if self._contents is None or not is_dict else -1 - self._contents.number(schema), base)
        found = self._nodes.get(key)
        if found is None:
            if not is_dict:
                pointer = SchemaNode(schema, base, parent, token).pointer()
                raise SchemaError(
                    f"at {pointer or 'the root'}: a schema must be an object or a boolean, got {summary(schema)}",
                    pointer=pointer,
                )
            if not schema:
                return self.always
            if len(self._nodes) >= self.limits.pattern_size:
                raise LimitError(
                    f"the schema has over {self.limits.pattern_size} subschemas; "
                    "simplify it or raise Limits(pattern_size=...)",
                    subject="pattern_size",
                    limit=self.limits.pattern_size,
                )
            found = self._nodes[key] = SchemaNode(schema, base, parent, token)
        return found

    def _scalar(self, schema: dict[str, Any], base: Base, parent: SchemaNode | None, token: object) -> SchemaNode:
        """Return the one node for all schemas of a scalar type."""
        key = (schema["type"], base)
        found = self._scalars.get(key)
        if found is None:
            found = self._scalars[key] = SchemaNode(schema, base, parent, token)
        return found

    def unique_items(self, node: SchemaNode) -> UniqueItems:
        """Return the one atom of unique items, which says the same of all arrays; messages name the first keyword."""
        if self._unique_items is None:
            self._unique_items = self.algebra.atom(UniqueItems, node)
        return self._unique_items

    def inner(self, node: SchemaNode, schema: Any, *token: object) -> SchemaNode:
        """Return the node of a subschema."""
        return self.node(schema, node.base, node, token)

    def referred(self, node: SchemaNode, reference: Any, keyword: str) -> SchemaNode:
        """Return the node that a reference leads to."""
        if not isinstance(reference, str):
            raise self.diagnostics.malformed(node, keyword, "a string", reference)
        schema, base, address = self._references.resolve(node, reference, keyword)
        return self.node(schema, base, None, address, is_entered=True)

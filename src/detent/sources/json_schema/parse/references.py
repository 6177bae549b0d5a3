"""References: the targets of `$ref`, `$dynamicRef` and `$recursiveRef`. Nothing is ever fetched.

Most documents have no `$id` below the root and no anchors. In these, the code here follows JSON pointers itself. For
all others the package `referencing` resolves, with a registry that holds the document and the metaschemas of the drafts
and retrieves nothing. A `Base` is a resolver with its dynamic scope, if the document has dynamic references.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any
from urllib.parse import unquote

from detent.errors import SchemaError
from detent.sources.json_schema.parse.dialect import DIALECTS, Dialect
from detent.sources.json_schema.parse.schema_node import Base, SchemaNode
from detent.sources.nodes import short_repr

__all__ = ["References"]

_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_DYNAMIC = ("$dynamicRef", "$recursiveRef")
_STRING = {str}
_NOTED = frozenset(("$id", "id", *_REFERENCES, "$schema"))


class References:
    """The references of one document.

    With `has_one_base` the caller has seen that no schema needs more (`schema_text.has_one_base`).
    """

    def __init__(self, root: Any, dialect: Dialect, *, has_one_base: bool = False) -> None:
        self.root = root
        self._dialect = dialect
        self._bases: dict[Any, Base] = {}
        self._has_dynamic = self._has_standard = False
        self.has_inner_bases = not has_one_base and self._scan()
        self.start = Base(dialect, self._resolver if self.has_inner_bases else None)

    def _scan(self) -> bool:
        """Return whether there are several bases or dynamic scopes, and schemas that depend on them."""
        is_divided = is_base_relevant = False
        seen: set[int] = set()
        work: list[Any] = [] if isinstance(self.root, bool) else [self.root]
        while work:
            value = work.pop()
            if id(value) in seen:
                continue
            seen.add(id(value))
            inner = value
            if isinstance(value, dict):
                _check_names(value)
                inner = value.values()
                if not _NOTED.isdisjoint(value):
                    is_divided = self._divides(value) or is_divided
                    is_base_relevant = self._depends_on_base(value) or is_base_relevant
            work += [one for one in inner if isinstance(one, (dict, list))]
        return is_divided and is_base_relevant

    def _divides(self, schema: dict[str, Any]) -> bool:
        """Whether a schema starts a base of its own, or has references that depend on the dynamic scope."""
        self._has_dynamic = self._has_dynamic or any(isinstance(schema.get(keyword), str) for keyword in _DYNAMIC)
        names = [schema.get("$id"), schema.get("id")] if schema is not self.root else []
        # An identifier that is only a fragment is an anchor and starts no base.
        return self._has_dynamic or any(isinstance(name, str) and not name.startswith("#") for name in names)

    def _depends_on_base(self, schema: dict[str, Any]) -> bool:
        """Whether the meaning of a schema depends on its base: it has a reference, or a dialect of its own."""
        references = [schema[keyword] for keyword in _REFERENCES if keyword in schema]
        is_standard = any(isinstance(one, str) and "//json-schema.org/" in one for one in references)
        self._has_standard = self._has_standard or is_standard
        return bool(references) or ("$schema" in schema and schema is not self.root)

    @cached_property
    def _specification(self) -> Any:
        from referencing.jsonschema import specification_with

        return specification_with(self._dialect.uri)

    @cached_property
    def _registry(self) -> Any:
        """The metaschemas of the drafts, slow to load, if the document refers to them; else an empty registry."""
        if self._has_standard:
            from jsonschema_specifications import REGISTRY  # type: ignore[import-untyped]

            return REGISTRY
        from referencing import Registry

        return Registry()

    @cached_property
    def _resolver(self) -> Any:
        resource = self._specification.create_resource(self.root)
        try:
            uri = resource.id() or ""
            registry = self._registry.with_resource(uri, resource).crawl()
        except Exception as error:  # the package does not document its exceptions for malformed schemas
            raise SchemaError(
                f"the schema's identifiers cannot be read ({type(error).__name__}: {short_repr(str(error))}); "
                "correct its $id, $anchor and $defs"
            ) from None
        return registry.resolver(base_uri=uri)

    def enter(self, base: Base, schema: Any) -> Base:
        """Return the base for references inside a schema of a document with inner bases."""
        if not isinstance(schema, dict):
            return base
        dialect = _dialect_of(schema, base.dialect)
        if not isinstance(schema.get(dialect.identifier), str) or schema is self.root:
            return base
        return self._within(base.resolver, schema, dialect)

    def _within(self, resolver: Any, contents: Any, dialect: Dialect) -> Base:
        from referencing.jsonschema import specification_with

        resource = specification_with(dialect.uri).create_resource(contents)
        try:
            return self._base(resolver.in_subresource(resource), dialect)
        except Exception as error:
            raise SchemaError(f"an identifier cannot be read ({type(error).__name__}); correct its $id") from None

    def _base(self, resolver: Any, dialect: Dialect) -> Base:
        key: Any = (resolver._base_uri, dialect)
        if self._has_dynamic:
            # Outermost first; only the first time that a resource was entered matters.
            uris = [uri for uri, _ in resolver.dynamic_scope()]
            key = (*key, *dict.fromkeys(reversed(uris)))
        return self._bases.setdefault(key, Base(dialect, resolver))

    def resolve(self, node: SchemaNode, reference: str, keyword: str) -> tuple[Any, Base, str]:
        """Return the schema that a reference names, its base, and its address for messages."""
        base = node.base
        if base.resolver is None and reference.startswith("#") and (len(reference) < 2 or reference[1] == "/"):
            return self._follow(node, reference, keyword), base, reference[1:]
        resolver = base.resolver or self._resolver
        from referencing import exceptions

        try:
            contents, resolver = self._look_up(resolver, reference, keyword)
        except (exceptions.Unresolvable, exceptions.NoSuchResource, exceptions.CannotDetermineSpecification):
            raise self._missing(node, reference, keyword) from None
        except Exception as error:  # malformed URIs and schemas, in ways that the package does not list
            raise SchemaError(
                f"{keyword} at {node.pointer() or 'the root'}: {short_repr(reference)} cannot be resolved "
                f"({type(error).__name__}); write #/$defs/name",
                pointer=node.pointer(),
                keyword=keyword,
            ) from None
        dialect = base.dialect
        found = self._base(resolver, dialect)
        if isinstance(contents, dict):
            dialect = _dialect_of(contents, dialect)
            found = self._base(resolver, dialect)
        return contents, found, reference

    def _look_up(self, resolver: Any, reference: str, keyword: str) -> tuple[Any, Any]:
        from referencing.jsonschema import DynamicAnchor, lookup_recursive_ref

        if keyword == "$recursiveRef":
            resolved = lookup_recursive_ref(resolver)
            return resolved.contents, resolved.resolver
        uri, _, fragment = reference.partition("#")
        if fragment and not fragment.startswith("/"):
            whole = resolver.lookup(uri + "#")
            anchor = whole.resolver._registry.anchor(whole.resolver._base_uri, unquote(fragment)).value
            if isinstance(anchor, DynamicAnchor) and keyword == "$ref":
                # A plain reference to a dynamic anchor is static.
                return anchor.resource.contents, whole.resolver.in_subresource(anchor.resource)
        resolved = resolver.lookup(reference)
        return resolved.contents, resolved.resolver

    def _follow(self, node: SchemaNode, reference: str, keyword: str) -> Any:
        found = self.root
        for token in reference.split("/")[1:]:
            if "%" in token:
                token = unquote(token)
            if "~" in token:
                token = token.replace("~1", "/").replace("~0", "~")
            if isinstance(found, dict) and token in found:
                found = found[token]
            elif isinstance(found, list) and token.isascii() and token.isdigit() and int(token[:9]) < len(found):
                found = found[int(token[:9])]
            else:
                raise self._missing(node, reference, keyword)
        return found

    def _missing(self, node: SchemaNode, reference: str, keyword: str) -> SchemaError:
        return SchemaError(
            f"{keyword} at {node.pointer() or 'the root'}: there is no schema at {short_repr(reference)} in this "
            "document; nothing is fetched: put the schema under $defs and write #/$defs/name",
            pointer=node.pointer(),
            keyword=keyword,
        )


def _check_names(value: dict[Any, Any]) -> None:
    """Refuse a name that is no string, which JSON does not have."""
    if {*map(type, value)} - _STRING:
        for name in value:
            if not isinstance(name, str):
                raise SchemaError(f"the schema has the name {short_repr(name)}; names of JSON are strings, so quote it")


def _dialect_of(schema: dict[str, Any], outer: Dialect) -> Dialect:
    named = schema.get("$schema")
    return DIALECTS.get(named.rstrip("#"), outer) if isinstance(named, str) else outer

"""References: where `$ref`, `$dynamicRef` and `$recursiveRef` lead; nothing is ever fetched.

Most documents have no `$id` below the root and no anchors: there a pointer is followed by hand. For all others the
package `referencing` does the work, with a registry that holds the document and the metaschemas of the drafts, and
retrieves nothing. A *base* is where relative references start: a resolver, and its dynamic scope if the document has
dynamic references.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any
from urllib.parse import unquote

from detent.errors import SchemaError
from detent.sources.json_schema.dialect import DIALECTS, Dialect
from detent.sources.json_schema.place import Place
from detent.sources.nodes import short_repr

__all__ = ["Base", "References"]

_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_DYNAMIC = ("$dynamicRef", "$recursiveRef")
_NOTED = frozenset(("$id", "id", *_REFERENCES, "$schema"))


class Base:
    """Where relative references start; `resolver` is that of `referencing`, None in a plain document."""

    __slots__ = ("dialect", "resolver")

    def __init__(self, dialect: Dialect, resolver: Any) -> None:
        self.dialect = dialect
        self.resolver = resolver


class References:
    """The references of one document."""

    def __init__(self, root: Any, dialect: Dialect) -> None:
        self.root = root
        self._dialect = dialect
        self._bases: dict[Any, Base] = {}
        self.has_inner_bases = self._scan()
        self.start = Base(dialect, self._resolver if self.has_inner_bases else None)

    def _scan(self) -> bool:
        """Look for what makes a document more than one flat space of pointers, and for who would notice."""
        self._has_dynamic = self._has_standard = False
        is_parted = is_noticed = False
        seen: set[int] = set()
        work: list[Any] = [] if isinstance(self.root, bool) else [self.root]
        while work:
            value = work.pop()
            inner = value
            if isinstance(value, dict):
                if id(value) in seen:
                    continue
                seen.add(id(value))
                inner = value.values()
                if not _NOTED.isdisjoint(value):
                    is_parted = self._is_parted_by(value) or is_parted
                    is_noticed = self._is_noticed_by(value) or is_noticed
            work += [one for one in inner if isinstance(one, (dict, list))]
        return is_parted and is_noticed

    def _is_parted_by(self, schema: dict[str, Any]) -> bool:
        """Whether references mean something else inside of a schema, or their meaning depends on the way there."""
        self._has_dynamic = self._has_dynamic or any(isinstance(schema.get(keyword), str) for keyword in _DYNAMIC)
        names = [schema.get("$id"), schema.get("id")] if schema is not self.root else []
        # A mere fragment is an anchor, which parts nothing.
        return self._has_dynamic or any(isinstance(name, str) and not name.startswith("#") for name in names)

    def _is_noticed_by(self, schema: dict[str, Any]) -> bool:
        """Whether it makes a difference to a schema which document it is in: by a reference, or its own dialect."""
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
        """The metaschemas of the drafts if the document refers to them, which takes long to load; else nothing."""
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
        except Exception as error:  # what the package raises on malformed schemas is not documented
            raise SchemaError(
                f"the schema's identifiers cannot be read ({type(error).__name__}: {short_repr(str(error))}); "
                "correct its $id, $anchor and $defs"
            ) from None
        return registry.resolver(base_uri=uri)

    def enter(self, base: Base, schema: Any) -> Base:
        """Give the base for references inside a schema of a document with inner bases."""
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

    def resolve(self, place: Place, reference: str, keyword: str) -> tuple[Any, Base, str]:
        """Give the schema that a reference names, its base, and its address for messages."""
        base = place.base
        if base.resolver is None and reference.startswith("#") and (len(reference) < 2 or reference[1] == "/"):
            return self._follow(place, reference, keyword), base, reference[1:]
        resolver = base.resolver or self._resolver
        from referencing import exceptions

        try:
            contents, resolver = self._look_up(resolver, reference, keyword)
        except (exceptions.Unresolvable, exceptions.NoSuchResource, exceptions.CannotDetermineSpecification):
            raise self._missing(place, reference, keyword) from None
        except Exception as error:  # malformed URIs and schemas, in ways that the package does not list
            raise SchemaError(
                f"{keyword} at {place.pointer() or 'the root'}: {short_repr(reference)} cannot be resolved "
                f"({type(error).__name__}); write #/$defs/name",
                pointer=place.pointer(),
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

    def _follow(self, place: Place, reference: str, keyword: str) -> Any:
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
                raise self._missing(place, reference, keyword)
        return found

    def _missing(self, place: Place, reference: str, keyword: str) -> SchemaError:
        return SchemaError(
            f"{keyword} at {place.pointer() or 'the root'}: there is no schema at {short_repr(reference)} in "
            "this document; "
            "nothing is fetched: put the schema under $defs and write #/$defs/name",
            pointer=place.pointer(),
            keyword=keyword,
        )


def _dialect_of(schema: dict[str, Any], outer: Dialect) -> Dialect:
    named = schema.get("$schema")
    return DIALECTS.get(named.rstrip("#"), outer) if isinstance(named, str) else outer

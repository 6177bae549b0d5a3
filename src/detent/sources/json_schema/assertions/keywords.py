"""Keywords: from the JSON of one schema to its assertions. A name that is no keyword of the dialect asserts nothing."""

from __future__ import annotations

from difflib import get_close_matches
from functools import lru_cache

from detent.sources.json_schema.assertions.array_keywords import ARRAY_KEYWORDS
from detent.sources.json_schema.assertions.assertions import Assertions, AssertionsBuilder
from detent.sources.json_schema.assertions.in_place_keywords import IN_PLACE_KEYWORDS
from detent.sources.json_schema.assertions.nodes import SchemaNodes
from detent.sources.json_schema.assertions.object_keywords import OBJECT_KEYWORDS
from detent.sources.json_schema.assertions.scalar_keywords import SCALAR_KEYWORDS
from detent.sources.json_schema.parse.schema_node import SchemaNode
from detent.sources.nodes import short_repr

__all__ = ["KEYWORDS", "SILENT", "intended_keyword", "read_assertions"]

KEYWORDS = {**SCALAR_KEYWORDS, **OBJECT_KEYWORDS, **ARRAY_KEYWORDS, **IN_PLACE_KEYWORDS}

# Keywords that other keywords read, annotations, and keywords of a later draft than the schema's own.
SILENT = frozenset(
    "then else minContains maxContains $schema $id id $anchor $dynamicAnchor $recursiveAnchor $vocabulary $comment "
    "title description default example examples deprecated readOnly writeOnly contentEncoding "
    "contentMediaType contentSchema discriminator externalDocs xml".split()
)
_LETTERS = [(name, len(name), frozenset(name)) for name in (*KEYWORDS, *SILENT)]
_MIN_SIMILARITY = 0.8
"""Twice the characters that match, of those of both names."""
_ROUNDING = 1e-9
_FOREIGN = {
    "nullable": 'it is OpenAPI\'s: add "null" to the type',
    "divisibleBy": "it is of draft 3: write multipleOf",
    "disallow": "it is of draft 3: write not",
    "extends": "it is of draft 3: write allOf",
    "property": "write properties",
    "item": "write items",
    "regex": "write pattern",
    "min": "write minimum, minLength or minItems",
    "max": "write maximum, maxLength or maxItems",
}


def read_assertions(nodes: SchemaNodes, node: SchemaNode) -> Assertions:
    """Read the keywords of a node's schema."""
    schema, dialect, assertions = node.schema, node.base.dialect, AssertionsBuilder()
    if dialect.is_reference_alone and "$ref" in schema:
        assertions.in_place.append(nodes.referred(node, schema["$ref"], "$ref"))
        return assertions.build()
    for keyword, argument in schema.items():
        found = KEYWORDS.get(keyword)
        if found is not None and found[0] <= dialect.year:
            found[1](nodes, node, assertions, argument)
    unknown = [keyword for keyword in schema if keyword not in KEYWORDS and keyword not in SILENT]
    if unknown:
        _warn_of_unknown(nodes, node, unknown)
    return assertions.build()


def _warn_of_unknown(nodes: SchemaNodes, node: SchemaNode, names: list[str]) -> None:
    """Warn of names that resemble keywords, and of a schema without any keyword; other names are annotations."""
    pointer = node.pointer()
    advice = {name: intended_keyword(name) for name in names}
    for name in names:
        if advice[name]:
            nodes.diagnostics.warn_of_name(name, pointer, advice[name])
    if len(names) == len(node.schema) and not any(advice.values()) and not all(map(_is_extension, names)):
        nodes.diagnostics.warn(
            f"the schema at {pointer or 'the root'} has no keyword of JSON Schema, only {short_repr(names)}, so it "
            'accepts every value; write {"type": "object", "properties": ...} for an object, or a list for choices'
        )


def _is_extension(name: str) -> bool:
    return name.startswith(("x-", "$"))


def _similar_names(keyword: str) -> list[str]:
    """Return the names that `get_close_matches` may choose, which takes long: few characters are in one name alone."""
    size, letters, found = len(keyword), set(keyword), []
    for name, length, known in _LETTERS:
        least = _MIN_SIMILARITY / 2 * (size + length) - _ROUNDING
        if least <= min(size, length) and least <= size - len(letters - known):
            found.append(name)
    return found


@lru_cache(maxsize=1000)
def intended_keyword(keyword: str) -> str:
    """Return the advice for a name that resembles a keyword, and "" for other names."""
    if keyword in _FOREIGN:
        return _FOREIGN[keyword]
    nearest = get_close_matches(keyword, _similar_names(keyword), n=1, cutoff=_MIN_SIMILARITY)
    return f"write {nearest[0]}" if nearest and nearest[0] in KEYWORDS else ""

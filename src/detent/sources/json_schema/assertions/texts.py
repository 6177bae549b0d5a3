"""Languages of plain text that a schema names: patterns and formats."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from functools import lru_cache

from detent import _core
from detent.errors import PatternSyntaxError, SchemaError, UnsupportedError
from detent.language import Language
from detent.limits import Limits
from detent.sources.json_schema.assertions.diagnostics import Diagnostics
from detent.sources.json_schema.ecma import pattern_node
from detent.sources.json_schema.formats import ASSERTING_FORMATS, format_node
from detent.sources.json_schema.parse.schema_node import SchemaNode
from detent.sources.json_schema.parse.values import is_text
from detent.sources.nodes import UTF8, short_repr

__all__ = ["Texts", "unknown_format"]


class Texts:
    """The patterns and formats of one document, each translated once."""

    def __init__(self, formats: Mapping[str, Language], limits: Limits, diagnostics: Diagnostics) -> None:
        self._formats = formats
        self._limits = limits
        self._diagnostics = diagnostics
        self._patterns: dict[str, _core.Node | None] = {}

    def pattern(self, pattern: str, node: SchemaNode, keyword: str) -> _core.Node | None:
        """Return the texts that a pattern matches; None if it is dropped."""
        if pattern in self._patterns:
            return self._patterns[pattern]
        found: _core.Node | None = None
        if not is_text(pattern):
            pointer = node.pointer()
            message = f"{keyword} at {pointer or 'the root'} has half of a surrogate pair, which UTF-8 text never holds"
            raise SchemaError(f"{message}; decode the schema's text first", pointer=pointer, keyword=keyword)
        try:
            found = pattern_node(pattern, limits=self._limits)
        except PatternSyntaxError as error:
            pointer = node.pointer()
            raise SchemaError(
                f"{keyword} at {pointer or 'the root'}: {error}", pointer=pointer, keyword=keyword
            ) from None
        except UnsupportedError as error:
            reason, _, remedy = str(error).rpartition("\n")
            self._diagnostics.refuse(node, keyword, reason, remedy)
        self._patterns[pattern] = found
        return found

    def format(self, name: str, node: SchemaNode) -> _core.Node | None:
        """Return the texts of a format; None if it is unknown or dropped, so that it asserts nothing."""
        if name in self._formats:
            return _core.intersection([self._formats[name]._node, UTF8])
        try:
            found = format_node(name)
        except UnsupportedError as error:
            reason, _, remedy = str(error).partition("; ")
            self._diagnostics.refuse(node, "format", reason, remedy)
            return None
        if found is None:
            self._diagnostics.warn(unknown_format(name))
        return found


def unknown_format(name: str) -> str:
    """Return the warning of a format that has no effect.

    >>> unknown_format("emial")
    "format 'emial' is none that the specification names, so it has no effect; did you mean 'email'?"
    """
    intended = _intended_format(name)
    advice = f"did you mean {intended!r}?" if intended else "pass formats={name: language} to give it a meaning"
    return f"format {short_repr(name)} is none that the specification names, so it has no effect; {advice}"


_MIN_SIMILARITY = 0.8
_MIN_LENGTH, _MAX_LENGTH = 4, 40


@lru_cache(maxsize=1000)
def _intended_format(name: str) -> str:
    """Return the format that a name probably misspells, and "" for other names, which documents have of their own.

    A number in the name says that it is another format: pydantic writes "uuid4", other documents "ipv4-cidr".
    """
    if not _MIN_LENGTH <= len(name) <= _MAX_LENGTH:
        return ""
    letters = name.lower()
    known = [each for each in ASSERTING_FORMATS if _digits(each) == _digits(letters)]
    swapped = [each for each in known if sorted(each) == sorted(letters)]
    return next(iter(swapped or get_close_matches(letters, known, n=1, cutoff=_MIN_SIMILARITY)), "")


def _digits(name: str) -> str:
    return "".join(filter(str.isdigit, name))

"""SchemaSource: what a schema says of a text that its language does not have, in terms of members and values."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from detent.errors import DetentError
from detent.expected import expected_after
from detent.language import Language
from detent.origin import Origin
from detent.queries import ByteDfa
from detent.reason import Continuation, Reason
from detent.sources.json_schema.assertions.diagnostics import collected_warnings
from detent.sources.json_schema.conflict import find_conflict
from detent.sources.json_schema.parse.schema_text import parse
from detent.sources.json_schema.position import Position, locate
from detent.sources.json_schema.refusing import direct_subschemas, refusing_keywords

__all__ = ["SchemaSource"]

_SHARED = ("$schema", "$id", "$defs", "definitions")
"""Keywords of a schema to which references in its subschemas lead."""

_MOST_STRINGS = 6
_MOST_STEPS = 2000
_WIDER: tuple[dict[str, Any], ...] = ({"order": "any"}, {"spelling": "any"}, {"order": "any", "spelling": "any"})
_IN_NUMBERS = b"-0123456789"
"""What a number begins with."""
_KINDS = {b'"': "a string", b"{": "an object", b"[": "an array", b"t": "true", b"f": "false", b"n": "null"}


@dataclass
class SchemaSource:
    """A schema with the options of its language.

    Parameters
    ----------
    given : dict, bool or str
        The schema or its text.
    options : mapping
        Keyword arguments of `build`.
    build : callable
        Makes a language of a schema.
    """

    given: Any
    options: Mapping[str, Any]
    build: Callable[..., Language[Any]]

    @cached_property
    def schema(self) -> Any:
        """The schema; most languages are never asked for it."""
        return parse(self.given) if isinstance(self.given, str) else self.given

    def expected(self, dfa: ByteDfa, text: bytes, position: int) -> tuple[str, str | None] | None:
        """Return the members or values that may stand at a position, and the pointer of the value."""
        prefix, found = text[:position], text[position : position + 1]
        if found.isspace():
            return None
        at = locate(prefix)
        is_closed = found in (b",", b"}", b"]") and text[at.start : at.start + 1] != b'"'
        if at.is_in_object and (at.role == "after" or (at.role == "value" and at.start < position and is_closed)):
            known = _after_member(dfa, prefix, found)
            if known is not None or at.role == "after":
                return known
        if at.role == "name":
            members = _members(_strings(dfa, text[: at.start]))
            if members is not None or at.start == position:
                return members or "a member", at.pointer or None
            return expected_after(dfa, prefix), f"a name{f' at {at.pointer}' if at.pointer else ''}"
        if at.role != "value":
            return None
        values = _values(dfa, prefix, at, found)
        if values is not None:
            return f"{values} at {at.pointer}" if at.pointer else values, None
        return expected_after(dfa, prefix), f"the value at {at.pointer}" if at.pointer else None

    def hint(self, text: bytes) -> str | None:
        """Return the options with which the language has the text."""
        for changes in _WIDER:
            if all(self.options[name] == value for name, value in changes.items()):
                continue
            try:
                with collected_warnings():
                    is_wider = self.build(self.schema, **{**self.options, **changes}).accepts(text)
            except DetentError:
                continue
            if is_wider:
                arguments = ", ".join(f'{name}="{value}"' for name, value in changes.items())
                return f"json_schema(..., {arguments}) has this text"
        return None

    def reasons(self, refused: Continuation) -> tuple[Reason, ...]:
        """Return the syntax, or the order of members and the keywords that refuse the continuation together."""
        if refused.is_excluded:
            return ()
        anything = {**self.options, "order": "schema"}
        if self._refuses(True, refused, anything):
            return (Reason("syntax", self._syntax(refused)),)
        in_any_order = {**self.options, "order": "any"}
        has_order = self.options["order"] == "schema" and not self._refuses(self.schema, refused, in_any_order)
        options = anything if has_order else in_any_order
        at = locate(refused.text)
        near = frozenset(token.replace("~1", "/").replace("~0", "~") for token in at.pointer.split("/"))
        found = refusing_keywords(self.schema, near, lambda schema: self._refuses(schema, refused, options))
        keywords = [Reason("keyword", each.pointer, each.value) for each in found or ()]
        return (Reason("order", "the order of properties"), *keywords) if has_order else tuple(keywords)

    def _syntax(self, refused: Continuation) -> str:
        """Return the reason why no value has the continuation: the syntax of JSON, or the spelling."""
        wider = {**self.options, "spelling": "any", "whitespace": None}
        if self._refuses(True, refused, wider):
            return "the syntax of JSON"
        return "the spelling of values, which serialisers do not write so"

    def _refuses(self, schema: Any, refused: Continuation, options: Mapping[str, Any]) -> bool:
        try:
            with collected_warnings():
                return refused.is_refused_by(self.build(schema, **options)._node)
        except DetentError:
            return False

    def parts(self) -> Iterator[tuple[str, Language[Any]]]:
        """Yield the pointer and the language of each direct subschema that can be read by itself."""
        schema = self.schema if isinstance(self.schema, dict) else {}
        shared = {name: schema[name] for name in _SHARED if name in schema}
        for pointer, part in direct_subschemas(schema):
            if not isinstance(part, dict):
                continue
            inner = {**shared, **part}
            try:
                with collected_warnings():
                    language = self.build(inner, **self.options)
            except DetentError:
                continue
            source = SchemaSource(inner, self.options, self.build)
            yield pointer, Language(language._node, language.description, _origin=Origin(source=source))

    def remedy(self) -> str | None:
        """Return what to write in the place of a costly format."""
        name = self.schema.get("format") if isinstance(self.schema, dict) else None
        if not isinstance(name, str) or name not in self.options["formats"]:
            return None
        return (
            f"the format {name!r} stands in a JSON string; if it is a grammar whose keywords are names, too, write "
            "them in letters that names do not have, or make it with grammar(..., lexer='dynamic_complete')"
        )

    def conflict(self) -> str | None:
        """Return the keywords that leave no value."""
        return find_conflict(self.schema, self._is_empty)

    def _is_empty(self, schema: Any) -> bool:
        try:
            with collected_warnings():
                return self.build(schema, **self.options).is_empty()
        except DetentError:
            return False


def _after_member(dfa: ByteDfa, prefix: bytes, found: bytes) -> tuple[str, None] | None:
    """Return the phrase for the text that is expected after a member of an object; None if there is no better one."""
    following = dfa.expected(dfa.after(prefix))
    members = next((names for gap in (b",", b", ") if (names := _members(_strings(dfa, prefix + gap)))), None)
    if found == b"}" and members and b"}"[0] not in following:
        return members, None
    if found == b"," and b","[0] not in following:
        return "the end of the object", None
    return None


def _values(dfa: ByteDfa, prefix: bytes, at: Position, found: bytes) -> str | None:
    """Return the values that may stand where the value at a position begins; None if only bytes tell.

    So it is where another number is expected than the one that begins with the byte that was found.
    """
    strings = _strings(dfa, prefix[: at.start])
    first = dfa.expected(dfa.after(prefix[: at.start])) if at.start == len(prefix) else b""
    if strings and (prefix[at.start : at.start + 1] == b'"' or first == b'"'):
        return _listed([json.dumps(text, ensure_ascii=False) for text in strings], "or")
    names = [name for byte, name in _KINDS.items() if byte in first]
    if set(first) & set(_IN_NUMBERS):
        if found and found in _IN_NUMBERS:
            return None
        names.append("a number")
    return _listed(names, "or") if names else None


def _members(names: Sequence[str] | None) -> str | None:
    if not names:
        return None
    shown = [json.dumps(name, ensure_ascii=False) for name in names]
    return f"the member {shown[0]}" if len(shown) == 1 else f"one of the members {_listed(shown, 'and')}"


def _listed(names: Sequence[str], last: str) -> str:
    return f"{', '.join(names[:-1])} {last} {names[-1]}" if len(names) > 1 else names[0]


def _strings(dfa: ByteDfa, prefix: bytes) -> list[str] | None:
    """Return the JSON strings that may follow; None if they are many."""
    found: dict[str, None] = {}
    pending = [(dfa.after(prefix + b'"'), b'"')]
    steps = 0
    while pending:
        state, text = pending.pop()
        if state == 0:
            continue
        if text.endswith(b'"') and len(text) > 1 and (len(text) - len(text[:-1].rstrip(b"\\")) - 1) % 2 == 0:
            found[json.loads(text)] = None
            if len(found) > _MOST_STRINGS:
                return None
            continue
        following = dfa.expected(state)
        steps += len(following)
        if steps > _MOST_STEPS:
            return None
        pending += [(dfa.step(state, byte), text + bytes([byte])) for byte in reversed(following)]
    return list(found)

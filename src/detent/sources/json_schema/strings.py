"""Sets of strings: a few listed ones, or all texts of some lengths that are in languages and not among the excluded."""

from __future__ import annotations

from collections.abc import Iterable
from json.encoder import encode_basestring
from typing import TYPE_CHECKING, Any

from detent import _core
from detent.errors import LimitError
from detent.queries import ByteDfa
from detent.sources.json_schema.layout import STRING
from detent.sources.nodes import CHARACTER, UTF8

if TYPE_CHECKING:
    from detent.sources.json_schema.formula import Formula
    from detent.sources.json_schema.schemas import Schemas

__all__ = ["Strings", "either", "evaluate", "open_count", "repeat_count", "spelled", "string_literal"]

_QUOTE = _core.literal(b'"')


def spelled(text: str) -> bytes:
    """Give the one JSON spelling of a declared name or listed string, that of `json.dumps(..., ensure_ascii=False)`."""
    return encode_basestring(text).encode()


def string_literal(text: str) -> _core.Node:
    """Give the node of that spelling."""
    return _core.literal(spelled(text))


class Strings:
    """A set of strings, immutable.

    `listed` are its only members, in order, or None; otherwise the texts of `least` to `most` characters that are in
    all of `nodes` and not in `excluded`.
    """

    __slots__ = ("_dfas", "excluded", "least", "listed", "most", "nodes")

    def __init__(
        self,
        listed: dict[str, None] | None = None,
        excluded: frozenset[str] = frozenset(),
        least: int = 0,
        most: int | None = None,
        nodes: tuple[_core.Node, ...] = (),
    ) -> None:
        self.listed = listed
        self.excluded = excluded
        self.least = least
        self.most = most
        self.nodes = nodes
        self._dfas: list[ByteDfa] | None = None

    def accepts(self, text: str) -> bool:
        """Whether the text is a member."""
        if self.listed is not None:
            return text in self.listed
        if text in self.excluded or len(text) < self.least or (self.most is not None and len(text) > self.most):
            return False
        if self._dfas is None:
            self._dfas = [ByteDfa(node) for node in self.nodes]
        return all(dfa.accepts(text.encode()) for dfa in self._dfas)

    def is_empty(self) -> bool:
        """Whether there is no member; searches the automaton."""
        return not self.listed if self.listed is not None else ByteDfa(self.node()).is_empty()

    def both(self, other: Strings) -> Strings:
        """Give the intersection."""
        for one, two in ((self, other), (other, self)):
            if one.listed is not None:
                return Strings({text: None for text in one.listed if two.accepts(text)})
        most = self.most if other.most is None else other.most if self.most is None else min(self.most, other.most)
        least = max(self.least, other.least)
        if most is not None and least > most:
            return Strings({})
        nodes = tuple(dict.fromkeys(self.nodes + other.nodes))
        return Strings(None, self.excluded | other.excluded, least, most, nodes)

    def node(self) -> _core.Node:
        """Give the texts themselves."""
        if self.listed is not None:
            return _core.union([_core.literal(text.encode()) for text in self.listed])
        parts = list(self.nodes)
        if self.least or self.most is not None:
            parts.append(_core.repeat(CHARACTER, repeat_count(self.least), open_count(self.most)))
        if not parts:
            parts.append(UTF8)
        if self.excluded:
            words = [_core.literal(text.encode()) for text in sorted(self.excluded)]
            parts.append(_core.complement(_core.union(words)))
        return parts[0] if len(parts) == 1 else _core.intersection(parts)

    def json(self) -> _core.Node:
        """Give the JSON texts, with quotation marks."""
        if self.listed is not None:
            return _core.union([string_literal(text) for text in self.listed])
        if not (self.nodes or self.excluded or self.least or self.most is not None):
            return STRING
        return _core.concat([_QUOTE, _core.json_string(self.node()), _QUOTE])


def repeat_count(count: int) -> int:
    """Give a lower count that the core takes."""
    if count >= _core.UNBOUNDED:
        raise LimitError(f"a count of {count} is above the largest, {_core.UNBOUNDED - 1}; lower it")
    return count


def open_count(count: int | None) -> int | None:
    """Give an upper count for the core; one beyond the length of any text is none."""
    return None if count is None or count >= _core.UNBOUNDED else count


def either(sets: Iterable[Strings]) -> Strings:
    """Give the union."""
    options = list(sets)
    if all(option.listed is not None for option in options):
        return Strings({text: None for option in options for text in option.listed or ()})
    return Strings(nodes=(_core.union([option.node() for option in options]),))


def evaluate(schemas: Schemas, formula: Formula) -> Strings:
    """Give the strings for which a formula holds."""
    kind, parts = formula.kind, formula.parts
    if kind == "test":
        return _test(schemas, *parts)
    if kind == "true":
        return Strings()
    if kind == "false":
        return Strings({})
    if kind == "or":
        return either(evaluate(schemas, part) for part in parts)
    found = Strings()
    for part in parts:
        found = found.both(evaluate(schemas, part))
    return found


def _test(schemas: Schemas, what: str, argument: Any, holds: bool) -> Strings:
    if what == "in":
        return Strings(dict.fromkeys(sorted(argument))) if holds else Strings(excluded=argument)
    if what == "shortest":
        return Strings(least=argument) if holds else Strings(most=argument - 1)
    if what == "longest":
        return Strings(most=argument) if holds else Strings(least=argument + 1)
    text, place = argument
    node = schemas.pattern(text, place, "pattern") if what == "pattern" else schemas.format(text, place)
    if node is None:
        return Strings()  # dropped
    return Strings(nodes=(node if holds else _core.intersection([UTF8, _core.complement(node)]),))

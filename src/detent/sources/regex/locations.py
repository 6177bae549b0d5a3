r"""Locations: which items of a pattern could read the next character of a text, and which assertions refuse it.

Every item that reads one character gets a mark (`detent.reason.Marks`), and the assertions are left out. The marks
that may follow the text's last whole character are the items that could read next. If one of them reads the character,
assertions refuse it: the smallest set of them is found by translating the pattern without some.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, NamedTuple

from detent import _core
from detent.errors import LimitError
from detent.limits import Limits
from detent.queries import ByteDfa
from detent.reason import Continuation, Marks, Reason, ReasonKind, smallest
from detent.sources.regex.classes import CharacterClass, make_class
from detent.sources.regex.parser import (
    ONE_CHARACTER,
    POSSESSIVE_REPEAT,
    Item,
    Operator,
    SubPattern,
    Tree,
    op,
    parse_with_locations,
)
from detent.sources.regex.translate import Alphabet, translate, translate_part
from detent.sources.trampoline import trampoline

__all__ = ["RegexSource"]

_REPEATS = frozenset({op.MAX_REPEAT, op.MIN_REPEAT, POSSESSIVE_REPEAT})
_ASSERTIONS = frozenset({op.ASSERT, op.ASSERT_NOT})
_ATOMIC = getattr(op, "ATOMIC_GROUP", None)
_MARK = object()

_MOST_ITEMS = 30_000
"""Items of a pattern that is searched; each takes some 30 us."""

_LIMITS = Limits(source_bytes=1 << 30, depth=1000, pattern_size=10_000_000)
"""The pattern was read before, within its own limits."""

_BETWEEN = re.compile(r"(?:\(\?#[^)]*\)|\(\?[aiLmsux]+\))+")
_BETWEEN_VERBOSE = re.compile(r"(?:\(\?#[^)]*\)|\(\?[aiLmsux]+\)|\s|#[^\n]*(?:\n|\Z))+")


class _Location(NamedTuple):
    """An item of a pattern: where it stands, and the class that it reads, or an assertion."""

    start: int
    end: int
    items: tuple[Item, ...] | None
    flags: int


@dataclass(frozen=True)
class RegexSource:
    """A pattern with its flags and limits.

    Parameters
    ----------
    pattern : str
        The pattern.
    flags : int
        The flags of the call.
    """

    pattern: str
    flags: int

    def expected(self, dfa: ByteDfa, text: bytes, position: int) -> None:
        """Return None: the bytes that are expected say enough."""

    def hint(self, text: bytes) -> None:
        """Return None: no other pattern is known."""

    def conflict(self) -> None:
        """Return None: the parts of a pattern are not looked at."""

    def reasons(self, refused: Continuation) -> tuple[Reason, ...]:
        """Return the items that could read next, or the assertions that refuse the next character."""
        if refused.is_excluded:
            return ()
        try:
            root, flags = parse_with_locations(self.pattern, self.flags, _LIMITS)
        except LimitError:  # Python's own limit of recursion
            return ()
        locations = _Locations(self.pattern, flags)
        try:
            tree = locations.rewritten(root)
            marks = Marks(len(locations.found))
            node, _ = translate_part(tree, flags, _LIMITS.pattern_size, _MarkedAlphabet(marks))
            found = locations.open_at(node, marks, refused)
        except LimitError:
            return ()
        if found is not None:
            return tuple(locations.reason("pattern", location) for location in found)
        return self._assertions(refused, root, flags)

    def _assertions(self, refused: Continuation, root: SubPattern, flags: int) -> tuple[Reason, ...]:
        every = _Locations(self.pattern, flags, frozenset())
        every.rewritten(root)

        def refuses(kept: list[int]) -> bool:
            tree = _Locations(self.pattern, flags, frozenset(kept)).rewritten(root)
            return refused.is_refused_by(translate(tree, flags, _LIMITS.pattern_size))

        kept = smallest(range(len(every.found)), refuses) if every.found else None
        return tuple(every.reason("assertion", every.found[number]) for number in kept or ())


class _MarkedAlphabet(Alphabet):
    """Classes with marks, as `_Locations` writes them."""

    def __init__(self, marks: Marks) -> None:
        self._marks = marks
        self._known: dict[tuple[tuple[Item, ...], bool, bool], tuple[CharacterClass, bool]] = {}

    def make_class(self, items: tuple[Item, ...], ignore_case: bool, ascii_only: bool) -> CharacterClass:
        """Return the node of a class and its marks."""
        numbers = [value for kind, value in items if kind is _MARK]
        key = tuple(item for item in items if item[0] is not _MARK), ignore_case, ascii_only
        if key not in self._known:  # each item has marks of its own, but most classes occur often
            found = make_class(*key)
            self._known[key] = found, ByteDfa(found.node).is_empty()
        known, is_empty = self._known[key]
        if is_empty:
            return known
        return CharacterClass(_core.union([known.node, *map(self._marks.node, numbers)]), known.cost)


class _Locations:
    """The items of a pattern in the order of the pattern, found while its tree is written anew."""

    def __init__(self, pattern: str, flags: int, kept: frozenset[int] | None = None) -> None:
        self.pattern, self.flags, self.kept = pattern, flags, kept
        self.found: list[_Location] = []
        self._between = _BETWEEN_VERBOSE if flags & op.SRE_FLAG_VERBOSE else _BETWEEN

    def rewritten(self, root: SubPattern) -> Tree:
        """Return the tree with a mark in each class; or, with `kept`, with the assertions of these numbers alone."""
        return list(trampoline(self._sequence, (root, self.flags)).data)

    def _sequence(self, argument: tuple[SubPattern, int]) -> Generator[tuple[SubPattern, int], SubPattern, SubPattern]:
        sequence, flags = argument
        rewritten = op.SubPattern(sequence.state, [])
        start = sequence.start
        for (kind, value), end in zip(sequence.data, sequence.ends, strict=True):
            between = self._between.match(self.pattern, start, end)
            start = between.end() if between else start
            if kind in ONE_CHARACTER:
                rewritten.data.append(self._character(kind, value, flags, start, end))
            elif kind in _REPEATS:
                least, most, body = value
                body = yield body, flags
                is_kept = kind is not POSSESSIVE_REPEAT or self._is_kept(start, end)
                rewritten.data.append((kind if is_kept else op.MAX_REPEAT, (least, most, body)))
            elif kind is op.SUBPATTERN:
                group, added, removed, body = value
                inner = flags & ~op.TYPE_FLAGS if added & op.TYPE_FLAGS else flags
                body = yield body, (inner | added) & ~removed
                rewritten.data.append((kind, (group, added, removed, body)))
            elif kind is op.BRANCH:
                branches = []
                for branch in value[1]:
                    branches.append((yield branch, flags))
                rewritten.data.append((kind, (None, branches)))
            elif kind is _ATOMIC:
                rewritten.data.append((kind, (yield value, flags)))
            elif kind is op.FAILURE or self._is_kept(start, end):
                rewritten.data.append((kind, value))
            start = end
        return rewritten

    def _character(self, kind: Operator, value: Any, flags: int, start: int, end: int) -> Item:
        if self.kept is not None:
            return kind, value
        if kind is op.IN:
            items = list(value)
        elif kind is op.LITERAL:
            items = [(op.LITERAL, value)]
        else:
            items = [(op.NEGATE, None)]
            if kind is op.NOT_LITERAL:
                items.append((op.LITERAL, value))
            elif not flags & op.SRE_FLAG_DOTALL:
                items.append((op.LITERAL, 0x0A))
        if len(self.found) >= _MOST_ITEMS:
            raise LimitError("the pattern has too many items to be searched", subject="pattern_size", limit=_MOST_ITEMS)
        self.found.append(_Location(start, end, tuple(items), flags))
        # A negated class begins with its sign, by which the translation knows it.
        items.insert(items[0][0] is op.NEGATE, (_MARK, len(self.found) - 1))
        return op.IN, items

    def _is_kept(self, start: int, end: int) -> bool:
        if self.kept is None:
            return False
        self.found.append(_Location(start, end, None, 0))
        return len(self.found) - 1 in self.kept

    def open_at(self, node: _core.Node, marks: Marks, refused: Continuation) -> list[_Location] | None:
        """Return the items that could read the next character; None if one of them reads it."""
        dfa = ByteDfa(node)
        if not refused.is_refused(dfa):
            return None
        last = _last_character(refused.text)
        started = refused.text[last:]
        locations = [self.found[number] for number in marks.found(dfa, dfa.after(refused.text[:last]))]
        return [location for location in locations if not started or ByteDfa(_class_of(location)).after(started)]

    def reason(self, kind: ReasonKind, location: _Location) -> Reason:
        """Return the reason that names a location."""
        return Reason(kind, self.pattern[location.start : location.end], self.pattern, location.start)


def _class_of(location: _Location) -> _core.Node:
    flags = location.flags
    return make_class(location.items or (), bool(flags & op.SRE_FLAG_IGNORECASE), bool(flags & op.SRE_FLAG_ASCII)).node


def _last_character(text: bytes) -> int:
    """Return where a character begins that the text has not all bytes of; the length of the text if there is none."""
    for start in range(len(text) - 1, max(-1, len(text) - 4), -1):
        if text[start] >= 0xC0:
            size = 2 if text[start] < 0xE0 else 3 if text[start] < 0xF0 else 4
            return start if start + size > len(text) else len(text)
        if text[start] < 0x80:
            break
    return len(text)

"""Sets of strings: some listed strings, or the strings of some lengths that are in languages and not excluded."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from detent import _core
from detent.limits import Limits
from detent.queries import ByteDfa
from detent.sources.json_schema.assertions.document import SchemaDocument
from detent.sources.json_schema.assertions.formulas import (
    FALSE,
    TRUE,
    Combination,
    FormatTest,
    Formula,
    MaxLengthTest,
    MinLengthTest,
    Or,
    PatternTest,
    ScalarTest,
    ValueTest,
)
from detent.sources.json_schema.assertions.property_names import MatchingNames, NameSet, OtherNames
from detent.sources.nodes import CHARACTER, UTF8, lower_count, upper_count

__all__ = ["SearchRoom", "StringSet", "has_name", "matching_names", "string_set", "union_of_strings"]

_REPEATED_CHARACTER = re.compile(r"\^(\[(?:[^\]\\]|\\.)+\]|\\[dDwWsS])(\+|\*|\{(\d{1,6})(,(\d{0,6}))?\})\$")
"""A class of characters with a quantifier, from the start of the text to its end."""
_QUANTIFIERS: dict[str, tuple[int, None]] = {"+": (1, None), "*": (0, None)}
_LARGEST_COUNT = 1_000_000
_MAX_FIRST_SETS = 40


class SearchRoom:
    """The bytes that several searches may take together, so that their time is bounded: 10 to 20 ms a MB."""

    def __init__(self, memory_bytes: int) -> None:
        self._left = memory_bytes

    def search(self, node: _core.Node) -> ByteDfa:
        """Return the automaton of a node; raises `LimitError` if it needs more than what is left."""
        dfa = ByteDfa(node, Limits(memory_bytes=max(self._left, 1)))
        self._left -= dfa.memory_bytes
        return dfa


class StringSet:
    """An immutable set of strings.

    `listed` are its only members, in order, or None. Then the members are the strings of `min_length` to `max_length`
    characters that are in all languages of `nodes` and not in `excluded`.
    """

    __slots__ = ("_questions", "excluded", "listed", "max_length", "min_length", "nodes")

    def __init__(
        self,
        listed: dict[str, None] | None = None,
        excluded: frozenset[str] = frozenset(),
        min_length: int = 0,
        max_length: int | None = None,
        nodes: tuple[_core.Node, ...] = (),
    ) -> None:
        self.listed = listed
        self.excluded = excluded
        self.min_length = min_length
        self.max_length = max_length
        self.nodes = nodes
        self._questions: list[ByteDfa] | None = None

    @property
    def is_everything(self) -> bool:
        """Whether the definition has no condition."""
        has_lengths = self.min_length > 0 or self.max_length is not None
        return self.listed is None and not (self.nodes or self.excluded or has_lengths)

    def accepts(self, text: str) -> bool:
        """Whether the text is a member."""
        if self.listed is not None:
            return text in self.listed
        if text in self.excluded or len(text) < self.min_length:
            return False
        if self.max_length is not None and len(text) > self.max_length:
            return False
        return all(questions.accepts(text.encode()) for questions in self._languages())

    def _languages(self) -> list[ByteDfa]:
        if self._questions is None:
            self._questions = [ByteDfa(node) for node in self.nodes]
        return self._questions

    def is_empty(self, room: SearchRoom) -> bool:
        """Whether there is no member; searches the automaton, within the room that is left."""
        return not self.listed if self.listed is not None else room.search(self.node()).is_empty()

    def first_sets(self) -> list[frozenset[int]]:
        """Return the bytes at the first positions of the members; of several languages, what one says of most."""
        if self.listed is not None:
            texts = [text.encode() for text in self.listed]
            return [frozenset(column) for column in zip(*texts, strict=False)] if texts else []
        found = [questions.first_sets(_MAX_FIRST_SETS) for questions in self._languages()]
        return max(found, key=len, default=[])

    def intersection(self, other: StringSet) -> StringSet:
        """Return the strings of both sets."""
        for one, two in ((self, other), (other, self)):
            if one.listed is not None:
                return StringSet({text: None for text in one.listed if two.accepts(text)})
        max_length = min((each for each in (self.max_length, other.max_length) if each is not None), default=None)
        min_length = max(self.min_length, other.min_length)
        if max_length is not None and min_length > max_length:
            return StringSet({})
        nodes = tuple(dict.fromkeys(self.nodes + other.nodes))
        return StringSet(None, self.excluded | other.excluded, min_length, max_length, nodes)

    def few(self, max_count: int) -> list[str] | None:
        """Return the members if they are not more than `max_count`, the shortest ones first."""
        if self.listed is not None:
            return list(self.listed) if len(self.listed) <= max_count else None
        if not self.nodes and self.max_length is None:
            return None
        dfa = ByteDfa(self.node())
        found: list[bytes] = []
        layer = [(b"", dfa.start)] if dfa.start else []
        while layer:
            found += [text for text, state in layer if dfa.is_accepting(state)]
            # Each beginning leads to a member of its own.
            longer = [(text + bytes([byte]), state, byte) for text, state in layer for byte in dfa.expected(state)]
            layer = [(text, dfa.step(state, byte)) for text, state, byte in longer]
            if len(found) + len(layer) > max_count:
                return None
        return [text.decode() for text in found]

    def complement(self) -> StringSet:
        """Return all other strings."""
        if self.listed is not None:
            return StringSet(excluded=frozenset(self.listed))
        return StringSet(nodes=(_core.complement(self.node()), UTF8))

    def node(self) -> _core.Node:
        """Return the language of the strings themselves, not escaped."""
        if self.listed is not None:
            return _core.union([_core.literal(text.encode()) for text in self.listed])
        parts = list(self.nodes)
        if self.min_length or self.max_length is not None:
            parts.append(_core.repeat(CHARACTER, lower_count(self.min_length), upper_count(self.max_length)))
        if not parts:
            parts.append(UTF8)
        if self.excluded:
            words = [_core.literal(text.encode()) for text in sorted(self.excluded)]
            parts.append(_core.complement(_core.union(words)))
        return parts[0] if len(parts) == 1 else _core.intersection(parts)


def union_of_strings(sets: Iterable[StringSet]) -> StringSet:
    """Return the union of sets."""
    options = list(sets)
    if all(option.listed is not None for option in options):
        return StringSet({text: None for option in options for text in option.listed or ()})
    return StringSet(nodes=(_core.union([option.node() for option in options]),))


def matching_names(document: SchemaDocument, pattern: str) -> StringSet:
    """Return the names that a pattern of patternProperties matches."""
    found: StringSet | None = document.string_sets.get(pattern)
    if found is None:
        node = document.texts.pattern(pattern, document.root, "patternProperties")
        found = document.string_sets[pattern] = StringSet() if node is None else StringSet(nodes=(node,))
    return found


def has_name(document: SchemaDocument, names: NameSet, name: str) -> bool:
    """Whether a name is in a set of names that patternProperties or additionalProperties make."""
    if isinstance(names, MatchingNames):
        return matching_names(document, names.pattern).accepts(name)
    if not isinstance(names, OtherNames) or name in names.declared:
        return False
    return not any(matching_names(document, pattern).accepts(name) for pattern in names.patterns)


def string_set(document: SchemaDocument, formula: Formula) -> StringSet:
    """Return the strings for which a formula holds."""
    found: StringSet | None = document.string_sets.get(formula)
    if found is None:
        found = document.string_sets[formula] = _string_set(document, formula)
    return found


def _string_set(document: SchemaDocument, formula: Formula) -> StringSet:
    if isinstance(formula, ScalarTest):
        return _passing(document, formula)
    if formula is TRUE:
        return StringSet()
    if formula is FALSE:
        return StringSet({})
    assert isinstance(formula, Combination)  # noqa: S101 - no other formula is about strings
    counted = None if isinstance(formula, Or) else _counted_characters(document, formula.parts)
    if counted is not None:
        return counted
    parts = [string_set(document, part) for part in formula.parts]
    if isinstance(formula, Or):
        return union_of_strings(parts)
    found = StringSet()
    for part in parts:
        found = found.intersection(part)
    return found


def _counted_characters(document: SchemaDocument, tests: Sequence[Formula]) -> StringSet | None:
    """Return the strings of a pattern such as `^[a-z]+$` with bounds of their length, as a pattern `^[a-z]{2,9}$`.

    Masks of such a counted repeat of one set of characters need no walk. None if the tests are of another form.
    """
    pattern: PatternTest | None = None
    min_length, max_length = 0, _LARGEST_COUNT
    for test in tests:
        if not isinstance(test, (PatternTest, MinLengthTest, MaxLengthTest)) or not test.holds:
            return None
        if isinstance(test, MinLengthTest):
            min_length = max(min_length, test.argument)
        elif isinstance(test, MaxLengthTest):
            max_length = min(max_length, test.argument)
        elif pattern is None:
            pattern = test
        else:
            return None
    found = _REPEATED_CHARACTER.fullmatch(pattern.argument[0]) if pattern is not None else None
    if pattern is None or found is None or max_length >= _LARGEST_COUNT:
        return None
    lower, upper = _QUANTIFIERS.get(found[2]) or (int(found[3]), found[5] if found[4] else found[3])
    min_length, max_length = max(min_length, lower), max_length if upper in (None, "") else min(max_length, int(upper))
    if min_length > max_length:
        return StringSet({})
    written, near = pattern.argument
    if document.texts.pattern(written, near, "pattern") is None:  # an error shows the pattern as it was written
        return None
    node = document.texts.pattern(f"^{found[1]}{{{min_length},{max_length}}}$", near, "pattern")
    return StringSet() if node is None else StringSet(nodes=(node,))


def _passing(document: SchemaDocument, test: ScalarTest) -> StringSet:
    argument, holds = test.argument, test.holds
    if isinstance(test, ValueTest):
        return StringSet(dict.fromkeys(sorted(argument))) if holds else StringSet(excluded=argument)
    if isinstance(test, MinLengthTest):
        return StringSet(min_length=argument) if holds else StringSet(max_length=argument - 1)
    if isinstance(test, MaxLengthTest):
        return StringSet(max_length=argument) if holds else StringSet(min_length=argument + 1)
    text, node = argument
    assert isinstance(test, (PatternTest, FormatTest))  # noqa: S101 - no other test is about strings
    is_pattern = isinstance(test, PatternTest)
    found = document.texts.pattern(text, node, "pattern") if is_pattern else document.texts.format(text, node)
    if found is None:
        return StringSet()  # dropped
    return StringSet(nodes=(found if holds else _core.intersection([UTF8, _core.complement(found)]),))

"""The terminals of a grammar: what each matches, and which can match at the same position.

A *path* is a way to read a terminal. The regex that matches is its entry: NAME is the entry of the keyword `if`, and
also of NAME, whose text must not be `if`. Terminals that are tried before the entry must not match.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property, partial
from typing import NamedTuple

from detent import _core
from detent.errors import UnsupportedError
from detent.queries import ByteDfa
from detent.sources.grammar.language_set import LanguageSet
from detent.sources.grammar.lark_rules import LarkRules, LarkTerminal
from detent.sources.grammar.leftmost_match import LeftmostMatch, leftmost_match
from detent.sources.nodes import ANY_BYTES

__all__ = ["Path", "Terminals"]

_SOME_BYTES = _core.repeat(_core.byte_set(bytes(range(256))), 1, None)


class Path(NamedTuple):
    """A way to read a terminal; terminals are numbers."""

    entry: int
    """The terminal whose regex matches: the terminal itself, or a regex whose token becomes a keyword."""
    others: frozenset[int]
    """The keywords whose text the match must not be: the lexer would return that keyword instead."""
    rivals: frozenset[int]
    """The terminals that are tried before the entry: none of them may match here."""
    option: int | None = None
    """The one alternative of the entry whose texts the path reads (`Terminals.options`); None: all its texts."""


class Terminals:
    """The terminals of a grammar, by number."""

    def __init__(self, rules: LarkRules) -> None:
        self.rules = rules
        self._matches: dict[int, LeftmostMatch] = {}
        self._options: dict[int, list[LeftmostMatch]] = {}
        self._first: dict[int, bytes] = {}
        self._first_of: dict[frozenset[int], bytes] = {}
        self._sharing: dict[int, set[int]] = {}
        self._tentative: dict[int, ByteDfa] = {}
        self._answers: dict[tuple[object, ...], bool] = {}

    def __getitem__(self, number: int) -> LarkTerminal:
        return self.rules.terminals[number]

    @cached_property
    def languages(self) -> LanguageSet:
        """The languages of the terminals; to be asked for once all terminals are known."""
        return LanguageSet(terminal.pattern.node for terminal in self.rules.terminals)

    def match(self, number: int) -> LeftmostMatch:
        """Return the match of a terminal; raise if Lark refuses it, or if its assertions look beyond its text."""
        if number not in self._matches:
            terminal = self[number]
            pattern, source = terminal.pattern, self.rules.source
            if pattern.widths[0] == 0:
                what = f"terminal {terminal.name} matches the empty text, which Lark refuses"
                remedy = f"let it match at least one character, and write [{terminal.name}] where it may be missing"
                source.malformed(what, terminal.offset, remedy)
            if pattern.is_text or not pattern.is_plain:
                self._matches[number] = LeftmostMatch(pattern.node, pattern.node, None)
            else:
                try:
                    self._matches[number] = leftmost_match(pattern.parsed, self.languages)
                except UnsupportedError as error:
                    what, _, remedy = str(error).partition("\n")
                    source.unsupported(f"terminal {terminal.name}: {what}", terminal.offset, remedy)
        return self._matches[number]

    def options(self, number: int) -> list[LeftmostMatch]:
        """Return the matches of the alternatives of a terminal, if they need different guards; else none.

        For example, nothing makes a comment in `/* */` longer, but every character except a newline makes a comment
        after `//` longer. If all alternatives can become longer, the terminal as a whole takes fewer states. The
        alternatives must have the same texts together as the terminal.
        """
        if number not in self._options:
            match, options = self.match(number), self[number].pattern.options
            found = [leftmost_match(option.parsed, self.languages) for option in options if not option.is_text]
            self._options[number] = []
            if len(found) == len(options) > 1 and all(each.after is None for each in [match, *found]):
                union = _core.union([each.tentative for each in found])
                more = _core.intersection([match.tentative, _core.complement(union)])
                fewer = _core.intersection([union, _core.complement(match.tentative)])
                longer = [
                    _core.intersection([match.tentative, _core.concat([each.tentative, _SOME_BYTES])]) for each in found
                ]
                is_empty = self.languages.is_empty
                if is_empty(more) and is_empty(fewer) and any(map(is_empty, longer)):
                    self._options[number] = found
        return self._options[number]

    def ignored_paths(self, number: int, rivals: frozenset[int]) -> list[Path]:
        """Return the paths of an ignored terminal."""
        options: list[int | None] = [*range(len(self.options(number)))] or [None]
        return [Path(number, frozenset(), rivals, option) for option in options]

    def order(self, number: int) -> tuple[int, int, int, str]:
        """Return the key by which the lexer sorts terminals."""
        terminal = self[number]
        pattern = terminal.pattern
        return -terminal.priority, -pattern.widths[1], -len(pattern.value), terminal.name

    def first_bytes(self, number: int) -> bytes:
        """Return the bytes that a terminal may begin with."""
        if number not in self._first:
            literal = self[number].pattern.literal
            node = self.match(number).full
            self._first[number] = self.languages.dfa(node).first_bytes()[1] if literal is None else literal[:1]
        return self._first[number]

    def first_bytes_of(self, numbers: frozenset[int]) -> bytes:
        """Return the bytes that one of some terminals may begin with."""
        if numbers not in self._first_of:
            self._first_of[numbers] = bytes(sorted(set().union(*map(self.first_bytes, numbers))))
        return self._first_of[numbers]

    def is_keyword(self, text: int, regex: int) -> bool:
        """Whether a regex reads a text exactly."""
        if regex not in self._tentative:
            self._tentative[regex] = self.languages.dfa(self.match(regex).tentative)
        return self._tentative[regex].accepts(self[text].pattern.value.encode())

    def meeting(self, numbers: frozenset[int], number: int) -> frozenset[int]:
        """Return the terminals among `numbers` that may match where `number` does: some text begins with both."""
        if not numbers:
            return numbers
        candidates = numbers & self._sharing_first_byte(number)
        if number in self._meeting_literals:
            candidates -= self._meeting_literals.keys() - self._meeting_literals[number]
        return frozenset(other for other in candidates if self.may_meet(other, number))

    @cached_property
    def _meeting_literals(self) -> dict[int, set[int]]:
        """For each literal, the literals that begin with it and those that it begins with, itself among them."""
        texts = [(terminal.pattern.literal, number) for number, terminal in enumerate(self.rules.terminals)]
        found: dict[int, set[int]] = {number: {number} for text, number in texts if text is not None}
        beginnings: list[tuple[bytes, int]] = []
        for text, number in sorted((text, number) for text, number in texts if text is not None):
            while beginnings and not text.startswith(beginnings[-1][0]):
                beginnings.pop()
            for _, other in beginnings:
                found[number].add(other)
                found[other].add(number)
            beginnings.append((text, number))
        return found

    @cached_property
    def _by_first_byte(self) -> list[set[int]]:
        """The terminals that may begin with each byte."""
        found: list[set[int]] = [set() for _ in range(256)]
        for number in range(len(self.rules.terminals)):
            for byte in self.first_bytes(number):
                found[byte].add(number)
        return found

    def _sharing_first_byte(self, number: int) -> set[int]:
        """Return the terminals that may begin with a byte that a terminal may begin with."""
        if number not in self._sharing:
            self._sharing[number] = set().union(*(self._by_first_byte[byte] for byte in self.first_bytes(number)))
        return self._sharing[number]

    def may_meet(self, left: int, right: int) -> bool:
        """Whether some text begins with both terminals."""
        texts = [self[number].pattern.literal for number in (left, right)]
        if texts[0] is not None and texts[1] is not None:
            return texts[0].startswith(texts[1]) or texts[1].startswith(texts[0])
        if not set(self.first_bytes(left)) & set(self.first_bytes(right)):
            return False
        both = _core.intersection([self.prefixed_by(left), self.prefixed_by(right)])
        key = ("meet", min(left, right), max(left, right))
        return self.ask(key, lambda: not self.languages.is_empty(both))

    def prefixed_by(self, number: int) -> _core.Node:
        """Return the texts that begin with a terminal."""
        return _core.concat([self.match(number).full, ANY_BYTES])

    def reading(self, path: Path) -> LeftmostMatch:
        """Return the match of the entry of a path, or of the alternative that the path reads."""
        return self.match(path.entry) if path.option is None else self.options(path.entry)[path.option]

    def texts(self, terminal: int, path: Path) -> _core.Node:
        """Return the texts of a terminal that a path reads."""
        tentative = self.reading(path).tentative
        parts = [tentative]
        if terminal != path.entry:
            full = self.match(terminal).full
            key = ("within", terminal, path.entry)
            is_within = self.ask(key, partial(self.languages.is_within, full, tentative))
            parts = [full] if is_within else [full, tentative]
        parts += [_core.complement(self.match(other).full) for other in sorted(path.others)]
        return _core.intersection(parts) if len(parts) > 1 else parts[0]

    def is_repeatable(self, number: int) -> bool:
        """Whether two texts of a terminal, one after the other, are always one text of it, as of white space."""
        full = self.match(number).full
        twice = _core.intersection([_core.concat([full, full]), _core.complement(full)])
        return self.ask(("repeatable", number), lambda: self.languages.is_empty(twice))

    def may_begin(self, texts: _core.Node, numbers: Iterable[int] | None = None) -> bool:
        """Whether one of some terminals, without `numbers` one of all, may begin with one of some texts."""
        numbers = range(len(self.rules.terminals)) if numbers is None else numbers
        first = _core.concat([texts, ANY_BYTES])
        common = (_core.intersection([self.match(number).full, first]) for number in numbers)
        return not all(map(self.languages.is_empty, common))

    def ask(self, key: tuple[object, ...], answer: Callable[[], bool]) -> bool:
        """Return the answer to a question that has a key, remembered."""
        if key not in self._answers:
            self._answers[key] = answer()
        return self._answers[key]

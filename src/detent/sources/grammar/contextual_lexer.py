"""The texts that Lark's contextual lexer reads as each terminal, and the restriction of the text after each token.

The lexer tries the terminals that the parser's state expects, and the ignored ones, in an order: higher priority, then
greater width, longer regex, name. It takes the first that matches, as far as `re.match` goes (`leftmost_match`). A
keyword such as `if` is not tried if a regex of the same priority, such as NAME, matches it too: a token of NAME with
the text `if` becomes the keyword (lark 1.3, `lexer.py`: `BasicLexer`, `_create_unless`).

A *path* is a way to read a terminal. The regex that matches is its entry: NAME is the entry of the keyword `if`, and
also of NAME, whose text must not be `if`. Terminals that are tried before the entry must not match.

A *guard* is the restriction of the text after a token: this text must not make the match of the entry longer. After
`if`, it forbids the characters of names. No guard is needed if no terminal that may come next begins with one of these.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property, partial
from typing import NamedTuple

from detent import _core
from detent.errors import LimitError, UnsupportedError
from detent.limits import Limits
from detent.queries import ByteDfa
from detent.sources.grammar.language_set import LanguageSet
from detent.sources.grammar.lark_rules import LarkRules, LarkTerminal
from detent.sources.grammar.leftmost_match import LeftmostMatch, leftmost_match
from detent.sources.grammar.outer_lookaheads import Case
from detent.sources.grammar.productions import Grammar
from detent.sources.nodes import ANY_BYTES, CHARACTER

__all__ = ["ContextualLexer", "Guard", "Path", "Terminals"]

# The limits of a question about terminals. If one is exceeded, the guard is `MAXIMAL`, or there is no escape.
_STATES = 2_000

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


class Guard(IntEnum):
    """The restriction of the text after a token.

    A number above `NONE` is an index of `Terminals.guards`: the text must not begin with a text of that language.
    """

    NONE = 0
    MAXIMAL = -1
    """The text must not make the match longer; the core checks it (`maximal_munch`)."""


class _NoBlankError(Exception):
    """An escape has used a blank that cannot come before some terminal; the nodes must be made again."""


class Terminals:
    """The terminals of a grammar: what each matches, which can match at the same position, and their guards.

    A *blank* is an ignored text of one byte, such as a space, that may come before every terminal. It serves as the
    *escape* of a guard that does not forbid it: whatever else the guard forbids, the text can go on with the blank.
    """

    def __init__(self, rules: LarkRules, limits: Limits) -> None:
        self.rules, self.limits = rules, limits
        self._matches: dict[int, LeftmostMatch] = {}
        self._options: dict[int, list[LeftmostMatch]] = {}
        self._first: dict[int, bytes] = {}
        self._first_of: dict[frozenset[int], bytes] = {}
        self._sharing: dict[int, set[int]] = {}
        self._tentative: dict[int, ByteDfa] = {}
        self._answers: dict[tuple[object, ...], bool] = {}
        self.guards: list[_core.Node] = [_core.empty()]
        self._guards: dict[tuple[str, object], int] = {}
        self._blanks: dict[int, bytes] | None = None
        self._used_blanks: set[int] = set()
        self._guard_bytes: dict[int, frozenset[int]] = {}
        self._extensions: dict[tuple[int, Path], _Extensions | None] = {}
        self._entries: dict[int, ByteDfa | None] = {}
        self._after_guard: dict[tuple[int, Path, int], _core.Node | None] = {}

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
                remedy = "let it match a character at least, and make what calls it optional"
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
        return self._ask(key, lambda: not self.languages.is_empty(both))

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
            is_within = self._ask(key, partial(self.languages.is_within, full, tentative))
            parts = [full] if is_within else [full, tentative]
        parts += [_core.complement(self.match(other).full) for other in sorted(path.others)]
        return _core.intersection(parts) if len(parts) > 1 else parts[0]

    def is_repeatable(self, number: int) -> bool:
        """Whether two texts of a terminal, one after the other, are always one text of it, as of white space."""
        full = self.match(number).full
        twice = _core.intersection([_core.concat([full, full]), _core.complement(full)])
        return self._ask(("repeatable", number), lambda: self.languages.is_empty(twice))

    def narrowed(self, terminal: int, path: Path, following: frozenset[int]) -> tuple[Path, int] | None:
        """Return a path with the keywords and rivals that can match there, and its guard; None if no text takes it.

        `following` are the terminals that may come next.
        """
        path = path._replace(others=self.meeting(path.others, path.entry))
        self._check_assumed(path.entry, following)
        texts = self.texts(terminal, path)
        kept: list[int] = []
        following_bytes = self.first_bytes_of(following)
        tail = _core.concat([texts, _core.union([_core.epsilon(), _begins(following_bytes)])])
        for rival in sorted(self.meeting(path.rivals, path.entry)):
            prefixed_by = self.prefixed_by(rival)
            met = _core.intersection([tail, prefixed_by])
            key = ("tail", terminal, path._replace(rivals=frozenset()), following_bytes, rival)
            if self._ask(key, partial(self.languages.is_empty, met)):
                continue
            if self.match(rival).after is None and self.languages.is_within(texts, prefixed_by):
                return None
            kept.append(rival)
        return path._replace(rivals=frozenset(kept)), self._guard(terminal, path, following)

    def _guard(self, terminal: int, path: Path, following: frozenset[int]) -> int:
        """Return the guard of a path: none if no terminal that may follow begins with a byte that the entry reads on.

        The guard forbids the characters that the end of the entry repeats, or the bytes that make the match longer. If
        neither describes all longer matches, it is `MAXIMAL`.
        """
        extensions = self.extensions(terminal, path)
        if extensions is None:
            return Guard.MAXIMAL
        ends, goes_on = extensions.ends, extensions.goes_on
        nexts = set(self.first_bytes_of(following))
        if not nexts & (ends | goes_on):
            return Guard.NONE
        if self.match(path.entry).after is not None:
            self._check_lookahead(path.entry, following)
        key = ("loop", path.entry, path.option, extensions.states)
        if self._ask(key, partial(self._reads_on, terminal, path, extensions.states)):
            loop = self.reading(path).loop
            is_ascii = min(nexts & (ends | goes_on)) < 0x80  # other first bytes may begin characters outside the loop
            key = ("follows", path.entry, path.option, following)
            if not is_ascii and loop is not None and not self._ask(key, partial(self._may_begin, loop, following)):
                return Guard.NONE
            return self._guard_number(("loop", (path.entry, path.option)), loop)
        if nexts & goes_on:
            return Guard.MAXIMAL
        return self._guard_number(("bytes", bytes(sorted(ends))), _core.byte_set(bytes(sorted(ends))))

    def extensions(self, terminal: int, path: Path) -> _Extensions | None:
        """Return the bytes that an entry reads on after the texts of a path; None if its automaton is too large."""
        key = (terminal, path._replace(rivals=frozenset()))
        if key not in self._extensions:
            self._extensions[key] = None
            within = self._automaton(path.entry)
            with suppress(LimitError):
                if within is not None:
                    states = self._states_after(terminal, path, within)
                    self._extensions[key] = _Extensions(states, *map(frozenset, within.bytes_after(states)))
        return self._extensions[key]

    def _automaton(self, entry: int) -> ByteDfa | None:
        """Return the automaton of the tentative texts of an entry; None if it is too large."""
        if entry not in self._entries:
            self._entries[entry] = None
            with suppress(LimitError):
                self._entries[entry] = self.languages.dfa(self.match(entry).tentative)
        return self._entries[entry]

    def _states_after(self, terminal: int, path: Path, within: ByteDfa) -> frozenset[int]:
        """Return the states of the entry's automaton after the texts that a path reads as a terminal."""
        literal = self[terminal].pattern.literal
        if terminal == path.entry and path.option is None:
            others = [self[other].pattern.literal for other in sorted(path.others)]
            if None not in others:
                return _states_besides(within, [other for other in others if other is not None])
        if literal is None or path.option is not None:
            return _states_after(self.languages.dfa(self.texts(terminal, path)), within)
        if any(self._is_matched(other, literal) for other in path.others):
            return frozenset()
        return frozenset([within.after(literal)] if within.accepts(literal) else [])

    def _is_matched(self, number: int, text: bytes) -> bool:
        literal = self[number].pattern.literal
        if literal is not None:
            return literal == text
        return self.languages.dfa(self.match(number).full).accepts(text)

    def _check_lookahead(self, number: int, following: frozenset[int]) -> None:
        """Raise `UnsupportedError` if a terminal may backtrack from a match that its final lookahead refuses.

        1. `re` backtracks from a match q to a shorter match p if the lookahead refuses the text after q, q cannot be
           extended, and the lookahead accepts the text after p.
        2. The parse then continues only if a terminal matches after p.
        """
        match = self.match(number)
        assert match.after is not None  # noqa: S101 - the caller has looked
        # What one case refuses, another may accept.
        accepted = _SOME_BYTES if match.cases else _core.intersection([_SOME_BYTES, _not_before(match.after)])
        backtracking = _core.intersection([match.full, _core.concat([match.full, accepted])])
        if self.languages.is_empty(backtracking):
            return
        refused = _core.intersection([_core.concat([backtracking, match.after]), _core.complement(match.full)])
        texts = _core.concat([refused, ANY_BYTES])
        for other in sorted(following):
            next_match = self.match(other)
            rest = ANY_BYTES if next_match.after is None else _not_before(next_match.after)
            after_short = _core.intersection([accepted, _core.concat([next_match.full, rest])])
            if not self.languages.is_empty(_core.intersection([texts, _core.concat([match.full, after_short])])):
                problem = f"the lookahead at the end of terminal {self[number].name} decides how long its match is"
                remedy = "let it refuse all characters that continue the terminal, or take it away"
                self.rules.source.unsupported(problem, self[number].offset, remedy)

    def _check_assumed(self, number: int, following: frozenset[int]) -> None:
        """Raise `UnsupportedError` if the characters that a terminal assumes not to follow it may do so."""
        assumed = self.match(number).assumed
        if assumed is None:
            return
        texts, characters = assumed
        longer = _core.concat([texts, characters])
        others = frozenset(range(len(self.rules.terminals))) - {number}
        if self._may_begin(characters, following) or self._may_begin(longer, others):
            problem = f"the lookahead at the start of terminal {self[number].name} looks beyond it"
            remedy = r"let the terminal read on over all that \b takes for a word, as \w does"
            self.rules.source.unsupported(problem, self[number].offset, remedy)

    def _may_begin(self, texts: _core.Node, numbers: Iterable[int] | None = None) -> bool:
        """Whether one of some terminals, without `numbers` one of all, may begin with one of some texts."""
        numbers = range(len(self.rules.terminals)) if numbers is None else numbers
        first = _core.concat([texts, ANY_BYTES])
        common = (_core.intersection([self.match(number).full, first]) for number in numbers)
        return not all(map(self.languages.is_empty, common))

    def _reads_on(self, terminal: int, path: Path, states: frozenset[int]) -> bool:
        r"""Whether the entry reads on after each text of the path, over all characters of its loop and no others.

        The loop is the set of characters that the end of the entry's regex repeats: `\w` in `[a-z]\w*`. `states` are
        those of the entry after the texts: if nothing but the loop is left there, no question about texts is needed.
        """
        loop, tentative = self.reading(path).loop, self.match(path.entry).tentative
        if loop is None:
            return False
        within = self._automaton(path.entry)
        around = self.languages.dfa(_core.repeat(loop, 0, None))
        if within is not None and all(within.has_language_of(state, around) for state in states):
            return True
        texts = self.texts(terminal, path)
        other = _core.intersection([CHARACTER, _core.complement(loop)])
        stops = _core.intersection([_core.concat([texts, loop]), _core.complement(tentative)])
        goes = _core.intersection([tentative, _core.concat([texts, other, ANY_BYTES])])
        return self.languages.is_empty(stops) and self.languages.is_empty(goes)

    def _guard_number(self, key: tuple[str, object], node: _core.Node | None) -> int:
        assert node is not None  # noqa: S101 - the callers have looked
        if key not in self._guards:
            self._guards[key] = len(self.guards)
            self.guards.append(node)
        return self._guards[key]

    def guard_bytes(self, guard: int) -> frozenset[int]:
        """Return the first bytes of the texts that a guard forbids."""
        if guard not in self._guard_bytes:
            self._guard_bytes[guard] = frozenset(self.languages.dfa(self.guards[guard]).first_bytes()[1])
        return self._guard_bytes[guard]

    def texts_after_guard(self, terminal: int, path: Path, guard: int) -> _core.Node | None:
        """Return the texts that a path reads as a terminal after a token with a guard; None if there are none."""
        key = (terminal, path._replace(rivals=frozenset()), guard)
        if key not in self._after_guard:
            self._after_guard[key] = self._find_texts_after_guard(*key)
        return self._after_guard[key]

    def _find_texts_after_guard(self, terminal: int, path: Path, guard: int) -> _core.Node | None:
        texts = self.texts(terminal, path)
        if guard == Guard.NONE or self.guard_bytes(guard).isdisjoint(self.first_bytes(terminal)):
            return texts
        forbidden = _core.concat([self.guards[guard], ANY_BYTES])
        if self.languages.is_empty(_core.intersection([texts, forbidden])):
            return texts
        rest = _core.intersection([texts, _core.complement(forbidden)])
        return None if self.languages.is_empty(rest) else rest

    @property
    def blanks(self) -> dict[int, bytes]:
        """The ignored terminals that have blanks, each with its texts of one byte.

        At first all ignored terminals are assumed to come before every terminal, and before the end of the text.
        `check_blanks` removes those that do not.
        """
        if self._blanks is None:
            self._blanks = {}
            for number in self.rules.ignored:
                match = self.match(number)
                if match.after is None and not self.options(number):
                    dfa = self.languages.dfa(match.tentative)
                    texts = bytes(byte for byte in b" \n\t" + self.first_bytes(number) if dfa.accepts(bytes([byte])))
                    if texts:
                        self._blanks[number] = texts
        return self._blanks

    def with_blanks(self, make: Callable[[], Grammar]) -> Grammar:
        """Return the grammar that a function makes; it is made again if an escape has used a wrong blank."""
        while True:
            try:
                return make()
            except _NoBlankError:
                continue  # with fewer blanks

    def check_blanks(self, before: Iterable[tuple[int, Path, int]]) -> None:
        """Remove the blanks that are not among the ignored paths before a terminal.

        If an escape has used one of them, raise an error by which `with_blanks` begins again. Ignored paths with rivals
        or a guard do not count.
        """
        found = {number for number, path, left in before if left == Guard.NONE and not path.rivals}
        for number in set(self.blanks) - found:
            del self.blanks[number]
            if number in self._used_blanks:
                self._used_blanks.clear()
                raise _NoBlankError

    def with_escape(self, terminal: int, path: Path, guard: int) -> tuple[Path, int]:
        """Return a path, with the guard `MAXIMAL` instead of a language if the path has an escape.

        The core checks `MAXIMAL` by itself, so that the rules need not hold the guard.
        """
        return path, Guard.MAXIMAL if guard > Guard.NONE and self._escape(terminal, path, None) else guard

    def _escape(self, terminal: int, path: Path, rivals: _core.Node | None) -> bytes:
        """Return an escape of a path: a text after which no restriction of the path can fail; empty if none is found.

        It is a blank after the token. With `rivals`, which must not match at the token, it is the shortest text of the
        terminal that no rival begins, with the blank.
        """
        extensions = self._extensions.get((terminal, path._replace(rivals=frozenset())))
        if extensions is None:
            return b""
        after = self.match(path.entry).after
        forbidden = b"" if after is None else self.languages.dfa(after).first_bytes()[1]
        avoided = extensions.ends | extensions.goes_on | set(forbidden)
        found = ((number, byte) for number, texts in self.blanks.items() for byte in texts if byte not in avoided)
        number, byte = next(found, (-1, 0))
        if number < 0:
            return b""
        self._used_blanks.add(number)
        escape = bytes([byte])
        if rivals is None:
            return escape
        prefixed = _core.concat([rivals, ANY_BYTES])
        texts = _core.intersection([self.texts(terminal, path), _core.complement(prefixed)])
        try:
            text = self.languages.dfa(texts).shortest()
        except LimitError:
            return b""
        if text is None:
            return b""
        return b"" if self.languages.dfa(prefixed).after(text + escape) else text + escape

    def node(self, terminal: int, path: Path, guard: int, pending: int = Guard.NONE) -> _core.Node | None:
        """Return the expression of a narrowed path with its guard; None if it has no text.

        `pending` is the guard of the token before.
        """
        texts = self.texts_after_guard(terminal, path, pending)
        if texts is None:
            return None
        entry = self.match(path.entry)
        before: list[_core.Node] = []
        for rival in sorted(path.rivals):
            match = self.match(rival)
            if match.after is None:
                before.append(match.full)
                continue
            for case in match.cases or [Case(match.full, match.after)]:
                texts, rest = self._against_lookahead(path.entry, rival, case, texts)
                before.append(rest)
        parts: list[_core.Node] = []
        ends: list[_core.Node] = []
        escape = b""
        if guard == Guard.MAXIMAL or entry.after is not None:
            escape = self._escape(terminal, path, None)
        if before:
            rest = _core.union(before)
            parts.append(_core.not_followed_by(rest, self._escape(terminal, path, rest)))
        for case in entry.cases or [Case(texts, entry.after)]:
            some = _core.intersection([texts, case.texts]) if entry.cases else texts
            node = _core.maximal_munch(some, entry.tentative, escape) if guard == Guard.MAXIMAL else some
            ends.append(node if case.after is None else _core.concat([node, _core.not_followed_by(case.after, escape)]))
        parts.append(_core.union(ends) if len(ends) > 1 else ends[0])
        return _core.concat(parts) if len(parts) > 1 else parts[0]

    def _against_lookahead(
        self, entry: int, rival: int, case: Case, texts: _core.Node
    ) -> tuple[_core.Node, _core.Node]:
        r"""Return the texts of an entry without those of a rival's case, and texts that must not begin there.

        The rival `if(?!\w)` matches `if` unless a `\w` follows. The entry `\w+` reads on over any such character, so
        `if` is never its match. And where `if` and any other character begin, the rival matches first. Entries that do
        not read on over all that the lookahead forbids are not supported. Characters with which no terminal begins do
        not count, such as é after `[a-z]+`.
        """
        full, after = _core.intersection([self.match(rival).full, case.texts]), case.after
        if after is None:
            return texts, full
        shared = _core.intersection([texts, full])
        loop, tentative = self.match(entry).loop, self.match(entry).tentative
        follows = after
        others = None if loop is None else _core.intersection([after, _core.complement(loop)])
        key = ("begins", entry, rival, case)
        if loop is not None and others is not None and not self._ask(key, partial(self._may_begin, others)):
            follows = _core.intersection([after, loop])
        longer = _core.concat([shared, follows])
        if not self.languages.is_within(after, CHARACTER) or not self.languages.is_within(longer, tentative):
            first, second = self[rival], self[entry]
            what = f"the lookahead at the end of terminal {first.name} decides between it and {second.name}"
            remedy = "take the lookahead away, or give the terminals priorities and no common beginning"
            self.rules.source.unsupported(what, first.offset, remedy)
        other = _core.intersection([CHARACTER, _core.complement(after)])
        return _core.intersection([texts, _core.complement(full)]), _core.concat([full, other])

    def _ask(self, key: tuple[object, ...], answer: Callable[[], bool]) -> bool:
        if key not in self._answers:
            self._answers[key] = answer()
        return self._answers[key]


@dataclass(frozen=True)
class ContextualLexer:
    """The lexer of one context: the terminals that the parser expects, and the ignored ones."""

    terminals: Terminals
    expected: frozenset[int]

    @cached_property
    def entries(self) -> list[tuple[int, list[int]]]:
        """The terminals that are tried, in order, each with the keywords that a token of it may become."""
        terminals = self.terminals
        ordered = sorted(self.expected, key=terminals.order)
        texts = [number for number in ordered if terminals[number].pattern.is_text]
        embedded: set[int] = set()
        found: list[tuple[int, list[int]]] = []
        for number in ordered:
            keywords: list[int] = []
            pattern = terminals[number].pattern
            if not pattern.is_text:
                for text in texts:
                    same = terminals[text].priority == terminals[number].priority
                    if same and terminals.is_keyword(text, number):
                        keywords.append(text)
                        if set(terminals[text].pattern.flags) <= set(pattern.flags):
                            embedded.add(text)
            found.append((number, keywords))
        return [entry for entry in found if entry[0] not in embedded]

    @cached_property
    def paths(self) -> dict[int, list[Path]]:
        """The paths by which each terminal that is not ignored is read, in the order of their entries."""
        return self._paths[0]

    @cached_property
    def skipped(self) -> dict[int, list[Path]]:
        """The paths by which each ignored terminal is read. Its texts are ignored even if they are keywords."""
        return self._paths[1]

    @cached_property
    def _paths(self) -> tuple[dict[int, list[Path]], dict[int, list[Path]]]:
        found: dict[int, list[Path]] = {number: [] for number in self.expected}
        skipped: dict[int, list[Path]] = {number: [] for number in self.expected}
        rivals: set[int] = set()
        for entry, keywords in self.entries:
            if entry in self.terminals.rules.ignored:
                skipped[entry].extend(self.terminals.ignored_paths(entry, frozenset(rivals)))
            else:
                for index, keyword in enumerate(keywords):
                    found[keyword].append(Path(entry, frozenset(keywords[:index]), frozenset(rivals)))
                found[entry].append(Path(entry, frozenset(keywords), frozenset(rivals)))
            rivals.add(entry)
        return found, skipped


def _not_before(texts: _core.Node) -> _core.Node:
    """Return the byte strings that do not begin with one of the texts."""
    return _core.complement(_core.concat([texts, ANY_BYTES]))


def _begins(following: bytes) -> _core.Node:
    if not following:
        return _core.empty()
    return _core.concat([_core.byte_set(following), ANY_BYTES])


class _Extensions(NamedTuple):
    """The bytes that the entry of a path reads on after the texts of the path.

    Attributes
    ----------
    states : frozenset of int
        The states of the entry's automaton after the texts; they determine the bytes.
    ends : set of int
        The bytes of which each, after every text of the path, makes a longer text of the entry.
    goes_on : set of int
        The other bytes that begin a longer text of the entry after some text of the path.
    """

    states: frozenset[int]
    ends: frozenset[int]
    goes_on: frozenset[int]


def _states_besides(within: ByteDfa, excluded: list[bytes]) -> frozenset[int]:
    """Return the states of an automaton after its texts, except the excluded texts."""
    following: dict[bytes, set[int]] = {}
    for text in excluded:
        for length, byte in enumerate(text):
            following.setdefault(text[:length], set()).add(byte)
    texts, sizes = set(excluded), Counter(within.class_of)
    reached = set() if following else {within.start}
    found: set[int] = set()
    for prefix, after in following.items():
        state = within.after(prefix)
        if within.is_accepting(state) and prefix not in texts:
            found.add(state)
        row = [*within.row(state)]
        for number, count in Counter(within.class_of[byte] for byte in after).items():
            if count == sizes[number]:
                row[number] = 0
        reached.update(row)
        ends = (prefix + bytes([byte]) for byte in after if prefix + bytes([byte]) not in following)
        for end in ends:  # the excluded text itself does not count, longer texts do
            reached.update(within.row(within.after(end)))
    beyond = within.reachable(reached, _STATES)
    if beyond is None:
        raise LimitError("the automaton of a terminal is too large", subject="states", limit=_STATES)
    return frozenset(found.union(filter(within.is_accepting, beyond)))


def _states_after(texts: ByteDfa, within: ByteDfa) -> frozenset[int]:
    """Return the states of one automaton after the texts of another; goes through both in step."""
    pairs = sorted(set(zip(texts.class_of, within.class_of, strict=True)))
    seen = {(texts.start, within.start)}
    waiting = list(seen)
    found: set[int] = set()
    for first, second in waiting:
        if texts.is_accepting(first):
            found.add(second)
        left, right = texts.row(first), within.row(second)
        for target in {(left[a], right[b]) for a, b in pairs}:
            if target[0] and target not in seen:
                if len(seen) > _STATES:
                    raise LimitError("the automata of two terminals are too large", subject="states", limit=_STATES)
                seen.add(target)
                waiting.append(target)
    return frozenset(found)

"""Guards: the restriction of the text after each token of Lark's contextual lexer, and after ignored texts.

A *guard* restricts the text after a token: this text must not make the match of the entry longer. After `if`, it
forbids the characters of names. No guard is needed if no terminal that may come next begins with one of these.

A *blank* is an ignored text of one byte, such as a space, that may come before every terminal. It serves as the
*escape* of a guard that does not forbid it: whatever else the guard forbids, the text can go on with the blank.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from enum import IntEnum
from functools import partial

from detent import _core
from detent.errors import LimitError
from detent.queries import ByteDfa
from detent.sources.grammar.extensions import Extensions, states_after, states_besides
from detent.sources.grammar.language_set import LanguageSet
from detent.sources.grammar.outer_lookaheads import Case
from detent.sources.grammar.productions import Grammar
from detent.sources.grammar.terminals import Path, Terminals
from detent.sources.nodes import ANY_BYTES, CHARACTER

__all__ = ["Guard", "Guards"]

_SOME_BYTES = _core.repeat(_core.byte_set(bytes(range(256))), 1, None)


class Guard(IntEnum):
    """The restriction of the text after a token.

    A number above `NONE` is an index of `Guards.guards`: the text must not begin with a text of that language.
    """

    NONE = 0
    MAXIMAL = -1
    """The text must not make the match longer; the core checks it (`maximal_munch`)."""


class _NoBlankError(Exception):
    """An escape has used a blank that cannot come before some terminal; the nodes must be made again."""


class Guards:
    """The guards of a grammar's tokens: which path needs which, and the expressions of paths with them."""

    def __init__(self, terminals: Terminals) -> None:
        self.terminals = terminals
        self.guards: list[_core.Node] = [_core.empty()]
        self._guards: dict[tuple[str, object], int] = {}
        self._blanks: dict[int, bytes] | None = None
        self._used_blanks: set[int] = set()
        self._guard_bytes: dict[int, frozenset[int]] = {}
        self._extensions: dict[tuple[int, Path], Extensions | None] = {}
        self._entries: dict[int, ByteDfa | None] = {}
        self._after_guard: dict[tuple[int, Path, int], _core.Node | None] = {}

    @property
    def languages(self) -> LanguageSet:
        """The languages of the terminals."""
        return self.terminals.languages

    def narrowed(self, terminal: int, path: Path, following: frozenset[int]) -> tuple[Path, int] | None:
        """Return a path with the keywords and rivals that can match there, and its guard; None if no text takes it.

        `following` are the terminals that may come next.
        """
        path = path._replace(others=self.terminals.meeting(path.others, path.entry))
        self._check_assumed(path.entry, following)
        texts = self.terminals.texts(terminal, path)
        kept: list[int] = []
        following_bytes = self.terminals.first_bytes_of(following)
        tail = _core.concat([texts, _core.union([_core.epsilon(), _begins(following_bytes)])])
        for rival in sorted(self.terminals.meeting(path.rivals, path.entry)):
            prefixed_by = self.terminals.prefixed_by(rival)
            met = _core.intersection([tail, prefixed_by])
            key = ("tail", terminal, path._replace(rivals=frozenset()), following_bytes, rival)
            if self.terminals.ask(key, partial(self.languages.is_empty, met)):
                continue
            if self.terminals.match(rival).after is None and self.languages.is_within(texts, prefixed_by):
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
        nexts = set(self.terminals.first_bytes_of(following))
        if not nexts & (ends | goes_on):
            return Guard.NONE
        if self.terminals.match(path.entry).after is not None:
            self._check_lookahead(path.entry, following)
        key = ("loop", path.entry, path.option, extensions.states)
        if self.terminals.ask(key, partial(self._reads_on, terminal, path, extensions.states)):
            loop = self.terminals.reading(path).loop
            is_ascii = min(nexts & (ends | goes_on)) < 0x80  # other first bytes may begin characters outside the loop
            key = ("follows", path.entry, path.option, following)
            if (
                not is_ascii
                and loop is not None
                and not self.terminals.ask(key, partial(self.terminals.may_begin, loop, following))
            ):
                return Guard.NONE
            return self._guard_number(("loop", (path.entry, path.option)), loop)
        if nexts & goes_on:
            return Guard.MAXIMAL
        return self._guard_number(("bytes", bytes(sorted(ends))), _core.byte_set(bytes(sorted(ends))))

    def extensions(self, terminal: int, path: Path) -> Extensions | None:
        """Return the bytes that an entry reads on after the texts of a path; None if its automaton is too large."""
        key = (terminal, path._replace(rivals=frozenset()))
        if key not in self._extensions:
            self._extensions[key] = None
            within = self._automaton(path.entry)
            with suppress(LimitError):
                if within is not None:
                    states = self._states_after(terminal, path, within)
                    self._extensions[key] = Extensions(states, *map(frozenset, within.bytes_after(states)))
        return self._extensions[key]

    def _automaton(self, entry: int) -> ByteDfa | None:
        """Return the automaton of the tentative texts of an entry; None if it is too large."""
        if entry not in self._entries:
            self._entries[entry] = None
            with suppress(LimitError):
                self._entries[entry] = self.languages.dfa(self.terminals.match(entry).tentative)
        return self._entries[entry]

    def _states_after(self, terminal: int, path: Path, within: ByteDfa) -> frozenset[int]:
        """Return the states of the entry's automaton after the texts that a path reads as a terminal."""
        literal = self.terminals[terminal].pattern.literal
        if terminal == path.entry and path.option is None:
            others = [self.terminals[other].pattern.literal for other in sorted(path.others)]
            if None not in others:
                return states_besides(within, [other for other in others if other is not None])
        if literal is None or path.option is not None:
            return states_after(self.languages.dfa(self.terminals.texts(terminal, path)), within)
        if any(self._is_matched(other, literal) for other in path.others):
            return frozenset()
        return frozenset([within.after(literal)] if within.accepts(literal) else [])

    def _is_matched(self, number: int, text: bytes) -> bool:
        literal = self.terminals[number].pattern.literal
        if literal is not None:
            return literal == text
        return self.languages.dfa(self.terminals.match(number).full).accepts(text)

    def _check_lookahead(self, number: int, following: frozenset[int]) -> None:
        """Raise `UnsupportedError` if a terminal may backtrack from a match that its final lookahead refuses.

        1. `re` backtracks from a match q to a shorter match p if q cannot be extended, and the lookahead refuses the
           text after q and accepts the text after p.
        2. The parse then continues only if a terminal matches after p.
        """
        match = self.terminals.match(number)
        assert match.after is not None  # noqa: S101 - the caller has looked
        # What one case refuses, another may accept.
        accepted = _SOME_BYTES if match.cases else _core.intersection([_SOME_BYTES, _not_before(match.after)])
        backtracking = _core.intersection([match.full, _core.concat([match.full, accepted])])
        if self.languages.is_empty(backtracking):
            return
        refused = _core.intersection([_core.concat([backtracking, match.after]), _core.complement(match.full)])
        texts = _core.concat([refused, ANY_BYTES])
        for other in sorted(following):
            next_match = self.terminals.match(other)
            rest = ANY_BYTES if next_match.after is None else _not_before(next_match.after)
            after_short = _core.intersection([accepted, _core.concat([next_match.full, rest])])
            if not self.languages.is_empty(_core.intersection([texts, _core.concat([match.full, after_short])])):
                problem = (
                    f"the lookahead at the end of terminal {self.terminals[number].name} decides how long its match is"
                )
                remedy = "let it refuse all characters that continue the terminal, or take it away"
                self.terminals.rules.source.unsupported(problem, self.terminals[number].offset, remedy)

    def _check_assumed(self, number: int, following: frozenset[int]) -> None:
        """Raise `UnsupportedError` if the characters that a terminal assumes not to follow it may do so."""
        assumed = self.terminals.match(number).assumed
        if assumed is None:
            return
        texts, characters = assumed
        longer = _core.concat([texts, characters])
        others = frozenset(range(len(self.terminals.rules.terminals))) - {number}
        if self.terminals.may_begin(characters, following) or self.terminals.may_begin(longer, others):
            problem = f"the lookahead at the start of terminal {self.terminals[number].name} looks beyond it"
            remedy = r"let the terminal read on over all that \b takes for a word, as \w does"
            self.terminals.rules.source.unsupported(problem, self.terminals[number].offset, remedy)

    def _reads_on(self, terminal: int, path: Path, states: frozenset[int]) -> bool:
        r"""Whether the entry reads on after each text of the path, over all characters of its loop and no others.

        The loop is the set of characters that the end of the entry's regex repeats: `\w` in `[a-z]\w*`. `states` are
        those of the entry after the texts: if nothing but the loop is left there, no question about texts is needed.
        """
        loop, tentative = self.terminals.reading(path).loop, self.terminals.match(path.entry).tentative
        if loop is None:
            return False
        within = self._automaton(path.entry)
        around = self.languages.dfa(_core.repeat(loop, 0, None))
        if within is not None and all(within.has_language_of(state, around) for state in states):
            return True
        texts = self.terminals.texts(terminal, path)
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
        texts = self.terminals.texts(terminal, path)
        if guard == Guard.NONE or self.guard_bytes(guard).isdisjoint(self.terminals.first_bytes(terminal)):
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
            for number in self.terminals.rules.ignored:
                match = self.terminals.match(number)
                if match.after is None and not self.terminals.options(number):
                    dfa = self.languages.dfa(match.tentative)
                    texts = bytes(
                        byte for byte in b" \n\t" + self.terminals.first_bytes(number) if dfa.accepts(bytes([byte]))
                    )
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
        missing = self.blanks.keys() - found
        for number in missing:
            del self.blanks[number]
        if missing & self._used_blanks:
            self._used_blanks.clear()
            raise _NoBlankError

    def with_escape(self, terminal: int, path: Path, guard: int) -> tuple[Path, int]:
        """Return a path, with the guard `MAXIMAL` instead of a language if the path has an escape.

        The core checks `MAXIMAL` by itself, so that the rules need not hold the guard.
        """
        return path, Guard.MAXIMAL if guard > Guard.NONE and self._escape(terminal, path, None) else guard

    def _escape(self, terminal: int, path: Path, rivals: _core.Node | None) -> bytes:
        """Return an escape of a path: a text after which no restriction of the path can fail; empty if none is found.

        It is a blank after the token. With `rivals`, which the text from the token on must not be, it is the shortest
        text of the terminal that no rival begins, with the blank.
        """
        extensions = self._extensions.get((terminal, path._replace(rivals=frozenset())))
        if extensions is None:
            return b""
        after = self.terminals.match(path.entry).after
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
        texts = _core.intersection([self.terminals.texts(terminal, path), _core.complement(rivals)])
        try:
            text = self.languages.dfa(texts).shortest()
        except LimitError:
            return b""
        if text is None:
            return b""
        return b"" if self.languages.dfa(rivals).after(text + escape) else text + escape

    def node(self, terminal: int, path: Path, guard: int, pending: int = Guard.NONE) -> _core.Node | None:
        """Return the expression of a narrowed path with its guard; None if it has no text.

        `pending` is the guard of the token before.
        """
        texts = self.texts_after_guard(terminal, path, pending)
        if texts is None:
            return None
        entry = self.terminals.match(path.entry)
        before: list[_core.Node] = []
        for rival in sorted(path.rivals):
            match = self.terminals.match(rival)
            if match.after is None:
                before.append(_core.concat([match.full, ANY_BYTES]))
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
            if case.after is not None:
                node = _core.concat([node, _core.not_followed_by(_core.concat([case.after, ANY_BYTES]), escape)])
            ends.append(node)
        parts.append(_core.union(ends) if len(ends) > 1 else ends[0])
        return _core.concat(parts) if len(parts) > 1 else parts[0]

    def _against_lookahead(
        self, entry: int, rival: int, case: Case, texts: _core.Node
    ) -> tuple[_core.Node, _core.Node]:
        r"""Return the texts of an entry without those of a rival's case, and what the text from there on must not be.

        The rival `if(?!\w)` matches `if` unless a `\w` follows. The entry `\w+` reads on over any such character, so
        `if` is never its match. And where `if` and any other character begin, the rival matches first. Entries that do
        not read on over all that the lookahead forbids are not supported. Characters with which no terminal begins do
        not count, such as é after `[a-z]+`. The rival also matches at the end of the text.
        """
        full, after = _core.intersection([self.terminals.match(rival).full, case.texts]), case.after
        if after is None:
            return texts, _core.concat([full, ANY_BYTES])
        shared = _core.intersection([texts, full])
        loop, tentative = self.terminals.match(entry).loop, self.terminals.match(entry).tentative
        follows = after
        others = None if loop is None else _core.intersection([after, _core.complement(loop)])
        key = ("begins", entry, rival, case)
        if (
            loop is not None
            and others is not None
            and not self.terminals.ask(key, partial(self.terminals.may_begin, others))
        ):
            follows = _core.intersection([after, loop])
        longer = _core.concat([shared, follows])
        if not self.languages.is_within(after, CHARACTER) or not self.languages.is_within(longer, tentative):
            first, second = self.terminals[rival], self.terminals[entry]
            what = f"the lookahead at the end of terminal {first.name} decides between it and {second.name}"
            remedy = "take the lookahead away, or give the terminals priorities and no common beginning"
            self.terminals.rules.source.unsupported(what, first.offset, remedy)
        other = _core.intersection([CHARACTER, _core.complement(after)])
        rest = _core.concat([full, _core.union([_core.epsilon(), _core.concat([other, ANY_BYTES])])])
        return _core.intersection([texts, _core.complement(full)]), rest


def _not_before(texts: _core.Node) -> _core.Node:
    """Return the byte strings that do not begin with one of the texts."""
    return _core.complement(_core.concat([texts, ANY_BYTES]))


def _begins(following: bytes) -> _core.Node:
    if not following:
        return _core.empty()
    return _core.concat([_core.byte_set(following), ANY_BYTES])

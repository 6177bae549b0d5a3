"""PatternSearch: finds matches of banned patterns in a text that is still being generated.

It runs the automaton of each pattern from every character of the text. Runs in the same state have the same future, so
only the one with the latest start is stored: its match is the shortest, and every other match contains it.

The automaton of a pattern with assertions leaves these out: it finds candidates. A mask decides what follows one.

`BannedSearch` joins it with the search for words.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from detent.generation.aho_corasick import Checkpoint, Match, MatchState
from detent.queries import ByteDfa

__all__ = ["BannedCheckpoint", "BannedSearch", "PatternSearch"]

_Runs = dict[tuple[int, int], int]


class PatternCheckpoint(NamedTuple):
    """A snapshot of a `PatternSearch`."""

    runs: _Runs
    length: int
    candidate: Match | None


class PatternSearch:
    r"""The matches of some patterns in one text.

    >>> from detent.sources.regex import regex
    >>> search = PatternSearch([(regex("list[a-z]")._dfa(), True)])
    >>> search.feed(b"the lis"), search.pending()
    (None, 4)
    >>> search.feed(b"ten")
    Match(start=4, end=9)

    Cost of `feed`: the bytes times the states in which a match may be; at least a few microseconds a byte.

    Parameters
    ----------
    automata : sequence of (ByteDfa, bool)
        The texts that each pattern matches, and whether all of them are matches, or candidates.

    Attributes
    ----------
    candidate : Match or None
        The last candidate.
    """

    def __init__(self, automata: Sequence[tuple[ByteDfa, bool]]) -> None:
        self._automata = [automaton for automaton, _ in automata]
        self._exact = [is_exact for _, is_exact in automata]
        self.candidate: Match | None = None
        self._runs: _Runs = {}
        self._length = 0

    def feed(self, data: bytes) -> Match | None:
        """Advance by bytes and stop at the first match; after it the state is only good for `restore`."""
        for byte in data:
            if not 0x80 <= byte < 0xC0:  # a character begins
                self._runs.update({(index, dfa.start): self._length for index, dfa in enumerate(self._automata)})
            runs: _Runs = {}
            for (index, state), start in self._runs.items():
                after = self._automata[index].step(state, byte)
                if after:
                    runs[index, after] = max(start, runs.get((index, after), 0))
            self._runs = runs
            self._length += 1
            for is_exact in (False, True):
                starts = [
                    start
                    for (index, state), start in runs.items()
                    if self._exact[index] == is_exact and self._automata[index].is_accepting(state)
                ]
                if starts and is_exact:
                    return Match(max(starts), self._length)
                if starts:
                    self.candidate = Match(max(starts), self._length)
        return None

    def pending(self) -> int | None:
        """Return the offset from which on the text may become a match; None if no suffix may."""
        starts = [*self._runs.values()]
        if self.candidate is not None and self.candidate.end == self._length:  # the next character may decide
            starts.append(self.candidate.start)
        return min(starts, default=None)

    def checkpoint(self) -> PatternCheckpoint:
        """Return a snapshot for `restore`."""
        return PatternCheckpoint(self._runs, self._length, self.candidate)

    def restore(self, checkpoint: PatternCheckpoint) -> None:
        """Return to an earlier state."""
        self._runs, self._length, self.candidate = dict(checkpoint.runs), checkpoint.length, checkpoint.candidate


class BannedCheckpoint(NamedTuple):
    """A snapshot of a `BannedSearch`."""

    words: Checkpoint | None
    patterns: PatternCheckpoint


class BannedSearch:
    """The banned words and the matches of banned patterns in one text.

    Parameters
    ----------
    words : MatchState or None
        The search for words.
    patterns : PatternSearch
        The search for matches.
    """

    def __init__(self, words: MatchState | None, patterns: PatternSearch) -> None:
        self._words = words
        self._patterns = patterns

    def feed(self, data: bytes) -> Match | None:
        """Advance by bytes and stop at the first word or match; after it the state is only good for `restore`."""
        found = [self._patterns.feed(data), None if self._words is None else self._words.feed(data)]
        return min((match for match in found if match is not None), key=lambda match: match.end, default=None)

    def finish(self) -> Match | None:
        """Return the word that the end of the text completes."""
        return None if self._words is None else self._words.finish()

    def pending(self) -> int | None:
        """Return the offset from which on the text may become a word or a match; None if no suffix may."""
        offsets = [self._patterns.pending(), None if self._words is None else self._words.pending()]
        return min((offset for offset in offsets if offset is not None), default=None)

    @property
    def candidate(self) -> Match | None:
        """The last candidate of a pattern with assertions."""
        return self._patterns.candidate

    @property
    def whole_words_only(self) -> bool:
        """Whether words match between word boundaries only."""
        return self._words is not None and self._words.whole_words_only

    def checkpoint(self) -> BannedCheckpoint:
        """Return a snapshot for `restore`."""
        words = None if self._words is None else self._words.checkpoint()
        return BannedCheckpoint(words, self._patterns.checkpoint())

    def restore(self, checkpoint: BannedCheckpoint) -> None:
        """Return to an earlier state."""
        if self._words is not None and checkpoint.words is not None:
            self._words.restore(checkpoint.words)
        self._patterns.restore(checkpoint.patterns)

"""TokenBuffer: the tokens written so far, of which the last ones may still be taken back.

    |  settled: shown, never taken back  |  open: a banned word may have begun here  |

A word is found when it is complete, as late as its last token; the draft then goes back to the token in which it began
and refuses that token there. So whatever may still become a word is open, with what was open at any token that may be
taken back, and nothing else is. Before tokens are settled, a second matcher makes sure that they leave a text without
banned words: it is in the language less the words, and takes over when going back does not help.
"""

from __future__ import annotations

from bisect import bisect_right

import numpy as np
from numpy.typing import NDArray

from detent.errors import StateError
from detent.generation.aho_corasick import AhoCorasick, Checkpoint, Match, MatchState
from detent.generation.bans import Bans
from detent.generation.report import Rewind, Step
from detent.matcher import Matcher
from detent.tables import TableMatcher
from detent.vocabulary import Vocabulary

__all__ = ["TokenBuffer"]


class TokenBuffer:
    """Tokens under way in a language, with banned words and stop strings watched.

    Parameters
    ----------
    vocabulary : Vocabulary
        The bytes of each id.
    matcher : Matcher or TableMatcher
        In the language, less the banned words where they are left to the mask.
    safe : Matcher, TableMatcher or None
        In the language less the banned words, where they are watched by rewinding.
    bans : Bans and bytes, or None
        The words to watch, and the text before, for words that begin in it.
    stops : AhoCorasick or None
        The strings that end the text.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        matcher: Matcher | TableMatcher,
        safe: Matcher | TableMatcher | None,
        bans: tuple[Bans, bytes] | None,
        stops: AhoCorasick | None,
    ) -> None:
        self._vocabulary = vocabulary
        self._safe = safe
        self.matcher = matcher
        self._scan: MatchState | None = None
        if bans is not None:
            self._scan = bans[0].scan(bans[1])
            self._retries = bans[0].retries
        self._stops: MatchState | None = None if stops is None else stops.scan()
        self.token_ids: list[int] = []
        self.steps: list[Step] = []
        self.text = bytearray()
        self._starts: list[int] = []
        self._marks: list[tuple[Checkpoint | None, Checkpoint | None]] = []
        self._holds = [0]
        self._refused: dict[int, set[int]] = {}
        self.settled = 0
        self.rewinds: list[Rewind] = []
        self.masked_from: int | None = None
        self.stopped: Match | None = None
        self._ended = False

    @property
    def is_watched(self) -> bool:
        """Whether tokens may be taken back."""
        return self._scan is not None

    @property
    def has_refusals(self) -> bool:
        """Whether tokens are refused at this place that the language allows."""
        return len(self.token_ids) in self._refused

    def fill_mask(self, row: NDArray[np.int32]) -> None:
        """Write what the language allows next, less what was refused at this place."""
        self.matcher.fill_mask(row)
        for token_id in self._refused.get(len(self.token_ids), ()):
            row.view(np.uint32)[token_id >> 5] &= np.uint32(0xFFFFFFFF ^ (1 << (token_id & 31)))

    def append(self, step: Step) -> bool:
        """Add a token that the mask allows. Return False if it had to be taken back."""
        token_id = step.token_id
        self.matcher.advance(token_id)
        data = self._vocabulary.decode((token_id,))
        self._marks.append((_mark(self._scan), _mark(self._stops)))
        self._starts.append(len(self.text))
        self.token_ids.append(token_id)
        self.steps.append(step)
        self.text += data
        if self._stops is not None:
            self.stopped = self._stops.feed(data)
        if self._scan is None:
            self.settled = len(self.token_ids)
            return True
        found = self._scan.feed(data) if self.stopped is None else self._cut_off_at(self.stopped.start)
        if found is not None:
            self._rewind(found)
            return False
        return self._settle()

    def end(self) -> bool:
        """End the text here. Return False if that completes a banned word, so that tokens had to be taken back."""
        found = None if self._scan is None else self._scan.finish()
        if found is not None:
            self._rewind(found)
            return False
        self.settled = len(self.token_ids)
        self._ended = True
        return True

    def back_up(self) -> None:
        """Take back the token before a place where nothing is left to choose."""
        if self.settled < len(self.token_ids):
            self._go_back(len(self.token_ids) - 1, None)
        else:
            self._leave_to_mask()

    def shown(self) -> int:
        """Return how many bytes of the text can no longer change."""
        if self.stopped is not None:
            return self.stopped.start
        shown = self._starts[self.settled] if self.settled < len(self._starts) else len(self.text)
        pending = None if self._stops is None or self._ended else self._stops.pending()
        return shown if pending is None else min(shown, pending)

    def _cut_off_at(self, byte: int) -> Match | None:
        """Look for a banned word in the text before a byte of the last tokens, as if the text ended there."""
        assert self._scan is not None  # noqa: S101 - the caller watches
        place = self._place(byte)
        mark = self._marks[place][0]
        assert mark is not None  # noqa: S101 - made since the draft began
        self._scan.crop(mark)
        return self._scan.feed(bytes(self.text[self._starts[place] : byte])) or self._scan.finish()

    def _settle(self) -> bool:
        """Settle the tokens before the one in which a banned word may have begun."""
        assert self._scan is not None and self._safe is not None  # noqa: S101 - the caller watches
        if self.stopped is not None:
            self.settled = len(self.token_ids)
            return True
        pending = self._pending()
        length = len(self.token_ids)
        # Going back to any open token opens again what was pending there: so each place remembers how far it reaches.
        self._holds.append(length if pending is None else min(self._holds[self._place(pending) :]))
        for place in range(self.settled, self._holds[-1]):
            try:
                self._safe.advance(self.token_ids[place])
            except StateError:  # the language leaves no text without a banned word after this token
                self._safe.rollback(place - self.settled)
                self._go_back(place, None)
                return False
        self.settled = self._holds[-1]
        for place in [place for place in self._refused if place < self.settled]:
            del self._refused[place]
        return True

    def _pending(self) -> int | None:
        """Return the byte from which on the text may still become a banned word, if only by a cut at a stop string."""
        assert self._scan is not None  # noqa: S101 - the caller watches
        pending = self._scan.pending()
        if self._stops is None or not self._scan.whole_words_only:
            return pending
        starts = [] if pending is None else [pending]
        for cut, _ in self._stops.partial_matches():
            found = self._cut_off_at(cut)
            self._scan.feed(bytes(self.text[cut:]))
            if found is not None:
                starts.append(found.start)
        return min(starts, default=None)

    def _place(self, byte: int) -> int:
        """Return the place of the token that has the byte."""
        return max(bisect_right(self._starts, byte) - 1, 0)

    def _rewind(self, found: Match) -> None:
        self._go_back(self._place(found.start), bytes(self.text[max(found.start, 0) : found.end]))

    def _go_back(self, place: int, word: bytes | None) -> None:
        """Take back the tokens from `place` on and refuse the first of them there."""
        dropped = tuple(self.token_ids[place:])
        self.rewinds.append(Rewind(place, dropped, word))
        self._cut(place)
        self._refused.setdefault(place, set()).add(dropped[0])
        if len(self.rewinds) >= self._retries:
            self._leave_to_mask()

    def _cut(self, place: int) -> None:
        self.matcher.rollback(len(self.token_ids) - place)
        scan, stops = self._marks[place]
        if self._scan is not None and scan is not None:
            self._scan.crop(scan)
        if self._stops is not None and stops is not None:
            self._stops.crop(stops)
        del self.text[self._starts[place] :]
        del self.token_ids[place:], self.steps[place:], self._starts[place:], self._marks[place:]
        del self._holds[place + 1 :]
        self.stopped = None
        for later in [later for later in self._refused if later > place]:
            del self._refused[later]

    def _leave_to_mask(self) -> None:
        """Go on under the mask of the language less the words, with as many of the open tokens as it lets stand."""
        assert self._safe is not None  # noqa: S101 - it goes with the scan
        count = self.settled
        while count < len(self.token_ids):
            try:
                self._safe.advance(self.token_ids[count])
            except StateError:
                break
            count += 1
        if count < len(self.token_ids):
            self._cut(count)
        self.matcher, self._safe, self._scan = self._safe, None, None
        self._refused.clear()
        self.settled = self.masked_from = count


def _mark(scan: MatchState | None) -> Checkpoint | None:
    return None if scan is None else scan.checkpoint()

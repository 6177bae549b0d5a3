"""TokenBuffer: the tokens of a text, of which the last ones may be taken back.

    | committed: shown, never taken back | revocable: a banned word may start here |

A banned word is found when it is complete. The buffer then rewinds to the token in which the word began and bans that
token at that position. So a suffix that may become a word must stay revocable, and with it all that was revocable at
any token that may be taken back.

A second matcher, of the language without the banned words, checks each token before it is committed: some text without
a banned word must follow. This matcher replaces the first one when rewinding does not help.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from detent.costly_rule import costly_rule
from detent.errors import LimitError, StateError
from detent.generation.aho_corasick import AhoCorasick, Checkpoint, Match, MatchState
from detent.generation.pattern_search import BannedSearch
from detent.generation.report import Rewind, Step
from detent.matcher import Matcher
from detent.vocabulary import Vocabulary

__all__ = ["TokenBuffer", "Watch"]


@dataclass
class Watch:
    """The side of a `TokenBuffer` that finds banned words and rewinds.

    Attributes
    ----------
    matcher : Matcher
        In the language without the words; it has advanced by the committed tokens.
    words : MatchState or BannedSearch
        The match state of the text.
    max_rewinds : int
        After this many rewinds the buffer switches to the mask.
    checkpoints : list of Checkpoint
        The match state before each token.
    stable_from : list of int
        For each number of tokens: how many of them can be committed.
    refused : dict of int to set of int
        The tokens that are banned at a position.
    """

    matcher: Matcher
    words: MatchState | BannedSearch
    max_rewinds: int
    checkpoints: list[Any] = field(default_factory=list)
    stable_from: list[int] = field(default_factory=lambda: [0])
    refused: dict[int, set[int]] = field(default_factory=dict)


class TokenBuffer:
    """The tokens of one text, its matcher, and the search for banned words and stop strings.

    Parameters
    ----------
    vocabulary : Vocabulary
        The bytes of each id.
    matcher : Matcher
        In the language; without the banned words if these are masked.
    watch : Watch or None
        For banned words that are found by rewinding.
    stops : AhoCorasick or None
        The strings that end the text.

    Cost: `append` is linear in the bytes of the token, and in the tokens that it takes back.
    """

    def __init__(
        self, vocabulary: Vocabulary, matcher: Matcher, watch: Watch | None, stops: AhoCorasick | None
    ) -> None:
        self._vocabulary = vocabulary
        self._watch = watch
        self._stops: MatchState | None = None if stops is None else stops.start()
        self._stop_checkpoints: list[Checkpoint] = []
        self._starts: list[int] = []
        self._is_complete = False
        self.matcher = matcher
        self.token_ids: list[int] = []
        self.steps: list[Step] = []
        self.text = bytearray()
        self.committed = 0
        self.rewinds: list[Rewind] = []
        self.masked_from: int | None = None
        self.stopped: Match | None = None

    @property
    def may_rewind(self) -> bool:
        """Whether tokens may be taken back."""
        return self._watch is not None

    @property
    def has_refusals(self) -> bool:
        """Whether tokens are banned at this position that the language allows."""
        return self._watch is not None and len(self.token_ids) in self._watch.refused

    def fill_mask(self, mask_row: NDArray[np.int32]) -> None:
        """Write the tokens that the language allows next, without those that are banned at this position."""
        try:
            self.matcher.fill_mask(mask_row)
        except LimitError as error:
            raise costly_rule(self.matcher.guide.language, error) from None
        if self._watch is not None:
            for token_id in self._watch.refused.get(len(self.token_ids), ()):
                mask_row.view(np.uint32)[token_id >> 5] &= np.uint32(0xFFFFFFFF ^ (1 << (token_id & 31)))

    def append(self, step: Step) -> bool:
        """Add a token that the mask allows. Return False if the buffer had to rewind."""
        token_id, watch = step.token_id, self._watch
        try:
            self.matcher.advance(token_id)
        except LimitError as error:
            raise costly_rule(self.matcher.guide.language, error) from None
        data = self._vocabulary.decode((token_id,))
        self._starts.append(len(self.text))
        self.token_ids.append(token_id)
        self.steps.append(step)
        self.text += data
        if self._stops is not None:
            self._stop_checkpoints.append(self._stops.checkpoint())
            self.stopped = self._stops.feed(data)
        if watch is None:
            self.committed = len(self.token_ids)
            return True
        watch.checkpoints.append(watch.words.checkpoint())
        found = watch.words.feed(data) if self.stopped is None else self._match_up_to(watch, self.stopped.start)
        if found is not None:
            self._rewind_before(found)
            return False
        return self._commit(watch)

    def complete(self) -> bool:
        """End the text here. Return False if the end completes a banned word and the buffer had to rewind."""
        watch = self._watch
        found = None if watch is None else watch.words.finish()
        if found is not None:
            self._rewind_before(found)
            return False
        if watch is not None and not self._advance_to(watch, len(self.token_ids), is_end=True):
            return False
        self.committed = len(self.token_ids)
        self._is_complete = True
        return True

    def leave_dead_end(self) -> None:
        """Take back the last token, because all that the language allows after it is banned there."""
        if self.committed < len(self.token_ids):
            self._rewind_to(len(self.token_ids) - 1, None)
        else:
            self._switch_to_mask()

    def shown(self) -> int:
        """Return how many bytes of the text are final."""
        if self.stopped is not None:
            return self.stopped.start
        shown = self._starts[self.committed] if self.committed < len(self._starts) else len(self.text)
        pending = None if self._stops is None or self._is_complete else self._stops.pending()
        return shown if pending is None else min(shown, pending)

    def _match_up_to(self, watch: Watch, offset: int) -> Match | None:
        """Return the banned word in the text up to an offset in its last tokens, if the text ended there."""
        position = self._position_of(offset)
        watch.words.restore(watch.checkpoints[position])
        return watch.words.feed(bytes(self.text[self._starts[position] : offset])) or watch.words.finish()

    def _commit(self, watch: Watch) -> bool:
        """Commit the tokens before the one in which a banned word may start; rewind if none may follow them."""
        if self.stopped is not None:
            self.committed = len(self.token_ids)
            return True
        pending, length = self._pending(watch), len(self.token_ids)
        # A rewind to a revocable token restores the pending words of its position, hence the minimum.
        stable = length if pending is None else min(watch.stable_from[self._position_of(pending) :])
        watch.stable_from.append(stable)
        if not self._advance_to(watch, stable):
            return False
        self.committed = stable
        for position in [position for position in watch.refused if position < stable]:
            del watch.refused[position]
        return True

    def _advance_to(self, watch: Watch, stable: int, *, is_end: bool = False) -> bool:
        """Advance the matcher without banned words from the committed tokens; rewind if it refuses one of them.

        Each completion of the text after a refused token has a banned word. It may be the match of a pattern with
        assertions, whose last candidate began earlier.
        """
        for position in range(self.committed, stable):
            try:
                watch.matcher.advance(self.token_ids[position])
            except StateError:
                watch.matcher.rollback(position - self.committed)
                self._rewind_from(watch, position)
                return False
        if is_end and not watch.matcher.is_accepting:
            watch.matcher.rollback(stable - self.committed)
            if self.committed < stable:
                self._rewind_from(watch, stable - 1)
            else:
                self._switch_to_mask()
            return False
        return True

    def _rewind_from(self, watch: Watch, position: int) -> None:
        """Rewind to a position, or to the start of the candidate that ends there."""
        candidate = watch.words.candidate
        if candidate is None or candidate.end < self._starts[position]:
            self._rewind_to(position, None)
            return
        start = max(self._position_of(candidate.start), self.committed)
        self._rewind_to(min(start, position), bytes(self.text[candidate.start : candidate.end]))

    def _pending(self, watch: Watch) -> int | None:
        """Return the offset from which on the text may become a banned word; a later stop string may complete one."""
        pending = watch.words.pending()
        if self._stops is None or not watch.words.whole_words_only:
            return pending
        starts = [] if pending is None else [pending]
        for stop_start, _ in self._stops.partial_matches():
            found = self._match_up_to(watch, stop_start)
            watch.words.feed(bytes(self.text[stop_start:]))
            if found is not None:
                starts.append(found.start)
        return min(starts, default=None)

    def _position_of(self, offset: int) -> int:
        """Return the position of the token that contains a byte."""
        return max(bisect_right(self._starts, offset) - 1, 0)

    def _rewind_before(self, found: Match) -> None:
        self._rewind_to(self._position_of(found.start), bytes(self.text[max(found.start, 0) : found.end]))

    def _rewind_to(self, position: int, word: bytes | None) -> None:
        """Take back the tokens from a position on and ban the first of them there."""
        assert self._watch is not None  # noqa: S101 - only a watched buffer rewinds
        dropped = tuple(self.token_ids[position:])
        self.rewinds.append(Rewind(position, dropped, word))
        self._truncate(position)
        self._watch.refused.setdefault(position, set()).add(dropped[0])
        if len(self.rewinds) >= self._watch.max_rewinds:
            self._switch_to_mask()

    def _truncate(self, position: int) -> None:
        """Remove the tokens from a position on."""
        self.matcher.rollback(len(self.token_ids) - position)
        if self._watch is not None:
            watch = self._watch
            watch.words.restore(watch.checkpoints[position])
            del watch.checkpoints[position:], watch.stable_from[position + 1 :]
            for later in [later for later in watch.refused if later > position]:
                del watch.refused[later]
        if self._stops is not None:
            self._stops.restore(self._stop_checkpoints[position])
            del self._stop_checkpoints[position:]
        del self.text[self._starts[position] :]
        del self.token_ids[position:], self.steps[position:], self._starts[position:]
        self.stopped = None

    def _switch_to_mask(self) -> None:
        """Go on with the matcher without banned words, from as many of the tokens as it accepts."""
        assert self._watch is not None  # noqa: S101 - only a watched buffer rewinds
        strict, count = self._watch.matcher, self.committed
        while count < len(self.token_ids):
            try:
                strict.advance(self.token_ids[count])
            except StateError:
                break
            count += 1
        if count < len(self.token_ids):
            self._truncate(count)
        self.matcher, self._watch = strict, None
        self.committed = self.masked_from = count

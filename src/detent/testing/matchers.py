"""Checks of a guide by a walk: what masks, steps, rollbacks and forks promise each other, at every position on the way.

The promises hold for any guide, whatever its language, vocabulary and budget. At each position:

- every bit of the mask is that of a token, and a second mask is equal;
- end-of-text is allowed if and only if the text is complete, and ids without text never are;
- the mask is empty only where the text is complete and the vocabulary has no end-of-text;
- a matcher can take every allowed token, and the text can then be completed; any other token raises and changes
  nothing;
- a rollback restores the position, and a fork does not change it.
"""

from __future__ import annotations

from contextlib import suppress
from random import Random
from typing import TYPE_CHECKING

import numpy as np

from detent.errors import StateError
from detent.mask import allocate_mask
from detent.matcher import BatchMatcher
from detent.testing.violation import LawViolation

if TYPE_CHECKING:
    from detent.guide import Guide
    from detent.matcher import Matcher

__all__ = ["check_matcher"]


def check_matcher(
    guide: Guide,
    rng: Random,
    *,
    max_tokens: int | None = None,
    count_eos: bool = False,
    steps: int = 24,
    tries: int = 24,
) -> list[int]:
    """Walk through a guide at random and check what a matcher promises at every position.

    >>> import detent
    >>> vocabulary = detent.Vocabulary([b"a", b"b", b"ab", b""], eos_token_ids=[3])
    >>> guide = detent.compile(detent.regex("(ab){2}"), vocabulary)
    >>> check_matcher(guide, Random(0), max_tokens=3)
    [0, 1, 2, 3]

    Parameters
    ----------
    guide : Guide
        What is checked.
    rng : Random
        Chooses the way and the tokens that are tried.
    max_tokens, count_eos
        As of `Guide.matcher`. With a limit the walk goes on to the end of the text, which must come in time.
    steps : int
        The longest walk without a limit.
    tries : int
        How many allowed and how many other tokens to try at each position; all of them in a small vocabulary.

    Returns
    -------
    list of int
        The token ids of the walk.

    Raises
    ------
    LawViolation
        With the token ids that lead to the position.
    """
    walk = _Walk(guide, rng, guide.matcher(max_tokens, count_eos=count_eos), tries)
    limit = steps if max_tokens is None else max_tokens + 1
    masks = [walk.check_position()]
    while not walk.matcher.is_finished and len(walk.matcher) < limit:
        chosen = walk.choose(masks[-1])
        if chosen is None:
            break
        walk.take(chosen)
        masks.append(walk.check_position())
    if max_tokens is not None:
        walk.check_end(max_tokens - count_eos)
    walk.check_rollbacks(masks)
    return walk.matcher.token_ids


class _Walk:
    def __init__(self, guide: Guide, rng: Random, matcher: Matcher, tries: int) -> None:
        self.guide, self.rng, self.matcher, self.tries = guide, rng, matcher, tries
        self.vocabulary = guide.vocabulary
        self.end_ids = set(self.vocabulary.eos_token_ids)

    def require(self, holds: bool, law: str, shown: str) -> None:
        if not holds:
            ids = self.matcher.token_ids
            raise LawViolation(law, f"{shown}, after token ids {ids} of {self.guide!r}", ids)

    def text(self) -> bytes:
        taken = self.matcher.token_ids
        return b"".join(self.vocabulary.token_bytes(token_id) for token_id in taken if token_id not in self.end_ids)

    def mask(self, matcher: Matcher) -> set[int]:
        """Return the allowed ids, having checked the row bit by bit."""
        size = len(self.vocabulary)
        row = allocate_mask(1, size)[0]
        row[:] = self.rng.choice((0, -1))  # whatever the row held before is overwritten
        matcher.fill_mask(row)
        bits = np.unpackbits(row.view(np.uint8), bitorder="little")
        self.require(not bits[size:].any(), "padding", f"the mask has bits above id {size - 1}")
        ids = np.flatnonzero(bits)
        self.require(np.array_equal(ids, matcher.allowed()), "allowed", "it is not what fill_mask writes")
        return {int(token_id) for token_id in ids}

    def check_position(self) -> set[int]:
        matcher = self.matcher
        mask = self.mask(matcher)
        if matcher.is_finished:
            self.require(mask == self.end_ids, "after the end", f"{_few(mask)} are allowed")
            self.refuse(range(len(self.vocabulary)), "after the end")
        else:
            accepted = self.guide.language.accepts(self.text())
            self.require(matcher.is_accepting == accepted, "accepting", f"is_accepting is {matcher.is_accepting}")
            ends = mask & self.end_ids
            self.require(ends == (self.end_ids if accepted else set()), "end of text", f"{_few(ends)} are allowed")
            self.require(bool(mask) or (accepted and not self.end_ids), "never stuck", "nothing is allowed")
            special = {i for i in mask - self.end_ids if i in self.vocabulary.special_token_ids or not self.bytes(i)}
            self.require(not special, "ids without text", f"{_few(special)} are allowed")
            self.check_tokens(mask)
            refused = [token_id for token_id in range(-1, len(self.vocabulary) + 1) if token_id not in mask]
            self.refuse(refused, "refused tokens")
        self.require(self.mask(matcher) == mask, "masks stay", "after refused steps, or asked again, it is another")
        budget_bound_at = matcher.budget_bound_at
        self.require(
            budget_bound_at is None or budget_bound_at <= len(matcher), "budget_bound_at", f"it is {budget_bound_at}"
        )
        return mask

    def bytes(self, token_id: int) -> bytes:
        return self.vocabulary.token_bytes(token_id)

    def check_tokens(self, mask: set[int]) -> None:
        """Take allowed tokens, each on a fork; and make sure by the algebra that a text goes on from there."""
        tried = self.sample(mask)
        rows = allocate_mask(len(tried), len(self.vocabulary)) if tried else None
        forks = []
        anything = ~(self.guide.language & ~self.guide.language)
        for number, token_id in enumerate(tried):
            fork = self.matcher.fork()
            try:
                fork.advance(token_id)
            except StateError as error:
                self.require(False, "soundness", f"allowed token {token_id} raises: {error}")
            self.require(fork.token_ids == [*self.matcher.token_ids, token_id], "advance", f"not by {token_id}")
            after = self.mask(fork)
            stuck = not after and not (fork.is_accepting and not self.end_ids)
            self.require(not stuck, "dead end", f"nothing is allowed after token {token_id}")
            if number < 2 and token_id not in self.end_ids:
                started = (self.text() + self.bytes(token_id)) + anything
                self.require(not (started & self.guide.language).is_empty(), "dead end", f"no text after {token_id}")
            fork.rollback()
            self.require(self.mask(fork) == mask, "rollback", f"it does not undo token {token_id}")
            self.check_explain(token_id, True)
            fork.advance(token_id)
            forks.append(fork)
        if rows is not None:
            BatchMatcher(forks, threads=2).fill_mask(rows)
            for fork, row in zip(forks, rows, strict=True):
                alone = allocate_mask(1, len(self.vocabulary))[0]
                fork.fill_mask(alone)
                self.require(np.array_equal(alone, row), "batch", f"another row after {fork.token_ids[-1]}")

    def refuse(self, token_ids: range | list[int], law: str) -> None:
        """Try tokens that must raise; the caller checks by the mask that they have changed nothing."""
        before = self.matcher.token_ids
        for token_id in self.sample(token_ids):
            try:
                self.matcher.advance(token_id)
            except StateError:
                self.require(self.matcher.token_ids == before, law, f"refused token {token_id} was taken")
                if 0 <= token_id < len(self.vocabulary):
                    self.check_explain(token_id, False)
            else:
                self.matcher.rollback()
                self.require(False, law, f"token {token_id} is not in the mask and can be taken")

    def check_explain(self, token_id: int, allowed: bool) -> None:
        said = self.matcher.explain(token_id)
        self.require(said.endswith(" allowed") == allowed, "explain", f"it says {said!r}")

    def sample(self, token_ids: range | list[int] | set[int]) -> list[int]:
        known = sorted(token_ids)
        return self.rng.sample(known, min(self.tries, len(known)))

    def choose(self, mask: set[int]) -> int | None:
        text_ids = sorted(mask - self.end_ids)
        if text_ids and (not mask & self.end_ids or self.rng.random() < 0.9):
            return self.rng.choice(text_ids)
        return min(mask, default=None)

    def take(self, token_id: int) -> None:
        """Advance, while a fork of the position before stays where it is."""
        fork = self.matcher.fork()
        mask, taken = self.mask(fork), fork.token_ids
        self.matcher.advance(token_id)
        self.require(fork.token_ids == taken and self.mask(fork) == mask, "fork", "it moves with its origin")

    def check_end(self, text_tokens: int) -> None:
        taken = [token_id for token_id in self.matcher.token_ids if token_id not in self.end_ids]
        done = self.matcher.is_finished or (self.matcher.is_accepting and not self.end_ids)
        self.require(done, "budget", "the text has not ended")
        self.require(len(taken) <= text_tokens, "budget", f"{len(taken)} tokens, and the limit is {text_tokens}")
        self.require(self.guide.language.accepts(self.text()), "budget", f"{self.text()!r} is not complete")

    def check_rollbacks(self, masks: list[set[int]]) -> None:
        """Go back by several steps, to masks that were seen before, and forth again."""
        taken = self.matcher.token_ids
        for back in sorted({1, len(taken) // 2, len(taken)} & set(range(1, len(taken) + 1))):
            self.matcher.rollback(back)
            self.require(self.matcher.token_ids == taken[:-back], "rollback", f"not by {back}")
            self.require(self.mask(self.matcher) == masks[-1 - back], "rollback", f"another mask, {back} back")
            for position in range(len(taken) - back, len(taken)):
                self.require(self.mask(self.matcher) == masks[position], "replay", f"another mask at step {position}")
                self.matcher.advance(taken[position])
            self.require(self.mask(self.matcher) == masks[-1], "replay", "another mask at the end")
        with suppress(StateError):
            self.matcher.rollback(len(taken) + 1)
            raise LawViolation("rollback", f"further than the start of {self.guide!r} raises nothing", taken)
        self.require(self.matcher.token_ids == taken, "rollback", "too far a rollback changes something")


def _few(ids: set[int]) -> str:
    return f"ids {sorted(ids)[:8]}{' …' if len(ids) > 8 else ''}"

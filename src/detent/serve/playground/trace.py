"""Trace: a text while it is written, choice by choice: what the model preferred, and why it was refused.

A `TracedStream` is the decoding loop itself; it only notes what happens. `Trace` yields the notes where the decoding
loop would yield pieces.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from detent.errors import LimitError, StateError
from detent.generation.decode_loop import Stream
from detent.generation.logits_cache import LogitsCache
from detent.generation.output import FinishReason, Output
from detent.generation.report import Step
from detent.generation.request import PreparedRequest
from detent.generation.sampler import Sampler
from detent.models.base import Session
from detent.queries import ByteDfa
from detent.serve.playground.refusals import reason_of, shown_byte
from detent.serve.playground.study import expected_in
from detent.vocabulary import Vocabulary

__all__ = ["Note", "Trace"]

_ALLOWED = 6
"""Allowed tokens that are shown, whatever their probability: those that a branch may begin with."""


@dataclass(frozen=True)
class Note:
    """What happened at one step, as the page reads it."""

    data: dict[str, Any]


class _ForcedSampler(Sampler):
    """Draws as another sampler does, but takes the first tokens of a text from a list.

    It draws for these tokens too. So a run that is given the first tokens of another run, with the same seed, draws the
    same tokens after them.
    """

    def __init__(self, inner: Sampler) -> None:
        self._inner = inner
        self.temperature = inner.temperature or math.inf  # so that the logits of all allowed ids are given
        self.wanted: int | None = None
        self.likely: list[tuple[int, float]] = []
        """The most likely of the allowed tokens, and their logits."""
        self.picked_logit = 0.0

    def pick(self, logits: NDArray[np.floating[Any]], ids: NDArray[np.integer[Any]] | None = None) -> int:
        drawn = self._inner.pick(logits, ids)
        count = min(_ALLOWED, logits.size)
        best = np.argpartition(-logits, count - 1)[:count]
        best = best[np.lexsort((best, -logits[best]))]
        found = best if ids is None else ids[best]
        pairs = zip(found.tolist(), logits[best].tolist(), strict=True)
        self.likely = [(token_id, logit) for token_id, logit in pairs if logit > -np.inf]
        picked = self._allowed_or(drawn, logits, ids)
        self.picked_logit = float(logits[picked if ids is None else ids.tolist().index(picked)])
        return picked

    def _allowed_or(self, drawn: int, logits: NDArray[np.floating[Any]], ids: NDArray[np.integer[Any]] | None) -> int:
        if self.wanted is None:
            return drawn
        is_allowed = logits[self.wanted] != -np.inf if ids is None else self.wanted in ids.tolist()
        return self.wanted if is_allowed else drawn


class _Judge:
    """Follows a text beside the model, and says where it leaves a language."""

    def __init__(self, dfa: ByteDfa) -> None:
        self._dfa = dfa
        self._state = dfa.start

    def feed(self, data: bytes) -> str | None:
        """Return a message if these bytes leave the language; None if they do not, or bytes before them did."""
        for byte in data if self._state else b"":
            try:
                after = self._dfa.step(self._state, byte)
            except LimitError:
                self._state = 0
                return None
            if not after:
                expected = expected_in(self._dfa, self._state)
                self._state = 0
                return f"{shown_byte(byte)} where {expected} is expected"
            self._state = after
        return None

    def end(self) -> str | None:
        """Return a message if the text may not end here; None if it may, or has left the language before."""
        if not self._state or self._dfa.is_accepting(self._state):
            return None
        return f"the text ends where {expected_in(self._dfa, self._state)} is expected"


class TracedStream(Stream):
    """The decoding loop, with notes of each step."""

    def begin(self, forced: Sequence[int], judge: ByteDfa | None) -> None:
        """Set what the first tokens are, and the language beside which the text is followed."""
        self.notes: deque[Note] = deque()
        self._forced = list(forced)
        self._judge = None if judge is None else _Judge(judge)
        self._guided = self._sampler = _ForcedSampler(self._sampler)
        self._chosen: Step | None = None
        self._candidates: list[dict[str, Any]] = []

    def _step(self) -> Generator[None, None, FinishReason | None]:
        buffer = self._buffer
        position, rewinds, masked = len(buffer.token_ids), len(buffer.rewinds), buffer.masked_from
        bound = buffer.matcher.budget_bound_at
        self._chosen, self._candidates = None, []
        self._guided.wanted = self._forced[position] if position < len(self._forced) else None
        reason = yield from super()._step()
        if bound is None and buffer.matcher.budget_bound_at is not None:
            self._note(type="budget", position=buffer.matcher.budget_bound_at)
        if len(buffer.rewinds) > rewinds:
            rewind = buffer.rewinds[-1]
            if rewind.position + len(rewind.dropped) > position:
                self._note_token(position, rewind.dropped[-1])
            word = None if rewind.word is None else rewind.word.decode("utf-8", "backslashreplace")
            self._note(type="rewind", position=rewind.position, word=word)
            del self._forced[rewind.position :]
        elif len(buffer.token_ids) > position:
            self._note_token(position, buffer.token_ids[-1])
        elif reason is not None and self._chosen is not None:
            self._note_token(position, self._chosen.token_id)
        if masked is None and buffer.masked_from is not None and buffer.masked_from == len(buffer.token_ids):
            self._note(type="masked", position=buffer.masked_from)
        return reason

    def _choose(self, few: NDArray[np.uint32] | None) -> Step:
        step = super()._choose(few)
        self._chosen = step
        chosen, mass = step.log_probability or 0.0, step.log_mass or 0.0
        found = {each.token_id: (each.log_probability, each.is_allowed) for each in step.alternatives}
        log_total = self._guided.picked_logit - chosen
        found = {**{token_id: (logit - log_total, True) for token_id, logit in self._guided.likely}, **found}
        found.setdefault(step.token_id, (chosen, True))
        order = sorted(found.items(), key=lambda each: (-each[1][0], each[0]))
        self._candidates = [self._candidate(token_id, *known, mass) for token_id, known in order]
        return step

    def _candidate(self, token_id: int, log_probability: float, is_allowed: bool, log_mass: float) -> dict[str, Any]:
        found: dict[str, Any] = {
            **token_of(self._vocabulary, token_id),
            "before": _probability(log_probability),
            "after": _probability(log_probability - log_mass) if is_allowed else 0.0,
            "allowed": is_allowed,
        }
        if not is_allowed:
            watch = self._buffer._watch
            is_banned = watch is not None and token_id in watch.refused.get(len(self._buffer.token_ids), ())
            found["reason"] = reason_of(self._buffer.matcher, token_id, is_banned=is_banned)
        return found

    def _note_token(self, position: int, token_id: int) -> None:
        wanted = self._forced[position] if position < len(self._forced) else token_id
        if wanted != token_id:
            shown = token_of(self._vocabulary, wanted)["text"]
            raise StateError(
                f"token {wanted} {shown!r} cannot stand at position {position} here: {self._buffer.matcher!r}; "
                "the rule or the prompt has changed since the branch was made"
            )
        step = self._chosen if self._chosen is not None and self._chosen.token_id == token_id else None
        mass = None if step is None else step.log_mass
        before = None if step is None else step.log_probability
        leaves = None
        if self._judge is not None:
            is_end = token_id in self._eos
            leaves = self._judge.end() if is_end else self._judge.feed(self._vocabulary.decode((token_id,)))
        self._note(
            type="token",
            position=position,
            **token_of(self._vocabulary, token_id),
            forced=step is None,
            chosen_by_user=position < len(self._forced),
            before=None if before is None else _probability(before),
            after=None if before is None or mass is None else _probability(before - mass),
            mass=None if mass is None else _probability(mass),
            nats=None if mass is None or not math.isfinite(mass) else -mass,
            candidates=self._candidates,
            leaves=leaves,
        )

    def _note(self, **data: Any) -> None:
        self.notes.append(Note(data))


class Trace:
    """The notes of a text while it is written; for `Scheduler`, a stream.

    Parameters
    ----------
    request : PreparedRequest
        What is written.
    forced : sequence of int
        The first tokens.
    judge : ByteDfa or None
        The language that the text is compared with, if it is not held to it.
    """

    def __init__(self, request: PreparedRequest, forced: Sequence[int], judge: ByteDfa | None) -> None:
        pieces = request.stream(0, kind=TracedStream)
        assert isinstance(pieces, TracedStream)  # noqa: S101 - its kind
        self._pieces = pieces
        pieces.begin(forced, judge)

    def until_pass(self) -> Iterator[Note]:
        """Yield the notes before the next pass of the model, or all that are left."""
        for _ in self._pieces.until_pass():
            yield from self._take()
        yield from self._take()

    def _take(self) -> Iterator[Note]:
        while self._pieces.notes:
            yield self._pieces.notes.popleft()

    @property
    def is_finished(self) -> bool:
        """Whether `output` is complete."""
        return self._pieces.is_finished

    @property
    def output(self) -> Output:
        """The whole text and its report, after the last note."""
        return self._pieces.output

    @property
    def logits_cache(self) -> LogitsCache:
        """The model's side of the loop."""
        return self._pieces.logits_cache

    def session(self) -> Session:
        """Return the session to be read, with the tokens so far."""
        return self._pieces.session()

    def close(self) -> None:
        """Stop the text and release the session of the model."""
        self._pieces.notes.clear()
        self._pieces.close()


def token_of(vocabulary: Vocabulary, token_id: int) -> dict[str, Any]:
    """Return a token as the page shows it."""
    data = vocabulary.token_bytes(token_id)
    kind = "end" if token_id in vocabulary.eos_token_ids else "text"
    if kind == "text" and token_id in vocabulary.special_token_ids:
        kind = "special"
    try:
        text = data.decode()
    except UnicodeDecodeError:
        kind, text = "bytes", data.decode("utf-8", "backslashreplace")
    return {"id": token_id, "text": text, "kind": kind}


def _probability(log_probability: float) -> float:
    return math.exp(min(log_probability, 0.0)) if not math.isnan(log_probability) else 0.0

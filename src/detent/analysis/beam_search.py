"""Beam search for the most likely texts of a language, by the model's unmasked probabilities.

A beam is a prefix: a matcher, a session of the model, and the logarithm of its probability. Each step extends every
beam by the tokens that the mask allows, and keeps the best extensions of all beams. Matchers and sessions are forked,
so no token is read twice. Complete texts are stored. An extension is never more likely than its prefix, so the search
ends when no beam is as likely as the stored texts. With as many beams as prefixes, the result is exact.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from detent.errors import ModelError
from detent.generation.bans import Ban, Words, banned_words
from detent.generation.output import FinishReason, Output, make_output
from detent.generation.report import Report, Step, token_texts
from detent.generation.request import (
    check_model,
    guide_without_bans,
    resolve_guide,
    start_matcher,
    text_after_special,
    token_ids_of,
)
from detent.generation.sampler import whole_number
from detent.guide import Canonical, Guide
from detent.language import Language
from detent.mask import allocate_mask
from detent.matcher import Matcher
from detent.models.base import BatchModel, Model, Session
from detent.rule import Rule

__all__ = ["beam_search"]


def beam_search(
    model: Model,
    prompt: str | Sequence[int],
    language: Rule | None = None,
    *,
    num_beams: int = 4,
    count: int = 1,
    canonical: Canonical = False,
    max_tokens: int = 256,
    ban: Words | Ban | None = None,
) -> list[Output]:
    """Search for the most likely texts of `language` after `prompt`.

    >>> import detent
    >>> model = detent.load_model()
    >>> outs = detent.analysis.beam_search(model, "Is a dog an animal?", detent.choice("Yes", "No"), count=2)
    >>> sorted(out.text for out in outs), outs[0].report.log_probability >= outs[1].report.log_probability
    (['No', 'Yes'], True)

    The score of a text is `Report.log_probability`: the logarithm of the model's probability of its tokens, end-of-text
    included, before masking. So forced tokens count too, and the model is asked for each. Cost: one pass of the model a
    token, for all beams together if it is a `detent.models.BatchModel`.

    Parameters
    ----------
    model, prompt, language, canonical, max_tokens
        As in `generate`.
    num_beams : int
        How many prefixes each step keeps.
    count : int
        The most texts to return; all are different.
    ban
        As in `generate`; the words are excluded from the language, whatever the mode of the ban.

    Returns
    -------
    list of Output
        The most likely first; fewer than `count` if the language has, or the beams found, no more. The times in the
        reports are those of the whole search.

    Raises
    ------
    ArgumentError, ModelError, LimitError, EmptyLanguageError
        As in `generate`.
    """
    num_beams, count = whole_number("num_beams", num_beams, least=1), whole_number("count", count, least=1)
    max_tokens = whole_number("max_tokens", max_tokens, least=1)
    check_model(model)
    bans = banned_words(ban, None)
    prompt_ids = token_ids_of(prompt, model)
    guide = resolve_guide(language, model, text_only=bans is not None, canonical=canonical)
    strict = guide if bans is None else guide_without_bans(bans, guide, text_after_special(model, prompt_ids))
    search = _Search(model, strict, prompt_ids, num_beams, count, max_tokens)
    return search.run(guide.language)


@dataclass
class _Beam:
    """A prefix of a text and the logarithm of its probability."""

    matcher: Matcher
    session: Session
    steps: tuple[Step, ...]
    score: float


@dataclass
class _Text:
    """A complete text."""

    steps: tuple[Step, ...]
    score: float
    finish_reason: FinishReason
    budget_bound_at: int | None


class _Search:
    def __init__(
        self, model: Model, guide: Guide, prompt_ids: list[int], num_beams: int, count: int, max_tokens: int
    ) -> None:
        self._model = model
        self._vocabulary = guide.vocabulary
        self._num_beams = num_beams
        self._count = count
        self._max_tokens = max_tokens
        self._prompt_ids = prompt_ids
        self._eos = np.array(self._vocabulary.eos_token_ids, dtype=np.intp)
        self._mask = allocate_mask(1, len(self._vocabulary))[0]
        self._matcher = start_matcher(guide, max_tokens, prompt_ids)
        self._texts: dict[bytes, _Text] = {}
        self._calls = 0
        self._model_seconds = self._mask_seconds = 0.0

    def run(self, language: Language) -> list[Output]:
        started = perf_counter()
        beams = [_Beam(self._matcher, self._model.start(self._prompt_ids), (), 0.0)]
        while beams:
            logits = self._read([beam.session for beam in beams])
            found = [(step, beam) for beam, row in zip(beams, logits, strict=True) for step in self._next(beam, row)]
            found.sort(key=lambda pair: -(pair[1].score + (pair[0].log_probability or 0.0)))
            threshold = self._threshold()
            extensions = [
                (step, beam) for step, beam in found if beam.score + (step.log_probability or 0.0) > threshold
            ]
            beams = self._extend(extensions[: self._num_beams])
        if not self._texts:
            raise ModelError(
                "The model gives every text of the language probability 0, so none can be found; "
                "check the model's output, or allow more with the language"
            )
        seconds = perf_counter() - started
        return [self._output(text, language, seconds) for text in self._best()]

    def _read(self, sessions: Sequence[Session]) -> list[NDArray[np.float32]]:
        began = perf_counter()
        together = isinstance(self._model, BatchModel)
        if isinstance(self._model, BatchModel):
            self._model.read(sessions)
        logits = [session.logits for session in sessions]
        self._model_seconds += perf_counter() - began
        self._calls += 1 if together else len(sessions)
        return logits

    def _next(self, beam: _Beam, logits: NDArray[np.float32]) -> Iterator[Step]:
        """Yield the best next tokens of a beam, and store its text if that is complete."""
        began = perf_counter()
        beam.matcher.fill_mask(self._mask)
        allowed = np.unpackbits(self._mask.view(np.uint8), count=len(self._vocabulary), bitorder="little").astype(bool)
        self._mask_seconds += perf_counter() - began
        if not allowed.any():  # a vocabulary without end-of-text, or the last token of the budget
            self._store(beam, ())
            return
        if logits.shape != allowed.shape:
            raise ModelError(
                f"The model gives logits of shape {logits.shape} but its vocabulary has {len(allowed)} ids; if the "
                f"model's logits are padded, pass size={logits.shape[-1] if logits.ndim else 1} to the Vocabulary"
            )
        top = int(logits.argmax())
        if not np.isfinite(logits[top]):
            raise ModelError(f"The model gives token {top} the logit {logits[top]}; logits must be finite or -inf")
        exact = logits.astype(np.float64)
        logs = exact - np.logaddexp.reduce(exact)
        ids = np.flatnonzero(allowed)
        log_mass = min(float(np.logaddexp.reduce(logs[ids])), 0.0)
        steps = {int(i): Step(int(i), top, log_mass, float(logs[i])) for i in self._eos[allowed[self._eos]]}
        allowed[self._eos] = False
        ids = np.flatnonzero(allowed)
        for step in steps.values():
            self._store(beam, (step,), is_cut=not ids.size)
        best = ids[np.argsort(-logs[ids], kind="stable")[: self._num_beams]]
        yield from (Step(int(i), top, log_mass, float(logs[i])) for i in best if logs[i] > -np.inf)

    def _store(self, beam: _Beam, eos: tuple[Step, ...], *, is_cut: bool = True) -> None:
        """Store a text, unless it is stored with more likely tokens."""
        score = beam.score + sum(step.log_probability or 0.0 for step in eos)
        text = self._vocabulary.decode([step.token_id for step in beam.steps])
        stored = self._texts.get(text)
        if score > -np.inf and (stored is None or stored.score < score):
            spent = is_cut and len(beam.steps) == self._max_tokens and bool(beam.matcher.expected_bytes())
            reason: FinishReason = "length" if spent else "stop"
            self._texts[text] = _Text(beam.steps + eos, score, reason, beam.matcher.budget_bound_at)

    def _best(self) -> list[_Text]:
        return sorted(self._texts.values(), key=lambda text: -text.score)[: self._count]

    def _threshold(self) -> float:
        """Return the score that a prefix must exceed."""
        best = self._best()
        return best[-1].score if len(best) == self._count else -np.inf

    def _extend(self, extensions: Sequence[tuple[Step, _Beam]]) -> list[_Beam]:
        """Return the next beams: the last extension of a beam takes its matcher and session, the others get forks."""
        last = {id(beam): index for index, (_, beam) in enumerate(extensions)}
        forked = []
        for index, (step, beam) in enumerate(extensions):
            matcher, session = beam.matcher, beam.session
            if index != last[id(beam)]:
                matcher, session = matcher.fork(), self._fork(session)
            forked.append((matcher, session, step, beam))
        for matcher, session, step, _ in forked:
            matcher.advance(step.token_id)
            session.append([step.token_id])
        return [
            _Beam(matcher, session, (*beam.steps, step), beam.score + (step.log_probability or 0.0))
            for matcher, session, step, beam in forked
        ]

    def _fork(self, session: Session) -> Session:
        if isinstance(self._model, BatchModel):
            return self._model.fork(session)
        return self._model.start(session.token_ids)

    def _output(self, text: _Text, language: Language, seconds: float) -> Output:
        report = Report(
            steps=text.steps,
            budget_bound_at=text.budget_bound_at,
            model_calls=self._calls,
            seconds=seconds,
            model_seconds=self._model_seconds,
            mask_seconds=self._mask_seconds,
            tokens=token_texts(text.steps, self._vocabulary),
        )
        return make_output(self._vocabulary, language, report, text.finish_reason, len(self._prompt_ids))

"""Stream: one text under way, token after token.

    logits = the model's          mask = the draft's          token = the sampler's
      cache.logits <──────────────── draft.append <────────────────┘

Nothing here knows about regexes, caches or banned words: the model is a `LogitsCache`, the text a `TokenBuffer`,
the choice a `Sampler`. Where the mask has a single token, it is taken and the model is not asked. Before it is asked,
the stream can be halted (`run`), so that several of them ask together.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from detent.errors import StateError
from detent.generation.logits_cache import LogitsCache
from detent.generation.masked_logits import few_allowed, narrow
from detent.generation.output import FinishReason, Output
from detent.generation.report import Report, Step, measure, token_texts
from detent.generation.sampler import Sampler
from detent.generation.token_buffer import TokenBuffer
from detent.generation.utf8_stream import Utf8Decoder
from detent.mask import allocate_mask
from detent.models.base import Session
from detent.vocabulary import Vocabulary

__all__ = ["Stream"]


class Stream(Iterator[str]):
    """The text piece by piece; made by `stream`. After the last piece, `output` has the whole."""

    def __init__(
        self,
        vocabulary: Vocabulary,
        cache: LogitsCache,
        draft: TokenBuffer,
        sampler: Sampler,
        max_tokens: int,
        prompt_token_count: int,
        value: Callable[[str], object] | None,
    ) -> None:
        self._vocabulary = vocabulary
        self._logits_cache = cache
        self._draft = draft
        self._sampler = sampler
        self._max_tokens = max_tokens
        self._prompt_token_count = prompt_token_count
        self._value = value
        self._mask = allocate_mask(1, len(vocabulary))[0]
        self._ends = frozenset(vocabulary.eos_token_ids)
        self._few = max(self._mask.size, len(self._ends))
        self._mask_seconds = 0.0
        self._output: Output | None = None
        self._pieces = self._write()

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        while (piece := next(self._pieces)) is None:  # the model is asked, by this stream itself
            pass
        return piece

    def run(self) -> bool:
        """Go on until the model is to be asked: False if the text has ended before. For those who ask for many rows."""
        return any(piece is None for piece in self._pieces)

    @property
    def cache(self) -> LogitsCache:
        """The model's side."""
        return self._logits_cache

    def session(self) -> Session:
        """Return the session to be read, with the tokens so far."""
        return self._logits_cache.session(self._draft.token_ids)

    @property
    def output(self) -> Output:
        """The whole, once the stream is exhausted.

        Raises
        ------
        StateError
            There are pieces left.
        """
        if self._output is None:
            raise StateError("The stream has not ended, so it has no output yet; iterate it to its end first")
        return self._output

    def _write(self) -> Iterator[str | None]:
        """Yield pieces, and None before the model is asked."""
        started, waited = perf_counter(), 0.0
        draft, decoder = self._draft, Utf8Decoder()
        pieces: list[str] = []
        shown = 0
        finish_reason: FinishReason | None = None
        while finish_reason is None:
            finish_reason = yield from self._advance()
            if draft.shown() > shown:
                piece = decoder.feed(bytes(draft.text[shown : draft.shown()]))
                shown = draft.shown()
                if piece:
                    pieces.append(piece)
                    paused = perf_counter()
                    yield piece
                    waited += perf_counter() - paused
        if piece := decoder.finish(cut=finish_reason == "length"):
            pieces.append(piece)
            yield piece
        self._output = self._finish("".join(pieces), finish_reason, perf_counter() - started - waited)

    def _advance(self) -> Generator[None, None, FinishReason | None]:
        """Add a token to the draft, or end it and say why, or take tokens back."""
        draft, mask, ends = self._draft, self._mask, self._ends
        began = perf_counter()
        draft.fill_mask(mask)
        few = few_allowed(mask, self._few)
        nothing_left = few is not None and not few.size
        only = int(few[0]) if few is not None and few.size == 1 else None
        nothing_but_ends = few is not None and few.size <= len(ends) and ends.issuperset(few.tolist())
        self._mask_seconds += perf_counter() - began
        if nothing_left and draft.has_refusals:
            draft.back_up()
            self._logits_cache.crop(len(draft.token_ids))
            return None
        if nothing_but_ends:  # nothing to ask the model
            spent = len(draft.token_ids) == self._max_tokens
            cut = spent and bool(draft.matcher.expected_bytes())
            return ("length" if cut else "stop") if self._end() else None
        if only is None and self._logits_cache.needs_pass(len(draft.token_ids)):
            yield
        step = self._choose(few) if only is None else Step(only)
        if step.token_id in ends:
            if not self._end():
                return None
            draft.steps.append(step)
            return "stop"
        began = perf_counter()
        if not draft.append(step):
            self._logits_cache.crop(len(draft.token_ids))
        elif draft.is_watched:
            self._logits_cache.discard_before(draft.settled)
        self._mask_seconds += perf_counter() - began
        return None if draft.stopped is None else "stop"

    def _choose(self, few: NDArray[np.uint32] | None) -> Step:
        logits = self._logits_cache.logits(self._draft.token_ids, keep=self._draft.is_watched)
        log_mass, log_total, top = measure(logits, self._mask)
        began = perf_counter()
        values, ids = narrow(logits, self._mask, few, top if self._sampler.temperature == 0 else None)
        self._mask_seconds += perf_counter() - began
        token_id = self._sampler.pick(values, ids)
        return Step(token_id, top, log_mass, float(logits[token_id]) - log_total)

    def _end(self) -> bool:
        if self._draft.end():
            return True
        self._logits_cache.crop(len(self._draft.token_ids))
        return False

    def _finish(self, text: str, finish_reason: FinishReason, seconds: float) -> Output:
        draft, cache = self._draft, self._logits_cache
        stopped = draft.stopped
        budget_bound_at = draft.matcher.budget_bound_at
        return Output(
            text=text,
            token_ids=tuple(draft.token_ids),
            finish_reason=finish_reason,
            value=text if self._value is None else self._value(text),
            budget_bound_at=budget_bound_at,
            prompt_token_count=self._prompt_token_count,
            stop_string=None if stopped is None else draft.text[stopped.start : stopped.end].decode(),
            report=Report(
                steps=tuple(draft.steps),
                rewinds=tuple(draft.rewinds),
                masked_from=draft.masked_from,
                budget_bound_at=budget_bound_at,
                model_calls=cache.calls,
                seconds=seconds,
                model_seconds=cache.seconds,
                mask_seconds=self._mask_seconds,
                tokens=token_texts(draft.steps, self._vocabulary),
            ),
        )

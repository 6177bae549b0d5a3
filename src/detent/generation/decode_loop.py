"""Stream: the decoding loop of one text.

    LogitsCache  --logits-->  Sampler  --token-->  TokenBuffer
         ^                       ^                  |       |
         +------- tokens --------|------------------+       |
                                 +---------- mask ----------+

The loop knows nothing of regexes, sessions or banned words. A token that is the only one allowed is appended without
asking the model. The generator yields None before each pass of the model, so that several streams can be read together.
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
    """A text piece by piece, made by `stream`; `output` is complete after the last piece."""

    def __init__(
        self,
        vocabulary: Vocabulary,
        logits_cache: LogitsCache,
        buffer: TokenBuffer,
        sampler: Sampler,
        max_tokens: int,
        prompt_token_count: int,
        value: Callable[[str], object] | None,
    ) -> None:
        self._vocabulary = vocabulary
        self._logits_cache = logits_cache
        self._buffer = buffer
        self._sampler = sampler
        self._max_tokens = max_tokens
        self._prompt_token_count = prompt_token_count
        self._value = value
        self._mask = allocate_mask(1, len(vocabulary))[0]
        self._eos = frozenset(vocabulary.eos_token_ids)
        self._most_gathered = max(self._mask.size, len(self._eos))
        self._mask_seconds = 0.0
        self._output: Output | None = None
        self._pieces = self._run()

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        while (piece := next(self._pieces)) is None:  # this stream reads its own session
            pass
        return piece

    def run_to_pass(self) -> bool:
        """Advance until the model must be asked; return False if the text is complete before. For batches."""
        return any(piece is None for piece in self._pieces)

    @property
    def logits_cache(self) -> LogitsCache:
        """The model's side of the loop."""
        return self._logits_cache

    def session(self) -> Session:
        """Return the session to be read, with the tokens so far."""
        return self._logits_cache.session(self._buffer.token_ids)

    @property
    def output(self) -> Output:
        """The whole text and its report, after the last piece.

        Raises
        ------
        StateError
            There are pieces left.
        """
        if self._output is None:
            raise StateError("The stream has not ended, so it has no output yet; iterate it to its end first")
        return self._output

    def _run(self) -> Iterator[str | None]:
        """Yield pieces, and None before each pass of the model."""
        started, suspended = perf_counter(), 0.0
        buffer, decoder = self._buffer, Utf8Decoder()
        pieces: list[str] = []
        shown = 0
        finish_reason: FinishReason | None = None
        while finish_reason is None:
            finish_reason = yield from self._step()
            if buffer.shown() > shown:
                piece = decoder.feed(bytes(buffer.text[shown : buffer.shown()]))
                shown = buffer.shown()
                if piece:
                    pieces.append(piece)
                    paused = perf_counter()
                    yield piece
                    suspended += perf_counter() - paused
        if piece := decoder.finish(cut=finish_reason == "length"):
            pieces.append(piece)
            yield piece
        self._output = self._make_output("".join(pieces), finish_reason, perf_counter() - started - suspended)

    def _step(self) -> Generator[None, None, FinishReason | None]:
        """Append a token, or rewind, or end the text; return the reason of the end."""
        buffer, mask, eos = self._buffer, self._mask, self._eos
        began = perf_counter()
        buffer.fill_mask(mask)
        few = few_allowed(mask, self._most_gathered)
        is_empty = few is not None and not few.size
        only = int(few[0]) if few is not None and few.size == 1 else None
        only_eos = few is not None and few.size <= len(eos) and eos.issuperset(few.tolist())
        self._mask_seconds += perf_counter() - began
        if is_empty and buffer.has_refusals:
            buffer.leave_dead_end()
            self._logits_cache.crop(len(buffer.token_ids))
            return None
        if only_eos:  # no choice is left, also if no id is
            spent = len(buffer.token_ids) == self._max_tokens
            cut = spent and bool(buffer.matcher.expected_bytes())
            return ("length" if cut else "stop") if self._complete() else None
        if only is None and self._logits_cache.needs_pass(len(buffer.token_ids)):
            yield
        step = self._choose(few) if only is None else Step(only)
        if step.token_id in eos:
            if not self._complete():
                return None
            buffer.steps.append(step)
            return "stop"
        began = perf_counter()
        if not buffer.append(step):
            self._logits_cache.crop(len(buffer.token_ids))
        elif buffer.may_rewind:
            self._logits_cache.discard_before(buffer.committed)
        self._mask_seconds += perf_counter() - began
        return None if buffer.stopped is None else "stop"

    def _choose(self, few: NDArray[np.uint32] | None) -> Step:
        logits = self._logits_cache.logits(self._buffer.token_ids, keep=self._buffer.may_rewind)
        log_mass, log_total, top = measure(logits, self._mask)
        began = perf_counter()
        values, ids = narrow(logits, self._mask, few, top if self._sampler.temperature == 0 else None)
        self._mask_seconds += perf_counter() - began
        token_id = self._sampler.pick(values, ids)
        return Step(token_id, top, log_mass, float(logits[token_id]) - log_total)

    def _complete(self) -> bool:
        if self._buffer.complete():
            return True
        self._logits_cache.crop(len(self._buffer.token_ids))
        return False

    def _make_output(self, text: str, finish_reason: FinishReason, seconds: float) -> Output:
        buffer, logits_cache = self._buffer, self._logits_cache
        stopped = buffer.stopped
        budget_bound_at = buffer.matcher.budget_bound_at
        return Output(
            text=text,
            token_ids=tuple(buffer.token_ids),
            finish_reason=finish_reason,
            value=text if self._value is None else self._value(text),
            budget_bound_at=budget_bound_at,
            prompt_token_count=self._prompt_token_count,
            stop_string=None if stopped is None else buffer.text[stopped.start : stopped.end].decode(),
            report=Report(
                steps=tuple(buffer.steps),
                rewinds=tuple(buffer.rewinds),
                masked_from=buffer.masked_from,
                budget_bound_at=budget_bound_at,
                model_calls=logits_cache.calls,
                seconds=seconds,
                model_seconds=logits_cache.seconds,
                mask_seconds=self._mask_seconds,
                tokens=token_texts(buffer.steps, self._vocabulary),
            ),
        )

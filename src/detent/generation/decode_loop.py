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
from dataclasses import dataclass
from inspect import GEN_CLOSED, getgeneratorstate
from time import perf_counter
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from detent.errors import BusyError, StateError
from detent.generation.logits_cache import LogitsCache
from detent.generation.masked_logits import few_allowed, narrow
from detent.generation.output import FinishReason, Output, convert
from detent.generation.report import Report, Step, alternatives, measure, token_texts
from detent.generation.sampler import Sampler
from detent.generation.token_buffer import TokenBuffer
from detent.generation.unbounded import Unbounded
from detent.generation.utf8_stream import Utf8Decoder
from detent.language import Language
from detent.mask import allocate_mask
from detent.matcher import Matcher
from detent.models.base import Session
from detent.vocabulary import Vocabulary

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Settings", "Stream", "no_output"]


def no_output(*, has_stopped: bool) -> StateError:
    """Return the error for the output of a stream that has none."""
    if has_stopped:
        return StateError("The stream was closed or has failed before its end, so it has no output")
    return StateError("The stream has not ended, so it has no output yet; iterate it to its end first")


@dataclass(frozen=True)
class Settings:
    """The constants of a decoding loop.

    Attributes
    ----------
    budget, budget_from, canonical
        As in `Report`.
    alternatives : int
        As in `Request`.
    language : Language
        The language, for the value of the text.
    start_unbounded : callable
        Returns a matcher without a budget; its argument says whether banned words are masked.
    """

    budget: int
    budget_from: Literal["max_tokens", "context"]
    canonical: bool | Literal["approximate"]
    alternatives: int
    language: Language
    start_unbounded: Callable[[bool], Matcher]


class Stream(Iterator[str]):
    """A text piece by piece, made by `stream`; `output` is complete after the last piece.

    It is a context manager too: ``with detent.stream(...) as pieces`` closes it.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        logits_cache: LogitsCache,
        buffer: TokenBuffer,
        sampler: Sampler,
        settings: Settings,
    ) -> None:
        self._vocabulary = vocabulary
        self._logits_cache = logits_cache
        self._buffer = buffer
        self._sampler = sampler
        self._settings = settings
        self._mask = allocate_mask(1, len(vocabulary))[0]
        self._unbounded: Unbounded | None = None
        self._budget_decided_at: int | None = None
        self._eos = frozenset(vocabulary.eos_token_ids)
        self._most_gathered = max(self._mask.size, len(self._eos))
        self._mask_seconds = 0.0
        self._output: Output | None = None
        self._pieces = self._run()

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        try:
            while (piece := next(self._pieces)) is None:  # this stream reads its own session
                pass
        except ValueError as error:
            if str(error) == "generator already executing":
                raise BusyError("the stream is being iterated by another thread; give each thread its own") from error
            raise
        return piece

    def run_to_pass(self) -> bool:
        """Advance until the model must be asked; return False if the text is complete before. For batches."""
        return any(piece is None for piece in self._pieces)

    def until_pass(self) -> Iterator[str]:
        """Yield the pieces before the next pass of the model, or all that are left."""
        for piece in self._pieces:
            if piece is None:
                return
            yield piece

    def committed_ids(self, start: int) -> list[int]:
        """Return the tokens from `start` on that are never taken back."""
        return self._buffer.token_ids[start : None if self.is_finished else self._buffer.committed]

    def committed_steps(self, start: int) -> list[Step]:
        """Return the steps from `start` on that are never taken back; the last may be end-of-text."""
        return self._buffer.steps[start : None if self.is_finished else self._buffer.committed]

    @property
    def is_finished(self) -> bool:
        """Whether `output` is complete."""
        return self._output is not None

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
            There are pieces left, or the stream was closed, or the model raised an error.
        """
        if self._output is None:
            raise no_output(has_stopped=getgeneratorstate(self._pieces) == GEN_CLOSED)
        return self._output

    def close(self) -> None:
        """Stop the generation and release the session of the model. Further iteration yields nothing."""
        self._pieces.close()
        self._logits_cache.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _run(self) -> Generator[str | None, None, None]:
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
            spent = len(buffer.token_ids) == self._settings.budget
            if spent and buffer.matcher.expected_bytes():
                self._budget_decided_at = len(buffer.token_ids)
            self._watch_budget(None)
            return self._finish_reason() if self._complete() else None
        if only is None and self._logits_cache.needs_pass(len(buffer.token_ids)):
            yield
        step = self._choose(few) if only is None else Step(only)
        self._watch_budget(step)
        if step.token_id in eos:
            if not self._complete():
                return None
            buffer.steps.append(step)
            return self._finish_reason()
        began = perf_counter()
        if not buffer.append(step):
            self._logits_cache.crop(len(buffer.token_ids))
        elif buffer.may_rewind:
            self._logits_cache.discard_before(buffer.committed)
        self._mask_seconds += perf_counter() - began
        return None if buffer.stopped is None else "stop"

    def _finish_reason(self) -> FinishReason:
        return "stop" if self._budget_decided_at is None else "length"

    def _watch_budget(self, step: Step | None) -> None:
        """Record whether the budget excluded the token of the language that the model prefers at this position."""
        buffer, position = self._buffer, len(self._buffer.token_ids)
        if self._budget_decided_at is not None:
            if self._budget_decided_at < position or step is None:
                return
            self._budget_decided_at = None  # a rewind took the token back
        if buffer.matcher.budget_bound_at is None:
            return
        if self._unbounded is None:
            self._unbounded = Unbounded(self._settings.start_unbounded, len(self._vocabulary))
        logits = (
            None
            if step is None or step.is_forced
            else self._logits_cache.logits(buffer.token_ids, keep=buffer.may_rewind)
        )
        if self._unbounded.prefers_other(buffer, self._mask, logits):
            self._budget_decided_at = position

    def _choose(self, few: NDArray[np.uint32] | None) -> Step:
        logits = self._logits_cache.logits(self._buffer.token_ids, keep=self._buffer.may_rewind)
        log_mass, log_total, top, entropy = measure(logits, self._mask)
        began = perf_counter()
        values, ids = narrow(logits, self._mask, few, top if self._sampler.temperature == 0 else None)
        self._mask_seconds += perf_counter() - began
        token_id = self._sampler.pick(values, ids)
        likely = alternatives(logits, self._mask, log_total, self._settings.alternatives)
        return Step(token_id, top, log_mass, float(logits[token_id]) - log_total, likely, entropy)

    def _complete(self) -> bool:
        if self._buffer.complete():
            return True
        self._logits_cache.crop(len(self._buffer.token_ids))
        return False

    def _make_output(self, text: str, finish_reason: FinishReason, seconds: float) -> Output:
        buffer, logits_cache = self._buffer, self._logits_cache
        stopped = buffer.stopped
        budget_bound_at, settings = buffer.matcher.budget_bound_at, self._settings
        value, value_error = convert(settings.language, self._vocabulary, buffer.token_ids, text)
        return Output(
            text,
            tuple(buffer.token_ids),
            finish_reason,
            value,
            budget_bound_at,
            len(logits_cache.prompt_ids),
            value_error=value_error,
            stop_string=None if stopped is None else buffer.text[stopped.start : stopped.end].decode(),
            report=Report(
                steps=tuple(buffer.steps),
                rewinds=tuple(buffer.rewinds),
                masked_from=buffer.masked_from,
                budget_bound_at=budget_bound_at,
                budget=settings.budget,
                budget_from=settings.budget_from,
                canonical=settings.canonical,
                model_calls=logits_cache.calls,
                seconds=seconds,
                model_seconds=logits_cache.seconds,
                mask_seconds=self._mask_seconds,
                tokens=token_texts(buffer.steps, self._vocabulary, buffer.rewinds),
            ),
        )

"""Decoding several texts in step.

    advance each text until it needs logits  ->  read the sessions of all in one pass  ->  repeat

A text that is complete makes room for the next one. What a text is does not depend on the others. A prompt that several
texts share is read once, into a session that is forked for each of them. With a model that reads one session at a time,
texts are written one after the other and hand the session of the prompt on.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import replace
from time import perf_counter

from detent.generation.decode_loop import Stream
from detent.generation.logits_cache import LogitsCache
from detent.generation.output import Output
from detent.generation.request import PreparedRequest
from detent.models.base import BatchModel, Model, Session

__all__ = ["run_batch"]


def run_batch(model: Model, samples: Sequence[tuple[PreparedRequest, int]], batch_size: int) -> list[Output]:
    """Return the output of each sample (a request and the sample's number), at most `batch_size` at a time.

    A sample whose text has no value is written again, as often as its request allows.
    """
    current, outputs, attempt = list(samples), _run_once(model, samples, batch_size), 0
    while True:
        attempt += 1
        failed = []
        for index, (request, sample) in enumerate(current):
            if outputs[index].value_error is not None and attempt <= request.request.retries:
                again = request.again(sample, outputs[index], attempt)
                if again is not None:
                    current[index] = again, 0
                    failed.append(index)
        if not failed:
            return outputs
        new = _run_once(model, [current[index] for index in failed], batch_size)
        for index, output in zip(failed, new, strict=True):
            earlier = outputs[index]
            outputs[index] = replace(output, failed_attempts=(*earlier.failed_attempts, earlier))


def _run_once(model: Model, samples: Sequence[tuple[PreparedRequest, int]], batch_size: int) -> list[Output]:
    if isinstance(model, BatchModel):
        return _Batch(model, samples).run(batch_size)
    outputs = []
    last: LogitsCache | None = None
    for request, sample in samples:
        cache = request.logits_cache()
        if last is not None and last.prompt_ids == request.prompt_ids and (session := last.close()) is not None:
            cache.open(session)
        pieces = request.stream(sample, cache)
        for _ in pieces:
            pass
        outputs.append(pieces.output)
        last = cache
    return outputs


class _Batch:
    """The samples of one model, the sessions of shared prompts, and how many samples have yet to read each prompt."""

    def __init__(self, model: BatchModel, samples: Sequence[tuple[PreparedRequest, int]]) -> None:
        self._model = model
        self._samples = samples
        self._readers_left = Counter(tuple(request.prompt_ids) for request, _ in samples)
        self._prompts: dict[tuple[int, ...], Session] = {}

    def run(self, batch_size: int) -> list[Output]:
        waiting = deque(range(len(self._samples)))
        outputs: dict[int, Output] = {}
        asking: dict[int, Stream] = {}
        while waiting or asking:
            running, asking = asking, {}
            while running or (waiting and len(asking) < batch_size):
                if running:
                    index, stream = running.popitem()
                else:
                    index = waiting.popleft()
                    request, sample = self._samples[index]
                    stream = request.stream(sample, request.logits_cache())
                if stream.run_to_pass():
                    asking[index] = stream
                else:
                    outputs[index] = stream.output
                    cache = stream.logits_cache
                    self._readers_left[tuple(cache.prompt_ids)] -= not cache.has_session
            asking = dict(sorted(asking.items()))  # a stable order keeps the rows of the model's caches
            if asking:
                self._read(list(asking.values()))
        return [outputs[index] for index in range(len(self._samples))]

    def _read(self, streams: Sequence[Stream]) -> None:
        """Read the logits of all streams in one pass, and before it the prompts that samples share."""
        self._start_sessions([stream.logits_cache for stream in streams if not stream.logits_cache.has_session])
        sessions = [stream.session() for stream in streams]
        began = perf_counter()
        self._model.read(sessions)
        seconds = perf_counter() - began
        for stream in streams:
            stream.logits_cache.record_pass(seconds)

    def _start_sessions(self, caches: Sequence[LogitsCache]) -> None:
        """Fork the session of the prompt for each cache whose prompt another sample has too."""
        shared = [
            (cache, prompt)
            for cache in caches
            if self._readers_left[prompt := tuple(cache.prompt_ids)] > 1 or prompt in self._prompts
        ]
        first_readers: dict[tuple[int, ...], LogitsCache] = {}
        for cache, prompt in shared:
            if prompt not in self._prompts:
                self._prompts[prompt] = self._model.start(prompt)
                first_readers[prompt] = cache
        if first_readers:
            began = perf_counter()
            self._model.read([self._prompts[prompt] for prompt in first_readers])
            seconds = perf_counter() - began
            for cache in first_readers.values():
                cache.record_pass(seconds, passes=0)  # the pass that follows is the one that counts
        for cache, prompt in shared:
            cache.open(self._model.fork(self._prompts[prompt]))
        self._readers_left.subtract(tuple(cache.prompt_ids) for cache in caches)
        for prompt in [prompt for prompt in self._prompts if not self._readers_left[prompt]]:
            del self._prompts[prompt]

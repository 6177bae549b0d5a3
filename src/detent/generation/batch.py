"""Together: several streams written side by side, asking the model together.

    each row goes on alone until it needs logits  ->  one pass reads the sessions of all  ->  and so on

A row that ends makes room for the next. What a row writes is its own stream's affair and does not depend on the others.
A prompt that rows share is read once, into a session that is forked for each of them; with a model that cannot read
together, rows are written one after the other and hand the session on.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Sequence
from time import perf_counter

from detent.generation.decode_loop import Stream
from detent.generation.logits_cache import LogitsCache
from detent.generation.output import Output
from detent.generation.request import Plan
from detent.models.base import BatchModel, Model, Session

__all__ = ["run_batch"]


def run_batch(model: Model, rows: Sequence[tuple[Plan, int]], batch_size: int) -> list[Output]:
    """Write the samples (a plan and the sample's number), at most `batch_size` at a time."""
    if isinstance(model, BatchModel):
        return _Rows(model, rows).write(batch_size)
    outputs = []
    last: LogitsCache | None = None
    for plan, sample in rows:
        cache = LogitsCache(model, plan.prompt_ids)
        if last is not None and last.prompt_ids == plan.prompt_ids and (session := last.close()) is not None:
            cache.open(session)
        pieces = plan.stream(sample, cache)
        for _ in pieces:
            pass
        outputs.append(pieces.output)
        last = cache
    return outputs


class _Rows:
    """TokenTree of one model, the prompts that several of them begin with, and how many rows have yet to read each."""

    def __init__(self, model: BatchModel, rows: Sequence[tuple[Plan, int]]) -> None:
        self._model = model
        self._rows = rows
        self._left = Counter(tuple(plan.prompt_ids) for plan, _ in rows)
        self._prompts: dict[tuple[int, ...], Session] = {}

    def write(self, batch_size: int) -> list[Output]:
        waiting = deque(range(len(self._rows)))
        outputs: dict[int, Output] = {}
        asking: dict[int, Stream] = {}
        while waiting or asking:
            running, asking = asking, {}
            while running or (waiting and len(asking) < batch_size):
                if running:
                    row, stream = running.popitem()
                else:
                    row = waiting.popleft()
                    stream = self._begin(row)
                if stream.run():
                    asking[row] = stream
                else:
                    outputs[row] = stream.output
                    self._left[tuple(stream.cache.prompt_ids)] -= not stream.cache.has_session
            asking = dict(sorted(asking.items()))  # rows keep their places in the model's caches
            if asking:
                self._ask(list(asking.values()))
        return [outputs[row] for row in range(len(self._rows))]

    def _begin(self, row: int) -> Stream:
        plan, sample = self._rows[row]
        return plan.stream(sample, LogitsCache(self._model, plan.prompt_ids))

    def _ask(self, streams: Sequence[Stream]) -> None:
        """Read the logits that each stream wants, in one pass, and before it the prompts that rows share."""
        self._open([stream.cache for stream in streams if not stream.cache.has_session])
        sessions = [stream.session() for stream in streams]
        began = perf_counter()
        self._model.read(sessions)
        seconds = perf_counter() - began
        for stream in streams:
            stream.cache.record_pass(seconds)

    def _open(self, caches: Sequence[LogitsCache]) -> None:
        """Fork the prompt's session for each cache whose prompt another row has too."""
        shared = [
            (cache, prompt)
            for cache in caches
            if self._left[prompt := tuple(cache.prompt_ids)] > 1 or prompt in self._prompts
        ]
        fresh: dict[tuple[int, ...], LogitsCache] = {}
        for cache, prompt in shared:
            if prompt not in self._prompts:
                self._prompts[prompt] = self._model.start(prompt)
                fresh[prompt] = cache
        if fresh:
            began = perf_counter()
            self._model.read([self._prompts[prompt] for prompt in fresh])
            seconds = perf_counter() - began
            for cache in fresh.values():
                cache.record_pass(seconds, passes=0)  # the pass that follows is the one that counts
        for cache, prompt in shared:
            cache.open(self._model.fork(self._prompts[prompt]))
        self._left.subtract(tuple(cache.prompt_ids) for cache in caches)
        for prompt in [prompt for prompt in self._prompts if not self._left[prompt]]:
            del self._prompts[prompt]

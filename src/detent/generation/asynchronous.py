"""agenerate and astream: generation in asyncio, several texts at once on one model.

Each model has a scheduler with one thread. The thread advances all texts until they need logits, reads their sessions
in one pass, and repeats; a new text joins at the next pass (continuous batching: Yu et al. 2022, Orca). The event loop
is never blocked: arguments are checked and languages compiled in a thread too. The thread ends with its last text.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import threading
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload
from weakref import WeakKeyDictionary

from detent.errors import BusyError
from detent.generation.decode_loop import Stream, no_output
from detent.generation.output import Output
from detent.generation.partial_captures import partial_value
from detent.generation.partial_stream import PartialValue
from detent.generation.prompt_cache import PromptCache
from detent.generation.request import Options, PreparedRequest, Prompt, Request, make_request
from detent.generation.signature import refuse_retries, with_options
from detent.generation.turn_stream import TurnStream, events_of
from detent.language import Language
from detent.models.base import BatchModel, Model
from detent.rule import AnyRule
from detent.turns.events import Event

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["AsyncStream", "agenerate", "astream", "astream_turn", "write_text"]

_Value = TypeVar("_Value")

_MOST_TOGETHER = 64
"""The most texts that a model reads in one pass."""

_lock = threading.Lock()
_schedulers: WeakKeyDictionary[Model, _Scheduler] = WeakKeyDictionary()
_running: set[_Scheduler] = set()
"""The schedulers that have a thread."""


def _stop() -> None:
    """End all texts before the interpreter does: to stop a thread inside a model's C++ code aborts the process."""
    for scheduler in list(_running):
        scheduler.stop()


def _forget() -> None:
    """Forget the schedulers in a forked process, which has none of their threads."""
    global _lock
    _lock = threading.Lock()
    _schedulers.clear()
    _running.clear()


atexit.register(_stop)
os.register_at_fork(after_in_child=_forget)


class _Task:
    """A text of one event loop: the pieces go to its queue, then the output or an error."""

    def __init__(self, model: Model, stream: Stream | TurnStream) -> None:
        self.model = model
        self.stream = stream
        self.is_cancelled = False
        self.is_read = False
        self._loop = asyncio.get_running_loop()
        self._queue: asyncio.Queue[str | Event | Output | BaseException] = asyncio.Queue()

    def deliver(self, item: str | Event | Output | BaseException) -> None:
        """Send an item to the event loop, from the thread of the scheduler."""
        try:
            self._loop.call_soon_threadsafe(self._queue.put_nowait, item)
        except RuntimeError:  # the event loop is closed
            self.is_cancelled = True

    async def receive(self) -> Any:
        """Return the next piece, or at last the output; raise the error of the text."""
        item = await self._queue.get()
        if isinstance(item, BaseException):
            raise item
        return item


class _Scheduler:
    """The texts of one model, and the thread that advances them."""

    def __init__(self, model: Model) -> None:
        self._lock = threading.Lock()
        self._waiting: deque[_Task] = deque()
        self._thread: threading.Thread | None = None
        self._is_stopped = False
        self._prompts = PromptCache() if isinstance(model, BatchModel) else None

    def submit(self, task: _Task) -> None:
        """Add a text; start the thread if there is none."""
        with self._lock:
            self._waiting.append(task)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="detent-scheduler", daemon=True)
                self._thread.start()
                _running.add(self)

    def stop(self) -> None:
        """End all texts and wait for the pass of the model that is under way."""
        with self._lock:
            self._is_stopped, thread = True, self._thread
        if thread is not None:
            thread.join()

    def _run(self) -> None:
        active: list[_Task] = []
        while True:
            with self._lock:
                while self._waiting and len(active) < _MOST_TOGETHER:
                    active.append(self._waiting.popleft())
                if not active or self._is_stopped:
                    self._thread = None
                    _running.discard(self)
                    return
            active = [task for task in active if self._advance(task)]
            if active:
                active = self._read(active)

    def _advance(self, task: _Task) -> bool:
        """Advance a text to its next pass; return False if it has ended."""
        if task.is_cancelled:
            task.stream.close()
            return False
        try:
            for piece in task.stream.until_pass():
                task.deliver(piece)
            if task.stream.is_finished:
                task.deliver(task.stream.output)
        except Exception as error:  # belongs to this text alone
            task.deliver(error)
            return False
        return not task.stream.is_finished

    def _read(self, tasks: list[_Task]) -> list[_Task]:
        """Read the sessions of several texts in one pass; return the texts that can go on."""
        if self._prompts is None:
            return tasks  # each stream reads its own session
        try:
            new = [task for task in tasks if not task.stream.logits_cache.has_session]
            for task in new:
                self._prompts.open(task.stream.logits_cache)
            firsts = {tuple(task.stream.logits_cache.prompt_ids): task for task in reversed(new)}
            if len(firsts) == len(new):
                self._pass(tasks)
                return tasks
            self._pass(list(firsts.values()))  # a prompt of several new texts is read once
            others = [task for task in tasks if task not in firsts.values()]
            for task in others:
                if not task.stream.logits_cache.has_session:
                    self._prompts.open(task.stream.logits_cache)
            self._pass(others)
        except Exception as error:
            for task in tasks:
                task.deliver(error)
            return []
        return tasks

    def _pass(self, tasks: list[_Task]) -> None:
        model = tasks[0].model
        assert isinstance(model, BatchModel)  # noqa: S101 - otherwise there is no prompt cache
        assert self._prompts is not None  # noqa: S101
        first_reads = [task for task in tasks if not task.is_read]
        sessions = [task.stream.session() for task in tasks]
        began = perf_counter()
        model.read(sessions)
        seconds = perf_counter() - began
        for task in tasks:
            task.stream.logits_cache.record_pass(seconds)
        for task in first_reads:
            task.is_read = True
            self._prompts.keep(task.stream.logits_cache)


def _scheduler(model: Model) -> _Scheduler:
    try:
        with _lock:
            return _schedulers.setdefault(model, _Scheduler(model))
    except TypeError:  # a model without hash or weak references is never read together
        return _Scheduler(model)


async def write_text(model: Model, request: PreparedRequest, sample: int = 0) -> AsyncGenerator[str | Output, None]:
    """Yield the pieces of a text, and its output at last; closing the generator stops the text."""
    task = _start(model, request.stream(sample))
    try:
        while not isinstance(item := await task.receive(), Output):
            yield item
        yield item
    finally:
        task.is_cancelled = True


class AsyncStream(AsyncIterator[Any]):
    """The pieces of a text, its partial values, or its events, in asyncio; made by `astream` and `astream_turn`.

    It is a context manager too: ``async with detent.astream(...) as pieces``. `aclose` stops the generation.
    """

    def __init__(self, model: Model, request: Request, yields: Literal["pieces", "values", "events"]) -> None:
        self._model = model
        self._request = request
        self._yields = yields
        self._partial: PartialValue | None = None
        self._task: _Task | None = None
        self._output: Output | None = None
        self._is_closed = False
        self._is_receiving = False

    def __aiter__(self) -> AsyncStream:
        return self

    async def __anext__(self) -> Any:
        if self._is_receiving:
            raise BusyError("the stream is being iterated by another task; give each task its own")
        self._is_receiving = True
        try:
            return await self._next()
        finally:
            self._is_receiving = False

    async def _next(self) -> Any:
        if self._is_closed or self._output is not None:
            raise StopAsyncIteration
        if self._task is None:
            request = await asyncio.to_thread(PreparedRequest, self._model, self._request)
            if self._yields == "values":
                self._partial = partial_value(request.guide.language)
            stream = events_of(request) if self._yields == "events" else request.stream()
            self._task = _start(self._model, stream)
        while True:
            try:
                item = await self._task.receive()
            except BaseException:
                await self.aclose()
                raise
            if isinstance(item, Output):
                self._output = item
                if self._partial is not None and self._partial.finish():
                    return self._partial.value
                raise StopAsyncIteration
            if self._partial is None:
                return item
            if self._partial.feed(item):
                return self._partial.value

    @property
    def output(self) -> Output:
        """The whole text and its report, after the last piece.

        Raises
        ------
        StateError
            There are pieces left, or the stream was closed.
        """
        if self._output is None:
            raise no_output(has_stopped=self._is_closed)
        return self._output

    async def aclose(self) -> None:
        """Stop the generation; its session is released at the next pass."""
        self._is_closed = True
        if self._task is not None:
            self._task.is_cancelled = True

    def __del__(self) -> None:
        task = getattr(self, "_task", None)
        if task is not None:  # nobody will read the rest of an abandoned stream
            task.is_cancelled = True

    async def __aenter__(self) -> AsyncStream:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.aclose()


def _start(model: Model, stream: Stream | TurnStream) -> _Task:
    task = _Task(model, stream)
    _scheduler(model).submit(task)
    return task


async def _last(model: Model, request: PreparedRequest) -> Output:
    output: Output
    async with aclosing(write_text(model, request)) as items:
        async for item in items:
            if isinstance(item, Output):
                output = item
    return output


@overload
async def agenerate(model: Model, prompt: Prompt, language: None = None, **options: Unpack[Options]) -> Output[str]: ...
@overload
async def agenerate(
    model: Model, prompt: Prompt, language: Language[_Value] | type[_Value], **options: Unpack[Options]
) -> Output[_Value]: ...
@overload
async def agenerate(
    model: Model, prompt: Prompt, language: list[_Value] | tuple[_Value, ...], **options: Unpack[Options]
) -> Output[_Value]: ...
@overload
async def agenerate(
    model: Model, prompt: Prompt, language: AnyRule | None, **options: Unpack[Options]
) -> Output[Any]: ...
@with_options
async def agenerate(
    model: Model, prompt: Prompt, language: AnyRule | None = None, **options: Unpack[Options]
) -> Output[Any]:
    """Continue `prompt` with a text of `language`, in asyncio.

    >>> import asyncio, detent
    >>> model, answer = detent.load_model(), detent.choice("Yes", "No")
    >>> async def ask(*things):
    ...     questions = [f"Is a {thing} an animal? Answer Yes or No." for thing in things]
    ...     return await asyncio.gather(*[detent.agenerate(model, question, answer, seed=0) for question in questions])
    >>> [out.text in ("Yes", "No") for out in asyncio.run(ask("dog", "car"))]
    [True, True]

    Arguments, the text and errors are those of `generate`. Texts of one model that are generated at the same time are
    read in one pass, if it is a `detent.models.BatchModel`. A cancelled task stops its generation.
    """
    request = await asyncio.to_thread(PreparedRequest, model, make_request("agenerate", prompt, language, options))
    output, sample = await _last(model, request), 0
    for attempt in range(1, request.request.retries + 1):
        if output.value_error is None:
            break
        again = await asyncio.to_thread(request.again, sample, output, attempt)
        if again is None:
            break
        request, earlier = again, output
        output = await _last(model, request)
        output = replace(output, failed_attempts=(*earlier.failed_attempts, earlier))
    return output


@with_options
def astream(
    model: Model,
    prompt: Prompt,
    language: AnyRule | None = None,
    *,
    partial: bool = False,
    **options: Unpack[Options],
) -> AsyncStream:
    """Continue `prompt` with a text of `language`, piece by piece, in asyncio.

    >>> import asyncio, detent
    >>> async def show():
    ...     async with detent.astream(detent.load_model(), "Go!", detent.literal("Ja, natürlich!")) as pieces:
    ...         return "".join([piece async for piece in pieces])
    >>> asyncio.run(show())
    'Ja, natürlich!'

    Arguments and errors are those of `stream`; they are checked when the iteration starts.
    """
    refuse_retries(options)
    return AsyncStream(model, make_request("astream", prompt, language, options), "values" if partial else "pieces")


@with_options
def astream_turn(
    model: Model, prompt: Prompt, language: AnyRule | None = None, **options: Unpack[Options]
) -> AsyncStream:
    """Continue `prompt` with a turn, event by event, in asyncio; see `stream_turn`.

    >>> import asyncio, detent
    >>> rule = detent.turn(style="qwen3", answer=detent.choice("Yes", "No"), thinking="none")
    >>> async def show():
    ...     async with detent.astream_turn(detent.load_model(), "Is a dog an animal?", rule) as events:
    ...         return [event async for event in events][-1].reason
    >>> asyncio.run(show())
    'complete'

    Arguments and errors are those of `stream_turn`; they are checked when the iteration starts. A task that is
    cancelled, and a stream that is closed, end the generation and release the session of the model.
    """
    refuse_retries(options)
    return AsyncStream(model, make_request("astream_turn", prompt, language, options), "events")

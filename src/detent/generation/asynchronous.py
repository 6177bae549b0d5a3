"""agenerate and astream: generation in asyncio, several texts at once on one model.

The event loop is never blocked: arguments are checked, languages compiled and texts written in other threads.
"""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from detent.errors import BusyError
from detent.generation.decode_loop import Stream, no_output
from detent.generation.output import Output
from detent.generation.partial_captures import partial_value
from detent.generation.partial_stream import PartialValue
from detent.generation.request import Options, PreparedRequest, Prompt, Request, make_request
from detent.generation.scheduler import Inbox, Item, Task, submit
from detent.generation.signature import refuse_retries, with_options
from detent.generation.turn_stream import TurnStream, events_of
from detent.language import Language
from detent.models.base import Model
from detent.rule import AnyRule

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["AsyncStream", "agenerate", "astream", "astream_turn", "write_text"]

_Value = TypeVar("_Value")


async def write_text(
    inbox: Inbox,
    model: Model,
    open_stream: Callable[[], Stream | TurnStream],
    *,
    has_steps: bool = False,
    is_whole: bool = False,
    most_slow_seconds: float = math.inf,
) -> None:
    """Write a text into an inbox, and wait for its end; cancelling stops the text.

    With `has_steps`, the steps of tokens come too, before the piece that they complete. With `is_whole`, everything
    comes at the end, in one list. `most_slow_seconds` is as in `Task`.
    """
    task = Task(
        model,
        open_stream,
        has_steps=has_steps,
        is_whole=is_whole,
        inbox=inbox,
        most_slow_seconds=most_slow_seconds,
    )
    submit(task)
    try:
        await inbox.wait_for_all()
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
        self._task: Task | None = None
        self._items: deque[Item] = deque()
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
            is_turn = self._yields == "events"
            request = await asyncio.to_thread(PreparedRequest, self._model, self._request, is_turn=is_turn)
            if self._yields == "values":
                self._partial = partial_value(request.guide.language)
            self._task = Task(self._model, lambda: events_of(request) if is_turn else request.stream())
            submit(self._task)
        while True:
            item: Any = await self._take(self._task)
            if isinstance(item, Output):
                self._output = item
                if self._partial is not None and self._partial.finish():
                    return self._partial.value
                raise StopAsyncIteration
            if self._partial is None:
                return item
            if self._partial.feed(item):
                return self._partial.value

    async def _take(self, task: Task) -> Item:
        if not self._items:
            try:
                self._items += await task.inbox.take()
            except BaseException:
                await self.aclose()
                raise
        return self._items.popleft()

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


async def _last(model: Model, request: PreparedRequest) -> Output:
    inbox = Inbox()
    await write_text(inbox, model, request.stream, is_whole=True)
    *_, output = await inbox.take()
    assert isinstance(output, Output)  # noqa: S101 - the last item of a text
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

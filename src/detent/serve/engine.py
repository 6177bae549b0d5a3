"""Engine: the model of a server, the rules that it has compiled, and the texts that it writes."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from hashlib import sha256
from time import perf_counter
from typing import Any, TypeVar

from detent.compiler import CancellationToken
from detent.errors import DetentError, LimitError
from detent.generation import Output, Request
from detent.generation.asynchronous import write_text
from detent.generation.request import PreparedRequest, resolve_guide
from detent.generation.scheduler import Inbox, Item
from detent.generation.turn_stream import events_of
from detent.models import Model
from detent.models.base import ChatModel, context_of
from detent.models.chat import Chat
from detent.serve.admission import Admission
from detent.serve.errors import ApiError, from_detent
from detent.serve.logs import log
from detent.serve.memory import CompiledRule, return_freed_memory
from detent.serve.metrics import Metrics
from detent.serve.rules import Rule
from detent.serve.settings import ServerSettings
from detent.single_flight import SingleFlight
from detent.turns import Style
from detent.turns.recognition import recognise_style
from detent.turns.styles import find_style

__all__ = ["Engine", "Job", "gather", "merge", "style_of"]

_COMPILERS = 8
"""Threads that compile: a rule that takes long holds one of them until its limits or its time are over."""
_WORKERS = 4
"""Threads for what is short: the tokens of a prompt, the arguments of a request."""
_GUIDES = 128
_TRIM_SECONDS = 10.0
"""How long after a rule was compiled freed memory goes back to the system."""
_MAX_TOKENS = 1024
"""The budget of requests that name none, for a model that does not know its context."""

_SLOW_STEP_SECONDS = 5.0
"""Processor seconds that the slow steps of a text may take together."""

_Result = TypeVar("_Result")
_Item = TypeVar("_Item")


@dataclass(frozen=True)
class Job:
    """One request for texts, the same for all APIs.

    Attributes
    ----------
    request : Request
        Prompt and options, without a language: `rule` has it.
    rule : Rule or None
        What the text must be.
    client : str
        Who asked; clients take turns.
    open_stream : callable
        Starts the text of a sample: `PreparedRequest.stream` for its pieces, `events_of` for the events of a turn.
    is_streamed : bool
        Whether the text is wanted as it is written; otherwise all of it comes at its end.
    has_steps : bool
        Whether the steps of tokens are wanted too, as soon as they are certain.
    began : float
        When the request came (`perf_counter`); its time ends `timeout_seconds` later.
    """

    request: Request
    rule: Rule | None
    client: str
    open_stream: Callable[[PreparedRequest, int], Any] = PreparedRequest.stream
    is_streamed: bool = True
    has_steps: bool = False
    began: float = field(default_factory=perf_counter)


class Engine:
    """Writes the texts of jobs. It belongs to one event loop.

    Parameters
    ----------
    model : Model
        Texts of a `BatchModel` are read together; another model reads one text at a time.
    name : str
        The name of the model for clients.
    settings : ServerSettings
        The options of the server.
    """

    def __init__(self, model: Model, name: str, settings: ServerSettings) -> None:
        self.model = model
        self.name = name
        self.settings = settings
        self.style = style_of(model, settings.style)
        self.admission = Admission(settings.max_running, settings.max_queued)
        self.metrics = Metrics(self.admission)
        self.compilers = ThreadPoolExecutor(_COMPILERS, thread_name_prefix="detent-compile")
        self._compiling = Admission(_COMPILERS, settings.max_queued)
        self._workers = ThreadPoolExecutor(_WORKERS, thread_name_prefix="detent-work")
        self._rules: SingleFlight[CompiledRule] = SingleFlight(
            _GUIDES, self.compilers, lambda rule: rule.memory_bytes, settings.cache_bytes
        )
        self._trim: asyncio.TimerHandle | None = None

    async def run(self, work: Callable[[], _Result], *, is_long: bool = False) -> _Result:
        """Run a function in a thread beside the loop, and return its result; a long one takes a compiler's thread."""
        executor = self.compilers if is_long else self._workers
        return await asyncio.get_running_loop().run_in_executor(executor, work)

    async def prepare(self, job: Job) -> PreparedRequest:
        """Compile the rule of a job and check its arguments, beside the loop; errors name the field at fault."""
        if job.request.samples > self.settings.max_samples:
            raise ApiError(400, f"n is {job.request.samples}, the most is {self.settings.max_samples}", param="n")
        self.admission.check(job.request.samples)
        rule_began: list[float] = []
        try:
            return await self.in_time(self._prepare(job, rule_began), job.began)
        except ApiError as error:
            seconds = self.settings.timeout_seconds
            is_costly = rule_began and perf_counter() - rule_began[0] > seconds / 2
            if error.code != "timeout" or job.rule is None or not is_costly:
                raise
            message = f"{job.rule.param}: reading and compiling took more than the {seconds:g} s of a request"
            raise ApiError(
                400, f"{message} (--timeout-seconds); simplify it", param=job.rule.param, code="limit_exceeded"
            ) from None

    async def _prepare(self, job: Job, rule_began: list[float]) -> PreparedRequest:
        """Prepare a job, and note when the work at its rule begins: what comes before is the queue."""
        request, guide = job.request, None
        if request.max_tokens is None and context_of(self.model) is None:
            request = replace(request, max_tokens=_MAX_TOKENS)
        if job.rule is not None:
            rule = job.rule
            if request.stop:  # no text of the rule has a stop string: so it ends before the first, and is complete
                stops = [request.stop] if isinstance(request.stop, str) else request.stop
                rule, request = rule.without(stops), replace(request, stop=None)
            compiled = await self._compiled(rule, request, job.client, rule_began)
            guide, request = compiled.guide, replace(request, language=compiled.language)
        try:
            is_turn = job.open_stream is events_of

            def make() -> PreparedRequest:
                return PreparedRequest(self.model, request, guide, is_turn=is_turn)

            if guide is None:  # waits for no rules of others
                return await self.run(make)
            async with self._compiling.slot(job.client):  # a rule's first text may take as long as its compiling
                return await self.run(make, is_long=True)
        except DetentError as error:
            raise from_detent(error, None if job.rule is None else job.rule.param) from error

    async def _compiled(self, rule: Rule, request: Request, client: str, rule_began: list[float]) -> CompiledRule:
        """Return the language and the guide of a rule; clients whose rules are new take turns.

        The compiling ends when the last request that waits for it has left.
        """
        key: Hashable = (sha256(rule.key.encode("utf-8", "surrogatepass")).digest(), request.canonical)
        cancel = CancellationToken()
        if self._trim is None:
            self._trim = asyncio.get_running_loop().call_later(_TRIM_SECONDS, self._return_memory)
        turn = contextlib.nullcontext() if key in self._rules else self._compiling.slot(client)
        async with turn:
            rule_began.append(perf_counter())
            return await self._rules.get(key, lambda: self._compile(rule, request, cancel), cancel.cancel)

    def _return_memory(self) -> None:
        self._trim = None
        with contextlib.suppress(RuntimeError):  # the engine is closed
            self._workers.submit(return_freed_memory)

    def _compile(self, rule: Rule, request: Request, cancel: CancellationToken) -> CompiledRule:
        began = perf_counter()
        language = rule.language()
        try:
            guide = resolve_guide(
                language,
                self.model,
                text_only=False,
                canonical=request.canonical,
                limits=self.settings.limits,
                cancel=cancel,
            )
        except DetentError as error:
            raise from_detent(error, rule.param) from error
        self.metrics.compile_seconds.observe(perf_counter() - began)
        return CompiledRule.of(language, guide, rule.key)

    async def write(self, job: Job, prepared: PreparedRequest, sample: int = 0) -> AsyncGenerator[list[Item], None]:
        """Yield lists of the pieces of a text, the last with its output; of a turn, its events.

        The text is written whether or not the caller reads: a slow reader holds up nobody, and gets longer lists.
        Closing the generator stops the text.
        """
        inbox = Inbox()
        task = asyncio.ensure_future(self._fill(inbox, job, prepared, sample))
        try:
            while True:
                items = await inbox.take()
                yield items
                if isinstance(items[-1], Output):
                    return
        except DetentError as error:
            rule = job.rule if isinstance(error, LimitError) else None
            answer = from_detent(error, None if rule is None else rule.param)
            if answer.status >= 500:
                log("request failed", level=logging.ERROR, error=error)
            raise answer from error
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    async def _fill(self, inbox: Inbox, job: Job, prepared: PreparedRequest, sample: int) -> None:
        async def write() -> None:
            async with self.admission.slot(job.client):
                await write_text(
                    inbox,
                    self.model,
                    lambda: job.open_stream(prepared, sample),
                    has_steps=job.has_steps,
                    is_whole=not job.is_streamed,
                    most_slow_seconds=_SLOW_STEP_SECONDS,
                )

        try:
            await self.in_time(write(), job.began)
        except Exception as error:  # it belongs to this request alone
            inbox.put([error])
        if inbox.output is not None:
            self._count(inbox.output)

    async def in_time(self, work: Awaitable[_Result], began: float | None = None) -> _Result:
        """Wait for a result, or raise the error of a request that took too long since it began, or since now."""
        spent = 0.0 if began is None else perf_counter() - began
        try:
            return await asyncio.wait_for(work, max(0.0, self.settings.timeout_seconds - spent))
        except asyncio.TimeoutError:
            raise ApiError(
                504,
                f"the request took more than {self.settings.timeout_seconds:g} s",
                kind="timeout_error",
                code="timeout",
            ) from None

    def _count(self, output: Output) -> None:
        self.metrics.prompt_tokens.inc(output.prompt_token_count)
        self.metrics.tokens.inc(len(output.token_ids))
        self.metrics.forced_tokens.inc(sum(step.is_forced for step in output.report.steps))

    def close(self) -> None:
        """Stop the threads that compile."""
        self._rules.close()
        if self._trim is not None:
            self._trim.cancel()
        self.compilers.shutdown(wait=False, cancel_futures=True)
        self._workers.shutdown(wait=False, cancel_futures=True)


def style_of(model: Model, name: str | None) -> Style | None:
    """Return the notation of a model's turns: by its name, as the model names it, or as its chat template writes."""
    name = name or getattr(model, "style", None) or _recognised(model)
    return None if name is None else find_style(name, "the server")


def _recognised(model: Model) -> str | None:
    if not isinstance(model, ChatModel):
        return None
    vocabulary = model.vocabulary
    tokens = {vocabulary.token_bytes(token_id) for token_id in range(len(vocabulary))}

    def render(messages: Sequence[Any], tools: Sequence[Any]) -> str:
        ids = model.encode_chat(Chat(list(messages), tools=tools))
        return b"".join(map(vocabulary.token_bytes, ids)).decode("utf-8", "replace")

    return recognise_style(render, lambda text: text.encode() in tokens)


async def gather(texts: Sequence[AsyncGenerator[list[_Item], None]]) -> list[_Item]:
    """Return the last items of several texts: their outputs. If one fails, the others are stopped."""
    last: dict[int, _Item] = {}
    async with aclosing(merge(texts)) as lists:
        async for index, items in lists:
            last[index] = items[-1]
    return [last[index] for index in range(len(texts))]


async def merge(texts: Sequence[AsyncGenerator[_Item, None]]) -> AsyncGenerator[tuple[int, _Item], None]:
    """Yield the items of several generators as they come, each with the number of its generator."""
    if len(texts) == 1:
        async with aclosing(texts[0]) as items:
            async for item in items:
                yield 0, item
        return
    waiting: dict[asyncio.Future[_Item], int] = {}
    try:
        for index, text in enumerate(texts):
            waiting[asyncio.ensure_future(anext(text))] = index
        while waiting:
            done, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            for future in sorted(done, key=waiting.__getitem__):
                index = waiting.pop(future)
                try:
                    item = future.result()
                except StopAsyncIteration:
                    continue
                yield index, item
                waiting[asyncio.ensure_future(anext(texts[index]))] = index
    finally:
        for future in waiting:
            future.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        for text in texts:
            await text.aclose()

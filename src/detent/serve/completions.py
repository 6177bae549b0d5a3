"""The endpoint /v1/completions: a text is continued, without a chat template."""

from __future__ import annotations

import functools
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from time import perf_counter
from typing import Any, TypeAlias

from starlette.responses import JSONResponse, Response

from detent.generation import Output
from detent.generation.report import Step
from detent.generation.scheduler import Item, StepsWritten
from detent.serve.answers import event_stream, finish_reason, make_id, now, report_of
from detent.serve.completion_fields import CompletionRequest
from detent.serve.engine import Engine, Job, gather, merge
from detent.serve.errors import ApiError
from detent.serve.requests import check_length, request_of
from detent.serve.rules import rule_of

__all__ = ["complete"]

_Text: TypeAlias = AsyncGenerator[list[Item], None]


async def complete(engine: Engine, body: CompletionRequest, client: str) -> Response:
    """Answer a request for completions."""
    began = perf_counter()
    rule = rule_of(body)
    is_held = rule is not None
    jobs = []
    prompts = _prompts(body)
    most = engine.settings.max_samples
    if len(prompts) * body.n > most:
        message = f"{len(prompts)} prompts with n={body.n} are more than {most} texts, the most of one request"
        raise ApiError(400, message, param="n" if body.n > most else "prompt", code="invalid_value")
    for prompt in prompts:
        request = request_of(
            body,
            await engine.run(functools.partial(_encode, engine, prompt)),
            max_tokens=body.max_tokens,
            samples=body.n,
            stop=body.stop,
            alternatives=body.logprobs or 0,
            logit_bias=body.logit_bias,
        )
        has_steps = body.stream and body.logprobs is not None
        jobs.append(Job(request, rule, client, is_streamed=body.stream, has_steps=has_steps, began=began))
    prepared = [await engine.prepare(job) for job in jobs]
    texts = [
        engine.write(job, each, sample) for job, each in zip(jobs, prepared, strict=True) for sample in range(body.n)
    ]
    echoed = [_text(engine, each.prompt_ids) if body.echo else "" for each in prepared for _ in range(body.n)]
    head = {
        "id": make_id("cmpl-"),
        "object": "text_completion",
        "created": now(),
        "model": body.model or engine.name,
    }
    if body.stream:
        return event_stream(_chunks(engine, body, head, texts, echoed, is_held=is_held))
    outputs = [each for each in await gather(texts) if isinstance(each, Output)]
    choices = [
        {
            **_choice(body, index, output, _all_logprobs(engine, body, output), is_held=is_held),
            "text": echoed[index] + output.text,
        }
        for index, output in enumerate(outputs)
    ]
    return JSONResponse({**head, "choices": choices, "usage": _usage(outputs, body.n)})


async def _chunks(
    engine: Engine,
    body: CompletionRequest,
    head: Mapping[str, Any],
    texts: Sequence[_Text],
    prompts: Sequence[str],
    *,
    is_held: bool,
) -> AsyncIterator[dict[str, Any]]:
    options = body.stream_options
    usage: dict[str, Any] = {"usage": None} if options and options.include_usage else {}
    for index, prompt in enumerate(prompts):
        if prompt:
            yield {**head, "choices": [_piece(index, prompt)], **usage}
    outputs: dict[int, Output] = {}
    waiting = [_Steps(engine, is_wanted=body.logprobs is not None) for _ in texts]
    async with aclosing(merge(texts)) as lists:
        async for index, items in lists:
            for item in _joined(items):
                if isinstance(item, StepsWritten):
                    waiting[index].add(item.steps)
                    continue
                if isinstance(item, Output):
                    outputs[index] = item
                    beyond = len(item.report.steps) - len(item.token_ids)  # end-of-text is no token of the text
                    taken = waiting[index].take(beyond)
                    choice = {**_choice(body, index, item, taken, is_held=is_held), "text": ""}
                else:
                    choice = {**_piece(index, str(item)), "logprobs": waiting[index].take()}
                yield {**head, "choices": [choice], **usage}
    if usage:
        yield {**head, "choices": [], "usage": _usage([outputs[index] for index in sorted(outputs)], body.n)}


class _Steps:
    """The steps of a text that no chunk has had yet."""

    def __init__(self, engine: Engine, *, is_wanted: bool) -> None:
        self._engine = engine
        self._is_wanted = is_wanted
        self._steps: list[Step] = []
        self._offset = 0

    def add(self, steps: Sequence[Step]) -> None:
        self._steps += steps

    def take(self, beyond: int = 0) -> dict[str, Any] | None:
        """Return the probabilities of all steps but for the last ones, which are beyond the text."""
        if not self._is_wanted:
            return None
        taken, self._steps = self._steps[: max(0, len(self._steps) - beyond)], []
        written, self._offset = _logprobs(self._engine, taken, self._offset)
        return written


def _joined(items: Sequence[Item]) -> list[Item]:
    """Join pieces that follow each other: what was written while the reader was slow goes out as one."""
    joined: list[Item] = []
    for item in items:
        last = joined[-1] if joined else None
        if isinstance(item, str) and isinstance(last, str):
            joined[-1] = last + item
        else:
            joined.append(item)
    return joined


def _piece(index: int, text: str) -> dict[str, Any]:
    return {"index": index, "text": text, "logprobs": None, "finish_reason": None}


def _choice(
    body: CompletionRequest, index: int, output: Output, logprobs: Mapping[str, Any] | None, *, is_held: bool
) -> dict[str, Any]:
    choice: dict[str, Any] = {
        "index": index,
        "logprobs": logprobs,
        "finish_reason": finish_reason(output, is_held=is_held),
    }
    if body.report:
        choice["report"] = report_of(output)
    return choice


def _all_logprobs(engine: Engine, body: CompletionRequest, output: Output) -> dict[str, Any] | None:
    if body.logprobs is None:
        return None
    return _logprobs(engine, output.report.steps[: len(output.token_ids)], 0)[0]


def _logprobs(engine: Engine, steps: Sequence[Step], offset: int) -> tuple[dict[str, Any], int]:
    """Return the probabilities of steps, of which the first token begins at `offset`, and where the last one ends."""
    vocabulary, offsets = engine.model.vocabulary, []
    tokens = [vocabulary.token_bytes(step.token_id).decode("utf-8", "replace") for step in steps]
    for token in tokens:
        offsets.append(offset)
        offset += len(token)
    written = {
        "tokens": tokens,
        "token_logprobs": [step.log_probability or 0.0 for step in steps],
        "top_logprobs": [
            {
                vocabulary.token_bytes(each.token_id).decode("utf-8", "replace"): each.log_probability
                for each in step.alternatives
            }
            for step in steps
        ],
        "text_offset": offsets,
    }
    return written, offset


def _usage(outputs: Sequence[Output], samples: int) -> dict[str, int]:
    prompt = sum(output.prompt_token_count for output in outputs[::samples])
    written = sum(len(output.token_ids) for output in outputs)
    return {"prompt_tokens": prompt, "completion_tokens": written, "total_tokens": prompt + written}


def _prompts(body: CompletionRequest) -> Sequence[str | list[int]]:
    prompt: Any = body.prompt
    if isinstance(prompt, str) or (prompt and isinstance(prompt[0], int)):
        return [prompt]
    if not prompt:
        raise ApiError(400, "prompt: an empty list has nothing to continue", param="prompt", code="invalid_value")
    return list(prompt)


def _encode(engine: Engine, prompt: str | list[int]) -> str | list[int]:
    """Return the tokens of a text without the chat template, if the model can tell."""
    if isinstance(prompt, str):
        check_length(engine.model, prompt, "prompt")
    encode = getattr(engine.model, "encode_text", None)
    encoded = encode(prompt) if isinstance(prompt, str) and encode is not None else prompt
    if len(encoded) == 0:
        raise ApiError(400, "prompt: an empty text has nothing to continue", param="prompt", code="invalid_value")
    return encoded


def _text(engine: Engine, token_ids: Sequence[int]) -> str:
    return engine.model.vocabulary.decode(token_ids).decode("utf-8", "replace")

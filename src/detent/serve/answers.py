"""Answers: ids, times, usage and token probabilities as OpenAI's API writes them."""

from __future__ import annotations

import json
import logging
import time
import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from starlette.responses import StreamingResponse

from detent.generation import Output
from detent.generation.output import FinishReason
from detent.generation.report import Step
from detent.serve.errors import ApiError
from detent.serve.logs import log
from detent.vocabulary import Vocabulary

__all__ = ["chat_logprobs", "event_stream", "finish_reason", "make_id", "now", "report_of", "usage_of"]


def make_id(prefix: str) -> str:
    """Return a new id, such as ``chatcmpl-3f2a...``."""
    return f"{prefix}{uuid.uuid4().hex}"


def now() -> int:
    """Return the time in seconds since 1970."""
    return int(time.time())


def usage_of(outputs: Sequence[Output], thinking_tokens: int) -> dict[str, Any]:
    """Return the usage of the texts of one prompt, and how many of their tokens are thinking."""
    prompt = outputs[0].prompt_token_count if outputs else 0
    written = sum(len(output.token_ids) for output in outputs)
    return {
        "prompt_tokens": prompt,
        "completion_tokens": written,
        "total_tokens": prompt + written,
        "completion_tokens_details": {"reasoning_tokens": thinking_tokens},
    }


def finish_reason(output: Output, *, is_held: bool) -> FinishReason:
    """Return why a text ended; one that a rule holds is complete, and clients discard what ended by "length"."""
    return "stop" if is_held else output.finish_reason


def report_of(output: Output) -> dict[str, Any]:
    """Return the numbers of a report."""
    report = output.report
    return {
        "budget": report.budget,
        "budget_bound_at": report.budget_bound_at,
        "canonical": report.canonical,
        "finish_reason": output.finish_reason,
        "forced_share": report.forced_share,
        "log_mass": report.log_mass,
        "log_probability": report.log_probability,
        "mask_seconds": report.mask_seconds,
        "model_calls": report.model_calls,
        "model_seconds": report.model_seconds,
        "rewinds": len(report.rewinds),
        "seconds": report.seconds,
    }


def chat_logprobs(steps: Sequence[Step], vocabulary: Vocabulary) -> dict[str, Any]:
    """Return the probabilities of tokens, before masking; a forced token, of which the model was not asked, has 0."""
    return {
        "content": [
            {
                **_token(step.token_id, step.log_probability or 0.0, vocabulary),
                "top_logprobs": [_token(each.token_id, each.log_probability, vocabulary) for each in step.alternatives],
            }
            for step in steps
        ],
        "refusal": None,
    }


def _token(token_id: int, log_probability: float, vocabulary: Vocabulary) -> dict[str, Any]:
    data = vocabulary.token_bytes(token_id)
    return {"token": data.decode("utf-8", "replace"), "logprob": max(log_probability, -9999.0), "bytes": list(data)}


def event_stream(
    events: AsyncIterator[Mapping[str, Any]], *, named: bool = False, done: bool = True
) -> StreamingResponse:
    """Send objects as server-sent events; an error after the first byte is an event too.

    Parameters
    ----------
    events : async iterator of mapping
        The objects.
    named : bool
        Whether each event has its "type" as its name (Responses).
    done : bool
        Whether ``data: [DONE]`` comes last.
    """

    async def lines() -> AsyncIterator[str]:
        try:
            async for event in events:
                name = f"event: {event['type']}\n" if named else ""
                yield f"{name}data: {json.dumps(event, ensure_ascii=False, separators=(',', ':'))}\n\n"
        except ApiError as error:
            yield _error_line(error, named=named)
        except Exception as error:
            log("request failed", level=logging.ERROR, error=error)
            yield _error_line(
                ApiError(500, "the server failed; its log has the error", kind="server_error"), named=named
            )
        if done:
            yield "data: [DONE]\n\n"

    return StreamingResponse(lines(), media_type="text/event-stream", headers={"Cache-Control": "no-store"})


def _error_line(error: ApiError, *, named: bool) -> str:
    body: dict[str, Any] = error.body()
    if named:
        body = {"type": "error", "code": error.code, "message": error.message, "param": error.param}
    return ("event: error\n" if named else "") + f"data: {json.dumps(body, ensure_ascii=False)}\n\n"

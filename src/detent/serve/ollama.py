"""The endpoint /api/chat of Ollama, with its "format"."""

from __future__ import annotations

import datetime
import json
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

from pydantic import Field, StrictBool, StrictFloat, StrictInt
from starlette.responses import JSONResponse, Response, StreamingResponse

from detent.serve.answers import finish_reason, report_of
from detent.serve.chat_fields import FunctionTool
from detent.serve.conversation import Conversation, Effort, ToolDefinition
from detent.serve.engine import Engine, gather
from detent.serve.errors import ApiError
from detent.serve.fields import Body, Fields, Inert, Many, Schema
from detent.serve.logs import log
from detent.serve.requests import request_of
from detent.serve.rules import Rule, schema_rule
from detent.serve.turn_writer import AnswerText, Finished, ThinkingText, TurnItem, write_turns

__all__ = ["OllamaChatRequest", "chat", "model_list"]


class Called(Fields):
    name: str
    arguments: dict[str, Any]
    index: Inert = None
    description: Inert = None


class ToolCall(Fields):
    function: Called
    id: str | None = None
    type: Inert = None


class Message(Fields):
    """A message of a conversation."""

    unsupported: ClassVar[Mapping[str, tuple[Any, ...]]] = {"images": ([],)}

    role: Literal["system", "user", "assistant", "tool"]
    content: str = ""
    thinking: str | None = None
    tool_calls: Many[ToolCall] | None = None
    tool_name: str | None = None
    tool_call_id: str | None = None


class SamplingOptions(Fields):
    """Ollama's "options"; those of memory and speed say nothing of the text."""

    unsupported: ClassVar[Mapping[str, tuple[Any, ...]]] = {
        "frequency_penalty": (0,),
        "mirostat": (0,),
        "mirostat_eta": (),
        "mirostat_tau": (),
        "presence_penalty": (0,),
        "repeat_last_n": (0,),
        "repeat_penalty": (1,),
        "tfs_z": (1,),
        "typical_p": (1,),
    }

    temperature: Annotated[StrictFloat, Field(ge=0)] | None = None
    top_k: Annotated[StrictInt, Field(ge=-1)] | None = None
    top_p: Annotated[StrictFloat, Field(gt=0, le=1)] | None = None
    min_p: Annotated[StrictFloat, Field(ge=0, le=1)] | None = None
    seed: StrictInt | None = None
    num_predict: StrictInt | None = None
    stop: Many[str] | None = None
    num_ctx: Inert = None
    num_keep: Inert = None
    num_batch: Inert = None
    num_gpu: Inert = None
    num_thread: Inert = None
    main_gpu: Inert = None
    use_mmap: Inert = None
    low_vram: Inert = None


class OllamaChatRequest(Body):
    """The body of /api/chat."""

    unsupported: ClassVar[Mapping[str, tuple[Any, ...]]] = {"logprobs": (False,), "top_logprobs": (0,)}

    messages: Many[Message] = Field(min_length=1)
    stream: StrictBool = True
    tools: Many[FunctionTool] | None = None
    format: Schema | Literal["json", ""] | None = None
    options: SamplingOptions = Field(default_factory=SamplingOptions)
    think: StrictBool | Literal["low", "medium", "high"] | None = None
    keep_alive: Inert = None


_Line: TypeAlias = dict[str, Any]


async def chat(engine: Engine, body: OllamaChatRequest, client: str) -> Response:
    """Answer a request for a turn."""
    options = body.options
    for name in ("temperature", "top_k", "top_p", "min_p", "seed"):
        value = getattr(options, name)
        if value is not None:
            setattr(body, name, value)
    most = options.num_predict if options.num_predict is not None and options.num_predict > 0 else None
    [turn] = await write_turns(
        engine,
        _conversation(body),
        lambda prompt: request_of(body, prompt, max_tokens=most, stop=options.stop),
        client,
        is_streamed=body.stream,
    )
    if body.stream:
        return StreamingResponse(_lines(engine, body, turn), media_type="application/x-ndjson")
    [finished] = await gather([turn])
    assert isinstance(finished, Finished)  # noqa: S101 - the last item of a turn
    message = {**_message(finished), "content": finished.content or ""}
    if finished.thinking is not None:
        message["thinking"] = finished.thinking
    return JSONResponse({**_head(engine), "message": message, **_ending(body, finished)})


async def _lines(
    engine: Engine, body: OllamaChatRequest, turn: AsyncGenerator[list[TurnItem], None]
) -> AsyncIterator[str]:
    def line(message: _Line, more: _Line) -> str:
        return json.dumps({**_head(engine), "message": message, **more}, ensure_ascii=False) + "\n"

    try:
        async with aclosing(turn) as lists:
            async for items in lists:
                for item in items:
                    if isinstance(item, ThinkingText):
                        yield line({"role": "assistant", "content": "", "thinking": item.text}, {"done": False})
                    elif isinstance(item, AnswerText):
                        yield line({"role": "assistant", "content": item.text}, {"done": False})
                    elif isinstance(item, Finished):
                        if item.calls:
                            yield line({**_message(item), "content": ""}, {"done": False})
                        yield line({"role": "assistant", "content": ""}, _ending(body, item))
    except ApiError as error:
        yield json.dumps({"error": error.message}) + "\n"
    except Exception as error:
        log("request failed", level=logging.ERROR, error=error)
        yield json.dumps({"error": "the server failed; its log has the error"}) + "\n"


def model_list(engine: Engine) -> dict[str, Any]:
    """Return the answer of /api/tags."""
    details = {"format": "detent", "family": engine.style.name if engine.style else "unknown"}
    return {"models": [{"name": engine.name, "model": engine.name, "modified_at": _time(), "details": details}]}


def _head(engine: Engine) -> _Line:
    return {"model": engine.name, "created_at": _time()}


def _time() -> str:
    return datetime.datetime.now(datetime.timezone.utc).isoformat().replace("+00:00", "Z")


def _message(finished: Finished) -> _Line:
    message: _Line = {"role": "assistant"}
    if finished.calls:
        message["tool_calls"] = [
            {"id": call.id, "function": {"index": index, "name": call.name, "arguments": json.loads(call.text)}}
            for index, call in enumerate(finished.calls)
        ]
    return message


def _ending(body: OllamaChatRequest, finished: Finished) -> _Line:
    output, report = finished.output, finished.output.report
    ending: _Line = {
        "done": True,
        "done_reason": finish_reason(output, is_held=finished.is_held),
        "total_duration": int(report.seconds * 1e9),
        "load_duration": 0,
        "prompt_eval_count": output.prompt_token_count,
        "prompt_eval_duration": 0,
        "eval_count": len(output.token_ids),
        "eval_duration": int(report.seconds * 1e9),
    }
    return {**ending, "report": report_of(output)} if body.report else ending


def _conversation(body: OllamaChatRequest) -> Conversation:
    tools = [
        ToolDefinition(
            tool.function.name,
            tool.function.description,
            tool.function.parameters,
            f"tools[{index}].function.parameters",
        )
        for index, tool in enumerate(body.tools or [])
    ]
    effort: Effort | None = None
    if body.think is not None:
        effort = body.think if isinstance(body.think, str) else None if body.think else "none"
    return Conversation(
        messages=tuple(_read(message) for message in body.messages),
        tools=tuple(tools),
        answer=_answer(body),
        effort=effort,
        effort_param="think",
    )


def _answer(body: OllamaChatRequest) -> Rule | None:
    if body.format is None or body.format == "":
        return None
    return schema_rule("format", {"type": "object"} if body.format == "json" else body.format)


def _read(message: Message) -> dict[str, Any]:
    read: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.thinking:
        read["reasoning_content"] = message.thinking
    if message.tool_name:
        read["name"] = message.tool_name
    if message.tool_call_id:
        read["tool_call_id"] = message.tool_call_id
    if message.tool_calls:
        read["tool_calls"] = [
            {
                "type": "function",
                "function": {"name": call.function.name, "arguments": call.function.arguments},
                **({"id": call.id} if call.id else {}),
            }
            for call in message.tool_calls
        ]
    return read

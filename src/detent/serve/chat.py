"""The endpoint /v1/chat/completions."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from typing import Any

from starlette.responses import JSONResponse, Response

from detent.generation.report import Step
from detent.serve.answers import chat_logprobs, event_stream, finish_reason, make_id, now, report_of, usage_of
from detent.serve.chat_fields import (
    AllowedToolsChoice,
    AssistantMessage,
    ChatRequest,
    CustomToolCall,
    FunctionChoice,
    FunctionTool,
    Message,
    SystemMessage,
    ToolMessage,
)
from detent.serve.conversation import Conversation, ToolDefinition, select_tools
from detent.serve.engine import Engine, gather, merge
from detent.serve.errors import ApiError
from detent.serve.requests import request_of
from detent.serve.rules import rule_of
from detent.serve.turn_writer import (
    AnswerText,
    CallOpened,
    CallText,
    CallWritten,
    Finished,
    ThinkingText,
    TokensWritten,
    TurnItem,
    write_turns,
)

__all__ = ["chat"]


async def chat(engine: Engine, body: ChatRequest, client: str) -> Response:
    """Answer a request for a chat completion."""
    conversation = _conversation(body)
    alternatives = body.top_logprobs or 0
    if alternatives and not body.logprobs:
        raise ApiError(400, "top_logprobs needs logprobs: true", param="top_logprobs", code="invalid_value")
    turns = await write_turns(
        engine,
        conversation,
        lambda prompt: request_of(
            body,
            prompt,
            max_tokens=body.max_completion_tokens or body.max_tokens,
            samples=body.n,
            stop=body.stop,
            alternatives=alternatives,
            logit_bias=body.logit_bias,
        ),
        client,
        is_streamed=body.stream,
        has_steps=bool(body.logprobs and body.stream),
    )
    head = {"id": make_id("chatcmpl-"), "created": now(), "model": engine.name, "system_fingerprint": None}
    if body.stream:
        return event_stream(_chunks(engine, body, {**head, "object": "chat.completion.chunk"}, turns))
    ended = [each for each in await gather(turns) if isinstance(each, Finished)]
    choices = [
        {
            "index": index,
            "message": _message(each),
            **_ending(engine, body, each),
        }
        for index, each in enumerate(ended)
    ]
    usage = _usage(ended)
    return JSONResponse({**head, "object": "chat.completion", "choices": choices, "usage": usage})


def _message(finished: Finished) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": finished.content, "refusal": None}
    if finished.thinking is not None:
        message["reasoning_content"] = finished.thinking
    if finished.calls:
        message["tool_calls"] = [_call(call) for call in finished.calls]
    return message


def _call(call: CallWritten) -> dict[str, Any]:
    if call.is_custom:
        return {"id": call.id, "type": "custom", "custom": {"name": call.name, "input": call.text}}
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.text}}


def _usage(ended: Sequence[Finished]) -> dict[str, Any]:
    return usage_of([each.output for each in ended], sum(each.thinking_tokens for each in ended))


def _ending(
    engine: Engine, body: ChatRequest, finished: Finished, steps: Sequence[Step] | None = None
) -> dict[str, Any]:
    """Return why a text ended, and the probabilities of the given steps, or of all."""
    output = finished.output
    steps = output.report.steps if steps is None else steps
    ending: dict[str, Any] = {
        "finish_reason": "tool_calls" if finished.calls else finish_reason(output, is_held=finished.is_held),
        "logprobs": chat_logprobs(steps, engine.model.vocabulary) if body.logprobs else None,
    }
    if body.report:
        ending["report"] = report_of(output)
    return ending


async def _chunks(
    engine: Engine, body: ChatRequest, head: Mapping[str, Any], turns: Sequence[AsyncGenerator[list[TurnItem], None]]
) -> AsyncIterator[dict[str, Any]]:
    options = body.stream_options
    usage: dict[str, Any] = {"usage": None} if options and options.include_usage else {}
    for index in range(len(turns)):
        first = {"role": "assistant", "content": "", "refusal": None}
        yield {**head, "choices": [_delta(index, first)], **usage}
    ended: dict[int, Finished] = {}
    steps: dict[int, list[Step]] = {index: [] for index in range(len(turns))}  # those that no chunk has had yet
    async with aclosing(merge(turns)) as lists:
        async for index, items in lists:
            for item in items:
                if isinstance(item, TokensWritten):
                    steps[index] += item.steps
                    continue
                if isinstance(item, Finished):
                    ended[index] = item
                    choice = {**_delta(index, {}), **_ending(engine, body, item, steps[index])}
                else:
                    choice = _delta(index, _change(item))
                    if steps[index]:
                        choice["logprobs"] = chat_logprobs(steps[index], engine.model.vocabulary)
                steps[index] = []
                yield {**head, "choices": [choice], **usage}
    if usage:
        yield {**head, "choices": [], "usage": _usage([ended[index] for index in sorted(ended)])}


def _delta(index: int, delta: Mapping[str, Any]) -> dict[str, Any]:
    return {"index": index, "delta": dict(delta), "logprobs": None, "finish_reason": None}


def _change(item: ThinkingText | AnswerText | CallOpened | CallText) -> dict[str, Any]:
    if isinstance(item, ThinkingText):
        return {"reasoning_content": item.text}
    if isinstance(item, AnswerText):
        return {"content": item.text}
    if isinstance(item, CallOpened):
        opened = _call(CallWritten(item.id, item.name, "", item.is_custom))
        return {"tool_calls": [{"index": item.index, **opened}]}
    name, key = ("custom", "input") if item.is_custom else ("function", "arguments")
    return {"tool_calls": [{"index": item.index, name: {key: item.text}}]}


def _conversation(body: ChatRequest) -> Conversation:
    tools = [_tool(tool, f"tools[{index}]") for index, tool in enumerate(body.tools or [])]
    choice, allowed = _choice(body.tool_choice)
    selected = select_tools(tools, choice, allowed)
    return Conversation(
        messages=tuple(_read_message(message) for message in body.messages),
        tools=tuple(selected),
        tool_choice=choice,
        max_calls=1 if body.parallel_tool_calls is False else None,
        answer=rule_of(body, body.response_format),
        effort=body.reasoning_effort,
        thinking_tokens=body.thinking_tokens,
    )


def _tool(tool: Any, param: str) -> ToolDefinition:
    if isinstance(tool, FunctionTool):
        function = tool.function
        return ToolDefinition(function.name, function.description, function.parameters, f"{param}.function.parameters")
    custom = tool.custom
    grammar = getattr(custom.format, "grammar", None)
    return ToolDefinition.custom(
        custom.name,
        custom.description,
        None if grammar is None else (grammar.syntax, grammar.definition),
        f"{param}.custom.format.grammar.definition",
    )


def _choice(choice: Any) -> tuple[str, list[str] | None]:
    """Return the tool choice for `detent.turn`, and the names that may be called, if only some may."""
    if choice is None or isinstance(choice, str):
        return choice or "auto", None
    if isinstance(choice, AllowedToolsChoice):
        names = [_name(each) for each in choice.allowed_tools.tools]
        return choice.allowed_tools.mode, names
    return _name(choice), None


def _name(choice: Any) -> str:
    return str(choice.function.name if isinstance(choice, FunctionChoice) else choice.custom.name)


def _read_message(message: Message) -> dict[str, Any]:
    """Return a message as `detent.Chat` takes it."""
    content: Any = message.content
    if isinstance(content, list):
        content = "".join(part.text for part in content)
    read: dict[str, Any] = {"role": message.role, "content": content}
    if isinstance(message, SystemMessage):
        read["role"] = "system"  # most templates know no developer
    if isinstance(message, ToolMessage):
        read["tool_call_id"] = message.tool_call_id
    if isinstance(message, AssistantMessage):
        read["reasoning_content"] = message.reasoning_content or message.reasoning
        read["tool_calls"] = [_read_call(call) for call in message.tool_calls or []] or None
        if content is None and not message.tool_calls:
            read["content"] = ""
    if message.name is not None and isinstance(message, ToolMessage):
        read["name"] = message.name
    return read


def _read_call(call: Any) -> dict[str, Any]:
    if isinstance(call, CustomToolCall):
        function = {"name": call.custom.name, "arguments": json.dumps({"input": call.custom.input})}
        return {"id": call.id, "type": "function", "function": function}
    return {"id": call.id, "type": "function", "function": call.function.model_dump()}

"""The endpoint /v1/responses, with its streaming events."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from typing import Any

from starlette.responses import JSONResponse, Response

from detent.generation import Output
from detent.generation.report import Step
from detent.serve.answers import chat_logprobs, event_stream, finish_reason, make_id, now, report_of
from detent.serve.conversation import Conversation, ToolDefinition, select_tools
from detent.serve.engine import Engine
from detent.serve.errors import ApiError
from detent.serve.requests import request_of
from detent.serve.responses_fields import (
    AllowedTools,
    CallOutputItem,
    CustomCallItem,
    FunctionCallItem,
    FunctionTool,
    InputMessage,
    InputText,
    JsonSchemaFormat,
    NamedChoice,
    ReasoningItem,
    ResponsesRequest,
)
from detent.serve.rules import Rule, rule_of, schema_rule
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

__all__ = ["respond"]


async def respond(engine: Engine, body: ResponsesRequest, client: str) -> Response:
    """Answer a request for a response."""
    [turn] = await write_turns(
        engine,
        _conversation(body),
        lambda prompt: request_of(
            body,
            prompt,
            max_tokens=body.max_output_tokens,
            alternatives=body.top_logprobs or 0,
            logit_bias=body.logit_bias,
        ),
        client,
        is_streamed=body.stream,
        has_steps=_wants_logprobs(body),
    )
    writer = _Writer(engine, body)
    if body.stream:
        return event_stream(_numbered(writer.events(turn)), named=True, done=False)
    async for _ in writer.events(turn):
        pass
    return JSONResponse(writer.response)


async def _numbered(events: AsyncIterator[dict[str, Any]]) -> AsyncIterator[dict[str, Any]]:
    number = 0
    async for event in events:
        yield {**event, "sequence_number": number}
        number += 1


class _Writer:
    """Builds the items of a response, and the events that say how they grow."""

    def __init__(self, engine: Engine, body: ResponsesRequest) -> None:
        self._engine = engine
        self._body = body
        self._open: dict[str, Any] | None = None
        self._steps: list[Step] = []  # those that no item has had yet
        self.response: dict[str, Any] = _empty_response(engine, body)

    async def events(self, turn: AsyncGenerator[list[TurnItem], None]) -> AsyncIterator[dict[str, Any]]:
        """Yield the events of a turn; `response` is complete after the last."""
        yield {"type": "response.created", "response": self._snapshot()}
        yield {"type": "response.in_progress", "response": self._snapshot()}
        async with aclosing(turn) as lists:
            async for items in lists:
                for item in items:
                    if isinstance(item, TokensWritten):
                        self._steps += item.steps
                        continue
                    for event in self._finish(item) if isinstance(item, Finished) else self._grow(item):
                        yield event

    def _snapshot(self) -> dict[str, Any]:
        return {**self.response, "output": list(self.response["output"])}

    def _grow(self, item: ThinkingText | AnswerText | CallOpened | CallText) -> list[dict[str, Any]]:
        if isinstance(item, ThinkingText):
            self._steps.clear()  # Responses has no field for the probabilities of thinking and of calls
            opening = self._ensure("reasoning")
            self._item["content"][0]["text"] += item.text
            return [*opening, self._part_event("response.reasoning_text.delta", delta=item.text)]
        if isinstance(item, AnswerText):
            opening = self._ensure("message")
            part, logprobs = self._item["content"][0], self._take_logprobs()
            part["text"] += item.text
            part["logprobs"] = part["logprobs"] + logprobs  # earlier events keep their list
            return [*opening, self._part_event("response.output_text.delta", delta=item.text, logprobs=logprobs)]
        self._steps.clear()
        if isinstance(item, CallOpened):
            return [*self._close(), *self._add(_call_item(CallWritten(item.id, item.name, "", item.is_custom)))]
        name = "input" if item.is_custom else "arguments"
        self._item[name] += item.text
        return [self._event(f"response.{_event_name(self._item)}.delta", delta=item.text)]

    @property
    def _item(self) -> dict[str, Any]:
        assert self._open is not None  # noqa: S101 - a delta comes after the opening of its item
        return self._open

    def _ensure(self, kind: str) -> list[dict[str, Any]]:
        """Open an item of a kind, unless it is open."""
        if self._open is not None and self._open["type"] == kind:
            return []
        closing = self._close()
        if kind == "message":
            item: dict[str, Any] = {"id": make_id("msg_"), "type": "message", "role": "assistant"}
            part: dict[str, Any] = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
        else:
            item = {"id": make_id("rs_"), "type": "reasoning", "summary": []}
            part = {"type": "reasoning_text", "text": ""}
        added = self._add({**item, "status": "in_progress", "content": []})
        self._item["content"].append(part)
        return [*closing, *added, self._part_event("response.content_part.added", part=dict(part))]

    def _add(self, item: dict[str, Any]) -> list[dict[str, Any]]:
        self._open = item
        self.response["output"].append(item)
        return [{"type": "response.output_item.added", "output_index": self._index, "item": _copy(item)}]

    def _close(self) -> list[dict[str, Any]]:
        """Complete the open item."""
        item = self._open
        if item is None:
            return []
        item["status"] = "completed"
        events = []
        if item["type"] in ("message", "reasoning"):
            text = item["content"][0]["text"]
            name = "output_text" if item["type"] == "message" else "reasoning_text"
            more = {"logprobs": item["content"][0]["logprobs"]} if name == "output_text" else {}
            events.append(self._part_event(f"response.{name}.done", text=text, **more))
            events.append(self._part_event("response.content_part.done", part=dict(item["content"][0])))
        elif item["type"] == "function_call":
            events.append(
                self._event("response.function_call_arguments.done", arguments=item["arguments"], name=item["name"])
            )
        else:
            events.append(self._event("response.custom_tool_call_input.done", input=item["input"]))
        events.append({"type": "response.output_item.done", "output_index": self._index, "item": _copy(item)})
        self._open = None
        return events

    def _finish(self, finished: Finished) -> list[dict[str, Any]]:
        output, body = finished.output, self._body
        if self._open is not None and self._open["type"] == "message":
            self._open["content"][0]["logprobs"] += self._take_logprobs()
        opening = [] if self.response["output"] else self._ensure("message")
        events = [*opening, *self._close()]
        is_complete = finish_reason(output, is_held=finished.is_held) == "stop"
        self.response |= {
            "status": "completed" if is_complete else "incomplete",
            "completed_at": now() if is_complete else None,
            "incomplete_details": None if is_complete else {"reason": "max_output_tokens"},
            "usage": _usage(output, finished.thinking_tokens),
        }
        if body.report:
            self.response["report"] = report_of(output)
        kind = "response.completed" if is_complete else "response.incomplete"
        return [*events, {"type": kind, "response": self._snapshot()}]

    def _take_logprobs(self) -> list[dict[str, Any]]:
        steps, self._steps = self._steps, []
        logprobs: list[dict[str, Any]] = chat_logprobs(steps, self._engine.model.vocabulary)["content"]
        return logprobs

    @property
    def _index(self) -> int:
        return len(self.response["output"]) - 1

    def _event(self, kind: str, **more: Any) -> dict[str, Any]:
        return {"type": kind, "item_id": self._item["id"], "output_index": self._index, **more}

    def _part_event(self, kind: str, **more: Any) -> dict[str, Any]:
        return self._event(kind, content_index=0, **more)


def _copy(item: dict[str, Any]) -> dict[str, Any]:
    return {key: [dict(part) for part in value] if key == "content" else value for key, value in item.items()}


def _event_name(item: dict[str, Any]) -> str:
    return "function_call_arguments" if item["type"] == "function_call" else "custom_tool_call_input"


def _call_item(call: CallWritten) -> dict[str, Any]:
    item = {"id": make_id("fc_"), "call_id": call.id, "name": call.name, "status": "in_progress"}
    if call.is_custom:
        return {**item, "type": "custom_tool_call", "input": call.text}
    return {**item, "type": "function_call", "arguments": call.text}


def _wants_logprobs(body: ResponsesRequest) -> bool:
    return body.top_logprobs is not None or "message.output_text.logprobs" in (body.include or [])


def _usage(output: Output, thinking_tokens: int) -> dict[str, Any]:
    prompt, written = output.prompt_token_count, len(output.token_ids)
    return {
        "input_tokens": prompt,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": written,
        "output_tokens_details": {"reasoning_tokens": thinking_tokens},
        "total_tokens": prompt + written,
    }


def _empty_response(engine: Engine, body: ResponsesRequest) -> dict[str, Any]:
    sent = body.model_dump(mode="json", by_alias=True, exclude_none=True)
    return {
        "id": make_id("resp_"),
        "object": "response",
        "created_at": now(),
        "completed_at": None,
        "status": "in_progress",
        "error": None,
        "incomplete_details": None,
        "instructions": body.instructions,
        "max_output_tokens": body.max_output_tokens,
        "metadata": sent.get("metadata", {}),
        "model": engine.name,
        "output": [],
        "parallel_tool_calls": body.parallel_tool_calls is not False,
        "previous_response_id": None,
        "reasoning": sent.get("reasoning", {"effort": None, "summary": None}),
        "store": False,
        "temperature": body.temperature,
        "text": sent.get("text", {"format": {"type": "text"}}),
        "tool_choice": sent.get("tool_choice", "auto"),
        "tools": sent.get("tools", []),
        "top_p": body.top_p,
        "truncation": "disabled",
        "usage": None,
    }


def _conversation(body: ResponsesRequest) -> Conversation:
    tools = [_tool(tool, f"tools[{index}]") for index, tool in enumerate(body.tools or [])]
    wanted = body.tool_choice
    choice: str = wanted if isinstance(wanted, str) else "auto"
    allowed: list[str] | None = None
    if isinstance(wanted, NamedChoice):
        choice = wanted.name
    elif isinstance(wanted, AllowedTools):
        choice, allowed = wanted.mode, [each.name for each in wanted.tools]
    return Conversation(
        messages=tuple(_messages(body)),
        tools=tuple(select_tools(tools, choice, allowed)),
        tool_choice=choice,
        max_calls=1 if body.parallel_tool_calls is False else None,
        answer=_answer(body),
        effort=body.reasoning.effort if body.reasoning else None,
        thinking_tokens=body.thinking_tokens,
        effort_param="reasoning.effort",
    )


def _answer(body: ResponsesRequest) -> Rule | None:
    rule = rule_of(body)
    wanted = body.text.format if body.text else None
    if wanted is None or wanted.type == "text":
        return rule
    if rule is not None:
        raise ApiError(400, f"text.format and {rule.param} each say what the text must be", param=rule.param)
    if isinstance(wanted, JsonSchemaFormat):
        return schema_rule("text.format.schema", wanted.schema_)
    return schema_rule("text.format", {"type": "object"})


def _tool(tool: Any, param: str) -> ToolDefinition:
    if isinstance(tool, FunctionTool):
        return ToolDefinition(tool.name, tool.description, tool.parameters, f"{param}.parameters")
    wanted = tool.format
    grammar = None if wanted is None or wanted.type == "text" else (wanted.syntax, wanted.definition)
    return ToolDefinition.custom(tool.name, tool.description, grammar, f"{param}.format.definition")


def _messages(body: ResponsesRequest) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = []
    if body.instructions:
        messages.append({"role": "system", "content": body.instructions})
    if isinstance(body.input, str):
        return [*messages, {"role": "user", "content": body.input}]
    thinking: str | None = None
    for item in body.input:
        if isinstance(item, ReasoningItem):
            thinking = "".join(part.text for part in item.content or item.summary) or None
            continue
        if isinstance(item, CallOutputItem):
            messages.append({"role": "tool", "tool_call_id": item.call_id, "content": _text(item.output)})
            continue
        message = _message(item)
        if message["role"] == "assistant":
            message["reasoning_content"], thinking = thinking, None
        last = messages[-1] if messages else None
        if last is not None and last["role"] == message["role"] == "assistant" and "tool_calls" in message:
            last.setdefault("tool_calls", []).extend(message["tool_calls"])  # calls of one turn are one message
        else:
            messages.append(message)
    return messages


def _message(item: InputMessage | FunctionCallItem | CustomCallItem) -> dict[str, Any]:
    if isinstance(item, InputMessage):
        role = "system" if item.role == "developer" else item.role
        return {"role": role, "content": _text(item.content)}
    arguments = json.dumps({"input": item.input}) if isinstance(item, CustomCallItem) else item.arguments
    call = {"id": item.call_id, "type": "function", "function": {"name": item.name, "arguments": arguments}}
    return {"role": "assistant", "content": "", "tool_calls": [call]}


def _text(content: str | Sequence[InputText]) -> str:
    return content if isinstance(content, str) else "".join(part.text for part in content)

"""Conversations: the messages, tools and tool choice of a request as a prompt and the language of the turn."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from detent.errors import ArgumentError
from detent.language import Language
from detent.models.base import ChatModel, Model
from detent.models.chat import Chat
from detent.serve.errors import ApiError, from_detent
from detent.serve.requests import check_length
from detent.serve.rules import Rule, grammar_rule, regex_rule
from detent.sources.calls.function import Function, read_functions
from detent.turns import Style, Turn, turn

__all__ = ["Conversation", "Effort", "ToolDefinition", "rule_of_turn", "select_tools"]

Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh"]

_THINKING_TOKENS: dict[Effort, int] = {"minimal": 64, "low": 256, "medium": 1024, "high": 4096, "xhigh": 16384}
_TAIL = 16
_INPUT = "input"
"""The format of a custom tool's input."""
_INPUTS = {"lark": grammar_rule, "regex": regex_rule}
_PLAIN = Style(name="plain", call="{name}{arguments}")
"""The style of turns without calls, for models whose style is not known."""


@dataclass(frozen=True)
class ToolDefinition:
    """A tool of a request.

    Attributes
    ----------
    name, description
        What the model is told.
    parameters : dict or bool or None
        The JSON Schema of the arguments; of a custom tool, an object with the member "input".
    param : str
        The field that defines the tool, for error messages.
    is_custom : bool
        Whether the input is a text instead of arguments.
    grammar : (str, str) or None
        What the input of a custom tool is held to: "lark" or "regex", and the definition.
    """

    name: str
    description: str | None
    parameters: Any
    param: str
    is_custom: bool = False
    grammar: tuple[str, str] | None = None

    @classmethod
    def custom(cls, name: str, description: str | None, grammar: tuple[str, str] | None, param: str) -> ToolDefinition:
        """Return a tool whose input is a text: any, or one of a grammar, ("lark" or "regex", definition)."""
        text = {"type": "string"} if grammar is None else {"type": "string", "format": _INPUT}
        parameters = {"type": "object", "properties": {"input": text}, "required": ["input"]}
        return cls(name, description, {**parameters, "additionalProperties": False}, param, True, grammar)

    def as_function(self) -> dict[str, Any]:
        """Return the tool as `detent.calls` takes it."""
        function = {"name": self.name, "description": self.description, "parameters": self.parameters}
        return {"type": "function", "function": {key: value for key, value in function.items() if value is not None}}

    def read(self) -> Function:
        """Return the function that the tool is; raise `ApiError` if it is none."""
        try:
            [function] = read_functions(self.as_function())
        except ArgumentError as error:
            raise from_detent(error, self.param) from error
        return function

    def held(self) -> Function:
        """Return the tool for `detent.turn`, with the language of its input; it may take a while."""
        if self.grammar is None:
            return self.read()
        syntax, definition = self.grammar
        rule = _INPUTS[syntax](self.param, definition)
        return replace(self.read(), formats={_INPUT: rule.language()})


@dataclass(frozen=True)
class Conversation:
    """A request for a turn, whatever API it came by.

    Attributes
    ----------
    messages : tuple of dict
        As `detent.Chat` takes them.
    tools : tuple of ToolDefinition
        What may be called.
    tool_choice : str
        As `detent.turn` takes it.
    max_calls : int or None
        As `detent.turn` takes it.
    answer : Rule or None
        What the content must be.
    effort : str or None
        How much the model may think.
    thinking_tokens : int or None
        The most tokens of thinking; it goes before `effort`.
    effort_param : str
        The field of the request that says `effort`, for error messages.
    """

    messages: tuple[dict[str, Any], ...]
    tools: tuple[ToolDefinition, ...] = ()
    tool_choice: str = "auto"
    max_calls: int | None = None
    answer: Rule | None = None
    effort: Effort | None = None
    thinking_tokens: int | None = None
    effort_param: str = "reasoning_effort"
    variables: dict[str, Any] = field(default_factory=dict)

    def prompt(self, model: Model) -> list[int]:
        """Return the tokens of the conversation in the model's chat template."""
        if not isinstance(model, ChatModel):
            raise ApiError(400, "the model has no chat template; use /v1/completions", param="messages")
        for message in self.messages:
            check_length(model, str(message.get("content") or ""), "messages")
        is_told = self.tools and self.tool_choice != "none"
        told = [tool.read() for tool in self.tools] if is_told else ()
        try:
            chat = Chat(list(self.messages), tools=told, **self.variables)  # type: ignore[arg-type]
            return list(model.encode_chat(chat))
        except ArgumentError as error:
            raise from_detent(error, "messages") from error


def select_tools(
    tools: Sequence[ToolDefinition], choice: str, allowed: Sequence[str] | None
) -> Sequence[ToolDefinition]:
    """Return the tools that may be called; raise `ApiError` for a choice that is not among them."""
    names = [tool.name for tool in tools]
    if repeated := sorted({name for name in names if names.count(name) > 1}):
        raise ApiError(400, f"two tools have the name {repeated[0]!r}", param="tools", code="invalid_value")
    wanted = allowed if allowed is not None else [] if choice in ("auto", "none", "required") else [choice]
    for name in wanted:
        if name not in names:
            known = ", ".join(names) or "none"
            message = f"tool_choice names {name!r}, but the tools are: {known}"
            raise ApiError(400, message, param="tool_choice", code="invalid_value")
    callable_tools = [tool for tool in tools if allowed is None or tool.name in allowed]
    if choice == "required" and not callable_tools:
        which = "no tools" if allowed is None else "no allowed tools"
        raise ApiError(400, f"tool_choice is required, but there are {which}", param="tool_choice")
    return callable_tools


def rule_of_turn(
    conversation: Conversation, prompt_ids: Sequence[int], model: Model, style: Style | None
) -> Rule | None:
    """Return the rule of a turn; None if any text is one."""
    tools = [tool.as_function() for tool in conversation.tools]
    if style is None:
        if tools and conversation.tool_choice != "none":
            raise ApiError(
                400,
                "this server does not know how its model writes calls; start it with detent serve --style NAME",
                param="tools",
                code="unsupported_value",
            )
        tools, style = [], _PLAIN
    thinking = _thinking(conversation, prompt_ids, model, style)
    budget = None
    if thinking != "none":
        budget = conversation.thinking_tokens
        if budget is None and conversation.effort is not None:
            budget = _THINKING_TOKENS[conversation.effort]
    if not tools and conversation.answer is None and thinking == "none":
        return None
    answer = conversation.answer
    options: dict[str, Any] = {
        "tool_choice": conversation.tool_choice,
        "max_calls": conversation.max_calls,
        "thinking": thinking,
        "thinking_tokens": budget,
    }
    grammars = [tool.grammar for tool in conversation.tools]
    key = json.dumps([style.name, tools, grammars, options, None if answer is None else answer.key])
    param = answer.param if answer is not None else "tools" if tools else "messages"
    return Rule(param, f"turn {key}", lambda: _turn(conversation, tools, style, options))


def _turn(
    conversation: Conversation, tools: Sequence[object], style: Style, options: Mapping[str, Any]
) -> Language[Turn]:
    answer = None if conversation.answer is None else conversation.answer.language()
    # Clients send the form of answers with each request, also where they ask for a call now.
    has_calls_only = answer is not None and conversation.tool_choice not in ("auto", "none")
    return turn(
        [tool.held() for tool in conversation.tools] if tools else [],
        style=style,
        answer=None if has_calls_only else answer,
        text=not has_calls_only,
        **options,
    )


def _thinking(
    conversation: Conversation, prompt_ids: Sequence[int], model: Model, style: Style
) -> Literal["none", "optional", "open"]:
    """Return how the turn begins, given the end of the prompt."""
    effort, most = conversation.effort, conversation.thinking_tokens
    field = "thinking_tokens" if most else conversation.effort_param
    if effort == "none" and most:
        message = f"{conversation.effort_param} asks for no thinking, and {field} for {most} tokens; send one of them"
        raise ApiError(400, message, param=field, code="invalid_value")
    if style.thinking is None:
        if effort not in (None, "none") or most:
            message = f"{field}: models of the style {style.name!r} do not think; leave {field} out"
            raise ApiError(400, message, param=field, code="invalid_value")
        return "none"
    tail = b"".join(model.vocabulary.token_bytes(token_id) for token_id in prompt_ids[-_TAIL:])
    opening, closing = (tag.strip().encode() for tag in style.thinking)
    asks_for_none = effort == "none" or most == 0
    if tail.rstrip().endswith(opening):
        if asks_for_none:
            field = "thinking_tokens" if most == 0 else conversation.effort_param
            message = (
                f"{field}: the model's chat template opens the thinking, so it cannot be left out; bound it instead"
            )
            raise ApiError(400, message, param=field, code="unsupported_value")
        return "open"
    return "none" if asks_for_none or tail.rstrip().endswith(closing) else "optional"

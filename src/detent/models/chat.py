"""Chat: a conversation as a prompt, with the tools that the model may call and the variables of its chat template."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict

from detent.errors import ArgumentError
from detent.sources.calls.function import Call, read_functions
from detent.sources.nodes import short_repr
from detent.sources.trampoline import trampoline

if TYPE_CHECKING:
    from typing_extensions import NotRequired, Self

__all__ = ["Chat", "Message", "check_text"]

_TEXTS = ("name", "tool_call_id", "reasoning_content", "reasoning", "thinking")
_KEYS = ("role", "content", "tool_calls", *_TEXTS)
_REASONING = ("reasoning_content", "reasoning", "thinking")


class Message(TypedDict):
    """One message of a conversation.

    The role is "system", "user", "assistant" or "tool", or another one that the chat template knows. The content is
    text. A message of the assistant may have tool calls and reasoning, one of a tool the name or id of the call.
    """

    role: str
    content: NotRequired[str | Sequence[Mapping[str, str]] | None]
    tool_calls: NotRequired[Sequence[Mapping[str, Any] | Call]]
    reasoning_content: NotRequired[str]
    tool_call_id: NotRequired[str]
    name: NotRequired[str]


class Chat:
    """A conversation as a prompt, wherever a prompt is taken.

    >>> import detent
    >>> def get_weather(city: str) -> str:
    ...     '''Return the weather of a city.'''
    >>> chat = detent.Chat("What is the weather in Oslo?", system="Answer in one word.", tools=[get_weather])
    >>> [message["role"] for message in chat.messages], chat.tools[0]["function"]["name"]
    (['system', 'user'], 'get_weather')

    The chat template of the model's tokenizer makes the text of it. A template that cannot express a part of the
    conversation raises an error: nothing is left out.

    Parameters
    ----------
    messages : str or sequence of messages
        The message of a user, or messages as OpenAI's API takes them. Tool calls may be `detent.Call`, so that the
        value of a text of `detent.calls` can be passed on.
    system : str, optional
        The text of a first message of the role "system".
    tools : sequence of callables, models and dicts
        As `detent.calls` takes them. The model is told of them; to hold it to their calls is the language's part.
    **variables
        Values for the variables of the chat template, such as ``enable_thinking=False``.

    Raises
    ------
    ArgumentError
        A message, tool or text is not what it must be.
    """

    def __init__(
        self,
        messages: str | Sequence[Message],
        *,
        system: str | None = None,
        tools: Sequence[object] = (),
        **variables: Any,
    ) -> None:
        if isinstance(messages, str):
            messages = [Message(role="user", content=messages)]
        if not isinstance(messages, (list, tuple)) or not messages:
            raise ArgumentError(f"messages must be a text or a list of messages, got {short_repr(messages)}")
        if system is not None:
            messages = [Message(role="system", content=system), *messages]
        self.messages: tuple[dict[str, Any], ...] = tuple(map(_read_message, messages))
        has_tools = tools is not None and not (isinstance(tools, (list, tuple)) and not tools)
        self.tools: tuple[dict[str, Any], ...] = (
            tuple(function.as_tool() for function in read_functions(tools)) if has_tools else ()
        )
        self.variables: dict[str, Any] = variables
        if self.messages[-1]["role"] == "assistant":
            raise ArgumentError(
                "the last message is the assistant's, so nothing is left to answer; for an answer that begins with a "
                "given text, leave the message out and write the text into the language: detent.literal(text) + rule"
            )

    @classmethod
    def of(cls, prompt: Chat | str | Sequence[Message]) -> Chat:
        """Return a conversation as it is, and messages or a text as a conversation."""
        return prompt if isinstance(prompt, Chat) else cls(prompt)

    def with_messages(self, *messages: Message) -> Self:
        """Return the conversation with more messages at the end."""
        longer = self.mapped(lambda text: text)
        longer.messages += tuple(map(_read_message, messages))
        return longer

    def mapped(self, change: Callable[[str], str]) -> Self:
        """Return the conversation with each text changed, but for the roles."""
        changed = object.__new__(type(self))
        changed.messages = tuple({**_mapped(message, change), "role": message["role"]} for message in self.messages)
        changed.tools = tuple(_mapped(tool, change) for tool in self.tools)
        changed.variables = self.variables
        return changed

    def __repr__(self) -> str:
        return f"Chat({len(self.messages)} messages, {len(self.tools)} tools)"


def _mapped(value: Any, change: Callable[[str], str]) -> Any:
    def mapped(value: Any) -> Generator[Any, Any, Any]:
        if isinstance(value, str):
            return change(value)
        if isinstance(value, dict):
            changed = {}
            for key, each in value.items():
                changed[change(key) if isinstance(key, str) else key] = yield each
            return changed
        if isinstance(value, list):
            items = []
            for each in value:
                items.append((yield each))
            return items
        return value

    return trampoline(mapped, value)


def _read_message(message: object) -> dict[str, Any]:
    if hasattr(message, "model_dump"):  # an answer of a client of OpenAI's API
        message = message.model_dump()
    if not isinstance(message, Mapping):
        raise ArgumentError(f"a message must be a dict with a role and a content, got {short_repr(message)}")
    given = {key: value for key, value in message.items() if value is not None}
    role = given.get("role")
    if not isinstance(role, str) or not role:
        raise ArgumentError(f"each message must have a role, such as 'user', got {short_repr(dict(message))}")
    _refuse_unknown(role, given)
    calls = [_read_call(call) for call in given.get("tool_calls", ())]
    if "content" not in given and not calls:
        raise ArgumentError(f"each message must have a content, a str, got {short_repr(dict(message))}")
    read: dict[str, Any] = {"role": role, "content": _read_content(given.get("content", ""))}
    for key in _TEXTS:
        if key in given:
            check_text(given[key], key)
            read[key] = given[key]
    reasoning = next((read[key] for key in _REASONING if key in read), None)
    if reasoning is not None:  # templates read it under one of two names
        read |= {"reasoning_content": reasoning, "thinking": reasoning}
    if calls:
        read["tool_calls"] = calls
    return read


def _refuse_unknown(role: str, given: Mapping[str, Any]) -> None:
    for key, value in given.items():
        if key not in _KEYS and not (
            isinstance(value, (list, dict)) and not value
        ):  # the answers of APIs have empty fields
            raise ArgumentError(
                f"a message of {role!r} has the unknown key {short_repr(key)}; there are {', '.join(_KEYS)}"
            )


def _read_content(content: object) -> str:
    if isinstance(content, (list, tuple)):
        texts = []
        for part in content:
            if not isinstance(part, Mapping) or part.get("type") != "text" or not isinstance(part.get("text"), str):
                raise ArgumentError(f"the content of a message has {short_repr(part)}; only parts of text can be read")
            texts.append(part["text"])
        content = "".join(texts)
    check_text(content, "content")
    return str(content)


def _read_call(call: object) -> dict[str, Any]:
    """Return a tool call as OpenAI's API has it, but with the arguments as a dict."""
    if isinstance(call, Call):
        known: dict[str, Any] = {"type": "function", "function": {"name": call.name, "arguments": call.arguments}}
        return known if call.id is None else {**known, "id": call.id}
    inner = call.get("function", call) if isinstance(call, Mapping) else None
    if not isinstance(inner, Mapping) or not isinstance(inner.get("name"), str):
        raise ArgumentError(f"a tool call must be a detent.Call or a dict with a 'function', got {short_repr(call)}")
    arguments = inner.get("arguments", {})
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments or "{}")
        except (ValueError, RecursionError):
            arguments = None
    if not isinstance(arguments, Mapping):
        raise ArgumentError(f"the arguments of the tool call {inner['name']!r} must be an object, or its JSON text")
    read: dict[str, Any] = {"type": "function", "function": {"name": inner["name"], "arguments": dict(arguments)}}
    if isinstance(call, Mapping) and isinstance(call.get("id"), str):
        read["id"] = call["id"]
    return read


def check_text(text: object, name: str = "a prompt") -> None:
    """Raise `ArgumentError` unless the object is text that UTF-8 can write."""
    if not isinstance(text, str):
        raise ArgumentError(f"{name} must be a str, got {type(text).__name__}")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ArgumentError(f"{name} must be text; it has a lone surrogate at character {error.start}") from None

r"""The chat template of the embedded model: a conversation as the texts of users and assistants that it was trained on.

    system           the text, before that of the next user
    tools            "Tools: f(a, b), g(c)" before the last request, and "Answer with a JSON call." after it
    calls            {"name": "f", "arguments": {"a": 1}}; several are lines
    a tool's result  "f returned: ...", as a text of the user

>>> tool = {"name": "get_user", "parameters": {"properties": {"id": {"type": "integer"}}}}
>>> texts_of(Chat("Who is user 3?", system="Be brief.", tools=[tool]))
[('user', 'Be brief.\nTools: get_user(id)\nWho is user 3? Answer with a JSON call.')]
"""

from __future__ import annotations

import json
from typing import Any

from detent.errors import ArgumentError
from detent.models.chat import Chat

__all__ = ["texts_of"]

_KEYS = {"role", "content", "tool_calls", "tool_call_id", "name"}


def texts_of(chat: Chat) -> list[tuple[str, str]]:
    """Return the roles, "user" or "assistant", and the texts of a conversation.

    Raises
    ------
    ArgumentError
        The template cannot express a part of the conversation.
    """
    _check(chat)
    last_request = max((at for at, each in enumerate(chat.messages) if each["role"] == "user"), default=-1)
    if chat.tools and last_request < 0:
        raise ArgumentError("the embedded model's chat template puts tools before a request; add a message of the user")
    names = {
        call["id"]: call["function"]["name"]
        for message in chat.messages
        for call in message.get("tool_calls", [])
        if "id" in call
    }
    texts: list[tuple[str, str]] = []
    system = ""
    for at, message in enumerate(chat.messages):
        content = message["content"]
        if message["role"] in ("system", "developer"):
            system += content + "\n"
            continue
        if message["role"] == "assistant":
            calls = _calls([call["function"] for call in message.get("tool_calls", [])])
            texts.append(("assistant", "\n".join(filter(None, [content, calls]))))
            continue
        if message["role"] == "tool":
            name = message.get("name") or names.get(message.get("tool_call_id", ""), "the function")
            content = f"{name} returned: {content}"
        elif chat.tools and at == last_request:
            is_last = at == len(chat.messages) - 1
            content = f"Tools: {_tools(chat)}\n{content}" + (" Answer with a JSON call." if is_last else "")
        texts.append(("user", system + content))
        system = ""
    return [*texts, ("user", system.rstrip("\n"))] if system else texts


def _check(chat: Chat) -> None:
    if chat.variables:
        name = next(iter(chat.variables))
        raise ArgumentError(f"the embedded model's chat template has no variable {name!r}; leave it out")
    for message in chat.messages:
        if more := message.keys() - _KEYS:
            raise ArgumentError(f"the embedded model's chat template has no {min(more)} of messages; leave it out")
        if message["role"] not in ("system", "developer", "user", "assistant", "tool"):
            raise ArgumentError(
                "the embedded model's chat template has the roles system, user, assistant and tool, "
                f"got {message['role']!r}"
            )


def _tools(chat: Chat) -> str:
    functions = [tool["function"] for tool in chat.tools]
    return ", ".join(f"{function['name']}({', '.join(_arguments(function))})" for function in functions)


def _arguments(function: dict[str, Any]) -> list[str]:
    parameters = function.get("parameters")
    return list(parameters.get("properties", {})) if isinstance(parameters, dict) else []


def _calls(functions: list[dict[str, Any]]) -> str:
    shown = [{"name": each["name"], "arguments": each["arguments"]} for each in functions]
    return "\n".join(json.dumps(each, ensure_ascii=False) for each in shown)

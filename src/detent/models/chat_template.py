"""ChatTemplate: the text that a model was trained to read for a conversation.

Templates are programs in Jinja; `jinja2` runs them in its sandbox. They take a conversation in one of several forms:
arguments of tool calls as a dict or as their JSON text, contents as a text or as a list of parts. So the forms are
tried in order. A form is right if the template raises no error and leaves nothing out. To find what is left out, a
probe is rendered too, in which each text and name is unique.

Source: `apply_chat_template` of https://github.com/huggingface/transformers, whose variables, filters and white-space
settings are those of published templates.
"""

from __future__ import annotations

import datetime
import itertools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from detent.errors import ArgumentError, ModelError
from detent.models.chat import Chat, Message
from detent.vocabulary.gguf import is_gguf, read_gguf_chat_template

if TYPE_CHECKING:
    import jinja2

__all__ = ["ChatTemplate"]

_SHORT = 12
"""A text of fewer characters may be a part of the template itself, so only the probe shows whether it is left out."""

_JINJA_NEEDED = "chat templates need the package jinja2, 3.1.6 or newer: pip install 'jinja2>=3.1.6'"


class ChatTemplate:
    """A chat template of a tokenizer.

    >>> template = ChatTemplate(
    ...     "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{{ eos_token }}{% endfor %}"
    ...     "{% if add_generation_prompt %}<|assistant|>{% endif %}", special_tokens={"eos_token": "</s>"}
    ... )
    >>> template.render("Hello!")
    '<|user|>Hello!</s><|assistant|>'

    Parameters
    ----------
    source : str or dict of str to str
        The template, or templates by name: "default", and "tool_use" for conversations with tools.
    special_tokens : dict of str to str, optional
        The variables of special tokens, such as ``{"bos_token": "<s>"}``.

    Raises
    ------
    ModelError
        The template is not valid Jinja, or `jinja2` is not installed.

    Notes
    -----
    A template is a program. The sandbox keeps it from files and from Python's internals, but bounds neither time nor
    memory: render templates of strangers in a process that you can stop.
    """

    def __init__(self, source: str | Mapping[str, str], *, special_tokens: Mapping[str, str] | None = None) -> None:
        sources = {"default": source} if isinstance(source, str) else source
        if not isinstance(sources, Mapping) or not sources or not all(isinstance(x, str) for x in sources.values()):
            raise ArgumentError("a chat template must be a str, or a dict of them by name")
        self.sources: dict[str, str] = dict(sources)
        self.special_tokens: dict[str, str] = dict(special_tokens or {})
        for each in self.sources.values():
            _compile(each)

    @classmethod
    def from_file(cls, path: str | Path) -> ChatTemplate:
        """Read the template of a model's folder, a `tokenizer_config.json`, a `.jinja` file or a GGUF file.

        Parameters
        ----------
        path : str or Path
            A folder is searched for `chat_template.jinja` and `tokenizer_config.json`.

        Raises
        ------
        ModelError
            There is no template, or a file cannot be read.
        """
        path = Path(path)
        try:
            if path.is_file() and is_gguf(path):
                sources, tokens = read_gguf_chat_template(path)
            elif path.suffix == ".jinja":
                sources, tokens = {"default": path.read_text("utf-8")}, {}
            else:
                sources, tokens = _read_config(path)
        except OSError as error:
            raise ModelError(f"cannot read the chat template of {path}: {error.strerror}") from None
        except (ValueError, LookupError, TypeError, RecursionError) as error:
            raise ModelError(f"cannot read the chat template of {path}: {error}") from None
        if not sources:
            raise ModelError(f"{path} has no chat template; write the turns of the conversation into the prompt")
        return cls(sources, special_tokens=tokens)

    def variables(self, chat: Chat) -> frozenset[str]:
        """Return the variables that the template reads for a conversation."""
        return _compile(self._source(chat))[1]

    def render(self, prompt: Chat | str | Sequence[Message]) -> str:
        """Return the text of a conversation, up to the beginning of the next answer.

        Parameters
        ----------
        prompt : Chat, str or sequence of messages
            The conversation.

        Raises
        ------
        ArgumentError
            The template refuses the conversation, would leave a part of it out, or reads no such variable.
        ModelError
            The template fails.
        """
        chat = Chat.of(prompt)
        self._check_variables(chat)
        failure: ArgumentError | ModelError | None = None
        for in_form in _FORMS:
            try:
                text = self._render(chat, in_form)
            except (ArgumentError, ModelError) as error:
                failure = failure or error
                continue
            lost = self._lost(chat, in_form, text)
            if lost is None:
                return text
            failure = failure or ArgumentError(f"the chat template of the model leaves out {lost}")
        assert failure is not None  # noqa: S101 - no form was right
        raise failure

    def _source(self, chat: Chat) -> str:
        names = ("tool_use", "default") if chat.tools else ("default",)
        found = next((self.sources[name] for name in names if name in self.sources), None)
        return next(iter(self.sources.values())) if found is None else found

    def _check_variables(self, chat: Chat) -> None:
        known = self.variables(chat)
        if chat.tools and "tools" not in known:
            raise ArgumentError(
                "the chat template of the model knows no tools; describe them in a message, or take another model"
            )
        given = {"messages", "tools", "add_generation_prompt", *self.special_tokens}
        for name in chat.variables:
            if name not in known or name in given:
                raise ArgumentError(
                    f"the chat template of the model has no variable {name!r} to set; it has: "
                    + (", ".join(sorted(known - given)) or "none")
                )

    def _render(self, chat: Chat, in_form: Callable[[Chat], list[dict[str, Any]]]) -> str:
        import jinja2

        copy = chat.mapped(lambda text: text)  # templates may change lists
        variables = {
            **self.special_tokens,
            **chat.variables,
            "messages": in_form(copy),
            "tools": list(copy.tools) or None,
            "add_generation_prompt": True,
        }
        try:
            return _compile(self._source(chat))[0].render(variables)
        except _RefusedError as error:
            raise ArgumentError(f"the chat template of the model refuses the conversation: {error}") from None
        except RecursionError:
            raise ArgumentError(
                "the chat template of the model cannot write a tool or a variable that is nested so deep; flatten it"
            ) from None
        except (jinja2.TemplateError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            raise ModelError(f"the chat template of the model fails: {type(error).__name__}: {error}") from None

    def _lost(self, chat: Chat, in_form: Callable[[Chat], list[dict[str, Any]]], text: str) -> str | None:
        """Return a phrase for a tool, message or call that the text of a conversation lacks; None if it lacks none."""
        probe = _probe(chat)
        try:
            probed = self._render(probe, in_form)
        except (ArgumentError, ModelError):  # a template that reads the contents
            probe, probed = chat, text
        for tool, marked in zip(chat.tools, probe.tools, strict=True):
            if marked["function"]["name"] not in probed:
                return f"the tool {tool['function']['name']!r}"
        for index, (message, marked) in enumerate(zip(chat.messages, probe.messages, strict=True)):
            subject = f"message {index}, of the role {message['role']!r}"
            content = message["content"].rpartition("</think>")[2].strip()
            is_short = len(content) < _SHORT
            if content and not (_has(probed, marked["content"]) if is_short else _has(text, content)):
                return subject
            for call, marked_call in zip(message.get("tool_calls", ()), marked.get("tool_calls", ()), strict=True):
                name, arguments = marked_call["function"]["name"], marked_call["function"]["arguments"]
                if name not in probed or not all(key in probed for key in arguments):
                    return f"the tool call {call['function']['name']!r} of {subject}"
                if arguments and repr(arguments) in probed:  # a template for arguments that are JSON text
                    return f"the JSON of the tool call {call['function']['name']!r} of {subject}"
        return None


def _has(text: str, content: str) -> bool:
    """Return whether a text has a content as it is, or as the inside of a JSON string."""
    return any(
        each in text for each in (content, json.dumps(content)[1:-1], json.dumps(content, ensure_ascii=False)[1:-1])
    )


def _probe(chat: Chat) -> Chat:
    """Return the conversation with unique texts and names."""
    marks = (f"mark{number}mark" for number in itertools.count(1))
    probe = chat.mapped(lambda text: text)
    for tool in probe.tools:
        tool["function"]["name"] = next(marks)
    for message in probe.messages:
        if message["content"]:
            message["content"] = next(marks)
        for call in message.get("tool_calls", ()):
            call["function"] = {"name": next(marks), "arguments": {next(marks): True}}
    return probe


def _plain(chat: Chat) -> list[dict[str, Any]]:
    return [dict(message) for message in chat.messages]


def _with_parts(chat: Chat) -> list[dict[str, Any]]:
    return [{**message, "content": [{"type": "text", "text": message["content"]}]} for message in chat.messages]


def _with_argument_texts(chat: Chat) -> list[dict[str, Any]]:
    messages = _plain(chat)
    for message in messages:
        if "tool_calls" in message:
            message["tool_calls"] = [
                {**call, "function": {**call["function"], "arguments": _to_json(call["function"]["arguments"])}}
                for call in message["tool_calls"]
            ]
    return messages


_FORMS: tuple[Callable[[Chat], list[dict[str, Any]]], ...] = (_plain, _with_argument_texts, _with_parts)


def _to_json(
    value: object,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    """Return the JSON text of a value; Jinja's own filter escapes characters of HTML."""
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


class _RefusedError(Exception):
    """A template calls `raise_exception`."""


def _raise_exception(message: str) -> None:
    raise _RefusedError(message)


def _strftime_now(layout: str) -> str:
    return datetime.datetime.now().strftime(layout)


@lru_cache(maxsize=32)
def _compile(source: str) -> tuple[jinja2.Template, frozenset[str]]:
    """Return a template, and the variables that it reads."""
    try:
        import jinja2
        from jinja2 import meta
    except ImportError:
        raise ModelError(_JINJA_NEEDED) from None
    if tuple(map(int, jinja2.__version__.split(".")[:3])) < (3, 1, 6):  # older versions have holes in the sandbox
        raise ModelError(_JINJA_NEEDED)
    environment = _environment()
    try:
        return environment.from_string(source), frozenset(meta.find_undeclared_variables(environment.parse(source)))
    except jinja2.TemplateSyntaxError as error:
        raise ModelError(f"the chat template is no valid Jinja, at line {error.lineno}: {error.message}") from None
    except RecursionError:
        raise ModelError("the chat template is nested too deeply") from None


@lru_cache(maxsize=1)
def _environment() -> jinja2.Environment:
    """Return the sandbox, with the functions and filters that transformers gives to templates."""
    from jinja2 import nodes
    from jinja2.ext import Extension, loopcontrols
    from jinja2.parser import Parser
    from jinja2.sandbox import SandboxedEnvironment

    class Generation(Extension):
        """The tag `{% generation %}`, which marks the answers for training; it changes no text."""

        tags = {"generation"}  # noqa: RUF012 - the attribute of the base class

        def parse(self, parser: Parser) -> nodes.Node | list[nodes.Node]:
            next(parser.stream)
            return parser.parse_statements(("name:endgeneration",), drop_needle=True)

    environment = SandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[Generation, loopcontrols])
    environment.filters["tojson"] = _to_json
    environment.globals |= {"raise_exception": _raise_exception, "strftime_now": _strftime_now}
    return environment


def _read_config(path: Path) -> tuple[dict[str, str], dict[str, str]]:
    """Return the templates of a folder or a configuration file, and its special tokens."""
    folder = path if path.is_dir() else path.parent
    file = folder / "tokenizer_config.json" if path.is_dir() else path
    jinja = folder / "chat_template.jinja"
    config: Any = json.loads(file.read_bytes()) if file.is_file() or not jinja.is_file() else {}
    if not isinstance(config, dict):
        raise ValueError(f"{file.name} is not an object")
    source: Any = jinja.read_text("utf-8") if jinja.is_file() else config.get("chat_template", "")
    named = source if isinstance(source, list) else [{"name": "default", "template": source}] if source else []
    return {each["name"]: each["template"] for each in named}, dict(_special_tokens(config))


def _special_tokens(config: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for key, value in config.items():
        text = value.get("content") if isinstance(value, Mapping) else value
        if key.endswith("_token") and isinstance(text, str):
            yield key, text

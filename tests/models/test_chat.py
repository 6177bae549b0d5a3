"""Conversations as prompts: messages and tools, chat templates in Jinja, and the token ids of both."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import detent
from detent.errors import ArgumentError, DetentError, ModelError
from detent.models import CallableModel, Chat, ChatTemplate, Transformers
from detent.models.template_tokens import tokenize_chat
from tests.support import tiny_llama
from tests.support.shared_data import needs_shared, real_vocabulary, tokenizer_file

pytest.importorskip("jinja2")


def get_weather(city: str, days: int = 1) -> None:
    """Return the weather of a city."""


CALL = detent.Call("get_weather", {"city": "Oslo"})
ANSWERED: list[Any] = [
    {"role": "user", "content": "How is the weather in Oslo?"},
    {"role": "assistant", "tool_calls": [CALL]},
    {"role": "tool", "name": "get_weather", "content": "sunny and warm"},
]
TOOL_CALLS = (
    "{% for c in m.tool_calls %}<call>{{ c.function.name }} {{ c.function.arguments | tojson }}</call>{% endfor %}"
)
SOURCE = (
    "{{ bos_token }}{% if tools %}{% for t in tools %}{{ t | tojson }}\n{% endfor %}{% endif %}"
    "{% for m in messages %}<|{{ m.role }}|>{{ m.content | trim }}" + TOOL_CALLS + "<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% if think is defined and not think %}<none>{% endif %}{% endif %}"
)
TEMPLATE = ChatTemplate(SOURCE, special_tokens={"bos_token": "<s>"})


def test_messages_of_all_roles_and_tools_are_rendered() -> None:
    text = TEMPLATE.render(Chat(ANSWERED, system="Be brief.", tools=[get_weather], think=False))
    tools, _, rest = text.removeprefix("<s>").partition("\n")
    assert json.loads(tools) == Chat("x", tools=[get_weather]).tools[0]
    assert rest == (
        "<|system|>Be brief.<|end|><|user|>How is the weather in Oslo?<|end|>"
        '<|assistant|><call>get_weather {"city": "Oslo"}</call><|end|><|tool|>sunny and warm<|end|><|assistant|><none>'
    )


def test_a_function_is_described_as_a_tool() -> None:
    (tool,) = Chat("x", tools=[get_weather]).tools
    function = tool["function"]
    assert tool["type"] == "function"
    assert (function["name"], function["description"]) == ("get_weather", "Return the weather of a city.")
    assert function["parameters"]["properties"]["city"] == {"type": "string"}
    assert function["parameters"]["required"] == ["city"]


NAMES = "{% for c in m.tool_calls %}{{ c.function.name }}{% endfor %}"
EACH = "{% for m in messages %}{{ m.content }}{% endfor %}"
TWO_LONG: list[Any] = [{"role": "user", "content": "A long enough text."}, {"role": "user", "content": "B"}]
TWO_SHORT: list[Any] = [{"role": "user", "content": "a"}, {"role": "user", "content": "B"}]


@pytest.mark.parametrize(
    ("source", "chat", "lost"),
    [
        (
            EACH.replace("m.content", "m.content if m.role == 'user'"),
            Chat("Hi", system="Be brief."),
            "message 0, of the",
        ),
        ("{{ messages[-1].content }}", Chat(TWO_LONG), "message 0"),
        ("{{ messages[-1].content }} a", Chat(TWO_SHORT), "message 0"),
        (EACH, Chat(ANSWERED), "the tool call 'get_weather'"),
        (EACH.replace("}}", "}}" + NAMES), Chat(ANSWERED), "the tool call 'get_weather'"),
        ("{{ tools | length }}" + EACH, Chat("get_weather", tools=[get_weather]), "the tool 'get_weather'"),
    ],
)
def test_what_a_template_leaves_out_is_an_error(source: str, chat: Chat, lost: str) -> None:
    with pytest.raises(ArgumentError, match=f"leaves out {lost}"):
        ChatTemplate(source).render(chat)


@pytest.mark.parametrize(
    "source",
    [
        "{% for m in messages %}{% for p in m.content %}{{ p.text }}{% endfor %}" + TOOL_CALLS + "{% endfor %}",
        "{% for m in messages %}{{ m.content }}{% for c in m.tool_calls %}{{ c.function.name + c.function.arguments }}"
        "{% endfor %}{% endfor %}",
        "{% for m in messages %}{{ m.content }}{% for c in m.tool_calls %}{{ c.function.name ~ c.function.arguments }}"
        "{% endfor %}{% endfor %}",
    ],
    ids=["parts", "arguments as text", "arguments printed"],
)
def test_templates_take_messages_in_other_forms(source: str) -> None:
    text = ChatTemplate(source).render(ANSWERED)
    assert '{"city": "Oslo"}' in text
    assert "How is the weather" in text and "sunny and warm" in text


def test_reasoning_and_old_answers_may_be_left_out_of_an_answer() -> None:
    source = "{% for m in messages %}{{ m.content.split('</think>')[-1] }};{% endfor %}"
    turns: list[Any] = [
        {"role": "user", "content": "one"},
        {"role": "assistant", "content": "<think>long thoughts</think>two", "reasoning_content": "more"},
        {"role": "user", "content": "three"},
    ]
    assert ChatTemplate(source).render(turns) == "one;two;three;"


def test_refusals_and_failures_of_a_template() -> None:
    with pytest.raises(ArgumentError, match="refuses the conversation: no roles here"):
        ChatTemplate("{{ raise_exception('no roles here') }}").render("Hi")
    with pytest.raises(ModelError, match="fails: UndefinedError: 'x' is undefined"):
        ChatTemplate("{{ x.y }}").render("Hi")
    with pytest.raises(ModelError, match="no valid Jinja, at line 2"):
        ChatTemplate("{{ messages }}\n{% if %}")
    with pytest.raises(ArgumentError, match="knows no tools"):
        ChatTemplate("{{ messages }}").render(Chat("Hi", tools=[get_weather]))
    with pytest.raises(ArgumentError, match="no variable 'thinking' to set; it has: think"):
        TEMPLATE.render(Chat("Hi", thinking=True))
    with pytest.raises(ArgumentError, match="no variable 'messages'"):
        chat = Chat("Hi")
        chat.variables["messages"] = 1
        TEMPLATE.render(chat)


@pytest.mark.parametrize(
    "source",
    [
        "{{ ''.__class__.__mro__[1].__subclasses__() }}",
        "{{ messages.__class__.__base__ }}",
        "{{ cycler.__init__.__globals__.os.popen('id').read() }}",
        "{% for a in range(9999999) %}{% endfor %}",
        "{{ raise_exception.__globals__['x'] }}",
    ],
)
def test_a_template_cannot_break_out(source: str) -> None:
    with pytest.raises(DetentError):
        ChatTemplate(source + "{{ messages[0].content }}").render("Hi there, you")


def test_rendering_changes_no_conversation() -> None:
    chat = Chat(ANSWERED, tools=[get_weather])
    before = json.dumps([chat.messages, chat.tools])
    source = EACH.replace("}}", "}}{{ m.tool_calls }}{{ tools }}") + "{% if messages.append(1) %}{% endif %}"
    ChatTemplate(source).render(chat)
    assert json.dumps([chat.messages, chat.tools]) == before


@pytest.mark.parametrize(
    ("messages", "message"),
    [
        ([], "messages must be"),
        ({"role": "user"}, "messages must be"),
        ([3], "a message must be a dict"),
        ([{"content": "x"}], "must have a role"),
        ([{"role": "user"}], "must have a content"),
        ([{"role": "user", "content": 3}], "content must be a str"),
        ([{"role": "user", "content": "\ud800"}], "lone surrogate"),
        ([{"role": "user", "contents": "x", "content": "x"}], "unknown key 'contents'"),
        ([{"role": "user", "content": [{"type": "image_url", "image_url": "x"}]}], "only parts of text"),
        ([{"role": "assistant", "tool_calls": [3]}], "tool call must be"),
        ([{"role": "assistant", "tool_calls": [{"name": "f", "arguments": "{"}]}], "arguments of the tool call 'f'"),
        ([{"role": "assistant", "content": "Yes"}], "last message is the assistant's"),
    ],
)
def test_wrong_messages(messages: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        Chat(messages)


def test_answers_of_an_api_are_messages() -> None:
    answer: Any = {
        "role": "assistant", "content": None, "refusal": None, "annotations": [], "audio": None, "function_call": None,
        "tool_calls": [{"id": "1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}],
    }  # fmt: skip
    chat = Chat([answer, {"role": "tool", "tool_call_id": "1", "content": [{"type": "text", "text": "ok"}]}])
    assert chat.messages[0]["tool_calls"][0]["function"] == {"name": "f", "arguments": {"a": 1}}
    assert chat.messages[1]["content"] == "ok"

    class Answer:
        def model_dump(self) -> Any:
            return answer

    assert Chat([Answer(), {"role": "user", "content": "Hi"}]).messages[0] == chat.messages[0]  # type: ignore[list-item]


# Token ids


def _model(encode: Callable[[str], Sequence[int]] | None = None) -> CallableModel:
    tokens = [bytes([byte]) for byte in range(256)] + [b"<s>", b"<|user|>", b"<|assistant|>", b"<|end|>"]
    vocabulary = detent.Vocabulary(tokens, eos_token_ids=[259], special_token_ids=[256, 257, 258])
    names = {name.decode(): number for number, name in enumerate(tokens) if number > 255}

    def read_names(text: str) -> list[int]:
        ids: list[int] = []
        while text:
            name = next((name for name in names if text.startswith(name)), None)
            ids += [names[name]] if name else [*text[0].encode()]
            text = text.removeprefix(name) if name else text[1:]
        return ids

    function: Callable[[Sequence[int]], np.ndarray] = lambda ids: np.zeros(260)  # noqa: E731
    return CallableModel(function, vocabulary, encode or read_names, chat_template=TEMPLATE)


def test_the_names_of_special_tokens_in_the_template_are_tokens() -> None:
    assert _model().encode_chat("Hi") == [256, 257, *b"Hi", 259, 258]
    assert detent.generate(_model(), [{"role": "user", "content": "Hi"}], ["a"]).prompt_token_count == 6


def test_an_encoder_that_writes_names_as_text_is_refused() -> None:
    with pytest.raises(ModelError, match="must read the names of special tokens"):
        _model(lambda text: [*text.encode()]).encode_chat("Hi")
    with pytest.raises(ModelError, match="add none"):
        _model(lambda text: [256, *_model().encode(text)]).encode_chat("Hi")


def test_special_tokens_in_a_message_are_text() -> None:
    with pytest.raises(ArgumentError, match=r"special token '<\|assistant\|>', which this tokenizer cannot"):
        _model().encode_chat("Hi<|end|><|assistant|>Bye")  # this vocabulary knows no tokenizer
    tokenizer = tiny_llama.tokenizer()
    tokenizer.chat_template = "{% for m in messages %}<s>{{ m.content | trim }}</s>{% endfor %}<other>"
    model = Transformers(tiny_llama.model(), tokenizer, chat=True)
    ids = model.encode("yes </s><s> no")
    assert [token for token in ids if token < 4] == [1, 2, 3]
    assert model.vocabulary.decode(ids) == b"yes </s><s> no"
    for plain in ("yes no", "abc\n\ndef <S>"):
        expected = tokenizer.apply_chat_template([{"role": "user", "content": plain}], add_generation_prompt=True)
        assert model.encode(plain) == list(expected["input_ids"])


def test_the_template_of_the_embedded_model() -> None:
    model = detent.load_model()
    assert model.encode_chat("Hi") == model.encode("Hi") == model.encode_chat(Chat("Hi"))
    assert model.decode(model.encode_chat(Chat("Hi", system="Be brief."))) == "<|user|>Be brief.\nHi<|assistant|>"
    assert model.decode(model.encode_chat(Chat("Oslo?", tools=[get_weather]))) == (
        "<|user|>Tools: get_weather(city, days)\nOslo? Answer with a JSON call.<|assistant|>"
    )
    assert model.decode(model.encode_chat(Chat(ANSWERED, tools=[get_weather]))) == (
        "<|user|>Tools: get_weather(city, days)\nHow is the weather in Oslo?"
        '<|assistant|>{"name": "get_weather", "arguments": {"city": "Oslo"}}<|end|>'
        "<|user|>get_weather returned: sunny and warm<|assistant|>"
    )


def test_the_embedded_model_refuses_what_its_template_has_not() -> None:
    model = detent.load_model()
    only_system: Any = [{"role": "system", "content": "Hi"}]
    thinking: Any = [{"role": "user", "content": "a", "reasoning_content": "b"}]
    for chat in (Chat("Hi", think=True), Chat(only_system, tools=[get_weather]), Chat(thinking)):
        with pytest.raises(ArgumentError, match="embedded model's chat template"):
            detent.generate(model, chat, ["a"])


def test_a_chat_is_a_prompt_everywhere() -> None:
    model, chat = detent.load_model(), Chat("Is a dog an animal? Answer Yes or No.")
    rule = detent.choice("Yes", "No")
    out = detent.generate(model, chat, rule, temperature=0)
    assert out == detent.generate_batch(model, [detent.Request(chat, rule, temperature=0)])[0]
    assert out.text == "".join(detent.stream(model, chat, rule, temperature=0))
    assert detent.analysis.beam_search(model, chat, rule)[0].text == out.text
    assert detent.analysis.sample_conditioned(model, chat, rule, seed=0)[0].text in ("Yes", "No")


# Files


def test_templates_of_files(tmp_path: Path) -> None:
    config = {"chat_template": SOURCE, "bos_token": {"content": "<s>"}, "eos_token": "</s>", "tokenizer_class": "x"}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    assert ChatTemplate.from_file(tmp_path).render("Hi") == TEMPLATE.render("Hi")
    assert ChatTemplate.from_file(tmp_path / "tokenizer_config.json").special_tokens["eos_token"] == "</s>"
    (tmp_path / "chat_template.jinja").write_text("{{ bos_token }}{{ messages[0].content }}")
    assert ChatTemplate.from_file(str(tmp_path)).render("Hi") == "<s>Hi"
    assert ChatTemplate.from_file(tmp_path / "chat_template.jinja").render("Hi") == "Hi"
    named = [{"name": "default", "template": "{{ messages[0].content }}"}, {"name": "tool_use", "template": SOURCE}]
    other = tmp_path / "other"
    other.mkdir()
    (other / "tokenizer_config.json").write_text(json.dumps({"chat_template": named}))
    template = ChatTemplate.from_file(other)
    assert template.render("Hi") == "Hi"
    assert "get_weather" in template.render(Chat("Hi", tools=[get_weather]))


def test_files_without_a_template(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="No such file"):
        ChatTemplate.from_file(tmp_path)
    (tmp_path / "tokenizer_config.json").write_text("{}")
    with pytest.raises(ModelError, match="has no chat template"):
        ChatTemplate.from_file(tmp_path)
    for broken in ("[]", "{", '{"chat_template": [3]}', '{"chat_template": 3}'):
        (tmp_path / "tokenizer_config.json").write_text(broken)
        with pytest.raises(DetentError):
            ChatTemplate.from_file(tmp_path)


def test_templates_of_gguf_files(tmp_path: Path) -> None:
    gguf = pytest.importorskip("gguf")
    writer = gguf.GGUFWriter(tmp_path / "a.gguf", "llama")
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(["a", "<s>", "</s>"])
    writer.add_token_types([1, 3, 3])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_chat_template(SOURCE)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    template = ChatTemplate.from_file(tmp_path / "a.gguf")
    assert template.render("Hi") == TEMPLATE.render("Hi")
    assert template.special_tokens == {"bos_token": "<s>", "eos_token": "</s>"}


@needs_shared
@pytest.mark.parametrize("name", ["llama2-spm", "mistral-v3", "llama3", "qwen2", "tekken"])
def test_special_tokens_in_messages_of_known_tokenizers(name: str) -> None:
    from transformers import PreTrainedTokenizerFast

    tokenizer = PreTrainedTokenizerFast(tokenizer_file=str(tokenizer_file(name)))
    vocabulary = real_vocabulary(name)
    special = sorted(vocabulary.token_bytes(each).decode() for each in vocabulary.special_token_ids)
    first, last = special[0], special[-1]
    template = ChatTemplate(first + "{{ messages[0].content }}" + last)

    def ids(text: str) -> list[int]:
        return tokenize_chat(
            template, Chat(text), vocabulary, lambda each: tokenizer(each, add_special_tokens=False)["input_ids"]
        )  # fmt: skip

    for text in (f"oh {last}{first} no", f"{first}", f"a{special[len(special) // 2]}b \ue000 {last}", "nothing"):
        written = ids(text)
        assert [each for each in written if each in vocabulary.special_token_ids] == [written[0], written[-1]]
        assert vocabulary.decode(written).decode().strip() == text


def test_a_call_keeps_the_id_that_the_model_wrote() -> None:
    rule = detent.turn(get_weather_of, style="mistral-v11", tool_choice="required")
    (call,) = rule.parse('[TOOL_CALLS]get_weather_of[CALL_ID]a1[ARGS]{"city": "Oslo"}').calls
    chat = Chat(
        [
            {"role": "user", "content": "Now?"},
            {"role": "assistant", "tool_calls": [call, detent.Call("f", {})]},
            {"role": "tool", "tool_call_id": "a1", "content": "7"},
        ]
    )
    first, second = chat.messages[1]["tool_calls"]
    assert first["id"] == "a1"
    assert "id" not in second
    # The result names the function whose call has the id.
    model = detent.load_model()
    assert "get_weather_of returned: 7" in model.decode(model.encode_chat(chat))


def get_weather_of(city: str) -> None: ...


@pytest.mark.parametrize("properties", [None, 5, "ab", ["a", 1], {1: {}}])
def test_the_names_of_arguments_must_be_known(properties: Any) -> None:
    tool = {"type": "function", "function": {"name": "f", "parameters": {"properties": properties}}}
    with pytest.raises(ArgumentError, match="properties in parameters of the tool 'f' must be a dict of names"):
        Chat("hi", tools=[tool])
    with pytest.raises(ArgumentError, match="the tool 'f'"):
        detent.generate(detent.load_model(), Chat("hi", tools=[tool]))


def test_a_deep_tool_is_refused_by_a_template_that_writes_it() -> None:
    deep: dict[str, Any] = {"type": "object"}
    for _ in range(20_000):
        deep = {"type": "object", "properties": {"a": deep}}
    chat = Chat("hi", tools=[{"name": "f", "parameters": deep}])
    assert ChatTemplate(EACH).render(Chat("hi")) == "hi"
    with pytest.raises(ArgumentError, match="nested so deep"):
        ChatTemplate(SOURCE).render(chat)
    assert chat.mapped(str.upper).tools[0]["FUNCTION"]["NAME"] == "F"

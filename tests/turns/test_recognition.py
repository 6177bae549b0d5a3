"""Styles are recognised from the calls that chat templates write."""

from __future__ import annotations

from typing import Any

import pytest

import detent
from detent.models.chat_template import ChatTemplate
from detent.turns import STYLES
from detent.turns.recognition import reads_call, recognise_style
from tests.support.rendered_turns import TOOLS, TURNS, RenderedTurn


@pytest.mark.parametrize("turn", [turn for turn in TURNS if turn.case == "one call"], ids=str)
def test_the_style_of_a_template_is_among_those_that_read_its_call(turn: RenderedTurn) -> None:
    [(name, arguments)] = turn.calls
    call = detent.Call(name, arguments)
    found = [style for style in STYLES.values() if reads_call(style, turn.text, TOOLS, call)]
    own = STYLES[turn.style]
    assert own in found
    # The others write a call in the same way, but for white space and optional parts.
    assert {style.arguments for style in found} == {own.arguments}
    assert len(found) <= 6


CHATML = (
    "{% if tools %}<|im_start|>system\n{% for t in tools %}{{ t | tojson }}\n{% endfor %}<|im_end|>\n{% endif %}"
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}"
    '{% for c in m.tool_calls or [] %}<tool_call>\n{"name": "{{ c.function.name }}", "arguments": '
    "{{ c.function.arguments | tojson }}}\n</tool_call>{% endfor %}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


@pytest.mark.parametrize(
    ("tokens", "names"),
    [
        ({"<think>", "</think>", "<|im_end|>"}, {"qwen3"}),
        ({"<|im_end|>"}, {"hermes", "qwen2.5"}),
    ],
)
def test_styles_that_write_the_same_call_are_told_apart_by_their_tokens(tokens: set[str], names: set[str]) -> None:
    template = ChatTemplate(CHATML)

    def render(messages: Any, tools: Any) -> str:
        return template.render(detent.Chat(messages, tools=tools))

    assert recognise_style(render, tokens.__contains__) in names


def test_what_is_not_recognised() -> None:
    template = ChatTemplate(CHATML.replace("<tool_call>", "<do>").replace("</tool_call>", "</do>"))

    def render(messages: Any, tools: Any) -> str:
        return template.render(detent.Chat(messages, tools=tools))

    assert recognise_style(render, lambda _: True) is None
    without_tools = ChatTemplate("{% for m in messages %}{{ m.content }}{% endfor %}")
    assert recognise_style(lambda m, t: without_tools.render(detent.Chat(m, tools=t)), lambda _: True) is None


def test_a_prompt_that_opens_thinking_begins_as_the_call_does() -> None:
    # The conversations differ inside of `<think>` and `<tool_call>`, after `<t`.
    template = ChatTemplate(
        CHATML.replace("<|im_start|>assistant\n{% endif %}", "<|im_start|>assistant\n<think>\n{% endif %}")
    )

    def render(messages: Any, tools: Any) -> str:
        return template.render(detent.Chat(messages, tools=tools))

    assert recognise_style(render, {"<think>", "</think>", "<|im_end|>"}.__contains__) == "qwen3"

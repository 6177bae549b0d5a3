"""Styles of model families: the turns that chat templates render, calls of every style read again, styles of users."""

from __future__ import annotations

import dataclasses
import functools
import re
from pathlib import Path
from random import Random
from typing import Any

import jsonschema
import numpy as np
import pytest

import detent
from detent import ArgumentError
from detent.turns import STYLES, ArgumentsDelta, CallFinished, Style
from tests.support.rendered_turns import CASES, TOOLS, TURNS, RenderedTurn
from tests.support.turns import render

_STRINGS = [
    "plain",
    "it's",
    'say "hi"',
    "a\\b",
    "line\nfeed",
    "<b>",
    "True",
    "null",
    "42",
    "[1]",
    "{}",
    "é東😀",
    "",
    " ",
]
_TEXT = {"enum": [*_STRINGS, "</", "<|", "x=1)", "}", "]", ",", "\n", "a: b", "functions."]}
_NASTY_TOOLS: list[dict[str, Any]] = [
    {
        "name": "search",
        "parameters": {
            "type": "object",
            "properties": {
                "either": {"anyOf": [_TEXT, {"type": ["integer", "boolean", "null"]}]},
                "exact": {"type": "boolean"},
                "filter": {
                    "type": "object",
                    "properties": {"tags": {"type": "array", "items": _TEXT}, "more": {"enum": [None, 7, -0.5]}},
                    "required": ["tags"],
                    "additionalProperties": False,
                },
                "query": _TEXT,
            },
            "required": ["query"],
        },
    },
    {"name": "search_all", "parameters": {"type": "object", "properties": {}}},
]


@functools.cache
def _rule(style: str, is_open: bool) -> detent.Language:
    return detent.turn(TOOLS, style=style, thinking="open" if is_open else None)


@pytest.mark.parametrize("turn", TURNS, ids=str)
def test_a_rendered_turn_is_read(turn: RenderedTurn) -> None:
    found = _rule(turn.style, turn.is_open).parse(turn.text)
    case = CASES[turn.case]
    assert [(call.name, call.arguments) for call in found.calls] == turn.calls
    # Some templates leave out the thinking, or the text before calls.
    for part in ("thinking", "text"):
        if part in case and case[part] in turn.text:
            assert getattr(found, part) == case[part]
        else:
            assert not getattr(found, part)


def test_the_documentation_lists_all_styles() -> None:
    page = (Path(__file__).parents[2] / "docs" / "turn-styles.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `([^`]+)` \|", page, re.MULTILINE) == list(STYLES)


def test_all_families_but_a_few_have_a_rendered_turn() -> None:
    # No template that writes calls is published for these, or it writes strings without quotes (llama3-pythonic) or
    # JSON over several lines (granite3); see the examples below.
    assert set(STYLES) - {turn.style for turn in TURNS} == {
        "detent",
        "ernie4.5",
        "granite3",
        "llama3-pythonic",
        "longcat",
        "longcat-lite",
        "openai",
    }


_WEATHER = {
    "name": "get_weather",
    "parameters": {"properties": {"city": {"type": "string"}, "metric": {"type": "string"}}, "required": ["city"]},
}
_CALLS = [
    f'{{"name": "get_weather", "arguments": {{"city": "{city}", "metric": "celsius"}}}}' for city in ("Oslo", "Rome")
]


@pytest.mark.parametrize(
    ("style", "text"),
    [
        # https://github.com/vllm-project/vllm tests/tool_parsers/test_ernie45_moe_tool_parser.py
        (
            "ernie4.5",
            "Two.\n</think>\n\n<tool_call>\n{}\n</tool_call>\n<tool_call>\n{}\n</tool_call>\n".format(*_CALLS),
        ),
        # https://github.com/vllm-project/vllm, the parser ernie45 in Rust: what the template renders
        (
            "ernie4.5",
            "Two.\n</think>\n<response>\nI call.\n</response>\n\n\n<tool_call>\n{}\n</tool_call>\n\n\n"
            "<tool_call>\n{}\n</tool_call>\n".format(*_CALLS),
        ),
        # https://github.com/vllm-project/vllm tests/tool_parsers/test_granite_tool_parser.py
        ("granite3", "<|tool_call|>[{}, {}]".format(*_CALLS)),
        # https://github.com/meta-llama/llama-models models/llama3_2/text_prompt_format.md
        (
            "llama3-pythonic",
            "[get_weather(city='Oslo', metric='celsius'), get_weather(city='Rome', metric='celsius')]",
        ),
        # meituan-longcat/LongCat-Flash-Chat: README.md
        (
            "longcat",
            "<longcat_tool_call>\n{}\n</longcat_tool_call><longcat_tool_call>\n{}\n</longcat_tool_call>".format(
                *_CALLS
            ),
        ),
        # https://github.com/ml-explore/mlx-lm mlx_lm/tool_parsers/longcat.py
        (
            "longcat-lite",
            "".join(
                "<longcat_tool_call>get_weather\n<longcat_arg_key>city</longcat_arg_key>\n"
                f"<longcat_arg_value>{city}</longcat_arg_value>\n<longcat_arg_key>metric</longcat_arg_key>\n"
                "<longcat_arg_value>celsius</longcat_arg_value>\n</longcat_tool_call>"
                for city in ("Oslo", "Rome")
            ),
        ),
    ],
)
def test_notations_of_published_examples(style: str, text: str) -> None:
    rule = detent.turn(_WEATHER, style=style, thinking="open" if "</think>" in text else None)
    found = rule.parse(text)
    assert found.calls == (
        *(detent.Call("get_weather", {"city": city, "metric": "celsius"}) for city in ("Oslo", "Rome")),
    )
    assert found.thinking == ("Two." if "</think>" in text else None)
    assert found.text == ("I call." if "<response>" in text else None)


def test_words_of_json_in_keyword_arguments() -> None:
    def search(exact: bool, limit: int | None, tags: list[bool]) -> None: ...

    text = "<function_calls>\nsearch(exact=%s, limit=%s, tags=[%s, %s])\n</function_calls>"
    rule = detent.turn(search, style="olmo3", tool_choice="required")
    for words in (("true", "null", "false", "true"), ("True", "None", "False", "true")):
        [call] = rule.parse(text % words).calls
        assert call.arguments == {"exact": True, "limit": None, "tags": [False, True]}
    strict = detent.turn(search, style="llama3-pythonic")
    assert strict.parse("[search(exact=True, limit=None, tags=[False])]").calls
    assert not strict.accepts("[search(exact=true, limit=None, tags=[False])]")


def test_free_text_without_a_trigger_has_no_special_tokens() -> None:
    # A tag inside of a character was allowed where the beginning of calls has optional tags.
    style = STYLES["llama4-pythonic"]
    vocabulary = detent.Vocabulary(
        [*(bytes([byte]) for byte in range(256)), *map(str.encode, style.tags), b"<|eot|>"],
        eos_token_ids=[256 + len(style.tags)],
        special_token_ids=range(256, 257 + len(style.tags)),
    )
    matcher = detent.compile(detent.turn(TOOLS, style=style), vocabulary).matcher()
    assert 256 in matcher.allowed()  # <|python_start|>
    for byte in b"to\xc3":
        matcher.advance(byte)
        special = set(matcher.allowed().tolist()) & set(range(256, 256 + len(style.tags)))
        assert not special
    assert matcher.allowed().tolist() == list(range(0x80, 0xC0))


def _in_letters(style: Style) -> Style:
    """Return the style without special tokens, whose texts are what a tokenizer shows."""
    tags = (style.quote,) if style.quote else ()
    return dataclasses.replace(style, tags=tags, thinking=None, end_of_calls="", end_of_text="")


@pytest.mark.parametrize("name", STYLES)
def test_calls_of_a_style_are_read_again(name: str) -> None:
    check_random_calls(name, 4)


@pytest.mark.soak
@pytest.mark.parametrize("name", STYLES)
def test_many_calls_of_a_style_are_read_again(name: str) -> None:
    check_random_calls(name, 400)


def check_random_calls(name: str, count: int) -> None:
    """Read random texts of a style's language, check the arguments by jsonschema, and read the calls written anew."""
    style = STYLES[name]
    most = 3 if style.parallel else 1
    options: dict[str, Any] = {"tool_choice": "required", "max_calls": most, "text": False}
    written = detent.turn(_NASTY_TOOLS, style=_in_letters(style), **options)
    rule = detent.turn(_NASTY_TOOLS, style=name, thinking="none", **options)
    schemas = {tool["name"]: tool["parameters"] for tool in _NASTY_TOOLS}
    for seed in range(count):
        rng = Random(seed)
        found = rule.parse(written.sample(rng, max_bytes=500).decode())
        assert 1 <= len(found.calls) <= most
        for call in found.calls:
            jsonschema.validate(call.arguments, schemas[call.name])
        if not _is_ambiguous(style, found):
            assert rule.parse(render(rng, style, found)) == found


def _is_ambiguous(style: Style, turn: detent.Turn) -> bool:
    """Whether an argument without quotes is a string that could be another value, which it then is."""
    either = [call.arguments.get("either") for call in turn.calls]
    return style.arguments == "xml" and any(
        isinstance(value, str) and value in ("True", "null", "42") for value in either
    )


def test_a_closing_tag_in_a_json_value_does_not_end_it() -> None:
    tool = {"name": "f", "parameters": {"properties": {"a": {"type": "array", "items": {"type": "string"}}}}}
    text = '<tool_call>f<arg_key>a</arg_key><arg_value>["</arg_value>", "x"]</arg_value></tool_call>'
    rule = detent.turn(tool, style="glm4.7")
    assert rule.parse(text).calls[0].arguments == {"a": ["</arg_value>", "x"]}
    parser = rule.parser()
    events = [event for character in text for event in parser.feed(character)]
    assert [event.call for event in events if isinstance(event, CallFinished)] == list(rule.parse(text).calls)


def test_a_raw_text_is_held_back_while_it_may_be_another_value() -> None:
    tool = {"name": "f", "parameters": {"properties": {"a": {"type": ["string", "boolean"]}}, "required": ["a"]}}
    parser = detent.turn(tool, style="qwen3-coder").parser()
    values = []
    for piece in ("<tool_call>\n<function=f>\n<parameter=a>\n", "Tr", "ue", " story"):
        values += [event.value for event in parser.feed(piece) if isinstance(event, ArgumentsDelta)]
    assert values[-1] == {"a": "True story"}
    assert all(value in ({}, None, {"a": "True story"}) for value in values)


def test_optional_parts_and_variants_of_a_call() -> None:
    style = Style(
        name="mine",
        call='<call>{name}{? id="{id}"?} {arguments}</call>',
        call_variants=("run {name} with {arguments};",),
        tags=("<call>", "</call>"),
        preamble=None,
    )
    rule = detent.turn(_NASTY_TOOLS[1], style=style, tool_choice="required")
    for text in ("<call>search_all {}</call>", '<call>search_all id="a1" {}</call>', "run search_all with {};"):
        assert rule.parse(text).calls == (detent.Call("search_all", {}),)
    assert not rule.accepts("<call>search_all id= {}</call>")
    assert rule.parse("run search_all with {};<call>search_all {}</call>").calls == (detent.Call("search_all", {}),) * 2


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"call": "{name}"}, "0 slots {arguments}"),
        ({"call": "{arguments}{name}"}, "write {name} first"),
        ({"call": "{name}{arguments}", "call_variants": ("{name}",)}, "0 slots {arguments}"),
        ({"call": "{name}{arguments}", "arguments": "yaml"}, "'json', 'python', 'keywords', 'xml', 'bare'"),
        ({"call": "{name}{arguments}", "arguments": "xml"}, "0 slots {key}"),
        ({"call": "{name}{arguments}", "arguments": "bare"}, "needs a quote"),
        ({"call": "{name}{arguments}", "quote": "<q>"}, "needs a quote"),
        ({"call": "{name}{arguments}", "parameter": "{key}{value}"}, "leave it out"),
        ({"call": "{name}{arguments}", "tags": ("<x>",)}, "in no template"),
    ],
)
def test_errors_of_a_style(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=re.escape(message)):
        Style(name="mine", **fields)


def test_members_of_bare_objects_are_in_alphabetical_order() -> None:
    def search(query: str, exact: bool) -> None: ...

    rule = detent.turn(search, style="gemma4", tool_choice="required")
    call = "<|tool_call>call:search{%s}<tool_call|>"
    assert rule.accepts(call % 'exact:true,query:<|"|>x<|"|>')
    assert not rule.accepts(call % 'query:<|"|>x<|"|>,exact:true')


def test_generation_reads_calls_from_special_tokens() -> None:
    def now() -> None: ...

    letters = [bytes([byte]) for byte in range(256)]
    tokens = [*letters, b"[TOOL_CALLS]", b"[ARGS]", b"</s>"]
    vocabulary = detent.Vocabulary(tokens, eos_token_ids=[258], special_token_ids=[256, 257])
    logits = np.zeros(len(tokens), dtype=np.float32)
    logits[258] = 1
    model = detent.models.CallableModel(lambda ids: logits, vocabulary)
    rules: list[detent.Language[Any]] = [
        detent.calls(now, style="mistral-v13"),
        detent.turn(now, style="mistral-v13", tool_choice="required"),
    ]
    for rule in rules:
        out = detent.generate(model, [65], rule, max_tokens=40, temperature=0)
        calls = out.value if isinstance(out.value, list) else list(out.value.calls)
        assert calls == [detent.Call("now", {})]
        assert "[TOOL_CALLS]" not in out.text


def test_misspelt_options_of_turns_are_named() -> None:
    with pytest.raises(TypeError, match=r"turn\(\) got .*'stlye'; did you mean 'style'"):
        detent.turn(stlye="qwen3")  # type: ignore[call-arg]

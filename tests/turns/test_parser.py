"""Parsers: the events of a text are those of the turn that was written, however the text is cut."""

import dataclasses
import itertools
import pickle
import sys
from random import Random
from typing import Any

import numpy as np
import pytest

import detent
from detent import Call
from detent.sources.calls.function import read_functions
from detent.turns import (
    STYLES,
    AnswerDelta,
    AnswerFinished,
    ArgumentsDelta,
    CallFinished,
    CallId,
    TextDelta,
    ThinkingDelta,
    TurnFinished,
)
from detent.turns.arguments import notation_of
from tests.support.turns import (
    TOOLS,
    chunks,
    collect,
    marked,
    random_arguments,
    random_turn,
    render,
    tokens_of,
    vocabulary_of,
    write_arguments,
)

CUTS = 60


def check_chunkings(name: str, count: int, seed: int) -> None:
    """Write random turns with the plainest renderer, and compare each with the events of its text in pieces.

    The pieces are bytes, or token ids of a vocabulary in which tags are special tokens, or of one without.
    """
    rng, style = Random(f"{name} {seed}"), STYLES[name]
    written, tag_of = marked(style)
    rule = detent.turn(TOOLS, style=style)
    done = 0
    while done < count:
        turn = random_turn(rng, style)
        text = render(rng, written, turn)
        data = "".join(tag_of.get(character, character) for character in text).encode()
        assert rule.parse(data) == turn
        for _ in range(2):
            check_pieces(rule.parser(), chunks(rng, data), turn)
        for with_special in (False, True):
            vocabulary = vocabulary_of(style, with_special)
            ids = tokens_of(rng, text, tag_of, vocabulary)
            check_pieces(rule.parser(vocabulary), chunks(rng, ids), turn)
        done += 4


def check_pieces(parser: detent.turns.Parser, pieces: list[Any], turn: detent.Turn) -> None:
    events = [event for piece in pieces for event in parser.feed(piece)]
    streamed, last = collect([*events, *parser.finish()])
    assert last is not None and last.reason == "complete", pieces
    assert streamed == turn == last.turn, pieces


@pytest.mark.parametrize("name", STYLES)
def test_events_of_all_chunkings_are_the_turn(name):
    check_chunkings(name, CUTS, 0)


@pytest.mark.soak
@pytest.mark.parametrize("name", STYLES)
@pytest.mark.parametrize("seed", range(1, 21))  # the first seeds of all styles come first
def test_events_of_100_000_chunkings_are_the_turn(name, seed):
    check_chunkings(name, 5_000, seed)


@pytest.mark.parametrize("name", STYLES)
def test_each_byte_of_a_turn_may_end_the_text(name):
    # A text that ends early has the events of its beginning, and its last event says that it is incomplete; or it is a
    # turn itself.
    rng, style = Random(name), STYLES[name]
    rule = detent.turn(TOOLS, style=style)
    data = render(rng, style, random_turn(rng, style)).encode()
    whole = rule.parser()
    whole.feed(data)
    for end in range(len(data)):
        parser = rule.parser()
        turn, last = collect(parser.feed(data[:end]) + parser.finish())
        assert last is not None
        assert (last.reason == "complete") == rule.accepts(data[:end])
        if last.reason == "incomplete":
            assert last.mismatch is not None and last.mismatch.expected
            assert (whole.turn.thinking or "").startswith(turn.thinking or "")


@pytest.mark.parametrize("name", STYLES)
def test_text_that_leaves_the_rule(name):
    # The position is where no text of the rule goes on: found by brute force over beginnings.
    rng, style = Random(name), STYLES[name]
    rule = detent.turn(TOOLS, style=style, tool_choice="required")
    dfa = rule._dfa()
    left = 0
    for _ in range(20):
        turn = random_turn(rng, style)
        data = bytearray(render(rng, style, turn).encode() or b"?")
        data[rng.randrange(len(data))] = rng.randrange(256)
        expected, _ = dfa.longest_prefix(bytes(data))
        parser = rule.parser()
        events = [event for piece in chunks(rng, bytes(data)) for event in parser.feed(piece)]
        if expected == len(data):
            continue
        left += 1
        last = events[-1]
        assert isinstance(last, TurnFinished) and last.reason == "mismatch"
        assert last.position == expected
        assert last.mismatch is not None and last.mismatch.expected
        assert last.turn.calls == turn.calls[: len(last.turn.calls)] or expected < len(data)
        assert parser.feed(b"more") == [] and parser.finish() == []
    assert left


def test_mismatch_names_the_part_and_keeps_what_was_valid():
    rule = detent.turn(TOOLS, style="qwen3")
    parser = rule.parser()
    text = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo", "days": "two"}}'
    *_, last = parser.feed("<think>Now</think>" + text)
    assert last.turn == detent.Turn(thinking="Now")
    assert last.position == len("<think>Now</think>" + text) - len('"two"}}')
    assert "the arguments of 'get_weather'" in str(last.mismatch)
    [named] = detent.turn(TOOLS, style="qwen3").parser().feed('<tool_call>\n{"name": "get_wether"')
    assert named.mismatch.part == "the name of a call"
    assert "[1-9]" in last.mismatch.expected


def test_beginning_of_a_tag_is_held_back_exactly():
    parser = detent.turn(TOOLS, style="qwen3", thinking="none").parser()
    assert parser.feed("a <tool") == [TextDelta("a ")]
    assert parser.feed("s") == [TextDelta("<tools")]
    assert parser.feed("\n") == []  # the line feed before a call belongs to the call
    assert parser.feed("<tool_call") == []
    assert parser.feed("!") == [TextDelta("\n<tool_call!")]


def test_bytes_inside_a_character_wait():
    parser = detent.turn(style="qwen3").parser()
    first, second = "é".encode()[:1], "é".encode()[1:]
    assert parser.feed(first) == []
    assert parser.feed(second) == [TextDelta("é")]


def test_answer_of_any_rule():
    parser = detent.json_schema({"type": "array"}).parser()
    assert parser.feed('[1, "a') == [AnswerDelta('[1, "a', [1, "a"])]
    assert parser.feed('"]') == [AnswerDelta('"]', [1, "a"]), AnswerFinished([1, "a"])]
    assert parser.finish() == [TurnFinished("complete", detent.Turn(answer=[1, "a"]))]
    number = detent.integer().parser()
    assert number.feed("12") == [AnswerDelta("12", None)]
    assert number.finish()[0] == AnswerFinished(12)


def test_turn_with_an_answer():
    rule = detent.turn(TOOLS, style="qwen3", answer=detent.integer())
    assert rule.parse("<think>6 times 7</think>42") == detent.Turn(thinking="6 times 7", answer=42)
    assert rule.parse('<tool_call>\n{"name": "now", "arguments": {}}\n</tool_call>').calls == (detent.Call("now", {}),)
    assert not rule.accepts("forty-two")


def test_combined_rules_restrict_the_events():
    rule = detent.turn(TOOLS, style="qwen3") & detent.without("damn")
    parser = rule.parser()
    assert parser.feed("<think>well, ") == [ThinkingDelta("well, ")]
    *events, last = parser.feed("damn it")
    assert events == [ThinkingDelta("dam")]
    assert last.reason == "mismatch" and last.position == len("<think>well, dam")
    call = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "damn"}}\n</tool_call>'
    assert not rule.accepts(call)
    assert rule.parse(call.replace("damn", "Rome")).calls[0].arguments == {"city": "Rome"}


def test_choice_of_tools_and_numbers_of_calls():
    now = '<tool_call>\n{"name": "now", "arguments": {}}\n</tool_call>'

    def rule(**options):
        return detent.turn(TOOLS, style="qwen3", **options)

    assert rule(tool_choice="none").accepts("Hi") and not rule(tool_choice="none").accepts(now)
    assert not rule(tool_choice="required").accepts("Hi") and rule(tool_choice="required").accepts(f"Hi\n{now}")
    assert not rule(tool_choice="get_weather").accepts(now) and rule(tool_choice="now").accepts(now)
    assert not rule(max_calls=1).accepts(f"{now}\n{now}") and rule(max_calls=2).accepts(f"{now}\n{now}")
    assert not rule(text=False).accepts(f"Hi{now}") and rule(text=False).accepts(now)
    assert not rule(thinking="required").accepts(now) and rule(thinking="open").accepts(f"So</think>{now}")
    assert not rule(thinking="none").accepts(f"<think>So</think>{now}")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"style": "no such"}, "there are [0-9]+ styles, such as 'hermes'"),
        ({"style": "qwen99"}, "did you mean 'qwen"),
        ({"style": "qwen3", "tool_choice": "sub"}, "the tools are get_weather"),
        ({"style": "qwen3", "tool_choice": "required", "tools": ()}, "needs tools"),
        ({"style": "qwen3", "tool_choice": "required", "answer": int}, "leaves no room for one"),
        ({"style": "qwen3", "tool_choice": "get_weather", "answer": int}, "leaves no room for one"),
        ({"style": "qwen3", "max_calls": 0}, "from 1 on"),
        ({"style": "qwen3", "tools": (), "text": False}, "neither calls nor text"),
        ({"style": "qwen3", "thinking": "always"}, "thinking must be"),
        ({"style": "qwen3", "thinking_tokens": 0}, "thinking_tokens must be"),
        ({"style": "qwen3", "thinking_tokens": 9, "thinking": "none"}, "needs a turn that thinks"),
    ],
)
def test_refused_options(options, message):
    tools = options.pop("tools", TOOLS)
    with pytest.raises(detent.ArgumentError, match=message):
        detent.turn(tools, **options)


def test_style_without_thinking():
    with pytest.raises(detent.UnsupportedError, match="no notation for thinking"):
        detent.turn(TOOLS, style="llama3-pythonic", thinking="required")


def test_feed_after_finish():
    parser = detent.turn(style="qwen3").parser()
    parser.finish()
    with pytest.raises(detent.errors.StateError, match="finished"):
        parser.feed("a")
    with pytest.raises(detent.ArgumentError, match=r"parser\(vocabulary\)"):
        detent.turn(style="qwen3").parser().feed([1])


def test_parsers_survive_pickling_of_their_rule():
    import pickle

    rule = detent.turn(TOOLS, style="gpt-oss")
    again = pickle.loads(pickle.dumps(rule))
    text = "<|channel|>final<|message|>Hi"
    assert again.parser().feed(text) == rule.parser().feed(text) == [TextDelta("Hi")]
    assert isinstance(CallFinished(0, detent.Call("f", {})), CallFinished)


def test_pieces_that_are_neither_text_nor_ids():
    rule = detent.turn(TOOLS, style="qwen3")
    vocabulary = vocabulary_of(STYLES["qwen3"], True)
    for piece in (None, 1.5, object()):
        with pytest.raises(detent.ArgumentError, match="token id or several"):
            rule.parser(vocabulary).feed(piece)
    for piece in (-1, [len(vocabulary)], ["a"], True, [[1]]):
        with pytest.raises(detent.errors.VocabularyError, match="token id"):
            rule.parser(vocabulary).feed(piece)
    for piece in ("hi", b"hi", bytearray(b"hi"), memoryview(b"hi"), np.array([104, 105]), range(104, 106), (104, 105)):
        assert rule.parser(vocabulary).feed(piece) == [TextDelta("hi")]
    assert rule.parser(vocabulary).feed(np.int64(104)) == [TextDelta("h")]


@pytest.mark.parametrize("data", [b"\xff", b"\xc0\x80", "\ud800", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xc3("])
def test_bytes_that_are_no_text(data):
    parser = detent.turn(TOOLS, style="qwen3").parser()
    *events, last = parser.feed("é") + parser.feed(data)
    assert events == [TextDelta("é")]
    assert last.reason == "mismatch" and 2 <= last.position <= 3
    assert last.mismatch.expected


def test_deep_and_long_values():
    tool = {"name": "f", "parameters": {"properties": {"x": {}}}}
    for style, before, after in [
        ("qwen3", '<tool_call>\n{"name": "f", "arguments": {"x": ', "}}\n</tool_call>"),
        ("qwen3-coder", "<tool_call>\n<function=f>\n<parameter=x>\n", "\n</parameter>\n</function>\n</tool_call>"),
        ("llama3-pythonic", "[f(x=", ")]"),
        ("gemma4", "<|tool_call>call:f{x:", "}<tool_call|>"),
    ]:
        for written in ("[" * 3000 + "]" * 3000, "1" * 6000):
            parser = detent.turn(tool, style=style).parser()
            events = [event for piece in (before, written, after) for event in parser.feed(piece)]
            [value] = [event.call.arguments["x"] for event in events if isinstance(event, CallFinished)]
            depth = 0
            while isinstance(value, list) and value:
                [value], depth = value, depth + 1
            assert depth == (2999 if written[0] == "[" else 0)
            assert parser.finish()[-1].reason == "complete"


def test_a_tool_whose_arguments_have_no_value_is_never_called():
    tools = [{"name": "f", "parameters": {"properties": {"a": False}, "required": ["a"]}}, *TOOLS]
    rule = detent.turn(tools, style="qwen3", thinking="none")
    text = '<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>'
    [last] = rule.parser().feed(text)
    assert last.reason == "mismatch" and last.position == text.index('f"')
    assert rule._dfa().longest_prefix(text.encode())[0] == last.position


def test_a_parser_of_a_combined_rule_does_not_compile_it_again():
    rule = detent.turn(TOOLS, style="qwen3") & detent.without("damn")
    vocabulary = vocabulary_of(STYLES["qwen3"], True)
    assert rule._machine(vocabulary) is rule._machine(vocabulary)
    assert rule._machine(vocabulary_of(STYLES["qwen3"], False)) is not rule._machine(vocabulary)
    assert rule.parser(vocabulary).feed(b"Well, damn")[-1].reason == "mismatch"


@pytest.mark.parametrize(
    ("style", "text", "ids"),
    [
        ("mistral-v11", "[TOOL_CALLS]now[CALL_ID]a1[ARGS]{}[TOOL_CALLS]now[CALL_ID]b2[ARGS]{}", ["a1", "b2"]),
        (
            "mistral-v3",
            '[TOOL_CALLS] [{"name": "now", "arguments": {}, "id": "a1"}, {"name": "now", "arguments": {}}]',
            ["a1", None],
        ),
        (
            "command-r7b",
            '<|START_ACTION|>[\n    {"tool_call_id": "7", "tool_name": "now", "parameters": {}}\n]<|END_ACTION|>',
            ["7"],
        ),
        ("qwen3", '<tool_call>\n{"name": "now", "arguments": {}}\n</tool_call>', [None]),
    ],
)
def test_ids_of_calls(style, text, ids):
    rule = detent.turn(TOOLS, style=style)
    assert [call.id for call in rule.parse(text).calls] == ids
    parser = rule.parser()
    events = [event for character in text for event in parser.feed(character)]
    assert [(event.index, event.id) for event in events if isinstance(event, CallId)] == [
        (index, written) for index, written in enumerate(ids) if written
    ]
    assert collect(events + parser.finish())[0].calls == tuple(detent.Call("now", {}) for _ in ids)


def test_the_events_of_free_text_are_characters_at_any_temperature() -> None:
    model = detent.load_model()
    for seed in range(40):
        events = detent.stream_turn(model, "Hi", temperature=1e9, max_tokens=3, seed=seed)
        text = "".join(event.text for event in events if isinstance(event, (TextDelta, AnswerDelta)))
        assert text == events.output.text
        assert "\ufffd" not in text


@pytest.mark.parametrize("style", ["qwen3", "qwen3-coder", "llama3-pythonic", "gemma4"])
def test_values_so_far_do_not_depend_on_the_order_in_which_they_are_read(style):
    rng = Random(style)
    rule = detent.turn(TOOLS, style=style, thinking="none", tool_choice="required")
    turn = detent.Turn(calls=(detent.Call("get_weather", {"city": "Oslo, é", "days": 12, "tags": ["a", "b"]}),))
    data = render(rng, STYLES[style], turn).encode()

    def events():
        parser = rule.parser()
        return [event for at in range(len(data)) for event in parser.feed(data[at : at + 1])]

    at_once = []
    parser = rule.parser()
    for at in range(len(data)):
        at_once += [event.value for event in parser.feed(data[at : at + 1]) if isinstance(event, ArgumentsDelta)]
    later = [event for event in events() if isinstance(event, ArgumentsDelta)]
    assert [event.value for event in reversed(later)] == at_once[::-1]
    assert at_once[-1] == turn.calls[0].arguments
    assert len(set(map(str, at_once))) > 3
    assert pickle.loads(pickle.dumps(events())) == events()
    assert dataclasses.replace(later[0], index=1).value == at_once[0]


def test_the_value_so_far_of_an_answer_begins_at_its_first_character():
    rule = detent.turn(style="qwen3", thinking="none", answer=detent.regex(r"\s*") + detent.json_value())
    parser = rule.parser()
    events = [event for piece in (" ", "\n", "[1,", " 2]") for event in parser.feed(piece)]
    values = [event.value for event in events if isinstance(event, AnswerDelta)]
    assert values == [None, None, [1], [1, 2]]


@pytest.mark.parametrize("style", ["qwen3", "qwen3-coder", "llama3-pythonic", "gemma4"])
def test_a_deep_call_costs_work_linear_in_its_depth(style):
    # The values so far of all bytes would cost the square of the depth. Calls are counted, since times vary.
    tool = {"name": "f", "parameters": {"properties": {"x": {}}, "required": ["x"]}}
    rule = detent.turn(tool, style=style, thinking="none", tool_choice="required")
    empty = render(Random(0), STYLES[style], detent.Turn(calls=(detent.Call("f", {"x": []}),)))
    counts = []
    for depth in (500, 2_000):
        text = empty.replace("[]", "[" * depth + "]" * depth)
        parser, calls = rule.parser(), itertools.count()
        sys.setprofile(lambda frame, event, argument, calls=calls: event.endswith("call") and next(calls))
        try:
            for character in text:
                parser.feed(character)
            assert parser.finish()[-1].reason == "complete"
        finally:
            sys.setprofile(None)
        counts.append(next(calls))
    assert counts[1] < 5 * counts[0]


@pytest.mark.parametrize(
    "name", ["llama3-pythonic", "olmo3", "qwen3-coder", "glm4.5", "deepseek-v3.2", "gemma4", "hermes"]
)
def test_values_so_far_are_those_of_the_text_at_once(name):
    style = STYLES[name]
    notation, [function, *_] = notation_of(style), read_functions(TOOLS)
    rng = Random(name)
    for _ in range(10):
        text = write_arguments(rng, style, Call("get_weather", random_arguments(rng, "get_weather")))
        growing = notation.partial(function)
        for end in range(1, len(text) + 1):
            growing.feed(text[end - 1 : end])
            at_once = notation.partial(function)
            at_once.feed(text[:end])
            assert growing.value == at_once.value, text[:end]

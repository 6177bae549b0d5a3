"""Misspelt names and wrong objects: messages name what was meant."""

from __future__ import annotations

import ast
import pickle
import re
from dataclasses import dataclass, fields
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest

import detent

_VOCABULARY = detent.Vocabulary([bytes([byte]) for byte in range(256)] + [b"</s>"], eos_token_ids=[256])


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("regx", "regex"),
        ("json_shema", "json_schema"),
        ("Vocabluary", "Vocabulary"),
        ("generate_bach", "generate_batch"),
    ],
)
def test_attributes_of_the_package(name: str, meant: str) -> None:
    with pytest.raises(AttributeError, match=f"did you mean '{meant}'"):
        getattr(detent, name)


def test_an_attribute_near_to_none() -> None:
    with pytest.raises(AttributeError, match=r"has no attribute 'qqqq'$"):
        detent.qqqq  # type: ignore[attr-defined]  # noqa: B018


@pytest.mark.parametrize(
    ("function", "arguments", "name", "meant"),
    [
        (detent.regex, ["a"], "flag", "flags"),
        (detent.choice, ["a"], "ignorecase", "ignore_case"),
        (detent.date, [], "min", "minimum"),
        (detent.join, [", ", "a"], "min", "minimum"),
        (detent.integer, [], "max", "maximum"),
        (detent.json_schema, [int], "white_space", "whitespace"),
        (detent.compile, [int], "vocab", "vocabulary"),
        (detent.compile, [int, _VOCABULARY], "canon", "canonical"),
        (detent.generate, [detent.load_model(), "Go"], "max_token", "max_tokens"),
        (detent.regex("a").repeat, [], "min", "minimum"),
        (detent.regex("a").sample, [], "sed", "seed"),
        (detent.Vocabulary, [[b"a"]], "eos_tokens", "eos_token_ids"),
        (detent.Limits, [], "memory", "memory_bytes"),
        (detent.Style, [], "nme", "name"),
    ],
)
def test_keyword_arguments(function: Any, arguments: list[Any], name: str, meant: str) -> None:
    with pytest.raises(TypeError, match=rf"unexpected keyword argument {name!r}; did you mean '{meant}'\?"):
        function(*arguments, **{name: 1})


def test_a_keyword_argument_near_to_none_lists_the_parameters() -> None:
    with pytest.raises(TypeError, match="'locale'; it takes pattern, flags and limits"):
        detent.regex("a", locale=True)  # type: ignore[call-arg]


def test_checked_functions_stay_functions() -> None:
    assert pickle.loads(pickle.dumps(detent.regex)) is detent.regex
    assert detent.regex.__name__ == "regex"


@dataclass
class _Point:
    x: int


class Colour(Enum):
    RED = "red"


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        (int, "12"),
        (int | None, "null"),
        (list[int], "[1]"),
        (Literal["a", 1], '"a"'),
        (Annotated[str, "a name"], '"x"'),
        (Colour, '"red"'),
        ({"const": 5}, "5"),
        (["yes", "no"], "no"),
        (("yes", "no"), "yes"),
        ([1, 2], "2"),
    ],
)
def test_compile_takes_what_generate_takes(rule: Any, text: str) -> None:
    matcher = detent.compile(rule, _VOCABULARY).matcher()
    matcher.advance_bytes(text.encode())
    assert matcher.is_accepting


@pytest.mark.parametrize(
    ("rule", "advice"),
    [
        ("[a-z]+", r"detent\.regex\(\.\.\.\) for a pattern, detent\.literal"),
        (b"ab", r"detent\.literal"),
        (re.compile("a"), r"detent\.regex\(pattern\.pattern, pattern\.flags\)"),
        (None, r"detent\.text\(\)"),
        (5, "the text '5'"),
        ([int, str], r"A \| B"),
        ([detent.regex("a"), detent.regex("b")], r"a \| b"),
        ([print], r"detent\.calls"),
        ([{"name": "f"}], r"detent\.calls"),
        (print, r"detent\.calls"),
        (detent.compile(detent.regex("a"), _VOCABULARY), "compiled already"),
    ],
)
def test_compile_advises_what_to_write(rule: Any, advice: str) -> None:
    with pytest.raises(detent.ArgumentError, match=advice):
        detent.compile(rule, _VOCABULARY)


def test_a_vocabulary_is_asked_for() -> None:
    with pytest.raises(detent.ArgumentError, match=r"second argument, got 'gpt2' \(str\); write detent\.Vocabulary"):
        detent.compile(int, "gpt2")  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (detent.grammar, "folder/rules.lark"),
        (detent.gbnf, "json.gbnf"),
        (detent.ebnf, "x.ebnf"),
        (detent.json_schema, "a.json"),
    ],
)
def test_file_names_are_no_texts_of_rules(function: Any, name: str) -> None:
    with pytest.raises(detent.ArgumentError, match=r"got the file name .*; write pathlib\.Path\(name\)\.read_text"):
        function(name)


@pytest.mark.parametrize(
    "function",
    [
        detent.regex, detent.json_schema, detent.grammar, detent.gbnf, detent.ebnf, detent.literal,
        lambda path: detent.compile(path, _VOCABULARY), lambda path: detent.turn(answer=path, style="qwen3"),
        lambda path: detent.regex("a") | path,
    ],
)  # fmt: skip
def test_paths_are_read_by_the_caller(function: Any) -> None:
    with pytest.raises(detent.ArgumentError, match=r"read the file[:,] path\.read_text\(\)"):
        function(Path("rules.lark"))


def test_texts_of_other_types() -> None:
    for value, shown in ((5, "5 (int)"), (None, "None (NoneType)"), ({"a": 1}, "json.dumps")):
        with pytest.raises(detent.ArgumentError) as caught:
            detent.regex("a").parse(value)  # type: ignore[arg-type]
        assert shown in str(caught.value)


def test_values_of_bytes_are_those_of_their_text() -> None:
    assert detent.regex("a").parse(b"a") == "a"
    assert detent.date().parse(b"2024-02-29") == detent.date().parse("2024-02-29")
    with pytest.raises(detent.ArgumentError, match="UTF-8"):
        detent.byte_class(b"\xff").parse(b"\xff")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: detent.json_schema("integer"), r"of 'integer'; correct it there, or pass a dict or a Python type"),
        (
            lambda: detent.json_schema({}, whitespace="pretty"),
            r'^\'pretty\' is no white space; whitespace must be "written", "line", .* or a pattern such as " \?"$',
        ),
        (lambda: detent.json_schema({}, whitespace="compct"), r"such as .*; did you mean 'compact'\?$"),
        (
            lambda: detent.json_schema({}, whitespace="[ a]?"),
            r"^\"regex '\[ a\]\?'\" is no white space, because it has the text b'a'; whitespace must be \"written\", ",
        ),
        (lambda: detent.generate(detent.load_model(), "Hi", detent.date), r"call the function: detent\.date\(\)$"),  # type: ignore[arg-type]
        (lambda: detent.literal("a") + detent.regex, r"call the function: detent\.regex\(\.\.\.\)$"),  # type: ignore[operator]
        (lambda: detent.literal("a") | detent.choice, r"call the function: detent\.choice\(\.\.\.\)$"),  # type: ignore[operator]
        (lambda: detent.literal("a") | detent.tokenizations, r"write detent\.calls"),  # type: ignore[operator]
        (lambda: detent.calls([{"name": "f"}], style="lama3-json"), r"did you mean 'llama3-json'\?"),
        (lambda: detent.turn(style="chatgpt"), r"such as 'hermes'.*detent\.turns\.STYLES has their names"),
        (lambda: detent.grammar('one: "a"'), r"no rule 'start' to begin with, only \['one'\]; .* pass start="),
        (lambda: detent.ebnf("one ::= 'a'", start="two"), r"no rule 'two' to begin with, only \['one'\]; define it"),
        (lambda: detent.grammar('START: "a"'), r"the grammar has no rules; write start: "),
        (lambda: detent.ebnf(""), r"the grammar has no rules; write start ::= "),
        (lambda: detent.generate(detent.load_model(), ["Hi", "Ho"]), r"a list of texts; several are a batch"),
        (lambda: detent.generate(detent.load_model(), "Hi", _Point(1)), r"pass the type _Point itself"),  # type: ignore[arg-type]
        (lambda: detent.Vocabulary.from_file(""), r"expected the path of a tokenizer file, got ''"),
    ],
)
def test_messages_name_what_there_is(call: Any, message: str) -> None:
    with pytest.raises(detent.DetentError, match=message):
        call()


@pytest.mark.parametrize("name", [each.name for each in fields(detent.Ban) if each.name not in ("words", "mode")])
def test_options_of_bans_are_named_where_generate_is_given_one(name: str) -> None:
    with pytest.raises(TypeError, match=rf"ban=detent\.Ban\(words, {name}=\.\.\.\)"):
        detent.generate(detent.load_model(), "Hi", **{name: 0})  # type: ignore[arg-type]


def test_the_docs_list_the_options_of_bans() -> None:
    text = (Path(__file__).parent.parent / "docs" / "generation.md").read_text("utf-8")
    listed = re.findall(r"^\| `([a-z_]+)` \| (.*?) \|", text[text.index("`detent.Ban(words, ...)`") :], re.MULTILINE)
    options = {each.name: each.default for each in fields(detent.Ban) if each.name != "words"}
    assert {name: ast.literal_eval(default.strip("`")) for name, default in listed[: len(options)]} == options


def test_a_misspelt_grammar_of_lark() -> None:
    with pytest.raises(detent.UnsupportedError, match="did you mean 'common'"):
        detent.grammar("start: NAME\n%import commn.CNAME -> NAME")
    with pytest.raises(detent.UnsupportedError) as relative:
        detent.grammar("start: NAME\n%import .commn.CNAME -> NAME")
    assert "did you mean" not in str(relative.value)

"""/v1/completions: texts held to a rule, streamed and whole, with OpenAI's client."""

from __future__ import annotations

import json
from typing import Any

import pytest

openai = pytest.importorskip("openai")

DATE = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"


def test_rules_of_every_field(client: Any) -> None:
    ask = client.completions.create
    for body, accepted in [
        ({"structured_outputs": {"regex": "a{3}"}}, {"aaa"}),
        ({"structured_outputs": {"choice": ["yes", "no"]}}, {"yes", "no"}),
        ({"structured_outputs": {"json": {"const": 5}}}, {"5"}),
        ({"structured_outputs": {"json": '{"const": 5}'}}, {"5"}),
        ({"structured_outputs": {"grammar": 'root ::= "b" "c"'}}, {"bc"}),
        ({"structured_outputs": {"grammar": 'start: "b" "d"'}}, {"bd"}),
        ({"grammar": '?start: root\nroot: "b" "e"'}, {"be"}),
        ({"guided_regex": "x|y"}, {"x", "y"}),
        ({"guided_choice": ["q"]}, {"q"}),
        ({"guided_json": {"enum": [True]}}, {"true"}),
        ({"guided_grammar": 'root ::= "g"'}, {"g"}),
        ({"grammar": 'root ::= "h"'}, {"h"}),
        ({"json_schema": {"const": None}}, {"null"}),
    ]:
        answer = ask(model="detent", prompt="Agreed?", extra_body=body)
        assert answer.choices[0].text in accepted, body
        assert answer.choices[0].finish_reason == "stop"


@pytest.mark.parametrize("prompt", ["", [""], [[]], ["One", ""]])
def test_an_empty_prompt_is_refused(client: Any, prompt: Any) -> None:
    with pytest.raises(openai.BadRequestError, match="prompt: an empty text has nothing to continue"):
        client.completions.create(model="detent", prompt=prompt, max_tokens=3)


def test_a_stream_equals_the_whole(client: Any) -> None:
    body = {"guided_json": {"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 4}}
    arguments: Any = {
        "model": "detent",
        "prompt": ["One", "Two"],
        "n": 2,
        "seed": 3,
        "extra_body": body,
        "max_tokens": 32,
    }
    whole = client.completions.create(**arguments)
    texts = dict.fromkeys(range(4), "")
    reasons: dict[int, str] = {}
    usage = None
    for chunk in client.completions.create(**arguments, stream=True, stream_options={"include_usage": True}):
        usage = chunk.usage or usage
        for choice in chunk.choices:
            texts[choice.index] += choice.text
            if choice.finish_reason:
                reasons[choice.index] = choice.finish_reason
    assert [choice.text for choice in whole.choices] == list(texts.values())
    assert [choice.finish_reason for choice in whole.choices] == [reasons[index] for index in range(4)]
    assert usage == whole.usage
    assert all(2 <= len(json.loads(text)) <= 4 for text in texts.values())


def test_a_text_ends_valid_within_max_tokens(client: Any) -> None:
    body = {"guided_regex": "(la ){2,1000}end", "report": True}
    choice = client.completions.create(model="detent", prompt="Sing!", max_tokens=12, extra_body=body).choices[0]
    assert choice.text.endswith("end")
    assert choice.finish_reason == "stop"
    assert choice.report["finish_reason"] == "length"
    free = client.completions.create(model="detent", prompt="Sing!", max_tokens=3).choices[0]
    assert free.finish_reason == "length"


def test_bans_stops_echo_bias_and_probabilities(client: Any) -> None:
    ask = client.completions.create
    text = ask(model="detent", prompt="Can we talk?", temperature=0, max_tokens=20).choices[0].text
    word = max(text.split(), key=len)
    assert (
        word
        not in ask(model="detent", prompt="Can we talk?", temperature=0, extra_body={"ban": [word]}).choices[0].text
    )
    stopped = ask(model="detent", prompt="Can we talk?", temperature=0, max_tokens=20, stop=[word]).choices[0]
    assert stopped.text == text[: text.index(word)]
    assert ask(model="detent", prompt="Hi", echo=True, max_tokens=1).choices[0].text.startswith("Hi")
    choice = ask(model="detent", prompt="Hi", max_tokens=4, logprobs=3, temperature=0).choices[0]
    assert "".join(choice.logprobs.tokens) == choice.text
    assert [len(each) for each in choice.logprobs.top_logprobs] == [3] * len(choice.logprobs.tokens)
    likeliest = [max(top, key=top.__getitem__) for top in choice.logprobs.top_logprobs]
    assert choice.logprobs.tokens == likeliest


def test_a_report(client: Any) -> None:
    body = {"guided_regex": "yes|no", "report": True, "canonical": False}
    report = client.completions.create(model="detent", prompt="Agreed?", extra_body=body).choices[0].report
    assert report["log_mass"] <= 0
    assert report["canonical"] is False


@pytest.mark.parametrize(
    ("body", "param", "words"),
    [
        ({"max_tokes": 3}, "max_tokes", "max_tokens"),
        ({"presence_penalty": 1}, "presence_penalty", "not support"),
        ({"guided_json": {"type": "objet"}}, "guided_json", "objet"),
        ({"guided_json": {"properties": {"a": {"type": 5}}}}, "guided_json#/properties/a", "type"),
        ({"guided_regex": "(a"}, "guided_regex", "character 0"),
        ({"guided_regex": "a", "grammar": 'root ::= "a"'}, "grammar", "each say"),
        ({"grammar": 'root = "a"'}, "grammar", "::= is missing"),
        ({"grammar": 'root: "a"'}, "grammar", "read as GBNF; Lark's notation has a rule start: ..."),
        ({"grammar": 'main: "a"'}, "grammar", "read in Lark's notation; GBNF has root ::= ..."),
        ({"grammar": 'start = "a"'}, "grammar", "read in Lark's notation; GBNF has root ::= ..."),
        ({"grammar": 'start ::= "a"'}, "grammar", "no rule 'root' to begin with"),
        ({"structured_outputs": {"regx": "a"}}, "structured_outputs.regx", "regex"),
        ({"logit_bias": {"x": 1}}, "logit_bias", "token id"),
        ({"guided_regex": "a{30}", "max_tokens": 1}, "guided_regex", "too few"),
        ({"n": 99}, "n", "most"),
        ({"temperature": -1}, "temperature", "greater"),
        ({"model": "gpt-9"}, "model", "gpt-9"),
        ({"ban": [""]}, "ban[0]", "at least 1"),
    ],
)
def test_an_error_names_the_field(client: Any, body: dict[str, Any], param: str | None, words: str) -> None:
    import openai

    body = {"model": "detent", "prompt": "Hi", **body}
    with pytest.raises(openai.APIStatusError) as caught:
        client.post("/completions", body=body, cast_to=object)
    assert caught.value.status_code in (400, 404)
    assert caught.value.param == param
    assert words in caught.value.message

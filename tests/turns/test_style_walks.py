"""Random walks over the masks of each style: the parser reads every turn, arguments are valid, budgets hold."""

from __future__ import annotations

from random import Random
from typing import Any

import jsonschema
import pytest

import detent
from detent.turns import STYLES, Style, TurnFinished
from tests.support.shared_data import needs_shared, real_vocabulary

_TEXT = {"enum": ["plain", "it's", 'say "hi"', "a\\b", "line\nfeed", "True", "42", "é😀", "", "</", "<|", "]", "}"]}
_TOOLS: list[dict[str, Any]] = [
    {
        "name": "search",
        "parameters": {
            "type": "object",
            "properties": {
                "exact": {"type": "boolean"},
                "limits": {"type": "array", "items": {"type": ["integer", "null"]}, "maxItems": 2},
                "query": _TEXT,
                "where": {"anyOf": [_TEXT, {"type": "integer"}]},
            },
            "required": ["query"],
        },
    },
    {"name": "search_all", "parameters": {"type": "object", "properties": {}}},
]
_PARTS = [
    b"</",
    b"<|",
    b'":',
    b'"}',
    b'", "',
    b"tool_call",
    b"name",
    b"\n\n",
    b"search",
    b"query",
    b"[{",
    b"}]",
    b"\n</",
]


def _vocabulary(style: Style) -> detent.Vocabulary:
    """Return a vocabulary of bytes and some longer tokens, in which all tags of the style are special tokens."""
    text = [*(bytes([byte]) for byte in range(256)), *_PARTS]
    ends = dict.fromkeys(filter(None, (style.end_of_calls, style.end_of_text)))
    special = [tag.encode() for tag in (*style.tags, *ends)]
    first_end = len(text) + len(style.tags)
    every = [*text, *special, b"</eos>"]
    return detent.Vocabulary(
        every,
        eos_token_ids=list(range(first_end, len(every))),
        special_token_ids=list(range(len(text), len(every))),
    )


def _walk(guide: detent.Guide, rng: Random, budget: int | None) -> list[int]:
    """Choose allowed tokens at random, and complete long texts; return the ids, the end of the text included."""
    matcher = guide.matcher(max_tokens=budget)
    eos = guide.vocabulary.eos_token_ids
    ids: list[int] = []
    while not matcher.is_finished:
        allowed = matcher.allowed().tolist()
        assert allowed
        ends = [token for token in allowed if token in eos]
        if ends and (len(ids) > 120 or rng.random() < 0.3):
            chosen = [rng.choice(ends)]
        elif budget is None and (len(ids) > 120 or rng.random() < 0.02):
            chosen = matcher.completion() or [rng.choice(allowed)]
        else:
            chosen = [rng.choice(allowed)]
        for token in chosen:
            matcher.advance(token)
        ids += chosen
    return ids


def _check_walks(style: Style, vocabulary: detent.Vocabulary, rng: Random, count: int, **options: Any) -> None:
    schemas = {tool["name"]: tool["parameters"] for tool in _TOOLS}
    for thinking in ("none", "optional", "required", "open") if style.thinking else ("none",):
        choice = rng.choice(["auto", "required"])
        rule = detent.turn(_TOOLS, style=style, tool_choice=choice, thinking=thinking)
        guide = detent.compile(rule, vocabulary, **options)
        least = len(guide.matcher().completion())
        for _ in range(count):
            budget = rng.choice([None, least, least + 1, least + rng.randrange(2, 80)])
            ids = _walk(guide, rng, budget)
            assert budget is None or len([token for token in ids if token not in vocabulary.eos_token_ids]) <= budget
            parser = rule.parser(vocabulary)
            events = [event for token in ids for event in parser.feed([token])]
            (last,) = [event for event in [*events, *parser.finish()] if isinstance(event, TurnFinished)]
            assert last.reason == "complete"
            assert last.turn.calls or choice == "auto"
            for call in last.turn.calls:
                jsonschema.validate(call.arguments, schemas[call.name])
            end = style.end_of_calls if last.turn.calls else style.end_of_text
            if end.encode() in map(vocabulary.token_bytes, vocabulary.eos_token_ids):
                assert vocabulary.token_bytes(ids[-1]) == end.encode()


@pytest.mark.parametrize("style", STYLES.values(), ids=STYLES)
def test_walks(style: Style) -> None:
    _check_walks(style, _vocabulary(style), Random(style.name), 3)


@pytest.mark.soak
@pytest.mark.parametrize("style", STYLES.values(), ids=STYLES)
def test_many_walks(style: Style) -> None:
    _check_walks(style, _vocabulary(style), Random(f"{style.name} long"), 200)


@needs_shared
@pytest.mark.soak
@pytest.mark.parametrize("canonical", [False, True])
@pytest.mark.parametrize("name", ["qwen2", "llama3", "tekken"])
@pytest.mark.parametrize("style", STYLES.values(), ids=STYLES)
def test_walks_with_a_real_tokenizer(style: Style, name: str, canonical: bool) -> None:
    _check_walks(style, real_vocabulary(name), Random(f"{style.name} {name}"), 2, canonical=canonical)

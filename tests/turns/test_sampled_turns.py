"""Turns that samplers write: within their budgets, read back by the parser, with arguments that jsonschema accepts."""

import asyncio
from functools import cache
from random import Random

import jsonschema
import numpy as np
import pytest

import detent
from detent.models import CallableModel
from detent.turns import STYLES
from tests.support.turns import TOOLS, collect, tokenizer_of, vocabulary_of

VALIDATORS = {tool["name"]: jsonschema.Draft202012Validator(tool["parameters"]) for tool in TOOLS}


def sample(matcher, rng, mood):
    """Write a turn at random; some moods prefer tokens that open things, that close them, or never to end."""
    vocabulary = matcher.guide.vocabulary
    preferred = liked_tokens(vocabulary, mood)
    while not matcher.is_finished:
        allowed = matcher.allowed().tolist()
        assert allowed, "a dead end"
        liked = [] if preferred is None else [i for i in allowed if i in preferred]
        matcher.advance(rng.choice(liked or allowed) if rng.random() < 0.8 else rng.choice(allowed))


@cache
def liked_tokens(vocabulary, mood):
    """Return the tokens that a mood prefers; None for no preference."""
    every, special = range(len(vocabulary)), vocabulary.special_token_ids
    if mood == "opening":
        return {i for i in every if vocabulary.token_bytes(i)[:1] in (b"<", b"{", b'"', b"[", b"g", b"t")}
    if mood == "endless":
        return set(every) - set(vocabulary.eos_token_ids)
    if mood == "closing":
        return {i for i in every if i in special or vocabulary.token_bytes(i) in b'"}]></'}
    return None


def check_turns(name, count, seed, *, canonical=False):
    rng, style = Random(f"{name} {seed}"), STYLES[name]
    rules = {}
    for _ in range(count):
        thinks = style.thinking is not None and rng.random() < 0.6
        thinking_tokens = rng.choice([None, 10, 40, 80]) if thinks else None
        choice = rng.choice(["auto", "required", "get_weather"])
        key = (rng.random() < 0.5, thinks, thinking_tokens, choice)
        if key not in rules:
            rule = detent.turn(
                TOOLS,
                style=style,
                tool_choice=choice,
                thinking="required" if thinks else "none",
                thinking_tokens=thinking_tokens,
                max_calls=3,
            )
            vocabulary = tokenizer_of(style)[1] if canonical else vocabulary_of(style, key[0])
            try:
                guide = detent.compile(rule, vocabulary, canonical=canonical)
            except detent.LimitError as error:
                assert error.subject == "part_tokens"  # the tags alone take more, in letters
                rules[key] = None
                continue
            rules[key] = guide, len(guide.matcher().completion())
        if rules[key] is None:
            continue
        guide, shortest = rules[key]
        try:
            matcher = guide.matcher(shortest + rng.choice([0, 0, 1, 2, 5, 20, 100]))
        except detent.LimitError as error:
            assert error.given > shortest  # a completion that is not the shortest was known
            continue
        sample(matcher, rng, rng.choice(["any", "opening", "closing", "endless"]))
        ids = [i for i in matcher.token_ids if i not in guide.vocabulary.eos_token_ids]
        if canonical:
            text = b"".join(map(guide.vocabulary.token_bytes, ids)).decode()
            assert tokenizer_of(style)[0].encode(text, add_special_tokens=False).ids == ids
        check_turn(guide, ids)


def check_turn(guide, ids):
    parser = guide.language.parser(guide.vocabulary)
    events = [event for token_id in ids for event in parser.feed(token_id)]
    turn, last = collect([*events, *parser.finish()])
    assert last is not None and last.reason == "complete", last
    assert turn == last.turn == guide.language.value.of_tokens(guide.vocabulary, ids)
    for call in turn.calls:
        VALIDATORS[call.name].validate(call.arguments)
    [budget] = [tokens for _, tokens in guide.language._part_budgets] or [None]
    if budget is not None:
        part = detent.Language(guide.language._part_budgets[0][0], "thinking")
        data = [guide.vocabulary.token_bytes(token_id) for token_id in ids[:budget]]
        assert any(part.accepts(b"".join(data)[:end]) for end in range(len(b"".join(data)) + 1))


@pytest.mark.parametrize("name", STYLES)
def test_sampled_turns(name):
    check_turns(name, 8, 0)


@pytest.mark.parametrize("name", STYLES)
def test_canonical_sampled_turns(name):
    check_turns(name, 4, 0, canonical=True)


@pytest.mark.soak
@pytest.mark.parametrize("name", STYLES)
@pytest.mark.parametrize("seed", range(1, 21))  # the first seeds of all styles come first
def test_10_000_sampled_turns(name, seed):
    check_turns(name, 500, seed)


def random_model(vocabulary, seed=0):
    def function(ids):
        return np.random.default_rng([seed, len(ids), int(ids[-1])]).normal(scale=5, size=len(vocabulary))

    return CallableModel(function, vocabulary, encode=lambda text: list(text.encode()))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("name", ["qwen3", "gpt-oss", "deepseek-v3.1"])
def test_stream_turn_and_astream_turn(name, seed):
    vocabulary = vocabulary_of(STYLES[name], seed % 2 == 0)
    model = random_model(vocabulary, seed)
    rule = detent.turn(TOOLS, style=name, tool_choice=["auto", "required"][seed % 2], thinking_tokens=80)
    options = {"max_tokens": 260, "seed": seed, "ban": ["gg"]}
    stream = detent.stream_turn(model, "Go", rule, **options)
    events = list(stream)
    turn, last = collect(events)
    assert last is not None and last.reason == "complete" and turn == last.turn == stream.turn == stream.output.value
    assert detent.generate(model, "Go", rule, **options).value == turn

    async def read():
        return [event async for event in detent.astream_turn(model, "Go", rule, **options)]

    assert collect(asyncio.run(read()))[0] == turn


def test_cancelling_closes_the_session():
    model = random_model(vocabulary_of(STYLES["qwen3"], True))
    rule = detent.turn(style="qwen3", answer=detent.text(3000), thinking="none")  # so long that it does not end before

    async def cancel():
        async with detent.astream_turn(model, "Go", rule, max_tokens=4000, seed=1) as events:
            async for _ in events:
                break
        task = events._task
        for _ in range(200):
            if task.stream.logits_cache.has_session is False:
                return True
            await asyncio.sleep(0.01)
        return False

    assert asyncio.run(cancel())
    stream = detent.stream_turn(model, "Go", rule, max_tokens=4000, seed=1)
    next(stream)
    stream.close()
    assert list(stream) == []
    assert not stream.logits_cache.has_session


def test_a_rule_that_is_no_turn_is_one_answer():
    model = random_model(vocabulary_of(STYLES["qwen3"], False))
    events = list(detent.stream_turn(model, "Go", detent.choice("yes", "no"), seed=0))
    assert collect(events)[0].answer in ("yes", "no")

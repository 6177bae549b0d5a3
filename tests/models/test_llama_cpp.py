"""LlamaCpp: llama.cpp reads the embedded model's GGUF file, alone and in batches, with crops and forks."""

from __future__ import annotations

import asyncio
import gc
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import detent
from detent.errors import ArgumentError, ModelError

pytest.importorskip("llama_cpp", reason="needs llama-cpp-python")
pytest.importorskip("gguf", reason="writes a GGUF file")

from detent.models import BatchModel, LlamaCpp

PROMPT = "Write 7 March 2021 as an ISO date."
CLOSE = 0.05
"""llama.cpp keeps keys and values in float16."""


@pytest.fixture(scope="module")
def path(tmp_path_factory: Any) -> Path:
    from write_gguf import write_gguf

    path: Path = tmp_path_factory.mktemp("gguf") / "model.gguf"
    write_gguf(path)
    return path


@pytest.fixture(scope="module")
def model(path: Path) -> LlamaCpp:
    return LlamaCpp(path, chat=True, threads=1)


@pytest.fixture(scope="module")
def plain() -> Any:
    return detent.load_model()


def test_tokens_and_logits_are_those_of_the_same_weights(model: LlamaCpp, plain: Any) -> None:
    assert isinstance(model, BatchModel)
    assert model.context == plain.context
    for text in (PROMPT, "it's über 12345\n\n  ", "<|end|> is text", ""):
        assert model.encode(text) == plain.encode(text)
        assert model.encode_text(text) == plain.encode_text(text)
    ids = plain.encode(PROMPT)
    np.testing.assert_allclose(model.start(ids).logits, plain.start(ids).logits, atol=CLOSE)


def test_texts_are_those_of_the_embedded_model(model: LlamaCpp, plain: Any) -> None:
    rule = detent.regex("[0-9]{4}-[0-9]{2}-[0-9]{2}")
    assert detent.generate(model, PROMPT, rule, temperature=0).text == "2021-03-07"
    schema = {"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer"}}}
    prompt = "Anna Berg is 34. Write the person as JSON."
    for language in (detent.json_schema({**schema, "required": ["name", "age"]}), None):
        one = detent.generate(model, prompt, language, temperature=0, max_tokens=40, canonical=False)
        two = detent.generate(plain, prompt, language, temperature=0, max_tokens=40, canonical=False)
        assert one.text == two.text


def test_crops_forks_and_batches_at_random(model: LlamaCpp, plain: Any) -> None:
    source = random.Random(1)
    pairs = [(model.start(plain.encode(PROMPT)), plain.start(plain.encode(PROMPT)))]
    for _ in range(120):
        ours, known = source.choice(pairs)
        action = source.random()
        if action < 0.4:
            ids = [source.randrange(3, 2000) for _ in range(source.randint(1, 4))]
            ours.append(ids)
            known.append(ids)
        elif action < 0.7:
            length = source.randint(max(1, len(known.token_ids) - 6), len(known.token_ids))
            ours.crop(length)
            known.crop(length)
        elif len(pairs) < 6:
            pairs.append((model.fork(ours), plain.fork(known)))
        else:
            pairs.remove((ours, known))
        if source.random() < 0.5 and pairs:
            model.read([pair[0] for pair in pairs])
        for one, other in pairs:
            assert one.token_ids == other.token_ids
        one, other = source.choice(pairs)
        np.testing.assert_allclose(one.logits, other.logits, atol=4 * CLOSE)


def test_batches_bans_and_long_prompts(model: LlamaCpp, plain: Any) -> None:
    requests = [
        detent.Request("Tell me a story. " * (1 + 40 * (number % 3)), max_tokens=20, seed=number, ban=["the", "a"])
        for number in range(12)
    ]
    for output in detent.generate_batch(model, requests, batch_size=5):
        assert "the" not in output.text
        assert output.finish_reason in ("stop", "length")
    ids = [source % 1900 + 3 for source in range(1500)]
    np.testing.assert_allclose(model.start(ids).logits, plain.start(ids).logits, atol=4 * CLOSE)


def test_sessions_that_are_gone_leave_their_room(path: Path) -> None:
    small = LlamaCpp(path, cache_tokens=256, threads=1)
    assert small.context == 256
    for number in range(300):  # more sessions than there are sequences
        assert small.start([number % 100 + 3] * 50).logits.shape == (2048,)
    held = [small.start([5] * 100), small.start([6] * 100)]
    small.read(held)
    with pytest.raises(ModelError, match="cache_tokens"):
        _ = small.start([7] * 100).logits
    expected = held[1].logits
    del held[0]
    gc.collect()
    assert small.start([7] * 100).logits.shape == (2048,)
    held[0].append([8])
    held[0].crop(100)
    np.testing.assert_allclose(held[0].logits, expected, atol=CLOSE)
    with pytest.raises(ModelError, match="shorten the prompt"):
        small.start([5] * 257)


def get_weather(city: str, unit: str) -> dict[str, object]:
    """Return the weather of a city."""
    return {"city": city, "unit": unit}


def test_a_conversation_with_tools_is_that_of_the_embedded_model(model: LlamaCpp, plain: Any) -> None:
    pytest.importorskip("jinja2")
    chat = detent.Chat("What is the weather in Oslo in celsius?", system="Be brief.", tools=[get_weather])
    rule = detent.turn([get_weather], style="detent", tool_choice="required", max_calls=1)
    events = []
    for each in (model, plain):
        assert each.encode_chat(chat) == plain.encode_chat(chat)
        events.append(list(detent.stream_turn(each, chat, rule, max_tokens=60, temperature=0)))
    assert events[0] == events[1]
    (call,) = events[0][-1].turn.calls
    assert call == detent.Call("get_weather", {"city": "Oslo", "unit": "celsius"})
    told = chat.with_messages(
        {"role": "assistant", "tool_calls": [call]}, {"role": "tool", "name": call.name, "content": '{"degrees": 7}'}
    )
    ids = plain.encode_chat(told)
    assert model.encode_chat(told) == ids
    np.testing.assert_allclose(model.start(ids).logits, plain.start(ids).logits, atol=CLOSE)
    with pytest.raises(ArgumentError, match="no variable 'enable_thinking'"):
        model.encode_chat(detent.Chat("Hi", enable_thinking=False))


def test_a_conversation_reads_its_beginning_once(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("jinja2")
    model = LlamaCpp(path, chat=True, threads=1)
    read: list[int] = []
    decode = model._context._decode

    def counted(sessions: Any) -> None:
        before = sum(session.cells for session in sessions)
        decode(sessions)
        read.append(sum(session.cells for session in sessions) - before)

    monkeypatch.setattr(model._context, "_decode", counted)
    chat = detent.Chat("What is the weather in Oslo in celsius? " * 8)

    async def converse() -> list[int]:
        nonlocal chat
        costs = []
        for _ in range(4):
            read.clear()
            output = await detent.agenerate(model, chat, ["Yes, it is.", "No, it is not."], temperature=0)
            costs.append(sum(read))
            chat = chat.with_messages(
                {"role": "assistant", "content": output.text}, {"role": "user", "content": "Are you sure?"}
            )
        return costs

    first, *later = asyncio.run(converse())
    assert first >= len(model.encode("What is the weather in Oslo in celsius? " * 8)) > 60
    assert max(later) < 40


def test_what_is_asked_wrongly(path: Path, model: LlamaCpp, tmp_path: Path) -> None:
    for wrong in ({"cache_tokens": 0}, {"threads": 1.5}, {"cache_tokens": True}):
        with pytest.raises(ArgumentError):
            LlamaCpp(path, **wrong)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError):
        LlamaCpp(3)  # type: ignore[arg-type]
    cut = tmp_path / "cut.gguf"
    cut.write_bytes(path.read_bytes()[:200_000])
    with pytest.raises(ModelError, match="cannot load"):
        LlamaCpp(cut)
    with pytest.raises(ArgumentError):
        model.start([])
    with pytest.raises(ArgumentError):
        model.start([2048])
    with pytest.raises(ArgumentError):
        model.read([detent.load_model().start([5])])


def test_the_command_line_takes_the_file(path: Path, capsys: Any, tmp_path: Path) -> None:
    from detent.cli import main

    assert main(["generate", PROMPT, "--model", str(path), "--regex", "[0-9]{4}-[0-9]{2}-[0-9]{2}"]) == 0
    assert len(capsys.readouterr().out.strip()) == 10
    other = tmp_path / "other.txt"
    other.write_text("no model")
    assert main(["generate", PROMPT, "--model", str(other)]) == 2
    assert "GGUF" in capsys.readouterr().err

"""The model that is trained to think: its examples are turns, and the tool trains and evaluates."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import detent

sys.path.insert(0, "tools")
from corpus import agents


def test_examples_are_turns_of_the_rule() -> None:
    make = agents.conversations("test")
    for number in range(60):
        for example in make(number):
            turn = detent.turn(example.tools, style="qwen3", thinking="required").parse(agents.written(example))
            assert turn.thinking == example.thinking
            assert turn.thinking.count(". ") == 1
            assert turn.thinking.endswith(".")
            assert turn.text == (example.text or None)
            calls = [{"name": call.name, "arguments": call.arguments} for call in turn.calls]
            assert calls == ([example.call] if example.call else [])
            assert detent.load_model().encode_chat(detent.Chat(example.messages, tools=example.tools))


@pytest.mark.long
def test_a_short_training_writes_a_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("safetensors")
    import train_model
    import train_thinking

    settings = train_model.Training(0.1, 0, 9, train_thinking.WEIGHTS, 0.4)
    train_model.train(settings, tmp_path, train_thinking.examples)
    assert "loss" in capsys.readouterr().out
    model = detent.load_model(tmp_path)
    assert len(model.vocabulary) == len(detent.load_model().vocabulary)
    rule = detent.turn(style="qwen3", thinking="required", thinking_tokens=40, answer=["yes", "no"])
    assert detent.generate(model, "Yes or no?", rule, max_tokens=60, temperature=0).value.answer in ("yes", "no")

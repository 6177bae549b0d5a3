"""Partial captures: valid at every cut, and the value of the whole text in the end."""

from __future__ import annotations

import random
from typing import Any

import pytest

import detent
from detent.generation.partial_captures import PartialCaptures

THOUGHT = detent.regex("[a-z ]*").capture("thought")
LANGUAGES: list[tuple[Any, str]] = [
    (
        "<think>" + THOUGHT + "</think>" + detent.json_schema({}).capture("answer"),
        '<think>so it is</think>{"a": [1, "xy"]}',
    ),
    (detent.integer().capture("count") + " " + detent.choice("EUR", "USD").capture("currency"), "1250 EUR"),
    (THOUGHT + ";" + detent.date().capture("day"), "when;2021-03-07"),
    (THOUGHT + detent.regex("[0-9]+").capture("digits"), "abc123"),
]


@pytest.mark.parametrize(("language", "text"), LANGUAGES, ids=[text for _, text in LANGUAGES])
def test_every_cut(language: Any, text: str) -> None:
    whole = language.parse(text)
    for seed in range(20):
        rng = random.Random(seed)
        partial, offset = PartialCaptures(language), 0
        values: list[dict[str, Any]] = []
        while offset < len(text):
            end = min(offset + rng.choice([1, 1, 2, 7]), len(text))
            if partial.feed(text[offset:end]):
                values.append(partial.value)
            offset = end
        if partial.finish():
            values.append(partial.value)
        assert values[-1] == whole
        for value in values:
            assert list(value) == list(whole)[: len(value)]
            for name in list(value)[:-1]:
                assert value[name] == whole[name]
            last = next(reversed(value))
            if isinstance(value[last], str):
                assert str(whole[last]).startswith(value[last])


def test_a_stream() -> None:
    model = detent.load_model()
    rule = (
        "<" + detent.regex("[a-z]{3,9}").capture("word") + "> " + detent.json_schema({"const": [1, 2]}).capture("list")
    )
    values = list(detent.stream(model, "Go", rule, partial=True, seed=0))
    assert values[-1]["list"] == [1, 2]
    assert len(values) > 2
    assert "list" not in values[0]

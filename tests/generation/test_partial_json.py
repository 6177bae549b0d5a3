"""Partial values: valid at every cut, growing, and the whole in the end."""

from __future__ import annotations

import json
import random
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import detent
from detent.errors import ArgumentError, StateError
from detent.partial_json import PartialJson

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


def grows_to(part: Any, whole: Any) -> bool:
    """Whether a value is what is there of another: strings and containers may be cut, the rest is complete."""
    if isinstance(part, str) and isinstance(whole, str):
        return whole.startswith(part)
    if isinstance(part, list) and isinstance(whole, list):
        last = len(part) - 1
        return len(part) <= len(whole) and all(
            grows_to(a, b) if position == last else a == b
            for position, (a, b) in enumerate(zip(part, whole, strict=False))
        )
    if isinstance(part, dict) and isinstance(whole, dict):
        return list(whole)[: len(part)] == list(part) and all(grows_to(part[key], whole[key]) for key in part)
    return bool(part == whole) and type(part) is type(whole)


@given(VALUES, st.booleans(), st.sampled_from([None, 1]), st.integers(0, 2**32))
@settings(max_examples=300)
def test_every_cut(value: Any, ascii_only: bool, indent: int | None, seed: int) -> None:
    text = " " * (seed % 2) + json.dumps(value, ensure_ascii=ascii_only, indent=indent) + "\n" * (seed % 3)
    rng = random.Random(seed)
    partial, position = PartialJson(), 0
    values: list[Any] = []
    while position < len(text):
        end = min(position + rng.choice([1, 1, 2, 7]), len(text))
        if partial.feed(text[position:end]):
            values.append(partial.value)
        position = end
    if partial.finish():
        values.append(partial.value)
    assert values[-1] == value
    for before, after in pairwise(values):
        assert grows_to(before, after), (before, after)
        assert json.dumps(before) != json.dumps(after)
    for one in values:
        json.dumps(one, ensure_ascii=False).encode()  # never half of a surrogate pair


def test_nothing_comes_late() -> None:
    partial = PartialJson()
    seen = []
    for character in '{"a":"h\\u00e9","b":[1,{}],"c":true}':
        if partial.feed(character):
            seen.append(json.dumps(partial.value, ensure_ascii=False))
    assert seen == [
        "{}",
        '{"a": ""}',
        '{"a": "h"}',
        '{"a": "hé"}',
        '{"a": "hé", "b": []}',
        '{"a": "hé", "b": [1]}',
        '{"a": "hé", "b": [1, {}]}',
        '{"a": "hé", "b": [1, {}], "c": true}',
    ]


@pytest.mark.parametrize(
    "text", [r'"\ud83d\ude42"', r'"\ud83dx"', r'"\ud83d\n"', r'"\ud83d"', r'"\ud83d\u0041"', r'"\\\""']
)
def test_pairs_of_escapes(text: str) -> None:
    partial = PartialJson()
    for character in text:
        partial.feed(character)
    partial.finish()
    assert partial.value == json.loads(text)


@pytest.mark.parametrize("text", ["hello", "{a", "[1,,2]", '{"a" 1}', "}", ""])
def test_what_is_no_json(text: str) -> None:
    partial = PartialJson()
    with pytest.raises(ArgumentError, match="partial values"):
        for character in text + " ":
            partial.feed(character)
        partial.finish()


def test_a_record_of_the_embedded_model() -> None:
    model = detent.load_model()
    schema = {"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
              "required": ["name", "age"], "additionalProperties": False}  # fmt: skip
    arguments: dict[str, Any] = {"temperature": 0, "max_tokens": 60, "ban": ["Berg"]}
    values = detent.stream(model, "Anna Berg is 34. Write the person as JSON.", detent.json_schema(schema),
                           partial=True, **arguments)  # fmt: skip
    with pytest.raises(StateError):
        _ = values.output
    seen = list(values)
    assert len(seen) > 3
    assert seen[-1] == json.loads(values.output.text)
    assert "Berg" not in str(seen)
    assert all(grows_to(before, seen[-1]) for before in seen)

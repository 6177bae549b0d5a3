"""What each engine must do with the embedded model: rules of all kinds, whose outputs are all checked."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
import pytest

import detent
from detent.models import Chat

SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 12},
        "age": {"type": "integer", "minimum": 0, "maximum": 150},
    },
    "required": ["name", "age"],
    "additionalProperties": False,
}
GRAMMAR = 'root ::= term ("+" term)*\nterm ::= [0-9]+ | "(" root ")"'
WORDS = r"[A-Z][a-z]{2,9}( [a-z]{1,9}){0,3}\."
TOOL = {
    "type": "function",
    "function": {
        "name": "get_user_info",
        "parameters": {
            "type": "object",
            "properties": {"user_id": {"type": "integer"}},
            "required": ["user_id"],
            "additionalProperties": False,
        },
    },
}
TAG = {
    "type": "structural_tag",
    "format": {
        "type": "sequence",
        "elements": [
            {"type": "tag", "begin": "<t>", "content": {"type": "regex", "pattern": "[a-z]{3}"}, "end": "</t>"},
            {"type": "json_schema", "json_schema": SCHEMA},
        ],
    },
}
PROMPTS = ["Pick a number.", "Can we talk?", "Who is William?", "Make up a person.", "List three colours."]


@dataclass
class Case:
    """A rule with options, and whether a text is right, told without detent where that can be."""

    rule: Any
    is_right: Callable[[str], bool]
    options: dict[str, Any] = field(default_factory=dict)


def _is_person(text: str) -> bool:
    value = json.loads(text)
    return set(value) == {"name", "age"} and len(value["name"]) <= 12 and 0 <= value["age"] <= 150


def _is_grammatical(text: str) -> bool:
    while (reduced := re.sub(r"\((?:[0-9]+)(?:\+[0-9]+)*\)", "0", text)) != text:
        text = reduced
    return re.fullmatch(r"[0-9]+(\+[0-9]+)*", text) is not None


def cases() -> dict[str, Case]:
    """Return the cases by name."""
    turn = detent.turn([TOOL], style="detent", tool_choice="required", max_calls=1)
    return {
        "regex": Case(detent.regex(WORDS), lambda text: re.fullmatch(WORDS, text) is not None),
        "json": Case(detent.json_schema(SCHEMA), _is_person),
        "grammar": Case(detent.gbnf(GRAMMAR), _is_grammatical),
        "choice": Case(["red", "green", "blue"], lambda text: text in ("red", "green", "blue")),
        "ban": Case(
            detent.regex("[A-Za-z ,.]{20,60}"),
            lambda text: "e" not in text and "talk" not in text,
            {"ban": ["e", "talk"]},
        ),
        "canonical": Case(detent.regex("[a-z]{5,12} [0-9]{2}"), lambda text: True, {"canonical": True}),
        "turn": Case(turn, lambda text: turn.parse(text).calls[0].name == "get_user_info"),
    }


@lru_cache
def embedded_model() -> detent.models.EmbeddedModel:
    """Return the embedded model, loaded once."""
    return detent.load_model()


def chat_ids(prompt: str) -> list[int]:
    """Return the ids of a conversation for the embedded model."""
    return embedded_model().encode_chat(Chat(prompt))


def check_text(name: str, text: str, vocabulary: detent.Vocabulary, token_ids: list[int] | None = None) -> None:
    """Check an output of a case, and the canonical case's tokens."""
    assert cases()[name].is_right(text), (name, text)
    if name == "canonical" and token_ids is not None:
        ends = set(vocabulary.eos_token_ids)
        assert [t for t in token_ids if t not in ends] == vocabulary.encode_canonical(text)


def check_model(model: Any, *, tolerance: float) -> None:
    """Check a model for `detent.generate`: its logits, crops, sessions that take turns, and all cases."""
    own = detent.load_model()
    assert model.vocabulary.fingerprint == own.vocabulary.fingerprint
    ids = chat_ids("Can we talk?")
    assert model.encode(own.decode(ids)) == ids
    session, expected = model.start(ids), own.start(ids)
    np.testing.assert_allclose(session.logits, expected.logits, atol=tolerance)
    for step in ([300, 301], [5], "crop 2", [77, 78, 79], "crop 4"):
        for each in (session, expected):
            if isinstance(step, str):
                each.crop(len(each.token_ids) - int(step.split()[1]))
            else:
                each.append(step)
        assert session.token_ids == expected.token_ids
        np.testing.assert_allclose(session.logits, expected.logits, atol=tolerance)
    other = model.start(chat_ids("Pick a number."))  # takes the context
    np.testing.assert_allclose(other.logits, own.start(other.token_ids).logits, atol=tolerance)
    session.append([9])
    expected.append([9])
    np.testing.assert_allclose(session.logits, expected.logits, atol=tolerance)
    for name, case in cases().items():
        for seed, prompt in enumerate(PROMPTS):
            out = detent.generate(
                model, [{"role": "user", "content": prompt}], case.rule, max_tokens=64, seed=seed, **case.options
            )
            assert out.finish_reason in ("stop", "length"), (name, out)
            check_text(name, out.text, model.vocabulary, out.token_ids)
    for wrong in ({"type": "nonsense"}, {"type": "integer", "minimum": 2, "maximum": 1}):
        with refused():
            detent.generate(model, PROMPTS[0], wrong)
    rewound = detent.generate(
        model, [{"role": "user", "content": "Can we talk?"}], temperature=0, ban=["talk", "listen"]
    )
    assert "talk" not in rewound.text and "listen" not in rewound.text
    assert rewound.report.rewinds


@contextmanager
def refused() -> Iterator[None]:
    """Expect a typed error."""
    with pytest.raises(detent.DetentError):
        yield


def break_third_mask(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Let the third mask that is filled raise an error; return a list that grows by one with each mask."""
    calls: list[int] = []

    def fill(self: object, row: object) -> None:
        calls.append(1)
        if len(calls) == 3:
            raise RuntimeError("broken")
        original(self, row)

    original = detent.Matcher.fill_mask
    monkeypatch.setattr(detent.Matcher, "fill_mask", fill)
    return calls

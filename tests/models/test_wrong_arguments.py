"""Wrong arguments of models and sessions: an `ArgumentError` with a sentence, never an error of Python or NumPy."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import detent
from detent.errors import ArgumentError, DetentError
from detent.models import CallableModel
from tests.support import tiny_llama

WRONG = [None, 5, 1.5, "x", b"x", ["a"], {"a": 1}, object(), float("nan"), np.zeros((2, 2)), "\ud800", [None], [-1]]


def models() -> list[Any]:
    embedded = detent.load_model()
    made: list[Any] = [embedded, CallableModel(lambda ids: np.zeros(3), detent.Vocabulary([b"a"], eos_token_ids=[0]))]
    with contextlib.suppress(ModuleNotFoundError):
        made.append(detent.models.Transformers(tiny_llama.model(), tiny_llama.tokenizer()))
    return made


@pytest.mark.parametrize("model", models(), ids=lambda model: type(model).__name__)
def test_sessions(model: Any) -> None:
    session = model.start([1, 2])
    for wrong in WRONG:
        for call in (model.start, session.append):
            with pytest.raises(ArgumentError, match=r"token ids? "):
                call(wrong)
    for wrong in [*WRONG, -1, 10**30, 3]:
        with pytest.raises(ArgumentError, match="cannot crop 2 tokens"):
            session.crop(wrong)
    assert session.token_ids == [1, 2]


@pytest.mark.parametrize(
    ("call", "allowed"),
    [
        (detent.load_model, (None,)),
        (detent.load_model().encode, ("x",)),
        (detent.load_model().encode_text, ("x",)),
        (detent.load_model().encode_chat, ("x",)),
        (detent.load_model().decode, ()),
    ],
    ids=["load_model", "encode", "encode_text", "encode_chat", "decode"],
)
def test_the_embedded_model(call: Callable[[Any], object], allowed: tuple[object, ...]) -> None:
    for wrong in WRONG:
        if isinstance(wrong, (str, type(None))) and wrong in allowed:
            continue
        with pytest.raises(DetentError):
            call(wrong)

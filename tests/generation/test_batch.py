"""Batches: each row is what `generate` writes for it; what rows share is read and compiled once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

import detent
from detent import Request
from detent.errors import ArgumentError, EmptyLanguageError
from detent.models import CallableModel

VOCABULARY = detent.Vocabulary([b"a", b"b", b"ab", b" ", b""], eos_token_ids=[4])


def model(calls: list[tuple[int, ...]] | None = None) -> CallableModel:
    def function(ids: Sequence[int]) -> np.ndarray:
        if calls is not None:
            calls.append(tuple(ids))
        return np.random.default_rng(list(ids)).normal(0, 1, 5)

    return CallableModel(function, VOCABULARY, encode=lambda text: ["ab".index(letter) for letter in text])


REQUESTS = [
    Request("a", detent.regex("[ab]{3,9}"), samples=3, seed=5),
    Request("a", None, max_tokens=6, ban=["ab", "bb"], temperature=2.0, seed=1),
    Request("bb", detent.regex("(a|b| ){8}"), ban=["a b"], ban_mode="mask", top_k=3, seed=2, samples=2),
    Request([1, 2], None, max_tokens=30, stop=["  "], seed=9, min_p=0.1),
    Request("a", detent.choice("ab", "ba"), temperature=0, samples=0),
]


def alone(request: Request, sample: int) -> detent.Output:
    options = {name: getattr(request, name) for name in request.__dataclass_fields__}
    del options["samples"]
    options["seed"] += sample
    return detent.generate(model(), **options)


def test_rows_do_not_depend_on_the_batch() -> None:
    rows = [alone(request, sample) for request in REQUESTS for sample in range(request.samples)]
    assert detent.generate_batch(model(), REQUESTS) == rows
    backwards = detent.generate_batch(model(), REQUESTS[::-1])
    assert sorted(backwards, key=repr) == sorted(rows, key=repr)
    assert len({out.text for out in rows[:3]}) > 1


def test_a_prompt_is_read_once() -> None:
    it = detent.load_model()
    asked = []

    class Counting:
        vocabulary = it.vocabulary
        encode = it.encode

        def start(self, token_ids: Sequence[int]) -> detent.models.Session:
            asked.append(len(token_ids))
            return it.start(token_ids)

    request = Request("Can we talk?", max_tokens=8, samples=4, seed=0, ban=["listen"])
    rows = detent.generate_batch(Counting(), [request, Request("Can we talk?", detent.choice("Yes", "No"), seed=0)])
    assert len(asked) == 1
    assert rows[2] == detent.generate(it, "Can we talk?", max_tokens=8, seed=2, ban=["listen"])


def test_everything_is_checked_before_anything_is_written() -> None:
    calls: list[tuple[int, ...]] = []
    with pytest.raises(EmptyLanguageError):
        detent.generate_batch(model(calls), [REQUESTS[0], Request("a", detent.regex("a"), ban=["a"])])
    for wrong in (Request("a", samples=-1), Request("a", seed=-1), Request("a", max_tokens=0), "a", Request(5)):  # type: ignore[arg-type]
        with pytest.raises(ArgumentError):
            detent.generate_batch(model(calls), [REQUESTS[0], wrong])  # type: ignore[list-item]
    assert calls == []
    assert detent.generate_batch(model(), []) == []

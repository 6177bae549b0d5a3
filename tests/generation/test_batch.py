"""Batches: each row is what `generate` writes for it; what rows share is read and compiled once."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import detent
from detent import Request
from detent.errors import ArgumentError, EmptyLanguageError
from detent.models import CallableModel
from tests.support import tiny_llama

VOCABULARY = detent.Vocabulary([b"a", b"b", b"ab", b" ", b""], eos_token_ids=[4])


def model(calls: list[tuple[int, ...]] | None = None) -> CallableModel:
    def function(ids: Sequence[int]) -> np.ndarray:
        if calls is not None:
            calls.append(tuple(ids))
        return np.random.default_rng(list(ids)).normal(0, 1, 5)

    return CallableModel(function, VOCABULARY, encode=lambda text: ["ab".index(letter) for letter in text])


class Alone:
    """A model that cannot read several sessions together."""

    def __init__(self, model: detent.models.Model) -> None:
        self.inner, self.vocabulary, self.encode = model, model.vocabulary, model.encode

    def start(self, token_ids: Sequence[int]) -> detent.models.Session:
        return self.inner.start(token_ids)


class Together(Alone):
    """A model that counts the passes, and how many sessions and new tokens each of them reads."""

    def __init__(self, model: detent.models.BatchModel) -> None:
        super().__init__(model)
        self.passes: list[int] = []
        self.prompts = 0

    def start(self, token_ids: Sequence[int]) -> detent.models.Session:
        self.prompts += 1
        return super().start(token_ids)

    def read(self, sessions: Sequence[detent.models.Session]) -> None:
        self.passes.append(len(sessions))
        self.inner.read(sessions)  # type: ignore[attr-defined]

    def fork(self, session: detent.models.Session) -> detent.models.Session:
        return self.inner.fork(session)  # type: ignore[attr-defined,no-any-return]


BAN = detent.Ban(["e", "an", "or", "12", "is", "I w"], ignore_case=True)
REQUESTS = [
    Request("a", detent.regex("[ab]{3,9}"), samples=3, seed=5),
    Request("a", None, max_tokens=6, ban=["ab", "bb"], temperature=2.0, seed=1),
    Request("bb", detent.regex("(a|b| ){8}"), ban=["a b"], ban_mode="mask", top_k=3, seed=2, samples=2),
    Request([1, 2], None, max_tokens=30, stop=["  "], seed=9, min_p=0.1),
    Request("a", detent.choice("ab", "ba"), temperature=0, samples=1),
]


def alone(request: Request, sample: int, model: Callable[[], detent.models.Model] = model) -> detent.Output:
    options = {name: getattr(request, name) for name in request.__dataclass_fields__}
    del options["samples"]
    options["seed"] = None if request.seed is None else request.seed + sample
    return detent.generate(model(), **options)


def _order(out: detent.Output) -> tuple[object, ...]:
    return out.text, out.token_ids, out.prompt_token_count


def test_rows_do_not_depend_on_the_batch() -> None:
    rows = [alone(request, sample) for request in REQUESTS for sample in range(request.samples)]
    assert detent.generate_batch(model(), REQUESTS) == rows
    backwards = detent.generate_batch(model(), REQUESTS[::-1])
    assert sorted(backwards, key=_order) == sorted(rows, key=_order)
    assert len({out.text for out in rows[:3]}) > 1


def test_a_prompt_is_read_once() -> None:
    it = detent.load_model()

    class Counting(Alone):
        def start(self, token_ids: Sequence[int]) -> detent.models.Session:
            asked.append(len(token_ids))
            return super().start(token_ids)

    request = Request("Can we talk?", max_tokens=8, samples=4, seed=0, ban=["listen"])
    requests = [request, Request("Can we talk?", detent.choice("Yes", "No"), seed=0)]
    asked: list[int] = []
    rows = detent.generate_batch(Counting(it), requests)
    assert len(asked) == 1
    assert rows == detent.generate_batch(it, requests)
    assert rows[2] == detent.generate(it, "Can we talk?", max_tokens=8, seed=2, ban=["listen"])


def test_everything_is_checked_before_anything_is_written() -> None:
    calls: list[tuple[int, ...]] = []
    with pytest.raises(EmptyLanguageError):
        detent.generate_batch(model(calls), [REQUESTS[0], Request("a", detent.regex("a"), ban=["a"])])
    for wrong in (
        Request("a", samples=-1),
        Request("a", samples=0),
        Request("a", seed=-1),
        Request("a", max_tokens=0),
        "a",
        Request(5),
    ):  # type: ignore[arg-type]
        with pytest.raises(ArgumentError):
            detent.generate_batch(model(calls), [REQUESTS[0], wrong])  # type: ignore[list-item]
    assert calls == []
    assert detent.generate_batch(model(), []) == []
    with pytest.raises(ArgumentError, match="batch_size"):
        detent.generate_batch(model(), REQUESTS, batch_size=0)


SENTENCE = {
    "yes": detent.regex("(yes|no|maybe)( [a-z]{2,9}){1,6}[.]"),
    "form": detent.regex(r'\{"some_long_key": [0-9]+\}'),
}
REAL = [
    Request("yes no", max_tokens=20, samples=3, seed=1),
    Request("in the morning and in the evening", SENTENCE["yes"], max_tokens=30, temperature=0, canonical=False),
    Request("12 34 56", SENTENCE["form"], max_tokens=30, temperature=1.5, seed=7, samples=2),
    Request("yes no", max_tokens=40, ban=BAN, temperature=0),
    Request("abc", max_tokens=40, ban=["a", "the", "t"], temperature=1.2, seed=3, top_p=0.9),
    Request("abc def ghi", detent.choice("yes no maybe", "the answer is 42"), temperature=0),
    Request("a", detent.literal("yes"), max_tokens=9, seed=4, canonical=False),
]


@pytest.mark.parametrize("batch_size", [1, 2, 3, 16])
def test_rows_that_are_read_together(real: detent.models.BatchModel, batch_size: int) -> None:
    expected = [alone(request, sample, lambda: real) for request in REAL for sample in range(request.samples)]
    assert sum(len(out.report.rewinds) for out in expected) > 1
    counting = Together(real)
    assert detent.generate_batch(counting, REAL, batch_size=batch_size) == expected
    assert max(counting.passes) == min(batch_size, 10)
    rows = detent.generate_batch(real, REAL, batch_size=batch_size)
    calls = [out.report.model_calls for out in expected]
    assert [out.report.model_calls for out in rows] == calls
    if batch_size == 16:
        assert len(counting.passes) <= max(calls) + 1  # no row waits; one more pass for the shared prompts
        assert counting.prompts == 6  # as many as there are different ones
    if batch_size == 1:
        assert len(counting.passes) <= sum(calls) + 2


def test_reports_of_rows_that_are_read_together(real: detent.models.BatchModel) -> None:
    expected = [alone(request, sample, lambda: real) for request in REAL for sample in range(request.samples)]
    for out, lone in zip(detent.generate_batch(real, REAL), expected, strict=True):
        assert 0 <= out.report.model_seconds <= out.report.seconds
        assert out.report.rewinds == lone.report.rewinds
        assert out.report.log_mass == pytest.approx(lone.report.log_mass, abs=1e-2)


@pytest.mark.parametrize("seed", range(6))
def test_sessions_are_independent_whatever_is_done_with_the_others(real: detent.models.BatchModel, seed: int) -> None:
    """Append, crop, fork, read alone or together, in any order: logits are those of a fresh session."""
    rng = random.Random(seed)
    sessions = [real.start([rng.randrange(4, 300) for _ in range(rng.randrange(1, 9))]) for _ in range(3)]
    for _ in range(60):
        session = rng.choice(sessions)
        match rng.randrange(6):
            case 0 | 1:
                session.append([rng.randrange(4, 300) for _ in range(rng.choice([1, 1, 1, 7]))])
            case 2:
                session.crop(rng.randrange(max(1, len(session.token_ids) - 9), len(session.token_ids) + 1))
            case 3 if len(sessions) < 7:
                sessions.append(real.fork(session))
            case 3:
                sessions.remove(session)
            case 4:
                _ = session.logits
            case 5:
                real.read(rng.sample(sessions, rng.randrange(1, len(sessions) + 1)))
    real.read(sessions)
    for session in sessions:
        np.testing.assert_allclose(session.logits, real.start(session.token_ids).logits, atol=2e-3, rtol=1e-3)


def test_models_that_forget_positions_are_read_one_by_one() -> None:
    torch = pytest.importorskip("torch", reason="needs torch")
    transformers = pytest.importorskip("transformers", reason="needs transformers")
    torch.manual_seed(0)
    config = transformers.MistralConfig(
        vocab_size=tiny_llama.PADDED_WIDTH, hidden_size=32, intermediate_size=64, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, sliding_window=8, initializer_range=0.5,
        pad_token_id=0, bos_token_id=1, eos_token_id=2,
    )  # fmt: skip
    it = detent.models.Transformers(transformers.MistralForCausalLM(config).eval(), tiny_llama.tokenizer())
    expected = [alone(request, sample, lambda: it) for request in REAL for sample in range(request.samples)]
    assert detent.generate_batch(it, REAL) == expected
    session = it.start([5] * 12)
    session.append([9])
    copy = it.fork(session)
    _ = copy.logits
    copy = it.fork(copy)
    for each in (session, copy):
        each.append([7])
        each.crop(13)
        np.testing.assert_allclose(each.logits, it.start(each.token_ids).logits, atol=1e-4)


def test_sessions_of_another_model_are_refused(real: detent.models.BatchModel) -> None:
    other = model().start([0])
    with pytest.raises(ArgumentError, match="session"):
        real.read([other])
    with pytest.raises(ArgumentError, match="session"):
        real.fork(other)


def test_names_that_other_libraries_have_are_explained() -> None:
    model = detent.load_model()
    for name, message in (("n", "generate_batch"), ("tools", "detent.Chat"), ("schema", "the rule comes after")):
        with pytest.raises(TypeError, match=message):
            detent.generate(model, "Hi", **{name: 3})  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"Request\(\) got .*'max_token'; did you mean 'max_tokens'"):
        detent.Request("Hi", max_token=3)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"Ban\(\) got .*did you mean 'ignore_case'"):
        detent.Ban(["x"], ignorecase=True)  # type: ignore[call-arg]


@pytest.mark.parametrize("wrong", [{"max_tokens": 2}, {"ban": 5}])
def test_an_error_names_its_request(wrong: dict[str, Any]) -> None:
    model = detent.load_model()
    requests = [detent.Request("Hi", detent.regex("a{9}")), detent.Request("Hi", detent.regex("a{9}"), **wrong)]
    with pytest.raises(detent.DetentError, match=r"^request 1: "):
        detent.generate_batch(model, requests)

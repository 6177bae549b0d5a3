"""The report, against probabilities computed by hand; forced tokens, against the calls that a model gets."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

import detent
from detent.generation import Report, Step
from detent.generation.report import measure
from detent.models import CallableModel

VOCABULARY = detent.Vocabulary([b"a", b"b", b"c", b"key", b""], eos_token_ids=[4])
PROBABILITIES = [0.1, 0.2, 0.4, 0.05, 0.25]


def model(calls: list[int] | None = None, probabilities: Sequence[float] = PROBABILITIES) -> CallableModel:
    def function(ids: Sequence[int]) -> np.ndarray:
        if calls is not None:
            calls.append(len(ids))
        with np.errstate(divide="ignore"):
            return np.log(probabilities)

    return CallableModel(function, VOCABULARY, encode=lambda text: [0])


def test_steps() -> None:
    out = detent.generate(model(), "p", detent.regex("[ab]{2}c?"), temperature=0)
    assert out.text == "bbc"
    steps = out.report.steps
    assert [(step.token_id, step.top_token_id) for step in steps] == [(1, 2), (1, 2), (2, 2)]
    assert [math.exp(step.log_mass or 0) for step in steps] == pytest.approx([0.3, 0.3, 0.65])
    assert [math.exp(step.log_probability or 0) for step in steps] == pytest.approx([0.2, 0.2, 0.4])
    assert out.report.log_mass == pytest.approx(math.log(0.3 * 0.3 * 0.65))
    assert out.report.worst(1) == (steps[0],)


def test_a_chosen_end_is_a_step() -> None:
    out = detent.generate(model(probabilities=[0.1, 0.1, 0.1, 0.1, 0.6]), "p", detent.regex("a{0,3}"), temperature=0)
    assert out.report.steps == (
        Step(4, 4, pytest.approx(math.log(0.7)), pytest.approx(math.log(0.6)), (), pytest.approx(1.2275, abs=1e-3)),
    )
    assert out.token_ids == ()


def test_forced_tokens_are_read_in_one_pass() -> None:
    calls: list[int] = []
    out = detent.generate(model(calls), "p", detent.regex("keykeykey(a|b)keykey(a|b)key"), temperature=0)
    assert out.text == "keykeykeybkeykeybkey"
    assert calls == [4, 7]  # the prompt and three keys; then b and two keys
    report = out.report
    assert (report.model_calls, len(report.steps)) == (2, 8)
    assert report.forced_share == 6 / 8
    assert [step.is_forced for step in report.steps] == [True, True, True, False, True, True, False, True]


def test_a_session_is_given_runs() -> None:
    appended: list[list[int]] = []
    inner = model()

    class Session:
        def __init__(self, ids: Sequence[int]) -> None:
            self.token_ids = list(ids)

        logits = np.log(np.float32(PROBABILITIES))

        def append(self, token_ids: Sequence[int]) -> None:
            appended.append(list(token_ids))

        def crop(self, length: int) -> None:
            raise AssertionError("nothing is taken back here")

    class Recorder:
        vocabulary = VOCABULARY
        encode = inner.encode

        def start(self, token_ids: Sequence[int]) -> Session:
            return Session(token_ids)

    detent.generate(Recorder(), "p", detent.regex("[ab]keykey[ab]"), temperature=0)
    assert appended == [[1, 3, 3]]


def test_an_end_is_never_forced_upon_a_text_that_may_go_on() -> None:
    calls: list[int] = []
    out = detent.generate(model(calls), "p", detent.regex("(key)*"), temperature=0, max_tokens=3)
    assert (out.text, calls) == ("", [1])


@pytest.mark.parametrize("size", [31, 32, 33, 1000])
def test_measure(size: int) -> None:
    rng = np.random.default_rng(size)
    for scale in (1, 30, 300):
        logits = rng.normal(0, scale, size).astype(np.float32)
        allowed = rng.random(size) < rng.choice([0.02, 0.5, 0.99])
        allowed[rng.integers(size)] = True
        mask = detent.allocate_mask(1, size)[0]
        for token_id in np.flatnonzero(allowed):
            mask.view(np.uint32)[token_id >> 5] |= np.uint32(1 << (int(token_id) & 31))
        log_mass, log_total, top, entropy = measure(logits, mask)
        exact = logits.astype(np.float64)
        total = np.logaddexp.reduce(exact)
        assert log_mass == pytest.approx(np.logaddexp.reduce(exact[allowed]) - total, rel=1e-3, abs=1e-6)
        assert log_total == pytest.approx(total, rel=1e-5)
        assert top == exact.argmax()
        probabilities = np.exp(exact - total)
        surprise = -np.log(probabilities, where=probabilities > 0, out=np.zeros(size))
        assert entropy == pytest.approx(math.fsum(probabilities * surprise), rel=1e-3, abs=1e-5)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_measure_of_odd_logits(value: float) -> None:
    logits = np.array([0, value, 1], dtype=np.float32)
    log_mass, _, _, entropy = measure(logits, np.array([0b001], dtype=np.int32))
    assert entropy == pytest.approx(math.log(1 + math.e) - math.e / (1 + math.e)) if value == -np.inf else entropy != 0
    assert log_mass == pytest.approx(-math.log(1 + math.e)) if value == -np.inf else math.isnan(log_mass)
    assert measure(logits, np.array([0b010], dtype=np.int32))[0] == -np.inf or value != -np.inf


def test_measure_of_logits_far_apart() -> None:
    logits = np.array([3e38, -3e38, 2e38], dtype=np.float32)
    assert measure(logits, np.array([0b010], dtype=np.int32)) == pytest.approx((-6e38, 3e38, 0, 0))
    assert measure(logits[::-1], np.array([0b111], dtype=np.int32)) == pytest.approx((0.0, 3e38, 2, 0))


def test_times_and_words() -> None:
    out = detent.generate(detent.load_model(), "Can we talk?", temperature=0, ban=["listen"])
    report = out.report
    assert 0 < report.mask_seconds + report.model_seconds <= report.seconds
    assert 0 < report.mask_share < 1
    assert report.tokens_per_second > 0
    assert report.model_calls == len(report.steps)  # going back costs no call
    for words in ("model calls", "tokens a second", "allowed mass", "1 rewinds"):
        assert words in str(report)
    assert str(Report()).startswith("0 steps")

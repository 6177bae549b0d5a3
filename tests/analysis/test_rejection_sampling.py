"""Unbiased sampling, against the distribution of a small model, enumerated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest

import detent
from detent.analysis import rejection_sampling
from detent.errors import ArgumentError, LimitError, ModelError
from detent.models import CallableModel

VOCABULARY = detent.Vocabulary([b"a", b"b", b"ab", b"ba", b""], eos_token_ids=[4])
LANGUAGES = ["(a|b){1,4}", "a*b", "(ab)+|b{3}", "a(ba)*|bbb"]
MOST = 5


def logits(seed: int, ids: Sequence[int]) -> np.ndarray:
    return np.random.default_rng([seed, *ids]).normal(0, 1.5, 5)


def model(seed: int) -> CallableModel:
    return CallableModel(lambda ids: logits(seed, ids), VOCABULARY, encode=lambda text: [0])


def distribution(seed: int, language: detent.Language, temperature: float) -> dict[tuple[int, ...], float]:
    """Return the probability of each token sequence that the model ends, given that its text is in the language."""
    found: dict[tuple[int, ...], float] = {}
    level: list[tuple[tuple[int, ...], float]] = [((), 1.0)]
    while level:
        deeper = []
        for ids, probability in level:
            weights = np.exp(logits(seed, [0, *ids]) / temperature)
            weights /= weights.sum()
            if language.accepts(VOCABULARY.decode(ids)):
                found[ids] = probability * weights[4]
            if len(ids) < MOST:
                deeper += [((*ids, token_id), probability * weights[token_id]) for token_id in range(4)]
        level = deeper
    total = sum(found.values())
    return {ids: probability / total for ids, probability in found.items()}


def distance(outs: Sequence[detent.Output], exact: dict[tuple[int, ...], float]) -> float:
    counts = Counter(out.token_ids for out in outs)
    assert counts.keys() <= exact.keys()
    return sum(abs(counts[ids] / len(outs) - probability) for ids, probability in exact.items()) / 2


@pytest.mark.parametrize("pattern", LANGUAGES)
@pytest.mark.parametrize("temperature", [1.0, 0.6])
def test_texts_have_the_models_probabilities(pattern: str, temperature: float) -> None:
    language = detent.regex(pattern)
    exact = distribution(1, language, temperature)
    options = {"count": 3000, "max_tokens": MOST, "temperature": temperature, "seed": 3}
    assert distance(detent.analysis.sample_conditioned(model(1), "p", language, **options), exact) < 0.04  # type: ignore[arg-type]


@pytest.mark.parametrize("words", [["aa"], ["bb", "ab"], ["Ba"]])
def test_banned_words_are_left_out_of_the_language(words: list[str]) -> None:
    language = detent.regex("(a|b){1,4}")
    rest = language - detent.containing(*words, ignore_case=True)
    options = {"count": 3000, "max_tokens": MOST, "seed": 5, "ban": detent.Ban(words, ignore_case=True)}
    outs = detent.analysis.sample_conditioned(model(1), "p", language, **options)  # type: ignore[arg-type]
    assert distance(outs, distribution(1, rest, 1.0)) < 0.04


def test_masks_alone_are_biased() -> None:
    language = detent.regex(LANGUAGES[2])
    exact = distribution(1, language, 1.0)
    outs = [detent.generate(model(1), "p", language, max_tokens=MOST, seed=seed) for seed in range(1000)]
    assert distance(outs, exact) > 0.1


def test_without_memory_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rejection_sampling, "_MOST_STORED", 8)
    language = detent.regex(LANGUAGES[1])
    outs = detent.analysis.sample_conditioned(model(2), "p", language, count=1500, max_tokens=MOST, seed=3)
    assert distance(outs, distribution(2, language, 1.0)) < 0.05


def test_what_is_learnt_saves_tries_and_calls() -> None:
    outs = detent.analysis.sample_conditioned(
        model(1), "p", detent.regex(LANGUAGES[3]), count=400, max_tokens=MOST, seed=0
    )
    retries = [out.report.retries for out in outs]
    assert sum(retries[:20]) > 0
    assert sum(retries[-100:]) < sum(retries[:100]) / 4
    calls = [out.report.model_calls for out in outs]
    assert sum(calls[-100:]) < sum(calls[:100]) / 4
    for out in outs[:10]:
        assert [step.token_id for step in out.report.steps] == [*out.token_ids, 4]


def test_a_vocabulary_without_end_of_text() -> None:
    vocabulary = detent.Vocabulary([b"a", b"b"], eos_token_ids=None)
    it = CallableModel(lambda ids: np.log([0.9, 0.1] if ids[-1] == 0 else [0.5, 0.5]), vocabulary)
    outs = detent.analysis.sample_conditioned(it, [0], detent.choice("aa", "bb"), count=2000, seed=1)
    assert Counter(out.text for out in outs)["bb"] / 2000 == pytest.approx(0.05 / 0.86, abs=0.02)


def test_the_embedded_model() -> None:
    it = detent.load_model()
    prompt = "Write 7 March 2021 as an ISO date."
    outs = detent.analysis.sample_conditioned(it, prompt, detent.date(), count=5, seed=0)
    assert [str(out.value) for out in outs] == ["2021-03-07"] * 5
    assert outs[-1].report.model_calls == 0
    assert outs[0].finish_reason == "stop"


def test_refusals() -> None:
    unlikely = CallableModel(lambda ids: [0.0, 0.0, 0.0, 0.0, -40.0], VOCABULARY, encode=lambda text: [0])
    with pytest.raises(LimitError, match=r"9 texts were rejected: .* at most"):
        detent.analysis.sample_conditioned(unlikely, "p", detent.regex("[ab]{3}"), max_rejections=9, seed=0)
    impossible = CallableModel(lambda ids: [0.0, -np.inf, -np.inf, -np.inf, 0.0], VOCABULARY, encode=lambda text: [0])
    with pytest.raises(ModelError, match="probability 0"):
        detent.analysis.sample_conditioned(impossible, "p", detent.regex("aab"), seed=0)
    with pytest.raises(ModelError, match="finite"):
        broken = CallableModel(lambda ids: [np.nan] * 5, VOCABULARY, encode=lambda text: [0])
        detent.analysis.sample_conditioned(broken, "p", detent.regex("a"))
    for arguments in ({"temperature": 0}, {"count": -1}, {"max_rejections": 0}, {"max_tokens": 0}, {"seed": -1}):
        with pytest.raises(ArgumentError, match=next(iter(arguments))):
            detent.analysis.sample_conditioned(model(0), "p", detent.regex("a"), **arguments)
    with pytest.raises(ArgumentError, match="model"):
        detent.analysis.sample_conditioned(None, "p", detent.regex("a"))  # type: ignore[arg-type]

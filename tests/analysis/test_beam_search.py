"""Beam search, against the probabilities of all texts of a small model, and against other searches on real ones."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

import detent
from detent.errors import ArgumentError, LimitError, ModelError
from detent.models import CallableModel

VOCABULARY = detent.Vocabulary([b"a", b"b", b"ab", b"ba", b""], eos_token_ids=[4])
LANGUAGES = ["(a|b){1,4}", "a*b", "(ab)+|b{3}", "a(ba)*|bbb", "aaaa|b", "[ab]{0,5}"]
MOST = 5


def logits(seed: int, ids: Sequence[int]) -> np.ndarray:
    return np.random.default_rng([seed, *ids]).normal(0, 2, 5)


def model(seed: int) -> CallableModel:
    return CallableModel(lambda ids: logits(seed, ids), VOCABULARY, encode=lambda text: [0])


def likeliest(seed: int, language: detent.Language) -> list[tuple[str, float]]:
    """Return the texts of a language, each with the score of its likeliest spelling, the likeliest first."""
    found: dict[str, float] = {}
    level: list[tuple[tuple[int, ...], float]] = [((), 0.0)]
    while level:
        deeper = []
        for ids, score in level:
            row = logits(seed, [0, *ids])
            logs = row - np.logaddexp.reduce(row)
            text = VOCABULARY.decode(ids).decode()
            if language.accepts(text):
                found[text] = max(found.get(text, -np.inf), score + logs[4])
            if len(ids) < MOST:
                deeper += [((*ids, token_id), score + logs[token_id]) for token_id in range(4)]
        level = deeper
    return sorted(found.items(), key=lambda pair: -pair[1])


@pytest.mark.parametrize("pattern", LANGUAGES)
@pytest.mark.parametrize("seed", range(4))
def test_with_beams_for_all_it_finds_the_likeliest(pattern: str, seed: int) -> None:
    language = detent.regex(pattern)
    exact = likeliest(seed, language)
    for count in (1, 3, 100):
        outs = detent.analysis.beam_search(model(seed), "p", language, num_beams=1100, count=count, max_tokens=MOST)
        assert [out.text for out in outs] == [text for text, _ in exact[:count]]
        assert [out.report.log_probability for out in outs] == pytest.approx([score for _, score in exact[:count]])
        for out in outs:
            assert out.finish_reason in ("stop", "length")
            assert [step.token_id for step in out.report.steps] == [*out.token_ids, 4]


@pytest.mark.parametrize("num_beams", [1, 2, 4])
def test_scores_are_those_of_the_texts(num_beams: int) -> None:
    language = detent.regex("(ab|ba|b){2,3}")
    for seed in range(5):
        exact = dict(likeliest(seed, language))
        greedy = detent.generate(model(seed), "p", language, temperature=0, max_tokens=MOST)
        outs = detent.analysis.beam_search(model(seed), "p", language, num_beams=num_beams, count=4, max_tokens=MOST)
        scores = [out.report.log_probability for out in outs]
        assert scores == sorted(scores, reverse=True)
        assert len({out.text for out in outs}) == len(outs)
        for out in outs:
            assert out.report.log_probability <= exact[out.text] + 1e-5
        if num_beams == 1:  # it goes the greedy way, and knows each end beside it
            steps = [*greedy.token_ids, 4]
            rows = [logits(seed, [0, *steps[:place]]) for place in range(len(steps))]
            score = sum(row[i] - np.logaddexp.reduce(row) for row, i in zip(rows, steps, strict=True))
            assert scores[0] >= score - 1e-5


def test_a_vocabulary_without_end_of_text() -> None:
    vocabulary = detent.Vocabulary([b"a", b"b"], eos_token_ids=None)
    it = CallableModel(lambda ids: np.log([0.9, 0.1] if ids[-1] == 0 else [0.5, 0.5]), vocabulary)
    outs = detent.analysis.beam_search(it, [0], detent.choice("ab", "bb", "ba"), count=9)
    assert [(out.text, round(np.exp(out.report.log_probability), 3)) for out in outs] == [
        ("ab", 0.09), ("ba", 0.05), ("bb", 0.05),
    ]  # fmt: skip


def test_budgets_and_bans() -> None:
    language = detent.regex("[ab]{2,9}")
    for out in detent.analysis.beam_search(model(1), "p", language, max_tokens=2, count=20, num_beams=9, ban=["ba"]):
        assert len(out.token_ids) <= 2
        assert language.accepts(out.text)
        assert "ba" not in out.text
    (cut,) = detent.analysis.beam_search(model(1), "p", detent.regex("(aa|bb)+"), max_tokens=2, num_beams=50)
    assert cut.finish_reason == ("length" if len(cut.token_ids) == 2 else "stop")


def test_real_models(real: detent.models.BatchModel) -> None:
    """Beams that are read together have the scores of whole passes, and those of a model that is asked one by one."""
    language = detent.regex("(yes|no|maybe)( [a-z]{2,9}){1,3}[.]")
    outs = detent.analysis.beam_search(real, "yes no", language, num_beams=5, count=5, max_tokens=20)
    assert len(outs) == 5
    best = outs[0]
    assert best.report.model_calls < 22
    for out in outs:
        ids, score = real.encode("yes no"), 0.0
        for step in out.report.steps:
            row = real.start(ids).logits.astype(np.float64)
            score += row[step.token_id] - np.logaddexp.reduce(row)
            ids.append(step.token_id)
        assert out.report.log_probability == pytest.approx(score, abs=1e-2)

    class Alone:
        vocabulary, encode, start = real.vocabulary, real.encode, real.start

    lone = detent.analysis.beam_search(Alone(), "yes no", language, num_beams=5, count=5, max_tokens=20)
    assert [out.text for out in lone] == [out.text for out in outs]
    assert lone[0].report.model_calls > best.report.model_calls


def test_values_and_what_the_model_prefers() -> None:
    it = detent.load_model()
    (out,) = detent.analysis.beam_search(it, "Write 7 March 2021 as an ISO date.", detent.date())
    assert str(out.value) == "2021-03-07"
    guide = detent.compile(detent.date(), it.vocabulary)
    assert detent.analysis.beam_search(it, "Write 7 March 2021 as an ISO date.", guide) == [out]


def test_refusals() -> None:
    for arguments in ({"num_beams": 0}, {"count": 0}, {"max_tokens": 0}, {"num_beams": 1.5}):
        with pytest.raises(ArgumentError, match=next(iter(arguments))):
            detent.analysis.beam_search(model(0), "p", detent.regex("a"), **arguments)  # type: ignore[arg-type]
    with pytest.raises(LimitError, match="max_tokens=1"):
        detent.analysis.beam_search(model(0), "p", detent.regex("aaa"), max_tokens=1)
    impossible = CallableModel(lambda ids: [0.0, -np.inf, -np.inf, -np.inf, 0.0], VOCABULARY, encode=lambda text: [0])
    with pytest.raises(ModelError, match="probability 0"):
        detent.analysis.beam_search(impossible, "p", detent.regex("aab"))
    broken = CallableModel(lambda ids: [np.nan] * 5, VOCABULARY, encode=lambda text: [0])
    with pytest.raises(ModelError, match="finite"):
        detent.analysis.beam_search(broken, "p", detent.regex("a"))

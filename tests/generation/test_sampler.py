"""The sampler: what it may pick, how often, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest

from detent.errors import ArgumentError, ModelError
from detent.generation import Sampler

NINF, INF, NAN = -np.inf, np.inf, np.nan


def row(*values: float) -> np.ndarray:
    return np.array(values, dtype=np.float32)


def frequencies(sampler: Sampler, logits: np.ndarray, draws: int = 4000) -> np.ndarray:
    return np.bincount([sampler.pick(logits) for _ in range(draws)], minlength=logits.size) / draws


def test_greedy_picks_the_highest_and_of_equals_the_first() -> None:
    greedy = Sampler(temperature=0)
    assert greedy.pick(row(0, 3, 1)) == 1
    assert greedy.pick(row(NINF, 2, 2, 1)) == 1


def test_samples_follow_the_softmax() -> None:
    logits = row(0, np.log(2), NINF, np.log(5))
    assert frequencies(Sampler(seed=0), logits) == pytest.approx([1 / 8, 2 / 8, 0, 5 / 8], abs=0.03)


def test_temperature_divides_the_logits() -> None:
    logits = row(0, np.log(2))
    assert frequencies(Sampler(temperature=0.5, seed=0), logits) == pytest.approx([1 / 5, 4 / 5], abs=0.03)


def test_min_p_keeps_what_is_likely_enough_beside_the_likeliest() -> None:
    logits = np.log(row(0.5, 0.3, 0.15, 0.05))
    assert frequencies(Sampler(min_p=0.5, seed=0), logits) == pytest.approx([5 / 8, 3 / 8, 0, 0], abs=0.03)
    assert frequencies(Sampler(min_p=0, seed=0), logits) == pytest.approx([0.5, 0.3, 0.15, 0.05], abs=0.03)
    assert frequencies(Sampler(min_p=1, seed=0), logits)[0] == 1


@pytest.mark.parametrize("temperature", [5e-324, 1e-300, 1e-30, 1e300])
def test_extreme_temperatures_stay_defined(temperature: float) -> None:
    picks = {Sampler(temperature=temperature, seed=seed).pick(row(-1e30, 0, 1e30)) for seed in range(50)}
    assert picks == {2} if temperature < 1 else picks <= {0, 1, 2}


def test_huge_and_tiny_logits_do_not_overflow() -> None:
    assert Sampler(seed=0).pick(row(-3e38, 3e38)) == 1
    assert {Sampler(seed=seed).pick(row(-3e38, -3e38)) for seed in range(30)} == {0, 1}


def test_top_k_keeps_k_and_of_equals_the_first() -> None:
    logits = row(1, 3, 2, 2, 2, 0)
    assert {Sampler(top_k=3, seed=seed).pick(logits) for seed in range(200)} == {1, 2, 3}
    assert {Sampler(top_k=1, seed=seed).pick(logits) for seed in range(20)} == {1}
    assert {Sampler(top_k=99, seed=seed).pick(logits) for seed in range(400)} == {0, 1, 2, 3, 4, 5}


def test_top_p_keeps_the_fewest_that_reach_p() -> None:
    logits = np.log(row(0.05, 0.5, 0.15, 0.3))
    for top_p, kept in ((0.01, {1}), (0.5, {1}), (0.6, {1, 3}), (0.9, {1, 2, 3}), (1.0, {0, 1, 2, 3})):
        assert {Sampler(top_p=top_p, seed=seed).pick(logits) for seed in range(300)} == kept


def test_top_p_acts_on_what_top_k_left() -> None:
    logits = np.log(row(0.4, 0.3, 0.2, 0.1))
    # Of the first two, 0.4 is four sevenths: enough for 0.55, not for 0.6.
    assert {Sampler(top_k=2, top_p=0.55, seed=seed).pick(logits) for seed in range(100)} == {0}
    assert {Sampler(top_k=2, top_p=0.6, seed=seed).pick(logits) for seed in range(100)} == {0, 1}


def test_a_banned_id_is_never_picked() -> None:
    logits = np.full(1000, NINF, dtype=np.float32)
    logits[[17, 999]] = -50, -50
    assert {Sampler(seed=seed).pick(logits) for seed in range(50)} == {17, 999}


def test_a_weight_of_zero_is_never_drawn() -> None:
    logits = row(-2000, 0, -2000)  # exp(-2000) is zero in float64
    assert {Sampler(seed=seed).pick(logits) for seed in range(100)} == {1}


def test_seeds_repeat_and_differ() -> None:
    logits = np.zeros(1000, dtype=np.float32)

    def picks(seed: int | None) -> list[int]:
        sampler = Sampler(seed=seed)
        return [sampler.pick(logits) for _ in range(10)]

    assert picks(7) == picks(7)
    assert picks(7) != picks(8)
    assert picks(None) != picks(None)


def test_the_row_is_left_as_it_was() -> None:
    logits = row(0, 1, 2)
    Sampler(temperature=0.3, top_k=2, top_p=0.5, seed=0).pick(logits)
    assert logits.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    "logits",
    [row(NINF, NINF), row(NAN, NAN), row(0, NAN), row(NINF, NAN), row(0, INF), row(INF, INF), row()],
    ids=str,
)
@pytest.mark.parametrize("temperature", [0, 1])
def test_logits_that_cannot_be_sampled(logits: np.ndarray, temperature: float) -> None:
    with pytest.raises(ModelError):
        Sampler(temperature).pick(logits)


@pytest.mark.parametrize(
    "arguments",
    [
        {"temperature": -0.1},
        {"temperature": NAN},
        {"temperature": INF},
        {"temperature": "1"},
        {"temperature": None},
        {"temperature": True},
        {"temperature": 1j},
        {"top_k": 0},
        {"top_k": -1},
        {"top_k": 1.5},
        {"top_k": True},
        {"top_p": 0},
        {"top_p": -0.1},
        {"top_p": 1.1},
        {"top_p": NAN},
        {"top_p": "0.5"},
        {"seed": -1},
        {"seed": 1.0},
        {"seed": "a"},
    ],
    ids=str,
)
def test_wrong_arguments(arguments: dict[str, object]) -> None:
    (name,) = arguments
    with pytest.raises(ArgumentError, match=name):
        Sampler(**arguments)  # type: ignore[arg-type]


def test_numpy_scalars_are_numbers() -> None:
    sampler = Sampler(np.float32(0.5), np.int64(3), np.float64(0.9), np.uint8(1))  # type: ignore[arg-type]
    assert sampler.pick(row(0, 1)) in (0, 1)

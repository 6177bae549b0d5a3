"""Choices among what a mask leaves, against masking the whole row and choosing then."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import detent
from detent import _core
from detent.errors import ModelError
from detent.generation import Sampler
from detent.generation.masked_logits import few_allowed, narrow
from detent.generation.report import measure
from detent.models import CallableModel, Session

ODD = [0.0, -0.0, 1.0, 1.0, 2.5, -1e30, 3e38, -3e38, 1e-45, -math.inf, math.inf, math.nan]
"""Ties, and what float32 has at its ends."""


def masked(logits: NDArray[np.float32], allowed: Sequence[bool]) -> NDArray[np.float32]:
    return np.array([x if keep else -np.inf for x, keep in zip(logits, allowed, strict=True)], dtype=np.float32)


def row_of(allowed: Sequence[bool]) -> NDArray[np.int32]:
    mask = detent.allocate_mask(1, len(allowed))[0]
    for token_id, keep in enumerate(allowed):
        mask.view(np.uint32)[token_id >> 5] |= np.uint32(keep << (token_id & 31))
    return mask


def picked(sampler: Sampler, *row: Any) -> int | str:
    try:
        return sampler.pick(*row)
    except ModelError as error:
        return str(error)


@st.composite
def rows(draw: st.DrawFn) -> tuple[NDArray[np.float32], list[bool]]:
    size = draw(st.integers(1, 150))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    odd = draw(st.lists(st.sampled_from(ODD), max_size=size))
    dtype = draw(st.sampled_from([np.float16, np.float32, np.float64]))
    with np.errstate(over="ignore"):
        values = np.array([*odd, *rng.normal(0, draw(st.sampled_from([1, 30])), size - len(odd))]).astype(dtype)
        logits = rng.permutation(values).astype(np.float32)
    if draw(st.booleans()):
        logits = logits[::-1]
    share = draw(st.sampled_from([0.0, 0.03, 0.5, 0.97, 1.0]))
    return logits, [bool(keep) for keep in rng.random(size) < share]


@settings(max_examples=400)
@given(
    row=rows(),
    temperature=st.sampled_from([0, 0, 1e-40, 0.7, 1, 3]),
    among=st.sampled_from([{}, {}, {"top_k": 1}, {"top_k": 3}, {"top_p": 0.8}, {"min_p": 0.1}]),
    seed=st.integers(0, 2**32),
    most=st.integers(0, 150),
)
def test_choice(
    row: tuple[NDArray[np.float32], list[bool]], temperature: float, among: dict[str, Any], seed: int, most: int
) -> None:
    """The same choice, and the same refusal, whichever way is the shortest."""
    logits, allowed = row
    before, mask = logits.copy(), row_of(allowed)
    few = few_allowed(mask, most)
    best = int(logits.argmax()) if temperature == 0 else None
    expected = picked(Sampler(temperature, seed=seed, **among), masked(logits, allowed))
    assert picked(Sampler(temperature, seed=seed, **among), *narrow(logits, mask, few, best)) == expected
    assert logits.tobytes() == before.tobytes()
    if isinstance(expected, int):
        assert allowed[expected]


@settings(max_examples=100)
@given(row=rows(), most=st.integers(0, 150))
def test_what_is_told(row: tuple[NDArray[np.float32], list[bool]], most: int) -> None:
    logits, allowed = row
    mask = row_of(allowed)
    ids = [token_id for token_id, keep in enumerate(allowed) if keep]
    few = few_allowed(mask, most)
    assert few is None if len(ids) > most else few is not None and few.tolist() == ids
    values, none = narrow(logits, mask, None, None)
    assert none is None
    assert values.tobytes() == masked(logits, allowed).tobytes()
    if np.isfinite(logits.max()):
        weights = np.exp(logits.astype(np.float64) - float(logits.max())).astype(np.float32)
        inside = math.fsum(weights[ids])
        assert _core.allowed_sums(weights, mask) == pytest.approx((inside, math.fsum(weights) - inside), abs=1e-5)
        assert math.exp(measure(logits, mask)[0]) == pytest.approx(inside / math.fsum(weights), abs=1e-5)


@pytest.mark.parametrize(
    ("numbers", "mask"),
    [
        (np.zeros(40, np.float64), np.zeros(2, np.int32)),
        (np.zeros(40, np.float32), np.zeros(2, np.int64)),
    ],
)
def test_rows_of_other_kinds(numbers: NDArray[Any], mask: NDArray[Any]) -> None:
    with pytest.raises(TypeError, match="array of another type"):
        _core.allowed_sums(numbers, mask)
    with pytest.raises(TypeError, match="array of another type"):
        _core.copy_masked(numbers, mask, np.empty(40, np.float32))


def test_copies_fit() -> None:
    frozen = np.empty(40, np.float32)
    frozen.flags.writeable = False
    for to in (np.empty(39, np.float32), np.empty(80, np.float32)[::2], frozen):
        with pytest.raises((TypeError, ValueError, BufferError)):
            _core.copy_masked(np.zeros(40, np.float32), np.zeros(2, np.int32), to)


VOCABULARY = detent.Vocabulary([b"a", b"b", b"c", b" ", b""], eos_token_ids=[4])


class Frugal:
    """A model whose sessions give all logits in one row, of half precision, that they write over."""

    vocabulary = VOCABULARY

    def encode(self, prompt: str) -> list[int]:
        return [0]

    def start(self, token_ids: Sequence[int]) -> Session:
        return FrugalSession(token_ids)


class FrugalSession:
    def __init__(self, token_ids: Sequence[int]) -> None:
        self.token_ids = list(token_ids)
        self._row = np.zeros(5, dtype=np.float32)

    @property
    def logits(self) -> NDArray[np.float32]:
        self._row[:] = logits_after(self.token_ids)
        shown = self._row.view()
        shown.flags.writeable = False
        return shown

    def append(self, token_ids: Sequence[int]) -> None:
        self.token_ids += token_ids

    def crop(self, length: int) -> None:
        del self.token_ids[length:]


def logits_after(ids: Sequence[int]) -> NDArray[np.float16]:
    return np.random.default_rng(list(ids)).normal(0, 1, 5).astype(np.float16)


@pytest.mark.parametrize("ban", [None, ["ab", "c a", "bb"]])
@pytest.mark.parametrize("temperature", [0, 1])
def test_sessions_that_write_over_their_row(temperature: float, ban: list[str] | None) -> None:
    """TokenTree are read before the session goes on, or are copies: those to which the text may go back."""
    other = CallableModel(logits_after, VOCABULARY, encode=lambda text: [0])
    language = detent.regex("[abc ]{12,20}")
    for seed in range(20):
        frugal, plain = (
            detent.generate(it, "p", language, max_tokens=20, temperature=temperature, seed=seed, ban=ban)
            for it in (Frugal(), other)
        )
        assert (frugal.token_ids, frugal.report.steps) == (plain.token_ids, plain.report.steps)
        assert bool(plain.report.rewinds) <= (ban is not None)

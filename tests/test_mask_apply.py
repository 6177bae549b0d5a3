"""Applying masks to logits on the CPU, against a loop over the bits."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import detent
from detent.mask import check_words

_INTEGERS = {2: np.uint16, 4: np.uint32}


def _reference(logits: npt.NDArray[np.generic], mask: npt.NDArray[np.int32], banned: int) -> npt.NDArray[np.generic]:
    """Return what `apply_mask` must make of 2-D logits, whose bits are given as unsigned integers."""
    expected = logits.copy()
    for row in range(logits.shape[0]):
        words = mask[row if len(mask) > 1 else 0]
        for column in range(logits.shape[1]):
            word = column // 32
            if word >= len(words) or not int(words[word]) >> (column % 32) & 1:
                expected[row, column] = banned
    return expected


def _random_bits(rng: np.random.Generator, rows: int, width: int, item: int) -> npt.NDArray[np.generic]:
    """Random bit patterns: NaN, infinities, subnormals and all."""
    return rng.integers(0, 2 ** (8 * item), size=(rows, width), dtype=_INTEGERS[item])


def _random_mask(rng: np.random.Generator, rows: int, words: int, width: int) -> npt.NDArray[np.int32]:
    """Random words, none and all; words past the width allow nothing."""
    mask = rng.integers(-(2**31), 2**31, size=(rows, words), dtype=np.int32)
    special = rng.integers(0, 4, size=mask.shape)
    mask[special == 0] = 0
    mask[special == 1] = -1
    mask[:, -(-width // 32) :] = 0
    return mask


@settings(max_examples=150)
@given(
    rows=st.integers(1, 3),
    width=st.integers(0, 200),
    words=st.integers(1, 8),
    one_mask=st.booleans(),
    dtype=st.sampled_from([np.float32, np.float16]),
    extra=st.integers(0, 5),
    seed=st.integers(0, 2**32),
)
def test_numpy(rows: int, width: int, words: int, one_mask: bool, dtype: type, extra: int, seed: int) -> None:
    """Odd widths, masks that are wider or narrower, rows that are slices of longer ones."""
    rng = np.random.default_rng(seed)
    item = np.dtype(dtype).itemsize
    bits = _random_bits(rng, rows, width + extra, item)
    rest = _random_mask(rng, 1 if one_mask else rows, words, width)
    mask = np.concatenate([np.full((len(rest), extra), -1, np.int32), rest], axis=1)[:, extra:]
    expected = bits.copy()
    banned = int(np.array(-np.inf, dtype=dtype).view(_INTEGERS[item]))
    expected[:, :width] = _reference(bits[:, :width], mask, banned)
    detent.apply_mask(bits.view(dtype)[:, :width], mask)
    assert np.array_equal(bits, expected)


@settings(max_examples=100)
@given(
    rows=st.integers(1, 3),
    width=st.integers(0, 200),
    words=st.integers(1, 8),
    dtype=st.sampled_from(["float32", "float16", "bfloat16"]),
    extra=st.integers(0, 5),
    seed=st.integers(0, 2**32),
)
def test_torch(rows: int, width: int, words: int, dtype: str, extra: int, seed: int) -> None:
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(seed)
    item = 4 if dtype == "float32" else 2
    bits = _random_bits(rng, rows, width + extra, item)
    mask = _random_mask(rng, rows, words, width)
    signed = torch.from_numpy(bits.view(np.int32 if item == 4 else np.int16))
    banned = {"float32": 0xFF800000, "float16": 0xFC00, "bfloat16": 0xFF80}[dtype]
    expected = bits.copy()
    expected[:, :width] = _reference(bits[:, :width], mask, banned)
    detent.apply_mask(signed.view(getattr(torch, dtype))[:, :width], torch.from_numpy(mask))
    assert np.array_equal(bits, expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_allowed_logits_keep_their_bits(dtype: type) -> None:
    limits = np.finfo(dtype)
    logits = np.tile(np.array([np.nan, np.inf, -np.inf, -0.0, 0.0, limits.tiny, limits.max, 1.5], dtype=dtype), 8)
    before = logits.copy()
    detent.apply_mask(logits, np.array([0x0F0F0F0F, -1], dtype=np.int32))
    allowed = np.array([bit % 8 < 4 for bit in range(32)] + [True] * 32)
    assert np.array_equal(logits[allowed].tobytes(), before[allowed].tobytes())
    assert (logits[~allowed] == -np.inf).all()


def test_one_dimension() -> None:
    logits = np.zeros(40, dtype=np.float32)
    detent.apply_mask(logits, np.array([1, 2], dtype=np.int32))
    assert np.flatnonzero(logits == 0).tolist() == [0, 33]
    detent.apply_mask(logits, np.array([[1, 0]], dtype=np.int32))
    assert np.flatnonzero(logits == 0).tolist() == [0]


def test_one_mask_for_many_rows_and_one_for_each() -> None:
    masks = np.array([[1], [2], [4]], dtype=np.int32)
    logits = np.zeros((3, 3), dtype=np.float32)
    detent.apply_mask(logits, masks)
    assert (logits == 0).tolist() == np.eye(3, dtype=bool).tolist()
    logits[:] = 0
    detent.apply_mask(logits, masks[1])
    assert (logits == 0).tolist() == [[False, True, False]] * 3


def test_numpy_logits_take_torch_masks_and_the_other_way_round() -> None:
    torch = pytest.importorskip("torch")
    logits = np.zeros(3, dtype=np.float32)
    detent.apply_mask(logits, torch.tensor([4], dtype=torch.int32))
    assert (logits == 0).tolist() == [False, False, True]
    tensor = torch.zeros(3)
    detent.apply_mask(tensor, np.array([4], dtype=np.int32))
    assert (tensor == 0).tolist() == [False, False, True]


@settings(max_examples=200)
@given(st.integers(1, 100), st.integers(1, 5), st.integers(1, 3), st.integers(0, 2**32))
def test_logits_of_another_model_are_refused(width: int, words: int, rows: int, seed: int) -> None:
    """Masks that allow an id in a word past the logits, which the message names; nothing is written."""
    rng = np.random.default_rng(seed)
    mask = np.where(rng.random((rows, words)) < 0.4, rng.integers(-(2**31), 2**31, (rows, words)), 0).astype(np.int32)
    allowed = np.flatnonzero(np.unpackbits(mask.view(np.uint8), axis=1, bitorder="little").any(axis=0))
    last = int(allowed.max(initial=-1))
    logits = np.ones((rows, width), np.float32)
    if last < -(-width // 32) * 32:
        detent.apply_mask(logits, mask)
        return
    with pytest.raises(detent.ArgumentError, match=f"the logits have {width} ids, but the mask allows id {last}: "):
        detent.apply_mask(logits, mask)
    assert (logits == 1).all()


def test_masks_on_a_device_are_compared_by_shape() -> None:
    check_words(40, 2), check_words(64, 2), check_words(100, 2)
    with pytest.raises(detent.ArgumentError, match=r"the logits have 40 ids, but the mask has 96: .* mask\[..., :2\]"):
        check_words(40, 3)


def test_nothing_to_mask() -> None:
    for shape in ((0,), (0, 5), (2, 0)):
        detent.apply_mask(np.zeros(shape, dtype=np.float32), np.array([1], dtype=np.int32))


_MASK = np.array([[1], [2]], dtype=np.int32)
_WIDE = np.zeros((2, 20), dtype=np.float32)


def _misaligned(dtype: type, count: int) -> npt.NDArray[np.generic]:
    return np.zeros(count * np.dtype(dtype).itemsize + 1, dtype=np.uint8)[1:].view(dtype)


@pytest.mark.parametrize(
    ("logits", "mask"),
    [
        pytest.param(np.zeros((2, 5)), _MASK, id="float64"),
        pytest.param(np.zeros((2, 5), dtype=np.int32), _MASK, id="integers"),
        pytest.param(np.zeros((2, 5), dtype=">f4"), _MASK, id="byte order"),
        pytest.param([[0.0] * 5] * 2, _MASK, id="lists"),
        pytest.param(np.float32(0), _MASK, id="scalar"),
        pytest.param(np.zeros((), dtype=np.float32), _MASK, id="no dimension"),
        pytest.param(np.zeros((2, 1, 5), dtype=np.float32), _MASK, id="three dimensions"),
        pytest.param(np.zeros((3, 5), dtype=np.float32), _MASK, id="more rows than masks"),
        pytest.param(np.zeros(5, dtype=np.float32), _MASK, id="more masks than rows"),
        pytest.param(_WIDE[:, ::2], _MASK, id="columns with gaps"),
        pytest.param(_WIDE[:, ::-1], _MASK, id="columns backwards"),
        pytest.param(_WIDE[::-1], _MASK, id="rows backwards"),
        pytest.param(_WIDE.T, _MASK[0], id="transposed"),
        pytest.param(np.broadcast_to(np.zeros(5, dtype=np.float32), (2, 5)), _MASK, id="read-only"),
        pytest.param(_misaligned(np.float32, 5), _MASK[0], id="misaligned logits"),
        pytest.param(np.zeros(5, dtype=np.float32), _misaligned(np.int32, 1), id="misaligned mask"),
        pytest.param(_WIDE, _MASK.astype(np.int64), id="mask of int64"),
        pytest.param(_WIDE, _MASK.astype(np.uint32), id="mask of uint32"),
        pytest.param(_WIDE, _MASK.astype(bool), id="mask of bool"),
        pytest.param(_WIDE, _MASK[:, :, None], id="mask of three dimensions"),
        pytest.param(_WIDE, np.zeros((2, 4), dtype=np.int32)[:, ::2], id="mask with gaps"),
        pytest.param(_WIDE, [1], id="mask as a list"),
    ],
)
def test_what_does_not_fit_is_refused(logits: object, mask: object) -> None:
    with pytest.raises(detent.ArgumentError):
        detent.apply_mask(logits, mask)  # type: ignore[arg-type]


def test_rows_that_share_memory_are_refused() -> None:
    torch = pytest.importorskip("torch")
    with pytest.raises(detent.ArgumentError):
        detent.apply_mask(torch.zeros(1, 5).expand(2, 5), torch.from_numpy(_MASK))
    with pytest.raises(detent.ArgumentError):
        detent.apply_mask(torch.zeros(9).as_strided((2, 5), (4, 1)), torch.from_numpy(_MASK))

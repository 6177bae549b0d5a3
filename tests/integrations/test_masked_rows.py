"""Masks of some rows at once are those of each row by itself, and free rows stay as they are."""

from __future__ import annotations

import numpy as np
import pytest

import detent
from detent.integrations.masked_rows import mask_rows

torch = pytest.importorskip("torch")

from tests.support.gpu import needs_gpu  # noqa: E402


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=needs_gpu)])
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_as_row_by_row(dtype: str, device: str) -> None:
    rng = np.random.default_rng(0)
    for width in (1, 31, 32, 33, 1000, 5000):
        for words in {1, -(-width // 32)}:
            for count in (1, 4, 9):
                rows = rng.permutation(9)[:count].tolist()
                masks = rng.integers(-(2**31), 2**31, (count, words)).astype(np.int32)
                masks[:, width // 32 :] = 0
                logits = torch.from_numpy(rng.normal(size=(9, width + 7))).to(getattr(torch, dtype))[:, :width]
                logits[0, 0] = torch.nan
                expected, got = logits.clone(), logits.to(device)
                for row, mask in zip(rows, masks, strict=True):
                    detent.apply_mask(expected[row], mask)
                mask_rows(got, rows, masks)
                assert torch.equal(expected.nan_to_num(nan=7), got.cpu().nan_to_num(nan=7))


def test_another_models_logits_are_refused() -> None:
    with pytest.raises(detent.ArgumentError, match="another model's"):
        mask_rows(torch.zeros(2, 32), [1], np.full((1, 2), -1, np.int32))
    mask_rows(logits := torch.zeros(2, 32), [1], np.array([[1, 0]], np.int32))  # a vocabulary padded with nothing
    assert (logits == 0).sum(dim=1).tolist() == [32, 1]

"""The Triton kernel gives what the CPU path gives: in its interpreter anywhere, and on a GPU where there is one."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

import detent

torch = pytest.importorskip("torch")
pytest.importorskip("triton", reason="the Triton kernel needs triton, which is not installed")

# (logits per row, mask words, rows, mask rows): masks that are short, wide, exact, shared by all rows.
SHAPES = [(1000, 32, 3, 3), (1000, 20, 2, 1), (1024, 40, 1, 1), (5, 1, 2, 2), (3000, 94, 2, 2)]
DTYPES = ["float32", "float16", "bfloat16"]


def cases(seed: int = 0):  # type: ignore[no-untyped-def]
    rng = np.random.default_rng(seed)
    for width, words, rows, mask_rows in SHAPES:
        for dtype in DTYPES:
            logits = torch.from_numpy(rng.normal(size=(rows, width))).to(getattr(torch, dtype))
            bits = rng.integers(-(2**31), 2**31, (mask_rows, words)).astype(np.int32)
            yield logits, torch.from_numpy(bits)


INTERPRETED = """
import torch, triton
from detent.integrations.cuda import _BLOCK, _ban
from tests.integrations.test_cuda import cases
import detent
for logits, mask in cases():
    expected, got = logits.clone(), logits.clone()
    detent.apply_mask(expected, mask)
    width, stride = got.shape[-1], mask.stride(0) if mask.shape[0] > 1 else 0
    grid = (got.shape[0], triton.cdiv(width, _BLOCK))
    _ban[grid](got, mask, width, mask.shape[-1], got.stride(0), stride, BLOCK=_BLOCK)
    assert torch.equal(expected, got), (logits.shape, mask.shape, logits.dtype)
"""


def test_the_kernel_in_the_interpreter() -> None:
    # The interpreter is chosen when triton is imported: a process of its own.
    environment = {**os.environ, "TRITON_INTERPRET": "1"}
    subprocess.run([sys.executable, "-c", INTERPRETED], env=environment, check=True, timeout=120)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU on this machine")
def test_the_kernel_on_a_gpu() -> None:
    for logits, mask in cases():
        expected = logits.clone()
        detent.apply_mask(expected, mask)
        on_gpu = logits.cuda()
        detent.apply_mask(on_gpu, mask.cuda())
        assert torch.equal(expected, on_gpu.cpu())

"""The Triton kernels give what the CPU path gives: in Triton's interpreter anywhere, and on a GPU where there is one.

The interpreter runs more of Python than the compiler takes, so the kernels are compiled too, which needs no GPU.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

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
            needed = np.arange(words) < -(-width // 32)  # words past the logits allow nothing
            for mask in (
                bits,
                np.full_like(bits, -1),
                np.zeros_like(bits),
                np.where(rng.random(words) < 0.5, bits, -1),
            ):
                yield logits.clone(), torch.from_numpy(np.where(needed, mask, 0).astype(np.int32))


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


COMPILED = """
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from detent.integrations.cuda import _BLOCK, _ban, _ban_by_table
NUMBERS = ("width", "words", "logit_stride", "mask_stride", "vocabulary", "classes")
for kernel, chosen in ((_ban, {}), (_ban_by_table, {"BUDGET": True}), (_ban_by_table, {"BUDGET": False})):
    chosen = {**chosen, "BLOCK": _BLOCK}
    for logits in ("*fp32", "*fp16", "*bf16"):
        types = {name: "i32" if name in NUMBERS else "*i32" for name in kernel.arg_names}
        types |= dict.fromkeys(chosen, "constexpr") | {"logits": logits}
        compiled = triton.compile(ASTSource(kernel, types, chosen), target=GPUTarget("cuda", 80, 32))
        assert "st.global" in compiled.asm["ptx"]
"""


def test_the_kernels_compile(tmp_path: Path) -> None:
    environment = {**os.environ, "TRITON_CACHE_DIR": str(tmp_path)}
    subprocess.run([sys.executable, "-c", COMPILED], env=environment, check=True, timeout=300)


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
        detent.apply_mask(on_gpu, mask[:, : -(-logits.shape[1] // 32)].contiguous().cuda())
        assert torch.equal(expected, on_gpu.cpu())


def table_cases():  # type: ignore[no-untyped-def]
    """Stacked tables, states, budgets and logits: what the reference makes of them."""
    from detent.tables import reference
    from detent.torch import TableProcessor
    from tests.support.table_constraints import VOCABULARIES, random_tables

    rng = np.random.default_rng(1)
    for seed, vocabulary in enumerate(VOCABULARIES.values()):
        table = detent.stack_tables([table for _, table in random_tables(vocabulary, seed, 5)])
        for dtype in DTYPES:
            for batch, extra, budget in [(1, 0, False), (7, 5, True), (7, -3, False), (3, 3000, True)]:
                states = rng.integers(0, len(table.next), batch).astype(np.int32)
                left = rng.integers(-2, 6, batch).astype(np.int32) if budget else None
                logits = torch.from_numpy(rng.normal(size=(batch, len(vocabulary) + extra))).to(getattr(torch, dtype))
                expected = reference.apply(table, logits.float().numpy(), states, left)
                yield (
                    logits,
                    torch.from_numpy(states),
                    None if left is None else torch.from_numpy(left),
                    TableProcessor(table),
                    torch.from_numpy(expected).to(logits.dtype),
                )


INTERPRETED_TABLE = """
import torch
from detent.integrations.cuda import launch_by_table
from tests.integrations.test_cuda import table_cases
for logits, states, left, processor, expected in table_cases():
    launch_by_table(logits, states, left, processor)
    assert torch.equal(expected, logits), (logits.shape, logits.dtype, left)
"""


def test_the_kernel_of_tables_in_the_interpreter() -> None:
    environment = {**os.environ, "TRITON_INTERPRET": "1"}
    subprocess.run([sys.executable, "-c", INTERPRETED_TABLE], env=environment, check=True, timeout=120)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU on this machine")
def test_the_kernel_of_tables_on_a_gpu() -> None:
    from detent.integrations.cuda import mask_by_table

    for logits, states, left, processor, expected in table_cases():
        on_gpu = logits.cuda()
        mask_by_table(on_gpu, states.cuda(), None if left is None else left.cuda(), processor.cuda())
        assert torch.equal(expected, on_gpu.cpu())

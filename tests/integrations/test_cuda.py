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

from tests.support.gpu import hold_the_stream, needs_gpu, without_synchronising  # noqa: E402

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
import torch
from detent.integrations.cuda import launch
from tests.integrations.test_cuda import cases
import detent
for logits, mask in cases():
    expected, got = logits.clone(), logits.clone()
    detent.apply_mask(expected, mask)
    launch(got, mask, got.shape[0], got.stride(0), mask.stride(0) if mask.shape[0] > 1 else 0)
    assert torch.equal(expected, got), (logits.shape, mask.shape, logits.dtype)
"""


COMPILED = """
import torch, triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from detent.integrations.cuda import _BANNED, _BITS, _BLOCK, _ban, _ban_by_table
NUMBERS = ("width", "words", "logit_stride", "mask_stride", "vocabulary", "classes")
for kernel, chosen in ((_ban, {}), (_ban_by_table, {"BUDGET": True}), (_ban_by_table, {"BUDGET": False})):
    for dtype, inf in _BANNED.items():
        chosen = {**chosen, "BLOCK": _BLOCK, "INF": inf}
        types = {name: "i32" if name in NUMBERS else "*i32" for name in kernel.arg_names}
        types |= dict.fromkeys(chosen, "constexpr") | {"logits": "*i32" if _BITS[dtype] == torch.int32 else "*i16"}
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


@needs_gpu
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


@needs_gpu
def test_the_kernel_of_tables_on_a_gpu() -> None:
    from detent.integrations.cuda import mask_by_table

    for logits, states, left, processor, expected in table_cases():
        on_gpu = logits.cuda()
        mask_by_table(on_gpu, states.cuda(), None if left is None else left.cuda(), processor.cuda())
        assert torch.equal(expected, on_gpu.cpu())


WIDE = [(1, 128_256), (64, 128_256), (3, 262_144), (65, 32_000), (2, 262_144 - 31)]


def wide_cases(dtype: str):  # type: ignore[no-untyped-def]
    """Logits and masks of few, some, most and all tokens, mixed among the rows."""
    rng = np.random.default_rng(2)
    for rows, width in WIDE:
        logits = torch.from_numpy(rng.normal(size=(rows, width)).astype(np.float32)).to(getattr(torch, dtype))
        mask = rng.integers(-(2**31), 2**31, (rows, -(-width // 32))).astype(np.int32)
        kinds = rng.integers(0, 4, rows)
        few = rng.random(mask.shape) < 0.001
        mask = np.where(kinds[:, None] == 1, np.where(few, mask, 0), mask)
        mask = np.where(kinds[:, None] == 2, np.where(few, mask, -1), mask)
        mask[kinds == 3] = -1  # a row without a mask
        yield logits, torch.from_numpy(mask)


@needs_gpu
@pytest.mark.parametrize("dtype", DTYPES)
def test_wide_vocabularies(dtype: str) -> None:
    for logits, mask in wide_cases(dtype):
        expected, on_gpu, padded = logits.clone(), logits.cuda(), torch.full((len(logits) + 1, 270_000), 7.0)
        detent.apply_mask(expected, mask)
        detent.apply_mask(on_gpu, mask.cuda())
        assert torch.equal(expected, on_gpu.cpu())
        padded = padded.to(logits.dtype).cuda()  # rows apart: what is between them stays
        view = padded[: len(logits), 3 : 3 + logits.shape[1]]
        view.copy_(logits)
        detent.apply_mask(view, mask.cuda())
        assert torch.equal(expected, view.cpu())
        view.fill_(7.0)
        assert (padded == 7.0).all()


@needs_gpu
@pytest.mark.parametrize("dtype", DTYPES)
def test_allowed_logits_keep_their_bits_on_a_gpu(dtype: str) -> None:
    """All numbers of 16 bits, and as many of 32, NaN and subnormal ones too; a mask that mixes makes all be written."""
    bits = torch.arange(1 << 16, dtype=torch.int32)
    number = bits * 65_537 if dtype == "float32" else bits.to(torch.int16)
    for word in (0x55555555, -0x55555556):
        logits = number.view(getattr(torch, dtype)).cuda()
        detent.apply_mask(logits, torch.full((1 << 11,), word, dtype=torch.int32).cuda())
        allowed = (bits % 2 == 0) == (word > 0)
        assert torch.equal(logits.cpu().view(number.dtype)[allowed], number[allowed])
        assert (logits.cpu()[~allowed] == -torch.inf).all()


@needs_gpu
def test_layouts_on_a_gpu() -> None:
    mask = torch.tensor([[1], [2]], dtype=torch.int32).cuda()
    row = torch.zeros(3).cuda()
    detent.apply_mask(row, mask[0])
    assert row.tolist() == [0, -torch.inf, -torch.inf]
    thin = torch.zeros(2, 6).cuda()[:, ::6]  # one logit a row: its stride does not matter
    detent.apply_mask(thin, mask)
    assert thin.tolist() == [[0], [-torch.inf]]
    detent.apply_mask(torch.zeros(0, 3).cuda(), mask[:1])
    for logits, message in (
        (torch.zeros(3, 2).cuda().T, "the last axis of logits and mask must be contiguous"),
        (torch.zeros(1, 3).cuda().expand(2, 3), "the rows of the logits share memory"),
        (torch.zeros(5, 3).cuda(), "the mask has 2 rows, the logits 5"),
        (torch.zeros(2, 3, dtype=torch.float64).cuda(), "got torch.float64"),
    ):
        with pytest.raises(detent.ArgumentError, match=message):
            detent.apply_mask(logits, mask)
    with pytest.raises(detent.ArgumentError, match="int32 tensor on cuda:0; move it there first"):
        detent.apply_mask(torch.zeros(2, 3).cuda(), mask.cpu())


@needs_gpu
def test_another_stream() -> None:
    """The kernel runs after what its stream has before it, and nothing waits for the host."""
    logits, mask = next(iter(wide_cases("bfloat16")))
    expected = logits.clone()
    detent.apply_mask(expected, mask)
    late, source, on_gpu = torch.zeros_like(logits).cuda(), logits.cuda(), mask.cuda()
    detent.apply_mask(late.clone(), on_gpu)  # compiles
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side), without_synchronising():
        hold_the_stream()
        late.copy_(source)
        detent.apply_mask(late, on_gpu)
        assert not side.query(), "the test has waited for the stream"
    side.synchronize()
    assert torch.equal(expected, late.cpu())


@needs_gpu
def test_a_cuda_graph_of_a_mask() -> None:
    """A graph that copies a pinned mask and applies it: replays take the mask that is there by then."""
    cases = [(logits, mask) for logits, mask in wide_cases("float32") if len(logits) == 64]
    [(logits, mask)] = cases
    pinned, on_gpu = torch.zeros_like(mask).pin_memory(), mask.cuda()
    fixed = logits.cuda()
    detent.apply_mask(fixed.clone(), on_gpu)  # compiles
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        on_gpu.copy_(pinned, non_blocking=True)
        detent.apply_mask(fixed, on_gpu)
    for shift in range(3):
        expected = logits.clone()
        detent.apply_mask(expected, mask.roll(shift, 0))
        fixed.copy_(logits)
        pinned.copy_(mask.roll(shift, 0))
        graph.replay()
        assert torch.equal(expected, fixed.cpu())


@needs_gpu
def test_pinned_masks_in_turn() -> None:
    """Two pinned masks, each filled again when its last copy has ended, as docs/masks.md has it."""
    letters = [bytes([letter]) for letter in b"abcdefghijklmnopqrstuvwxyz"] * 2000
    vocabulary = detent.Vocabulary([*letters, b""], eos_token_ids=[len(letters)])
    matchers = [detent.compile(detent.regex("[a-z]{40}"), vocabulary).matcher() for _ in range(16)]
    batch, rng = detent.BatchMatcher(matchers), np.random.default_rng(0)
    pinned = [torch.from_numpy(detent.allocate_mask(len(matchers), len(vocabulary))).pin_memory() for _ in range(2)]
    copied = [torch.cuda.Event() for _ in pinned]
    expected, masked = [], []
    torch.cuda.synchronize()
    for step in range(12):
        mask = pinned[step % 2]
        copied[step % 2].synchronize()
        batch.fill_mask(mask)
        expected.append(mask.clone())
        hold_the_stream(3)  # the copy waits behind the model
        logits = torch.zeros(len(matchers), len(vocabulary), device="cuda")
        detent.apply_mask(logits, mask.to("cuda", non_blocking=True))
        copied[step % 2].record()
        masked.append(logits)
        for matcher in matchers:
            matcher.advance(int(rng.choice(matcher.allowed())))
    for mask, logits in zip(expected, masked, strict=True):
        plain = torch.zeros(logits.shape)
        detent.apply_mask(plain, mask)
        assert torch.equal(plain, logits.cpu())

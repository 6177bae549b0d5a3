"""Masks applied to logits on CUDA, by a Triton kernel that leaves allowed logits as they are.

Imported by `detent.mask.apply_mask` when it meets a CUDA tensor; needs torch and triton, which torch for CUDA brings.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
import triton
import triton.language as tl

from detent.errors import ArgumentError
from detent.mask import check_words

if TYPE_CHECKING:
    from detent.torch import TableProcessor

__all__ = ["apply_mask", "mask_by_table"]

_BLOCK = 1024
# Kernels see logits as integers of their size, so that what stays keeps its bits, those of NaN too.
_BITS = {torch.float32: torch.int32, torch.float16: torch.int16, torch.bfloat16: torch.int16}
_BANNED = {torch.float32: -0x800000, torch.float16: -0x400, torch.bfloat16: -0x80}

# Arguments of kernels have no types: Triton's compiler evaluates annotations, and knows no names but its own.
# ruff: noqa: ANN001, ANN202


@triton.jit  # type: ignore[untyped-decorator]
def _write(logits, token, banned, width, INF: tl.constexpr, BLOCK: tl.constexpr) -> None:  # type: ignore[no-untyped-def]  # noqa: N803
    """Write the bits of -inf to the logits that are banned among those of a block of one row."""
    inside = token < width
    count = tl.sum(tl.sum(banned.to(tl.int32), 1), 0)
    # A store of single logits takes an instruction for each: more than a few banned ones are written with their block.
    if count == BLOCK:
        tl.store(logits + token, INF, mask=inside)
    elif count * 16 > BLOCK:
        before = tl.load(logits + token, mask=inside, other=0)
        tl.store(logits + token, tl.where(banned, INF, before), mask=inside)
    elif count != 0:
        tl.store(logits + token, INF, mask=inside & banned)


@triton.jit  # type: ignore[untyped-decorator]
def _banned(mask, first, words, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]  # noqa: N803
    """Return whether a mask bans the tokens of a block, [BLOCK / 32, 32]: their bits are 0 or missing."""
    index = first // 32 + tl.arange(0, BLOCK // 32)
    word = tl.load(mask + index, mask=index < words, other=0)
    return ((word[:, None] >> tl.arange(0, 32)[None, :]) & 1) == 0


@triton.jit  # type: ignore[untyped-decorator]
def _ban(  # type: ignore[no-untyped-def]
    logits,
    mask,
    width,
    words,
    logit_stride,
    mask_stride,
    INF: tl.constexpr,  # noqa: N803
    BLOCK: tl.constexpr,  # noqa: N803
) -> None:
    """Write -inf to the logits of one row's block whose mask bit is 0 or missing."""
    row, first = tl.program_id(0).to(tl.int64), tl.program_id(1) * BLOCK
    token = first + tl.arange(0, BLOCK // 32)[:, None] * 32 + tl.arange(0, 32)[None, :]
    _write(
        logits + row * logit_stride, token, _banned(mask + row * mask_stride, first, words, BLOCK), width, INF, BLOCK
    )


@triton.jit  # type: ignore[untyped-decorator]
def _ban_by_table(  # type: ignore[no-untyped-def]
    logits,
    states,
    left,
    masks,
    mask_row,
    next_state,
    token_class,
    distance,
    width,
    vocabulary,
    words,
    classes,
    logit_stride,
    BUDGET: tl.constexpr,  # noqa: N803
    INF: tl.constexpr,  # noqa: N803
    BLOCK: tl.constexpr,  # noqa: N803
) -> None:
    """Write -inf to the logits of one row's block that the row's state, or its budget, does not allow."""
    row, first = tl.program_id(0).to(tl.int64), tl.program_id(1) * BLOCK
    token = first + tl.arange(0, BLOCK // 32)[:, None] * 32 + tl.arange(0, 32)[None, :]
    state = tl.load(states + row).to(tl.int64)
    banned = _banned(masks + tl.load(mask_row + state).to(tl.int64) * words, first, words, BLOCK)
    if BUDGET:
        known = token < vocabulary
        part = tl.load(token_class + token, mask=known, other=0)
        after = tl.load(next_state + state * classes + part, mask=known, other=0)
        # State 1 is after end-of-text (detent.tables.minimize): no budget takes anything away there.
        limit = tl.where(state == 1, 0x7FFFFFFF, tl.load(left + row))
        banned = banned | (tl.load(distance + after) >= limit)
    _write(logits + row * logit_stride, token, banned, width, INF, BLOCK)


def mask_by_table(logits: torch.Tensor, states: torch.Tensor, left: torch.Tensor | None, table: TableProcessor) -> None:
    """Set logits[batch, L] to -inf, in place, where states int32[batch] do not allow the token.

    `left` int32[batch] are the tokens that each row may still take. Runs on the current stream, without synchronising.
    """
    if logits.dtype not in _BITS or logits.ndim != 2 or logits.stride(1) != 1:
        raise ArgumentError(
            f"logits must be float32, float16 or bfloat16 [batch, L] with contiguous rows, got {logits.dtype}"
            f"{list(logits.shape)}"
        )
    if any(array.device != logits.device for array in (states, table.masks)):
        raise ArgumentError(f"the table and the states must be on {logits.device}; move them there first")
    if logits.numel() == 0:
        return
    with torch.cuda.device(logits.device):
        launch_by_table(logits, states, left, table)


def launch_by_table(
    logits: torch.Tensor, states: torch.Tensor, left: torch.Tensor | None, table: TableProcessor
) -> None:
    """Launch the kernel, in Triton's interpreter too."""
    rows, width = logits.shape
    _ban_by_table[(rows, triton.cdiv(width, _BLOCK))](
        logits.view(_BITS[logits.dtype]),
        states,
        states if left is None else left,
        table.masks,
        table.mask_row,
        table.next,
        table.token_class,
        table.distance,
        width,
        len(table.token_class),
        table.masks.shape[1],
        table.next.shape[1],
        logits.stride(0),
        BUDGET=left is not None,
        INF=_BANNED[logits.dtype],
        BLOCK=_BLOCK,
    )


def apply_mask(logits: torch.Tensor, mask: torch.Tensor) -> None:
    """Set the logits of tokens that a mask does not allow to -inf, in place; see `detent.mask.apply_mask`.

    Runs on the current stream of the logits' device, without synchronising.
    """
    if logits.dtype not in _BITS:
        raise ArgumentError(f"logits must be float32, float16 or bfloat16, got {logits.dtype}")
    if not isinstance(mask, torch.Tensor) or mask.device != logits.device or mask.dtype != torch.int32:
        raise ArgumentError(f"the mask must be an int32 tensor on {logits.device}; move it there first")
    if logits.ndim not in (1, 2) or mask.ndim not in (1, 2):
        raise ArgumentError(
            f"logits and mask must have one or two dimensions, got {list(logits.shape)} and {list(mask.shape)}"
        )
    if any(array.shape[-1] > 1 and array.stride(-1) != 1 for array in (logits, mask)):
        raise ArgumentError("the last axis of logits and mask must be contiguous; pass a copy")
    rows = logits.shape[0] if logits.ndim == 2 else 1
    if mask.ndim == 2 and mask.shape[0] not in (1, rows):
        raise ArgumentError(f"the mask has {mask.shape[0]} rows, the logits {rows}; give one row, or one for each")
    if rows > 1 and logits.stride(0) < logits.shape[-1]:
        raise ArgumentError("the rows of the logits share memory, so that one mask would land on all; pass a copy")
    if logits.numel() == 0:
        return
    width = logits.shape[-1]
    check_words(width, mask.shape[-1])
    mask_stride = mask.stride(0) if mask.ndim == 2 and mask.shape[0] > 1 else 0
    logit_stride = logits.stride(0) if logits.ndim == 2 else 0
    with torch.cuda.device(logits.device):
        launch(logits, mask, rows, logit_stride, mask_stride)


def launch(logits: torch.Tensor, mask: torch.Tensor, rows: int, logit_stride: int, mask_stride: int) -> None:
    """Launch the kernel, in Triton's interpreter too."""
    width = logits.shape[-1]
    _ban[(rows, triton.cdiv(width, _BLOCK))](
        logits.view(_BITS[logits.dtype]),
        mask,
        width,
        mask.shape[-1],
        logit_stride,
        mask_stride,
        INF=_BANNED[logits.dtype],
        BLOCK=_BLOCK,
    )

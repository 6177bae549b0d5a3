"""Masks applied to logits on CUDA, by a Triton kernel: only banned logits are touched, and only written.

Imported by `detent.mask.apply_mask` when it meets a CUDA tensor; needs torch and triton, which torch for CUDA brings.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl

from detent.errors import ArgumentError

__all__ = ["apply_mask"]

_BLOCK = 1024
_DTYPES = (torch.float32, torch.float16, torch.bfloat16)


@triton.jit  # type: ignore[untyped-decorator]
def _ban(
    logits: Any,
    mask: Any,
    width: Any,
    words: Any,
    logit_stride: Any,
    mask_stride: Any,
    BLOCK: tl.constexpr,  # noqa: N803
) -> None:
    """Write -inf to the logits of one row's block whose mask bit is 0 or missing."""
    row = tl.program_id(0).to(tl.int64)
    token = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    word = tl.load(mask + row * mask_stride + token // 32, mask=token // 32 < words, other=0)
    banned = ((word >> (token % 32)) & 1) == 0
    tl.store(logits + row * logit_stride + token, float("-inf"), mask=banned & (token < width))


def apply_mask(logits: torch.Tensor, mask: torch.Tensor) -> None:
    """Set the logits of tokens that a mask does not allow to -inf, in place; see `detent.mask.apply_mask`.

    Runs on the current stream of the logits' device, without synchronising.
    """
    if logits.dtype not in _DTYPES:
        raise ArgumentError(f"logits must be float32, float16 or bfloat16, got {logits.dtype}")
    if not isinstance(mask, torch.Tensor) or mask.device != logits.device or mask.dtype != torch.int32:
        raise ArgumentError(f"the mask must be an int32 tensor on {logits.device}; move it there first")
    if logits.ndim not in (1, 2) or mask.ndim not in (1, 2):
        raise ArgumentError(
            f"logits and mask must have one or two dimensions, got {list(logits.shape)} and {list(mask.shape)}"
        )
    if logits.stride(-1) != 1 or mask.stride(-1) != 1:
        raise ArgumentError("the last axis of logits and mask must be contiguous; pass a copy")
    rows = logits.shape[0] if logits.ndim == 2 else 1
    if mask.ndim == 2 and mask.shape[0] not in (1, rows):
        raise ArgumentError(f"the mask has {mask.shape[0]} rows, the logits {rows}; give one row, or one for each")
    if logits.numel() == 0:
        return
    width = logits.shape[-1]
    mask_stride = mask.stride(0) if mask.ndim == 2 and mask.shape[0] > 1 else 0
    logit_stride = logits.stride(0) if logits.ndim == 2 else 0
    with torch.cuda.device(logits.device):
        _ban[(rows, triton.cdiv(width, _BLOCK))](
            logits, mask, width, mask.shape[-1], logit_stride, mask_stride, BLOCK=_BLOCK
        )

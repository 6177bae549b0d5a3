"""Masks: rows of bits, one for each token id, and their application to logits.

Layout: ``int32[batch, ceil(V / 32)]``, bit ``t & 31`` of word ``t >> 5`` is token id ``t``, 1 means allowed. V is the
width of the logits, which may exceed the number of tokens; the bits of padding are 0.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np

from detent import _core
from detent.errors import ArgumentError
from detent.suggestions import suggests_names

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["allocate_mask", "apply_mask"]

WORD_BITS = 32


class _Tensor(Protocol):
    """What a torch tensor offers; torch itself is never imported here."""

    def data_ptr(self) -> int: ...
    def stride(self) -> tuple[int, ...]: ...
    def numpy(self) -> npt.NDArray[Any]: ...


MaskLike: TypeAlias = "npt.NDArray[np.int32] | _Tensor"
LogitsLike: TypeAlias = "npt.NDArray[Any] | _Tensor"

# Codes of cpp/logits/apply.h.
_LOGIT_TYPES = {"float32": (0, 4), "float16": (1, 2), "bfloat16": (2, 2)}

# NumPy makes the name anew each time, in Python: after a pass of a model, that takes as long as masking a row.
_NAMES = {"f": "float32", "e": "float16", "i": "int32"}


@suggests_names
def allocate_mask(batch: int, vocab_size: int) -> npt.NDArray[np.int32]:
    """Allocate mask rows that allow nothing.

    >>> allocate_mask(2, 100).shape
    (2, 4)

    Returns
    -------
    int32[batch, ceil(vocab_size / 32)]
        Zeros, on the CPU; `torch.from_numpy` shares it.
    """
    for name, value, least in (("batch", batch, 0), ("vocab_size", vocab_size, 1)):
        if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or not least <= value < 1 << 31:
            got = value if type(value) is int and abs(value) < 1 << 64 else type(value).__name__
            raise ArgumentError(f"allocate_mask needs {name} from {least} to 2**31 - 1, got {got}")
    return np.zeros((batch, -(-vocab_size // WORD_BITS)), dtype=np.int32)


def check_mask(mask: object, shape: tuple[int, ...]) -> npt.NDArray[np.int32]:
    """Return `mask` as an int32 array of `shape` that the core can write to, or raise `ArgumentError`.

    The core calls this for what it cannot take by the buffer protocol: torch tensors and mistakes.
    """
    array: Any = mask
    if hasattr(array, "data_ptr"):
        if array.device.type != "cpu":
            raise ArgumentError(f"the mask must be on the CPU, got device {array.device}; copy it after filling")
        try:
            array = array.numpy()
        except (RuntimeError, TypeError) as error:  # sparse, or it requires a gradient
            raise ArgumentError(f"the mask must be a plain dense tensor; torch says: {error}") from None
    if not isinstance(array, np.ndarray):
        raise ArgumentError(f"the mask must be a NumPy array or a torch tensor, got {type(mask).__name__}")
    if array.dtype != np.int32 or array.shape != shape:
        is_batch_of_one = array.dtype == np.int32 and array.shape == (1, *shape)
        remedy = "give the row, mask[0]" if is_batch_of_one else "use detent.allocate_mask"
        raise ArgumentError(f"the mask must be int32{list(shape)}, got {array.dtype}{list(array.shape)}; {remedy}")
    if not (array.flags.c_contiguous and array.flags.writeable and array.flags.aligned):
        raise ArgumentError("the mask must be contiguous, aligned and writeable; pass a new array, not a view")
    return array


def apply_mask(logits: LogitsLike, mask: MaskLike) -> None:
    """Set the logits of tokens that a mask does not allow to -inf, in place.

    >>> import numpy as np
    >>> logits = np.zeros(3, dtype=np.float32)
    >>> apply_mask(logits, np.array([0b101], dtype=np.int32))
    >>> logits
    array([  0., -inf,   0.], dtype=float32)

    Parameters
    ----------
    logits : float32, float16 or bfloat16 [V] or [batch, V]
        NumPy array or torch tensor; on CUDA a Triton kernel does the work. Logits past the mask become -inf too.
        The last axis must be contiguous.
    mask : int32[ceil(V / 32)] or int32[batch, ceil(V / 32)]
        On the device of the logits; a single row applies to every row of the logits.

    Raises
    ------
    ArgumentError
        Types, shapes or devices do not fit each other, or the mask allows ids far past the logits, in words
        that they do not need. On CUDA the mask is not read for this: it must not have more words.
    """
    if not isinstance(logits, np.ndarray) and getattr(getattr(logits, "device", None), "type", None) == "cuda":
        from detent.integrations.cuda import apply_mask as apply_on_cuda

        tensor: Any = logits
        bits: Any = mask
        apply_on_cuda(tensor, bits)
        return
    if 0 in getattr(logits, "shape", ()):
        return
    pointer, dtype, shape, strides = _layout(logits, "logits")
    if dtype not in _LOGIT_TYPES:
        raise ArgumentError(f"logits must be float32, float16 or bfloat16, got {dtype}")
    if isinstance(logits, np.ndarray) and not logits.flags.writeable:
        raise ArgumentError("logits must be writeable; pass a copy")
    mask_pointer, mask_dtype, mask_shape, _ = _layout(mask, "mask")
    if mask_dtype != "int32":
        raise ArgumentError(f"the mask must be int32, got {mask_dtype}")
    code, item = _LOGIT_TYPES[dtype]
    if pointer % item or mask_pointer % 4:
        raise ArgumentError("logits and mask must be aligned; pass a copy")
    rows = shape[0] if len(shape) == 2 else 1
    if len(mask_shape) == 2 and mask_shape[0] not in (1, rows):
        raise ArgumentError(f"the mask has {mask_shape[0]} rows, the logits {rows}; give one row, or one for each")
    if rows > 1 and strides[0] < shape[-1]:
        raise ArgumentError("the rows of the logits share memory, so that one mask would land on all; pass a copy")
    _core.apply_mask(_buffer(logits, dtype), code, _buffer(mask, mask_dtype))


def check_words(width: int, words: int) -> None:
    """Raise for masks with more words than so many logits need, where a mask is on a device and so is not read."""
    needed = -(-width // WORD_BITS)
    if words > needed:
        raise ArgumentError(
            f"the logits have {width} ids, but the mask has {words * WORD_BITS}: they are another model's; make the "
            f"mask with the vocabulary of the model, or cut padding off: mask[..., :{needed}]"
        )


def _buffer(array: Any, dtype: str) -> npt.NDArray[Any]:
    """Return a NumPy view of a tensor; of bfloat16, which NumPy does not have, as int16."""
    if isinstance(array, np.ndarray):
        return array
    tensor = array.detach()
    numbers: npt.NDArray[Any] = (tensor.view(sys.modules["torch"].int16) if dtype == "bfloat16" else tensor).numpy()
    return numbers


def _layout(array: Any, noun: str) -> tuple[int, str, tuple[int, ...], tuple[int, ...]]:
    """Address, dtype name, shape and strides (in elements) of a one- or two-dimensional CPU array."""
    if isinstance(array, np.ndarray):
        pointer = array.__array_interface__["data"][0]
        dtype = _NAMES.get(array.dtype.char) or array.dtype.name
        shape, strides = array.shape, tuple(s // array.itemsize for s in array.strides)
        exact = all(s % array.itemsize == 0 for s in array.strides)
        if not array.dtype.isnative:
            raise ArgumentError(f"the {noun} must be in native byte order, got {array.dtype}; pass a converted copy")
    elif hasattr(array, "data_ptr"):
        if array.device.type != "cpu":
            raise ArgumentError(f"logits and mask must be on one device; the {noun} is on {array.device}")
        pointer, dtype = array.data_ptr(), str(array.dtype).removeprefix("torch.")
        shape, strides, exact = tuple(array.shape), tuple(array.stride()), True
    else:
        raise ArgumentError(f"the {noun} must be a NumPy array or a torch tensor, got {type(array).__name__}")
    if len(shape) not in (1, 2):
        raise ArgumentError(f"the {noun} must have one or two dimensions, got shape {list(shape)}")
    if not exact or (shape[-1] > 1 and strides[-1] != 1) or any(s < 0 for s in strides):
        raise ArgumentError(f"the last axis of the {noun} must be contiguous; pass a copy")
    return pointer, dtype, shape, strides

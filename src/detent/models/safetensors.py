"""A reader of `.safetensors` files: eight bytes of header length, a JSON header, then the bytes of the tensors.

Every offset, shape and size is checked before it is used.
Source: the format section of https://github.com/huggingface/safetensors.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from detent.errors import ModelError

__all__ = ["read_safetensors"]

_LARGEST_HEADER = 10_000_000
_DTYPES: dict[str, np.dtype[Any]] = {"F16": np.dtype("<f2"), "F32": np.dtype("<f4")}


def read_safetensors(path: Path) -> dict[str, NDArray[np.float32]]:
    """Return all tensors of a file as float32, by name.

    Cost: reads the file once; each tensor is in memory twice during its conversion.

    Raises
    ------
    ModelError
        The file cannot be read, is truncated, or has tensors that are neither float16 nor float32.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ModelError(f"cannot read the weights {path}: {error.strerror}") from None
    start = 8 + int.from_bytes(data[:8], "little")
    if len(data) < 8 or not 8 < start <= min(len(data), _LARGEST_HEADER):
        raise ModelError(f"{path} is not a safetensors file: {len(data)} bytes, header said to end at byte {start}")
    try:
        header: Any = json.loads(data[8:start])
    except (ValueError, RecursionError) as error:
        raise ModelError(f"{path} has a malformed safetensors header: {error}") from None
    if not isinstance(header, dict):
        raise ModelError(f"{path} has a malformed safetensors header: expected an object")
    body = memoryview(data)[start:]
    return {name: _tensor(path, name, entry, body) for name, entry in header.items() if name != "__metadata__"}


def _tensor(path: Path, name: str, entry: Any, body: memoryview) -> NDArray[np.float32]:
    """Return the tensor of one entry of the header."""
    try:
        dtype = _DTYPES[entry["dtype"]]
        shape = tuple(entry["shape"])
        begin, end = entry["data_offsets"]
        numbers = (*shape, begin, end)
        if not all(type(number) is int and 0 <= number < 1 << 40 for number in numbers):
            raise ValueError(f"sizes {numbers}")
    except (KeyError, TypeError, ValueError) as error:
        known = ", ".join(_DTYPES)
        raise ModelError(f"{path}, tensor {name!r}: cannot read {entry!r} ({error}); known types: {known}") from None
    items = 1
    for size in shape:
        items *= size
    if end > len(body) or end - begin != items * dtype.itemsize:
        raise ModelError(
            f"{path}, tensor {name!r}: shape {shape} of {entry['dtype']} needs {items * dtype.itemsize} bytes, "
            f"the header gives bytes {begin} to {end} of {len(body)}"
        )
    tensor: NDArray[np.float32] = np.frombuffer(body[begin:end], dtype).astype(np.float32).reshape(shape)
    return tensor

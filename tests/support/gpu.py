"""What tests on a GPU share. Without one they are skipped, which pytest's report says."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

torch = pytest.importorskip("torch")

needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU on this machine")


@contextmanager
def without_synchronising() -> Iterator[None]:
    """Raise where an operation waits for the GPU."""
    torch.cuda.synchronize()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch calls this mode a prototype
        torch.cuda.set_sync_debug_mode("error")
    try:
        yield
    finally:
        torch.cuda.set_sync_debug_mode("default")


def hold_the_stream(milliseconds: float = 20) -> None:
    """Keep the current stream busy: what the host does meanwhile comes before what it puts on the stream next."""
    torch.cuda._sleep(int(milliseconds * 1e6))  # cycles, of some GHz

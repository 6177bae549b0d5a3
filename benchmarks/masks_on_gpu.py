"""The kernels of masks on a GPU: microseconds a call, beside PyTorch, xgrammar and llguidance.

    python -m benchmarks.masks_on_gpu

Logits of several vocabularies, rows and types; in each row a share of the tokens is allowed. The masks lie on the GPU:
bits for `detent.apply_mask` and the peers, a byte a token for `masked_fill_`. "unpacked" unpacks the bits first, as a
host without a kernel has to. Times are medians of `triton.testing.do_bench`, which empties the cache before each call;
"host" is the time until a call returns while the GPU is free. What is not installed is left out.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
import torch
from triton.testing import do_bench

import detent
from detent.torch import TableProcessor, TableState

VOCABULARIES = (32_000, 128_256, 262_144)
ROWS = (1, 64, 512)
SHARES = (0.001, 0.5, 0.999)

Call = Callable[[torch.Tensor], object]


def pack(allowed: torch.Tensor) -> torch.Tensor:
    """Pack bool[rows, V] into a mask."""
    padded = np.zeros((len(allowed), -(-allowed.shape[1] // 32) * 32), bool)
    padded[:, : allowed.shape[1]] = allowed.cpu().numpy()
    return torch.from_numpy(np.packbits(padded, axis=1, bitorder="little").view(np.int32)).cuda()


def calls(allowed: torch.Tensor) -> dict[str, Call]:
    """Return what masks logits in place."""
    mask, banned = pack(allowed), ~allowed
    bit = torch.arange(32, dtype=torch.int32, device="cuda")

    def unpacked(logits: torch.Tensor) -> None:
        free = ((mask[:, :, None] >> bit) & 1).flatten(1)[:, : logits.shape[1]]
        logits.masked_fill_(free == 0, -torch.inf)

    found: dict[str, Call] = {
        "detent": lambda logits: detent.apply_mask(logits, mask),
        "masked_fill_": lambda logits: logits.masked_fill_(banned, -torch.inf),
        "unpacked": unpacked,
    }
    if find_spec("xgrammar"):
        xgrammar = import_module("xgrammar")
        found["xgrammar"] = lambda logits: xgrammar.apply_token_bitmask_inplace(logits, mask)
    if find_spec("llguidance"):
        helper = import_module("llguidance.torch")
        found["llguidance"] = lambda logits: helper.apply_token_bitmask_inplace(logits, mask)
    return found


def on_device(call: Call, logits: torch.Tensor) -> float:
    """Return microseconds a call on the device, its data not in the cache."""
    return 1e3 * float(do_bench(lambda: call(logits), warmup=10, rep=60, return_mode="median"))


def on_host(call: Call, logits: torch.Tensor) -> float:
    """Return microseconds until a call returns."""
    times = []
    for _ in range(120):
        torch.cuda.synchronize()
        started = time.perf_counter_ns()
        call(logits)
        times.append(time.perf_counter_ns() - started)
    return statistics.median(times[20:]) / 1e3


def check(name: str, call: Call, logits: torch.Tensor, allowed: torch.Tensor) -> None:
    """Raise if a call masks otherwise than the definition."""
    masked = logits.clone()
    call(masked)
    if not torch.equal(masked, torch.where(allowed, logits, -torch.inf)):
        raise AssertionError(f"{name} masks otherwise")


def bytes_moved(logits: torch.Tensor, allowed: torch.Tensor, block: int = 1024) -> float:
    """Return the bytes of logits that the kernel moves: a block is written; read and written; or some sectors are."""
    blocks = ~allowed[:, : allowed.shape[1] // block * block].reshape(len(allowed), -1, block)
    banned = blocks.sum(2)
    few, all_banned, size = banned * 16 <= block, banned == block, logits.element_size()
    whole = (2 * (~few & ~all_banned).sum() + all_banned.sum()) * block * size
    sectors = blocks.reshape(len(allowed), -1, block // (32 // size), 32 // size).any(3) & few[:, :, None]
    return float(whole + 32 * sectors.sum()) + logits.numel() / 8


def masks(dtype: torch.dtype) -> None:
    """Print the table of `apply_mask`."""
    for width in VOCABULARIES:
        for rows in ROWS:
            logits = torch.randn(rows, width, device="cuda").to(dtype)
            for share in SHARES:
                allowed = torch.rand(rows, width, device="cuda") < share
                found = calls(allowed)
                if (width, rows, share) == (VOCABULARIES[0], ROWS[0], SHARES[0]):
                    head = [f"{dtype}, ids", "rows", "allowed", *found, "detent, GB/s", f"host: {', '.join(found)}"]
                    print(f"\n| {' | '.join(head)} |")
                    print("|" + " --- |" * (5 + len(found)))
                for name, call in found.items():
                    check(name, call, logits, allowed)
                cells = [on_device(call, logits.clone()) for call in found.values()]
                hosts = [on_host(call, logits.clone()) for call in found.values()]
                rate = bytes_moved(logits, allowed) / cells[0] / 1e3
                times = " | ".join(f"{cell:.1f}" for cell in cells)
                print(
                    f"| {width} | {rows} | {100 * share:g} % | {times} | {rate:.0f} | "
                    f"{', '.join(f'{host:.0f}' for host in hosts)} |",
                    flush=True,
                )


def table_steps(processor: TableProcessor, plain: TableState, with_budget: TableState) -> dict[str, Call]:
    """Return the parts of a table's step."""

    def step(logits: torch.Tensor, state: TableState) -> object:
        return processor.advance(state, processor.mask_(logits, state).argmax(dim=1))

    return {
        "mask_": lambda logits: processor.mask_(logits, plain),
        "forward": lambda logits: processor(logits, plain),
        "argmax": lambda logits: logits.argmax(dim=1),
        "mask_, argmax, advance": lambda logits: step(logits, plain),
        "with a budget": lambda logits: step(logits, with_budget),
    }


def captured(call: Call, logits: torch.Tensor) -> Callable[[], Any]:
    """Return the replay of a CUDA graph of a call."""
    side: Any = torch.cuda.Stream()  # type: ignore[no-untyped-call]
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        call(logits)  # compiles
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        call(logits)
    return graph.replay


def tables(dtype: torch.dtype) -> None:
    """Print the step of a table and its parts, each replayed as a CUDA graph."""
    for width in VOCABULARIES:
        tokens = [bytes([number % 256, number // 256 % 256, number // 65_536 + 97]) for number in range(width - 1)]
        vocabulary = detent.Vocabulary([*tokens, b""], eos_token_ids=[width - 1])
        guide = detent.compile(detent.regex("([a-z][a-z][a-z]|[0-9][a-z][a-c]){1,20}"), vocabulary)
        processor = TableProcessor(guide.to_table()).cuda()
        for rows in ROWS:
            logits = torch.randn(rows, width, device="cuda").to(dtype)
            steps = table_steps(processor, processor.start(rows), processor.start(rows, max_tokens=19))
            if (width, rows) == (VOCABULARIES[0], ROWS[0]):
                print(f"\n| {dtype}, ids | rows | {' | '.join(steps)} |")
                print("|" + " --- |" * (2 + len(steps)))
            replays = [captured(call, logits) for call in steps.values()]
            times = (1e3 * do_bench(replay, warmup=10, rep=60, return_mode="median") for replay in replays)
            print(f"| {width} | {rows} | {' | '.join(f'{each:.1f}' for each in times)} |", flush=True)


def main() -> None:
    """Print all tables, and for comparison the rate of a copy, bytes read and written."""
    source = torch.randn(1 << 28, device="cuda")
    micros = on_device(source.copy_, torch.empty_like(source))
    rate = 2 * source.nbytes / micros / 1e3
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}: a copy moves {rate:.0f} GB/s")
    for dtype in (torch.float32, torch.bfloat16):
        masks(dtype)
    tables(torch.bfloat16)


if __name__ == "__main__":
    main()

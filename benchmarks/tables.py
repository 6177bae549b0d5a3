"""One decoding step of a batch, masks applied to float32 logits: tables in three libraries, matchers, and the peers.

    python -m benchmarks.tables --tokenizer path/to/llama3/tokenizer.json         # about a minute
    python -m benchmarks.tables --tokenizer path/to/llama3/tokenizer.json --device cuda

All rows of all follow the same tokens, drawn once by walking a matcher at random. A step masks logits [batch, V] and
takes one token a row. What is not installed is left out; one thread, but for JAX, which has no such switch.
The logits are the same tensor throughout: masked in place by matchers and peers, copied by tables but where it says so.
On a GPU the tokens of a step lie there, as a sampler leaves them: matchers and peers fetch them, fill masks on the host
and copy these back. Each step ends with a synchronisation, which is part of its time.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import detent
from benchmarks.engines import read_tokens
from detent.tables import reference

PATTERN = r'\{"city": "[A-Z][a-z ]+", "age": [0-9]{1,3}, "name": "[A-Za-z ]{1,40}"\}'
BATCHES = (1, 8, 64)
Step = Callable[[Any], object]
"""Mask the logits where the rows are, and take tokens int[batch]: an array, or on a GPU a tensor."""


def draw_tokens(guide: detent.Guide, count: int, seed: int) -> list[int]:
    """Return random tokens of a text; texts that end too soon are drawn again."""
    rng = random.Random(seed)
    matcher = guide.matcher()
    while len(matcher) < count:
        matcher.advance(int(rng.choice(matcher.allowed())))
        if matcher.is_finished:
            matcher = guide.matcher()
    return [int(token) for token in matcher.token_ids]


def by_reference(table: detent.TokenDfa, batch: int) -> Step:
    logits = np.zeros((batch, len(table.token_class)), np.float32)
    states = np.repeat(table.starts, batch)

    def step(tokens: np.ndarray) -> object:
        nonlocal states
        masked = reference.apply(table, logits, states)
        states = reference.advance(table, states, tokens)
        return masked

    return step


def by_torch(table: detent.TokenDfa, device: str, batch: int, *, compiled: bool, in_place: bool) -> Step:
    torch = import_module("torch")
    processor = import_module("detent.torch").TableProcessor(table).to(device)
    logits = torch.zeros(batch, len(table.token_class), device=device)
    state = processor.start(torch.zeros(batch, dtype=torch.int64, device=device))
    mask = processor.mask_ if in_place else processor
    torch.compiler.reset()

    def both(logits: Any, state: Any, tokens: Any) -> Any:
        return mask(logits, state), processor.advance(state, tokens)

    run = torch.compile(both, fullgraph=True, dynamic=False) if compiled else both

    def step(tokens: Any) -> object:
        nonlocal state
        with torch.inference_mode():
            masked, state = run(logits, state, torch.as_tensor(tokens))
        return masked

    return step


def by_cuda_graph(table: detent.TokenDfa, batch: int) -> Step:
    torch = import_module("torch")
    processor = import_module("detent.torch").TableProcessor(table).cuda()
    logits = torch.zeros(batch, len(table.token_class), device="cuda")
    taken = torch.zeros(batch, dtype=torch.int64, device="cuda")
    start = processor.start(taken)
    state = start._replace(**{name: value.clone() for name, value in start._asdict().items() if value is not None})

    def both() -> None:
        processor.mask_(logits, state)
        for held, value in zip(state, processor.advance(state, taken), strict=True):
            if value is not None:
                held.copy_(value)

    graph = torch.cuda.CUDAGraph()
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.inference_mode(), torch.cuda.stream(side):
        both()  # compiles the kernels before the capture
    torch.cuda.current_stream().wait_stream(side)
    with torch.inference_mode(), torch.cuda.graph(graph):
        both()
    for held, value in zip(state, processor.start(torch.zeros_like(taken)), strict=True):
        if value is not None:
            held.copy_(value)

    def step(tokens: Any) -> object:
        taken.copy_(tokens)
        graph.replay()
        return logits, state, processor  # kept: the graph knows only their addresses

    return step


def by_jax(table: detent.TokenDfa, batch: int) -> Step:
    jax, tables = import_module("jax"), import_module("detent.jax")
    process = jax.jit(tables.process)
    logits = jax.numpy.zeros((batch, len(table.token_class)))
    state, last = tables.init(table, batch), jax.numpy.zeros(batch, np.int32)

    def step(tokens: Any) -> object:
        nonlocal state, last
        masked, state = process(state, logits, last)
        last = jax.numpy.from_dlpack(tokens)
        return masked.block_until_ready()

    return step


def by_matchers(guide: detent.Guide, device: str, batch: int) -> Step:
    matchers = [guide.matcher() for _ in range(batch)]
    together = detent.BatchMatcher(matchers, threads=1)
    width = len(guide.vocabulary)
    mask: Any = detent.allocate_mask(batch, width)
    logits: Any = np.zeros((batch, width), np.float32)
    copy: Callable[[], Any] = lambda: mask  # noqa: E731
    if device == "cuda":
        torch = import_module("torch")
        pinned = torch.empty(batch, mask.shape[1], dtype=torch.int32, pin_memory=True)
        mask, logits = pinned.numpy(), torch.zeros(batch, width, device=device)
        copy = partial(pinned.to, device, non_blocking=True)

    def step(tokens: Any) -> object:
        together.fill_mask(mask)
        detent.apply_mask(logits, copy())
        for matcher, token in zip(matchers, tokens.tolist(), strict=True):
            matcher.advance(token)
        return logits

    return step


def by_xgrammar(tokens: list[bytes], eos: int, device: str, batch: int) -> Step:
    torch, xgrammar = import_module("torch"), import_module("xgrammar")
    info = xgrammar.TokenizerInfo(tokens, vocab_size=len(tokens), stop_token_ids=[eos])
    compiled = xgrammar.GrammarCompiler(info, max_threads=1, cache_enabled=False).compile_regex(PATTERN)
    matchers = [xgrammar.GrammarMatcher(compiled) for _ in range(batch)]
    mask, logits = xgrammar.allocate_token_bitmask(batch, len(tokens)), torch.zeros(batch, len(tokens), device=device)
    mask = mask.pin_memory() if device == "cuda" else mask

    def step(taken: Any) -> object:
        for row, matcher in enumerate(matchers):
            matcher.fill_next_token_bitmask(mask, row)
        xgrammar.apply_token_bitmask_inplace(logits, mask.to(device, non_blocking=True))
        for matcher, token in zip(matchers, taken.tolist(), strict=True):
            matcher.accept_token(token)
        return logits

    return step


def by_llguidance(path: Path, eos: int, width: int, device: str, batch: int) -> Step:
    torch, llguidance = import_module("torch"), import_module("llguidance")
    helper = import_module("llguidance.torch")
    tokenizer = llguidance.LLTokenizer(str(path), eos_token=eos)
    grammar = llguidance.LLMatcher.grammar_from_regex(PATTERN)
    matchers = [llguidance.LLMatcher(tokenizer, grammar, log_level=0) for _ in range(batch)]
    mask, logits = helper.allocate_token_bitmask(batch, width), torch.zeros(batch, width, device=device)
    mask = mask.pin_memory() if device == "cuda" else mask

    def step(taken: Any) -> object:
        for row, matcher in enumerate(matchers):
            helper.fill_next_token_bitmask(matcher, mask, row)
        helper.apply_token_bitmask_inplace(logits, mask.to(device, non_blocking=True))
        for matcher, token in zip(matchers, taken.tolist(), strict=True):
            matcher.consume_token(token)
        return logits

    return step


def engines(
    path: Path,
    tokens: list[bytes],
    eos: int,
    guide: detent.Guide,
    table: detent.TokenDfa,
    device: str,
    *,
    compiled: bool,
) -> Iterator[tuple[str, Callable[[int], Step]]]:
    """Yield what can be measured here."""
    if device == "cpu":
        yield "table, NumPy reference", partial(by_reference, table)
    if find_spec("torch"):
        for in_place, how in ((False, ""), (True, ", in place")):
            yield f"table, torch{how}", partial(by_torch, table, device, compiled=False, in_place=in_place)
            if compiled:
                yield f"table, torch.compile{how}", partial(by_torch, table, device, compiled=True, in_place=in_place)
    if device == "cuda":
        yield "table, torch in a CUDA graph, in place", partial(by_cuda_graph, table)
    if find_spec("jax"):
        yield "table, jax.jit", partial(by_jax, table)
    yield "matchers", partial(by_matchers, guide, device)
    if find_spec("xgrammar"):
        yield "xgrammar", partial(by_xgrammar, tokens, eos, device)
    if find_spec("llguidance"):
        yield "llguidance", partial(by_llguidance, path, eos, len(tokens), device)


def on_device(tokens: np.ndarray, device: str) -> Any:
    """Put the tokens of a step where a sampler leaves them."""
    return tokens if device == "cpu" else import_module("torch").from_numpy(tokens).to(device)


def wait(device: str) -> None:
    """Wait until the device has done all steps."""
    if device == "cuda":
        import_module("torch").cuda.synchronize()


def main() -> None:
    """Print one table, in milliseconds a step: medians of the steps after a first round that warms."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tokenizer", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=24)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--no-compile", action="store_true", help="leave torch.compile out, which needs a C++ compiler")
    options = parser.parse_args()
    if find_spec("torch"):
        import_module("torch").set_num_threads(1)
    tokens, eos = read_tokens(options.tokenizer)
    vocabulary = detent.Vocabulary(tokens, eos_token_ids=[eos])
    guide = detent.compile(detent.regex(PATTERN), vocabulary)
    started = time.perf_counter()
    table = guide.to_table()
    print(f"{table} from {guide!r} in {1e3 * (time.perf_counter() - started):.0f} ms\n")
    print("| ms a step | " + " | ".join(f"batch {batch}" for batch in BATCHES) + " |")
    print("| --- |" + " --- |" * len(BATCHES))
    path = draw_tokens(guide, 2 * options.steps, seed=0)[: 2 * options.steps]
    compiled, device = not options.no_compile, options.device
    for name, make in engines(options.tokenizer, tokens, eos, guide, table, device, compiled=compiled):
        cells = []
        for batch in BATCHES:
            step, times = make(batch), []
            for token in path:
                taken = on_device(np.full(batch, token), device)
                wait(device)
                begun = time.perf_counter_ns()
                step(taken)
                wait(device)
                times.append(time.perf_counter_ns() - begun)
            cells.append(f"{statistics.median(times[options.steps :]) / 1e6:.3f}")
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()

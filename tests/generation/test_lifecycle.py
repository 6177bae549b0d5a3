"""Streams and batches that are interrupted, closed, abandoned or shared, and models that raise."""

from __future__ import annotations

import asyncio
import gc
import os
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import detent
from detent.errors import BusyError, ModelError, StateError
from detent.models import CallableModel

VOCABULARY = detent.Vocabulary([bytes([byte]) for byte in range(128)] + [b"</s>"], eos_token_ids=[128])
RULE = detent.regex("[a-z]{9,20}")


def model_that(act: Callable[[Sequence[int]], object]) -> CallableModel:
    def function(ids: Sequence[int]) -> np.ndarray:
        act(ids)
        return np.random.default_rng(len(ids)).normal(0, 1, 129)

    return CallableModel(function, VOCABULARY, encode=lambda text: [*text.encode()])


def fail_at(length: int, error: BaseException) -> Callable[[Sequence[int]], object]:
    def act(ids: Sequence[int]) -> None:
        if len(ids) >= length:
            raise error

    return act


@pytest.mark.parametrize("error", [ValueError("a mistake of the model"), KeyboardInterrupt()])
def test_errors_of_a_model_are_its_own(error: BaseException) -> None:
    model = model_that(fail_at(5, error))
    with pytest.raises(type(error)) as caught:
        detent.generate(model, "p", RULE, seed=0)
    assert caught.value is error
    with pytest.raises(type(error)):
        detent.generate_batch(model, [detent.Request("p", RULE, seed=0, samples=3)])
    pieces, shown = detent.stream(model, "p", RULE, seed=0), []
    with pytest.raises(type(error)):
        shown += [*pieces]  # what was shown before stays with the caller
    assert [*pieces] == []
    with pytest.raises(StateError, match="closed or has failed"):
        _ = pieces.output


def test_errors_of_a_model_in_asyncio() -> None:
    error = ValueError("a mistake of the model")

    async def ask() -> list[Any]:
        good, bad = detent.load_model(), model_that(fail_at(5, error))
        tasks = [detent.agenerate(bad, "p", RULE, seed=0), detent.agenerate(good, "Hi", ["a"], seed=0)]
        return [*await asyncio.gather(*tasks, return_exceptions=True)]

    failed, written = asyncio.run(ask())
    assert failed is error
    assert written.text == "a"


def test_streams_are_independent() -> None:
    model = detent.load_model()
    prompts = ("Can we talk?", "What is the capital of France?")
    alone = [detent.generate(model, prompt, temperature=0, max_tokens=15).text for prompt in prompts]
    streams = [detent.stream(model, prompt, temperature=0, max_tokens=15) for prompt in prompts]
    texts = ["", ""]
    for _ in range(20):
        for index, pieces in enumerate(streams):
            texts[index] += next(pieces, "")
    assert texts == alone


@pytest.mark.parametrize("partial", [False, True])
def test_a_closed_stream_yields_nothing_more(partial: bool) -> None:
    model = detent.load_model()
    rule = detent.json_schema({"type": "array", "items": {"type": "integer"}, "minItems": 3})
    for before in (0, 1):
        pieces = detent.stream(model, "Go", rule, seed=0, partial=partial)
        for _ in range(before):
            next(pieces)
        pieces.close()
        pieces.close()
        assert [*pieces] == []
        with pytest.raises(StateError, match="closed"):
            _ = pieces.output
    with detent.stream(model, "Go", rule, seed=0, partial=partial) as pieces:
        next(pieces)
    assert [*pieces] == []
    with detent.stream(model, "Go", rule, seed=0, partial=partial) as pieces:
        assert [*pieces]
    assert rule.accepts(pieces.output.text)


def test_an_abandoned_stream_is_freed() -> None:
    pieces = detent.stream(detent.load_model(), "Can we talk?", temperature=0)
    next(pieces)
    cache = weakref.ref(pieces.logits_cache)
    del pieces
    gc.collect()
    assert cache() is None


def test_a_stream_has_one_reader() -> None:
    started, go_on = threading.Event(), threading.Event()

    def wait(ids: Sequence[int]) -> None:
        started.set()
        go_on.wait(10)

    pieces = detent.stream(model_that(wait), "p", RULE, seed=0)
    texts: list[str] = []
    reader = threading.Thread(target=lambda: texts.extend(pieces))
    reader.start()
    started.wait(10)
    with pytest.raises(BusyError, match="another thread"):
        next(pieces)
    go_on.set()
    reader.join()
    assert RULE.accepts("".join(texts))

    async def read_twice() -> list[Any]:
        shared = detent.astream(detent.load_model(), "Hi", ["abc"], seed=0)

        async def read() -> str:
            return "".join([piece async for piece in shared])

        return [*await asyncio.gather(read(), read(), return_exceptions=True)]

    outcomes = asyncio.run(read_twice())
    assert sum(isinstance(each, BusyError) for each in outcomes) == 1
    assert "abc" in outcomes


def test_an_abandoned_asynchronous_stream_stops() -> None:
    calls: list[int] = []

    def act(ids: Sequence[int]) -> None:
        calls.append(len(ids))
        time.sleep(0.001)

    async def abandon() -> None:
        model = model_that(act)
        async for _ in detent.astream(model, "p", detent.regex("[a-z]{4000}"), max_tokens=4000):
            break
        gc.collect()
        await asyncio.sleep(0.05)
        count = len(calls)
        await asyncio.sleep(0.05)
        assert len(calls) == count < 1000

    asyncio.run(abandon())


def test_encoders_that_give_no_ids() -> None:
    for encoded in (None, "ids", [1.5], [129]):
        model = CallableModel(lambda ids: np.zeros(129), VOCABULARY, encode=lambda text, e=encoded: e)  # type: ignore[misc]
        with pytest.raises(ModelError, match="encode must return token ids"):
            detent.generate(model, "p", RULE)


def test_a_model_is_freed_after_its_texts() -> None:
    model = detent.load_model()
    prompt = "Once upon a time there was a house, and in the house there was a cat, and the cat had a hat. " * 3
    asyncio.run(detent.agenerate(model, prompt, ["a"], seed=0))
    freed = weakref.ref(model)
    for thread in threading.enumerate():
        if thread.name == "detent-scheduler":
            thread.join()
    del model
    gc.collect()
    assert freed() is None


END_INSIDE_A_PASS = """
import asyncio, detent
async def begin():
    for seed in range(4):
        asyncio.create_task(detent.agenerate(detent.load_model(), "Hi", max_tokens=1900, temperature=9, seed=seed))
    await asyncio.sleep(0.2)
asyncio.run(begin())
print("end")
"""


def test_the_interpreter_may_end_at_any_time() -> None:
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", END_INSIDE_A_PASS], capture_output=True, text=True, timeout=60)
        assert (done.returncode, done.stdout, done.stderr) == (0, "end\n", "")


@pytest.mark.filterwarnings("ignore:os.fork:RuntimeWarning")  # of JAX, if another test imported it
def test_a_forked_process_has_schedulers_of_its_own() -> None:
    model = detent.load_model()
    asyncio.run(detent.agenerate(model, "Hi", ["a"], seed=0))
    child = os.fork()
    if child == 0:
        status = 1
        try:
            status = int(asyncio.run(detent.agenerate(model, "Hi", ["a"], seed=0)).text != "a")
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0

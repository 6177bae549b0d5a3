"""agenerate and astream: the texts of generate, several at once in one pass, cancelled and closed."""

from __future__ import annotations

import asyncio
import inspect
import threading
import time
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np
import pytest

import detent
from detent.errors import ArgumentError, EmptyLanguageError, ModelError, StateError
from detent.models import CallableModel

VOCABULARY = detent.Vocabulary([b"a", b"b", b"</s>"], eos_token_ids=[2])


class Counting:
    """The embedded model, with the number of sessions of each pass."""

    def __init__(self, model: Any) -> None:
        self.inner, self.vocabulary, self.encode, self.fork = model, model.vocabulary, model.encode, model.fork
        self.start = model.start
        self.passes: list[int] = []

    def read(self, sessions: Sequence[detent.models.Session]) -> None:
        self.passes.append(len(sessions))
        self.inner.read(sessions)


def flat(limit: int | None = None) -> CallableModel:
    """Return a model without preferences; with a limit, it raises at longer sequences."""

    def function(ids: Sequence[int]) -> np.ndarray:
        if limit is not None and len(ids) > limit:
            raise ModelError("too long")
        return np.zeros(3)

    return CallableModel(function, VOCABULARY, encode=lambda text: [0])


def test_several_at_once_are_read_together(real: detent.models.BatchModel) -> None:
    model: Any = Counting(real)
    language = detent.regex("[a-z ]{12,20}")
    expected = [detent.generate(real, f"yes no {i}", language, seed=i, max_tokens=12) for i in range(8)]

    async def main() -> list[detent.Output]:
        return await asyncio.gather(
            *[detent.agenerate(model, f"yes no {i}", language, seed=i, max_tokens=12) for i in range(8)]
        )

    assert asyncio.run(main()) == expected
    assert max(model.passes) > 1
    assert len(model.passes) < sum(out.report.model_calls for out in expected)


def test_a_model_that_reads_one_session_at_a_time() -> None:
    model = flat()
    language = detent.regex("[ab]{9}")

    async def main() -> list[detent.Output]:
        return await asyncio.gather(*[detent.agenerate(model, "p", language, seed=i) for i in range(4)])

    assert asyncio.run(main()) == [detent.generate(model, "p", language, seed=i) for i in range(4)]


def test_pieces_and_partial_values() -> None:
    model = detent.load_model()
    rule = detent.literal('{"a": [1, 2], "b": "Ja, natürlich"}')

    async def main(partial: bool) -> tuple[list[Any], detent.Output]:
        async with detent.astream(model, "Go", rule, partial=partial, seed=0, canonical=False) as pieces:
            with pytest.raises(StateError):
                _ = pieces.output
            return [piece async for piece in pieces], pieces.output

    pieces, output = asyncio.run(main(False))
    assert pieces == list(detent.stream(model, "Go", rule, seed=0, canonical=False))
    assert "".join(pieces) == output.text
    values, output = asyncio.run(main(True))
    assert values == list(detent.stream(model, "Go", rule, partial=True, seed=0, canonical=False))
    assert values[-1] == output.value or output.value == output.text


def test_the_event_loop_goes_on() -> None:
    def function(ids: Sequence[int]) -> np.ndarray:
        time.sleep(0.005)
        return np.zeros(3)

    model = CallableModel(function, VOCABULARY, encode=lambda text: [0])

    async def main() -> int:
        ticks = 0
        task = asyncio.create_task(detent.agenerate(model, "p", detent.regex("[ab]{40}"), seed=0))
        while not task.done():
            await asyncio.sleep(0.001)
            ticks += 1
        return ticks

    assert asyncio.run(main()) > 20


def test_errors_belong_to_one_text() -> None:
    model = flat(limit=5)

    async def main() -> list[detent.Output | BaseException]:
        rules = (detent.regex("[ab]{3}"), detent.regex("[ab]{9}"), detent.regex("[^\\s\\S]"))
        return await asyncio.gather(
            *[detent.agenerate(model, "p", rule, seed=0) for rule in rules], return_exceptions=True
        )

    first, second, third = asyncio.run(main())
    assert isinstance(first, detent.Output)
    assert isinstance(second, ModelError)
    assert isinstance(third, EmptyLanguageError)


def test_closing_and_cancelling_stop_the_generation() -> None:
    calls: list[int] = []

    def function(ids: Sequence[int]) -> np.ndarray:
        calls.append(len(ids))
        time.sleep(0.002)
        return np.zeros(3)

    model = CallableModel(function, VOCABULARY, encode=lambda text: [0])
    endless = detent.regex("[ab]{5000}")

    async def close() -> None:
        async with detent.astream(model, "p", endless, max_tokens=5000, seed=0) as pieces:
            async for _ in pieces:
                break
        assert [piece async for piece in pieces] == []

    async def cancel() -> None:
        task = asyncio.create_task(detent.agenerate(model, "p", endless, max_tokens=5000, seed=0))
        while not calls:
            await asyncio.sleep(0.001)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    for stop in (close, cancel):
        calls.clear()
        asyncio.run(stop())
        for _ in range(100):
            if not any(thread.name == "detent-scheduler" for thread in threading.enumerate()):
                break
            time.sleep(0.02)
        count = len(calls)
        assert 0 < count < 500
        time.sleep(0.03)
        assert len(calls) == count


def test_a_closed_stream_yields_nothing() -> None:
    pieces = detent.stream(flat(), "p", detent.regex("[ab]{9}"), seed=0)
    next(pieces)
    pieces.close()
    assert list(pieces) == []
    with pytest.raises(StateError):
        _ = pieces.output


def test_retries_and_signatures() -> None:
    with pytest.raises(ArgumentError, match="retries"):
        detent.astream(flat(), "p", retries=1)
    names = {each.name for each in fields(detent.Request)} - {"prompt", "language", "samples"}
    for write in (detent.agenerate, detent.astream):
        assert names <= set(inspect.signature(write).parameters)
    with pytest.raises(TypeError, match="did you mean 'max_tokens'"):
        asyncio.run(detent.agenerate(flat(), "p", max_token=3))  # type: ignore[call-arg]

"""Admission: clients take turns, the queue is bounded, and nobody who leaves keeps a slot."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable

import pytest

pytest.importorskip("fastapi", reason="needs the extra serve")

import detent
from detent.generation.request import PreparedRequest, Request
from detent.serve.admission import Admission
from detent.serve.engine import Engine, Job
from detent.serve.errors import ApiError
from detent.serve.settings import ServerSettings
from detent.single_flight import SingleFlight


def run(test: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(asyncio.wait_for(test(), 10))  # type: ignore[arg-type]


def test_clients_take_turns() -> None:
    async def test() -> None:
        admission, order = Admission(1, 100), []

        async def text(client: str, number: int) -> None:
            async with admission.slot(client):
                order.append(f"{client}{number}")
                await asyncio.sleep(0)

        greedy = [text("a", number) for number in range(5)]
        await asyncio.gather(*greedy, text("b", 0), text("c", 0), text("b", 1))
        assert order == ["a0", "a1", "b0", "c0", "a2", "b1", "a3", "a4"]
        assert (admission.running, admission.queued) == (0, 0)

    run(test)


def test_a_full_queue_refuses() -> None:
    async def test() -> None:
        admission = Admission(1, 1)
        async with admission.slot("a"):
            admission.check(1)
            waiting = asyncio.ensure_future(admission.slot("b").__aenter__())
            await asyncio.sleep(0)
            with pytest.raises(ApiError) as caught:
                admission.check(1)
            assert (caught.value.status, caught.value.headers) == (429, {"Retry-After": "1"})
        await waiting

    run(test)


@pytest.mark.parametrize("steps", range(4))
def test_who_leaves_keeps_no_slot(steps: int) -> None:
    async def test() -> None:
        admission = Admission(1, 10)
        ended = []

        async def text(name: str) -> None:
            async with admission.slot(name):
                await asyncio.sleep(0)
                ended.append(name)

        tasks = [asyncio.ensure_future(text(name)) for name in "abc"]
        for _ in range(steps):
            await asyncio.sleep(0)
        tasks[1].cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert ended in (["a", "c"], ["a", "b", "c"])
        assert (admission.running, admission.queued) == (0, 0)

    run(test)


def test_single_flight_makes_a_value_once() -> None:
    async def test() -> None:
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(4) as executor:
            cache: SingleFlight[int] = SingleFlight(2, executor)
            made: list[int] = []

            def make(value: int) -> int:
                made.append(value)
                return value

            assert await asyncio.gather(*[cache.get("a", lambda: make(1)) for _ in range(9)]) == [1] * 9
            assert made == [1]
            for key in "bc":
                await cache.get(key, lambda: make(2))
                await asyncio.sleep(0.05)  # sizes are asked for beside the loop
            assert await cache.get("a", lambda: make(3)) == 3  # the oldest of three was forgotten
            assert await cache.get("c", lambda: make(4)) == 2

    run(test)


def test_single_flight_is_bounded_by_the_size_of_its_values() -> None:
    async def test() -> None:
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(1) as executor:
            cache: SingleFlight[list[int]] = SingleFlight(9, executor, len, 10)
            made: list[str] = []

            def make(key: str, size: int) -> list[int]:
                made.append(key)
                return [0] * size

            for key, size in [("a", 4), ("b", 4), ("a", 4), ("c", 4), ("a", 4), ("b", 4), ("d", 99), ("d", 99)]:
                assert len(await cache.get(key, lambda key=key, size=size: make(key, size))) == size  # type: ignore[misc]
                await asyncio.sleep(0.05)
            assert made == ["a", "b", "c", "b", "d"]
            assert await cache.get("a", lambda: make("a", 1)) == [0]  # the large value drove all others out

    run(test)


def test_single_flight_keeps_no_error_and_survives_a_caller_who_leaves() -> None:
    async def test() -> None:
        import threading
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(1) as executor:
            cache: SingleFlight[int] = SingleFlight(2, executor)
            calls = []

            def fail() -> int:
                calls.append(1)
                raise ValueError("no")

            for _ in range(2):
                with pytest.raises(ValueError, match="no"):
                    await cache.get("a", fail)
            assert len(calls) == 2
            may_end = threading.Event()

            def slow() -> int:
                may_end.wait()
                return 7

            first, second = [asyncio.ensure_future(cache.get("b", slow)) for _ in range(2)]
            await asyncio.sleep(0.01)
            first.cancel()
            may_end.set()
            assert await second == 7

    run(test)


def test_a_request_without_a_rule_waits_for_no_rule() -> None:
    async def prepare() -> PreparedRequest:
        engine = Engine(detent.load_model(), "detent", ServerSettings())
        async with contextlib.AsyncExitStack() as stack:
            for client in range(8):
                await stack.enter_async_context(engine._compiling.slot(str(client)))
            return await asyncio.wait_for(engine.prepare(Job(Request("Hello"), None, "c")), 20)

    assert isinstance(asyncio.run(prepare()), PreparedRequest)

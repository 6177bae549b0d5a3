"""SingleFlight: a bounded cache whose missing values are made beside the event loop, each once."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import Generic, TypeVar

__all__ = ["SingleFlight"]

_Value = TypeVar("_Value")


class SingleFlight(Generic[_Value]):
    """The values of the last keys. Callers that ask for a key while its value is made wait for the same value.

    An error goes to all who wait and is not kept. It belongs to one event loop.

    Parameters
    ----------
    size : int
        How many values are kept.
    executor : Executor
        Where values are made.
    weigh : callable, optional
        Returns the size of a value, which may grow.
    capacity : int
        The largest sum of the sizes; the value of the last key is kept in any case.
    """

    def __init__(
        self, size: int, executor: Executor, weigh: Callable[[_Value], int] = lambda value: 0, capacity: int = 0
    ) -> None:
        self._size = size
        self._executor = executor
        self._weigh = weigh
        self._capacity = capacity
        self._values: OrderedDict[Hashable, asyncio.Future[_Value]] = OrderedDict()
        self._sizes: dict[Hashable, int] = {}
        self._weighing: set[Hashable] = set()
        self._scales = ThreadPoolExecutor(1, thread_name_prefix="detent-sizes")

    async def get(self, key: Hashable, make: Callable[[], _Value]) -> _Value:
        """Return the value of a key; call `make` in the executor if there is none."""
        future = self._values.get(key)
        if future is None:
            future = asyncio.get_running_loop().run_in_executor(self._executor, make)
            self._values[key] = future
            future.add_done_callback(lambda done: self._drop_error(key, done))
        else:
            self._values.move_to_end(key)
        value = await asyncio.shield(future)  # a caller who leaves takes nothing from the others
        if key not in self._weighing:
            # Whoever asks for the size of a value in use may have to wait: the loop does not, nor does the executor.
            self._weighing.add(key)
            size = asyncio.get_running_loop().run_in_executor(self._scales, self._weigh, value)
            size.add_done_callback(lambda done: self._evict(key, done))
        return value

    def close(self) -> None:
        """Stop the thread that asks for sizes."""
        self._scales.shutdown(wait=False, cancel_futures=True)

    def _evict(self, key: Hashable, size: asyncio.Future[int]) -> None:
        """Note the size of a value; forget the oldest values above the bounds."""
        self._weighing.discard(key)
        if key not in self._values or size.cancelled():
            return
        self._sizes[key] = size.result()
        total = sum(self._sizes.values())
        for oldest in [each for each in self._values if each in self._sizes and each != key]:
            if len(self._values) <= self._size and total <= self._capacity:
                return
            total -= self._sizes.pop(oldest)
            del self._values[oldest]

    def _drop_error(self, key: Hashable, future: asyncio.Future[_Value]) -> None:
        if (future.cancelled() or future.exception() is not None) and self._values.get(key) is future:
            del self._values[key]
            self._sizes.pop(key, None)

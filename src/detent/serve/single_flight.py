"""SingleFlight: a bounded cache whose missing values are made beside the event loop, each once."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Executor
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
    """

    def __init__(self, size: int, executor: Executor) -> None:
        self._size = size
        self._executor = executor
        self._values: OrderedDict[Hashable, asyncio.Future[_Value]] = OrderedDict()

    async def get(self, key: Hashable, make: Callable[[], _Value]) -> _Value:
        """Return the value of a key; call `make` in the executor if there is none."""
        future = self._values.get(key)
        if future is None:
            future = asyncio.get_running_loop().run_in_executor(self._executor, make)
            self._values[key] = future
            future.add_done_callback(lambda done: self._drop_error(key, done))
            if len(self._values) > self._size:
                self._values.popitem(last=False)
        else:
            self._values.move_to_end(key)
        return await asyncio.shield(future)  # a caller who leaves takes nothing from the others

    def _drop_error(self, key: Hashable, future: asyncio.Future[_Value]) -> None:
        if (future.cancelled() or future.exception() is not None) and self._values.get(key) is future:
            del self._values[key]

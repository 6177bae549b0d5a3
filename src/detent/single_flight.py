"""SingleFlight: a bounded cache whose missing values are made on threads, each once."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass
from threading import Lock
from typing import Generic, TypeVar

from detent.errors import CancelledError

__all__ = ["Pending", "SingleFlight"]

_Value = TypeVar("_Value")


@dataclass(eq=False)
class _Flight(Generic[_Value]):
    """A value that is made or was made, and how many wait for it."""

    future: Future[_Value]
    cancel: Callable[[], None]
    waiting: int = 0


class Pending(Generic[_Value]):
    """One caller's part in a value that is being made.

    Attributes
    ----------
    future : concurrent.futures.Future
        The value, shared by all who asked for it. To give up waiting, call `cancel` here and not there.
    """

    def __init__(self, future: Future[_Value], leave: Callable[[], None]) -> None:
        self.future = future
        self._leave = leave
        self._has_left = False

    def result(self, timeout: float | None = None) -> _Value:
        """Wait for the value; raise the error of its making."""
        if self._has_left:
            raise CancelledError("cancelled by the caller")
        return self.future.result(timeout)

    @property
    def is_done(self) -> bool:
        """Whether `result` returns or raises at once."""
        return self._has_left or self.future.done()

    def cancel(self) -> None:
        """Stop waiting. If nobody else waits, the value is not made to its end. One thread at a time may call this."""
        if not self._has_left:
            self._has_left = True
            self._leave()


class SingleFlight(Generic[_Value]):
    """The values of the last keys. Callers that ask for a key while its value is made wait for the same value.

    An error goes to all who wait and is not kept. Any thread may call.

    >>> with ThreadPoolExecutor(1) as executor:
    ...     cache = SingleFlight(8, executor)
    ...     [cache.submit("a", lambda: 7).result() for _ in range(2)]
    [7, 7]

    Parameters
    ----------
    size : int
        How many values are kept.
    executor : Executor
        Where values are made.
    weigh : callable, optional
        Returns the size of a value, which may grow. It is called on a thread of its own, since it may have to wait for
        a value that is in use.
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
        self._lock = Lock()
        self._flights: OrderedDict[Hashable, _Flight[_Value]] = OrderedDict()
        self._sizes: dict[Hashable, int] = {}
        self._weighing: set[Hashable] = set()
        self._scales = ThreadPoolExecutor(1, thread_name_prefix="detent-sizes")

    def submit(
        self, key: Hashable, make: Callable[[], _Value], cancel: Callable[[], None] = lambda: None
    ) -> Pending[_Value]:
        """Return the value of a key, or what will be; `make` is called in the executor if there is none.

        `cancel` asks `make` to stop: it is called when all who wait have left.
        """
        with self._lock:
            flight = self._flights.get(key)
            is_new = flight is None
            if flight is None:
                flight = self._flights[key] = _Flight(self._executor.submit(make), cancel)
            else:
                self._flights.move_to_end(key)
            flight.waiting += 1
        joined = flight
        if is_new:
            joined.future.add_done_callback(lambda done: self._note(key, joined))
        elif joined.future.done():
            self._note(key, joined)
        return Pending(joined.future, lambda: self._leave(key, joined))

    def __contains__(self, key: Hashable) -> bool:
        with self._lock:
            return key in self._flights

    async def get(self, key: Hashable, make: Callable[[], _Value], cancel: Callable[[], None] = lambda: None) -> _Value:
        """Return the value of a key, beside the event loop; a task that is cancelled leaves as by `Pending.cancel`."""
        pending = self.submit(key, make, cancel)
        value = asyncio.wrap_future(pending.future)
        try:
            return await asyncio.shield(value)
        except asyncio.CancelledError:
            value.add_done_callback(lambda done: done.cancelled() or done.exception())  # an error is nobody's any more
            pending.cancel()
            raise

    def close(self) -> None:
        """Stop the thread that asks for sizes."""
        self._scales.shutdown(wait=False, cancel_futures=True)

    def _note(self, key: Hashable, flight: _Flight[_Value]) -> None:
        """Forget an error; ask for the size of a value."""
        if flight.future.cancelled() or flight.future.exception() is not None:
            self._drop(key, flight)
            return
        with self._lock:
            if key in self._weighing or self._flights.get(key) is not flight:
                return
            self._weighing.add(key)
        try:
            self._scales.submit(self._evict, key, flight.future.result())
        except RuntimeError:  # closed
            with self._lock:
                self._weighing.discard(key)

    def _evict(self, key: Hashable, value: _Value) -> None:
        """Note the size of a value; forget the oldest values above the bounds."""
        size = self._weigh(value)
        with self._lock:
            self._weighing.discard(key)
            if key not in self._flights:
                return
            self._sizes[key] = size
            total = sum(self._sizes.values())
            for oldest in [each for each in self._flights if each in self._sizes and each != key]:
                if len(self._flights) <= self._size and total <= self._capacity:
                    return
                total -= self._sizes.pop(oldest)
                del self._flights[oldest]

    def _leave(self, key: Hashable, flight: _Flight[_Value]) -> None:
        with self._lock:
            flight.waiting -= 1
            if flight.waiting > 0 or flight.future.done():
                return
            if self._flights.get(key) is flight:
                del self._flights[key]  # nobody can join any more
        if not flight.future.cancel():  # it runs already
            flight.cancel()

    def _drop(self, key: Hashable, flight: _Flight[_Value]) -> None:
        with self._lock:
            if self._flights.get(key) is flight:
                del self._flights[key]
                self._sizes.pop(key, None)

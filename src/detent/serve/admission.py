"""Admission: how many texts are generated at the same time, and who is next.

Clients take turns: of all that wait, the next text is one of the client after the last one served. A client that sends
a thousand requests delays another client's first request by one text at most.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from detent.serve.errors import ApiError

__all__ = ["Admission"]


class Admission:
    """A bounded number of running texts and a bounded, fair queue of waiting ones. It belongs to one event loop.

    Parameters
    ----------
    max_running : int
        Texts at the same time.
    max_queued : int
        Texts that wait; a further one raises `ApiError` with status 429.
    """

    def __init__(self, max_running: int, max_queued: int) -> None:
        self._max_running = max_running
        self._max_queued = max_queued
        self._queues: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()
        self.running = 0
        self.queued = 0

    def check(self, texts: int) -> None:
        """Raise `ApiError` if a request of `texts` texts can neither run nor wait."""
        if self.running + self.queued + texts > self._max_running + self._max_queued:
            raise ApiError(
                429,
                f"the server is busy: {self.running} texts are running and {self.queued} wait; try again in 1 s",
                kind="server_busy",
                code="queue_full",
                headers={"Retry-After": "1"},
            )

    @asynccontextmanager
    async def slot(self, client: str) -> AsyncIterator[None]:
        """Wait for a slot and hold it."""
        if self.running < self._max_running and not self.queued:
            self.running += 1
        else:
            await self._wait(client)
        try:
            yield
        finally:
            self.running -= 1
            self._start_next()

    async def _wait(self, client: str) -> None:
        turn = asyncio.get_running_loop().create_future()
        self._queues.setdefault(client, deque()).append(turn)
        self.queued += 1
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():  # the slot came at the same time: hand it on
                self.running -= 1
                self._start_next()
            else:
                self._forget(client, turn)
            raise

    def _forget(self, client: str, turn: asyncio.Future[None]) -> None:
        queue = self._queues.get(client)
        if queue is not None and turn in queue:
            queue.remove(turn)
            self.queued -= 1
            if not queue:
                del self._queues[client]

    def _start_next(self) -> None:
        while self._queues and self.running < self._max_running:
            client, queue = self._queues.popitem(last=False)
            turn = queue.popleft()
            if queue:
                self._queues[client] = queue  # at the end: the other clients come first
            self.queued -= 1
            if not turn.done():
                self.running += 1
                turn.set_result(None)

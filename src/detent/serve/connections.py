"""HTTP connections of uvicorn whose clients must make progress, and a server that logs where it listens.

uvicorn waits for a client without end: for the head of a request, for its body, and for the client to read. Thousands
of clients that do nothing would take all file descriptors, and one that never reads would hold up SIGTERM.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn import Server
from uvicorn.protocols.http.h11_impl import H11Protocol

from detent.serve.logs import log

__all__ = ["ListeningServer", "TimedConnection"]


class ListeningServer(Server):
    """Logs the event "listening", with the port, once a client can connect."""

    async def startup(self, sockets: Any = None) -> None:
        """Listen, and log where."""
        await super().startup(sockets)
        for server in self.servers if self.started else ():
            host, port, *_ = server.sockets[0].getsockname()
            log("listening", host=host, port=port)


class TimedConnection(H11Protocol):
    """An HTTP connection that ends if its client does nothing for too long.

    Attributes
    ----------
    head_seconds : float
        The most seconds from the connection, or the first byte of a further request, to the end of the head.
    body_seconds : float
        The most seconds from the end of the head to the end of the body.
    stall_seconds : float
        The most seconds in which a client reads nothing of an answer that waits for it.
    """

    head_seconds = 20.0
    body_seconds = 120.0
    stall_seconds = 60.0
    _head: asyncio.TimerHandle | None = None
    _body: asyncio.TimerHandle | None = None
    _reading: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Wait for the first head."""
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        """Read bytes, and set the timers of what is missing."""
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the timers."""
        for timer in (self._head, self._body, self._reading):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        """Set the timers for the next request, whose head may have come already."""
        super().on_response_complete()
        if not self.transport.is_closing():
            self._watch()

    def pause_writing(self) -> None:
        """Note that the client does not read."""
        super().pause_writing()
        self._reading = self.loop.call_later(self.stall_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        """Note that the client reads again."""
        super().resume_writing()
        if self._reading is not None:
            self._reading.cancel()
            self._reading = None

    def _watch(self) -> None:
        """Set the timers of what is missing: the head of a request, or more of its body."""
        is_between = self.cycle is None or self.cycle.response_complete
        has_part = self.cycle is None or bool(self.conn.trailing_data[0])
        if not (is_between and has_part):
            if self._head is not None:
                self._head.cancel()
                self._head = None
        elif self._head is None:
            self._head = self.loop.call_later(self.head_seconds, self.transport.abort)
        if is_between or not self.cycle.more_body:
            if self._body is not None:
                self._body.cancel()
                self._body = None
        elif self._body is None:
            self._body = self.loop.call_later(self.body_seconds, self.transport.abort)

"""ASGI middleware: BodyLimit refuses large bodies before they are in memory; Observation counts and logs requests."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from detent.serve.errors import ApiError

__all__ = ["BodyLimit", "Observation"]


class _TooLargeError(Exception):
    pass


class BodyLimit:
    """ASGI middleware that answers 413 to a body of more than `most` bytes, whether or not its length is declared."""

    def __init__(self, app: ASGIApp, most: int) -> None:
        self._app = app
        self._most = most

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and count its bytes."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        declared = next((value for name, value in scope["headers"] if name == b"content-length"), b"0")
        if declared.isdigit() and int(declared) > self._most:
            await self._refuse(scope, receive, send)
            return
        received = 0
        is_started = False

        async def counted() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > self._most:
                raise _TooLargeError
            return message

        async def noted(message: Any) -> None:
            nonlocal is_started
            is_started = True
            await send(message)

        try:
            await self._app(scope, counted, noted)
        except _TooLargeError:
            if not is_started:
                await self._refuse(scope, receive, send)

    async def _refuse(self, scope: Scope, receive: Receive, send: Send) -> None:
        error = ApiError(413, f"the body has more than {self._most} bytes", code="body_too_large")
        await JSONResponse(error.body(), 413, {"Connection": "close"})(scope, receive, send)


class Observation:
    """ASGI middleware that reports each request when its last byte is sent.

    Parameters
    ----------
    app : ASGI application
        What answers.
    report : callable
        Takes the route's path, the status (499 if the client left before the answer), and the seconds.
    """

    def __init__(self, app: ASGIApp, report: Callable[[str, int, float], None]) -> None:
        self._app = app
        self._report = report

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and note its status."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status = 499
        began = perf_counter()

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, noted)
        finally:
            path = getattr(scope.get("route"), "path", "unknown")
            self._report(path, status, perf_counter() - began)

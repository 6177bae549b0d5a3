"""ASGI middleware around the endpoints.

BodyLimit refuses large heads, and large bodies before they are in memory. HostCheck refuses pages of other sites.
Observation counts and logs requests.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from time import perf_counter
from typing import Any

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from detent.serve.errors import ApiError

__all__ = ["BodyLimit", "HostCheck", "Observation"]


_DISCARD_SECONDS = 2.0
_MOST_DISCARDED = 1 << 30
"""How long, and how far, the rest of a body is read after it was refused."""


_MOST_HEAD_BYTES = 32 << 10
_HOST = re.compile(r"(?:https?://)?(?P<host>[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?")
"""A host and a port, without users, paths and fragments: parsers differ in what they take for the host of such."""


class _TooLargeError(Exception):
    pass


class BodyLimit:
    """ASGI middleware that answers 413 to a body of more than `most` bytes, whether or not its length is declared.

    It refuses too what a server and a proxy before it might read in two ways: a length beside chunks (request
    smuggling: RFC 9112, section 6.1), a body that is compressed, and a head of more than 32 KiB.
    """

    def __init__(self, app: ASGIApp, most: int) -> None:
        self._app = app
        self._most = most

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and count its bytes."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        if error := _head_error(scope["headers"]):
            await JSONResponse(error.body(), error.status, {"Connection": "close"})(scope, receive, send)
            return
        declared = headers.get(b"content-length", b"0")
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
        answer = JSONResponse(error.body(), 413, {"Connection": "close"})
        await send({"type": "http.response.start", "status": 413, "headers": answer.raw_headers})
        await send({"type": "http.response.body", "body": answer.body, "more_body": True})
        # A client that is still sending loses the answer if the connection is closed with unread bytes (RFC 9112, 9.6).
        if all(name != b"expect" for name, _ in scope["headers"]):
            with suppress(TimeoutError, asyncio.TimeoutError):
                await asyncio.wait_for(_discard(receive), _DISCARD_SECONDS)
        await send({"type": "http.response.body", "body": b""})


def _head_error(headers: Sequence[tuple[bytes, bytes]]) -> ApiError | None:
    """Return the error in the head of a request; None if there is none."""
    if sum(len(name) + len(value) for name, value in headers) > _MOST_HEAD_BYTES:
        return ApiError(431, f"the headers have more than {_MOST_HEAD_BYTES} bytes", code="headers_too_large")
    found = dict(headers)
    if b"transfer-encoding" in found and b"content-length" in found:
        return ApiError(400, "the request has Content-Length and Transfer-Encoding; send one", code="invalid_value")
    encoding = found.get(b"content-encoding", b"identity").decode("latin-1")
    if encoding.strip().lower() not in ("", "identity"):
        message = f"the body is encoded as {encoding[:80]!r}; send it as it is"
        return ApiError(415, message, code="unsupported_encoding")
    return None


async def _discard(receive: Receive) -> None:
    """Read the rest of a body, as far as it is not too long for that either."""
    left = _MOST_DISCARDED
    while left > 0:
        message = await receive()
        left -= len(message.get("body", b""))
        if message["type"] != "http.request" or not message.get("more_body"):
            return


class HostCheck:
    """ASGI middleware that answers 403 to requests for other hosts, and to those of pages of other sites.

    A page may send requests to any address; without keys they would be answered. If a page has its name resolved to
    this machine (DNS rebinding), the request names the page's host.

    Parameters
    ----------
    app : ASGI application
        What answers.
    hosts : sequence of str
        The names that are allowed, in small letters; without ports.
    """

    def __init__(self, app: ASGIApp, hosts: Sequence[str]) -> None:
        self._app = app
        self._hosts = frozenset(hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on if its host is known, and its origin the same."""
        if scope["type"] == "http":
            headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
            for name, text in (("Host", headers.get(b"host", "")), ("Origin", headers.get(b"origin"))):
                if text is not None and _host(text) not in self._hosts:
                    message = (
                        f"the header {name} names {text[:80]!r}, which this server is not; see --host and the keys"
                    )
                    error = ApiError(403, message, kind="permission_error", code="wrong_host")
                    await JSONResponse(error.body(), 403)(scope, receive, send)
                    return
        await self._app(scope, receive, send)


def _host(text: str) -> str:
    """Return the host of "host:port" or "http://host:port"; an empty text for whatever else there is."""
    found = _HOST.fullmatch(text)
    return "" if found is None else found["host"].strip("[]").lower()


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

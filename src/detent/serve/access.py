"""Access: which key sent a request, and whether it sent too many."""

from __future__ import annotations

import hmac
import math
from collections import OrderedDict
from collections.abc import Sequence
from hashlib import sha256
from time import monotonic

from detent.serve.errors import ApiError

__all__ = ["Access"]

_MOST_CLIENTS = 10_000
_BURST_SECONDS = 10.0


class Access:
    """The keys of a server and the rate of each client.

    Parameters
    ----------
    keys : sequence of str
        The accepted keys; empty: no key is asked for.
    per_minute : float
        The requests that a client may send in a minute.
    """

    def __init__(self, keys: Sequence[str], per_minute: float) -> None:
        self._digests = [sha256(key.encode()).digest() for key in keys]
        self._per_second = per_minute / 60
        self._burst = max(1.0, self._per_second * _BURST_SECONDS)
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def client(self, authorization: str | None, address: str) -> str:
        """Return the name of the client, of which logs may show all, or raise `ApiError`.

        The comparison takes the same time for every key.
        """
        if not self._digests:
            return f"address {address}"
        scheme, _, key = (authorization or "").partition(" ")
        digest = sha256(key.strip().encode()).digest()
        known = [hmac.compare_digest(digest, each) for each in self._digests]
        if scheme.lower() != "bearer" or not any(known):
            missing = "the request has no key" if not authorization else "the key is not known"
            raise ApiError(
                401,
                f"{missing}; send it as the header Authorization: Bearer KEY",
                kind="authentication_error",
                code="invalid_api_key",
                headers={"WWW-Authenticate": "Bearer"},
            )
        return f"key {known.index(True)}"

    def spend(self, client: str) -> None:
        """Count a request of a client; raise `ApiError` if it sent too many (a token bucket)."""
        if math.isinf(self._per_second):
            return
        now = monotonic()
        left, since = self._left.pop(client, (self._burst, now))
        left = min(self._burst, left + (now - since) * self._per_second)
        allowed = left >= 1
        self._left[client] = left - allowed, now
        if len(self._left) > _MOST_CLIENTS:
            self._left.popitem(last=False)
        if not allowed:
            wait = math.ceil((1 - left) / self._per_second)
            raise ApiError(
                429,
                f"too many requests: {self._per_second * 60:g} a minute are allowed; try again in {wait} s",
                kind="rate_limit_error",
                code="rate_limit_exceeded",
                headers={"Retry-After": str(wait)},
            )

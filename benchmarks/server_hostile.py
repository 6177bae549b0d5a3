"""The hostile corpus over HTTP: each case a text of the rule or a clean error, and no worker lost.

    python -m benchmarks.server_hostile [--kind regex]

While the cases are sent one after the other, another client asks for the same small text all the time; its latencies
say how much the cases hold up the others.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from collections import Counter
from typing import Any

from benchmarks.attacks import cases
from benchmarks.server_load import Server, ask, body_of

FIELDS = {"regex": "regex", "json_schema": "json", "lark": "grammar", "gbnf": "grammar"}


def body(case: dict[str, Any]) -> dict[str, Any] | None:
    """Return the request of a case, or None if no field can carry it."""
    value: Any = case["input"]
    if isinstance(value, bytes):
        return None
    common: dict[str, Any] = {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 40, "seed": 1}
    if case["kind"] == "banned_words":
        return {**common, "ban": value}
    if case["kind"] not in FIELDS:
        return None
    return {**common, "structured_outputs": {FIELDS[case["kind"]]: value}}


async def send(server: Server, kinds: list[str]) -> dict[str, Any]:
    """Send all cases; return what came back."""
    latencies: list[float] = []

    async def others() -> None:
        number = 0
        while True:
            began = time.perf_counter()
            await ask(server.port, body_of(0))
            latencies.append(time.perf_counter() - began)
            number += 1

    task = asyncio.ensure_future(others())
    statuses: Counter[str] = Counter()
    slow: list[tuple[float, str]] = []
    bad: list[str] = []
    for case in cases(kinds, []):
        try:
            request = body(case)
            data = None if request is None else json.dumps(request)
        except (TypeError, ValueError, RecursionError):
            data = None
        if request is None or data is None:
            statuses["not sent"] += 1
            continue
        began = time.perf_counter()
        try:
            status, answer = await ask(server.port, request)
        except (OSError, ValueError, IndexError) as error:
            status, answer = 0, {"error": {"message": repr(error)}}
        slow.append((round(time.perf_counter() - began, 2), case["id"]))
        statuses[str(status)] += 1
        if status not in (200, 400, 413):
            bad.append(f"{case['id']}: {status} {str(answer)[:200]}")
    task.cancel()
    ordered = sorted(latencies)
    return {
        "statuses": dict(statuses),
        "neither a text nor a clean error": bad,
        "slowest": sorted(slow, reverse=True)[:10],
        "others_p50_s": round(ordered[len(ordered) // 2], 3),
        "others_p99_s": round(ordered[int(len(ordered) * 0.99)], 3),
        "others_max_s": round(ordered[-1], 3),
        "alive": server.process.poll() is None,
        "megabytes": round(server.megabytes()),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kind", action="append", default=[])
    options = parser.parse_args()
    server = Server("--timeout-seconds", "30")
    print(json.dumps(asyncio.run(send(server, options.kind)), indent=2))
    server.stop()


if __name__ == "__main__":
    main()

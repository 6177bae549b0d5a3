"""`detent conformance`: whether the answers of a server obey the constraints that it accepts."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from typing import Any
from urllib.error import URLError

from detent.cli.terminal import NO, painted
from detent.conformance import CHECKS, Result, run_checks
from detent.conformance.client import Client, RefusedError
from detent.errors import ArgumentError

__all__ = ["run"]

_COLOURS = {"holds": "green", "refused": "yellow", "error": "red", "fails": "red"}


def run(options: Any) -> int:
    """Run the command and return its exit status."""
    kinds = {check.kind for check in CHECKS}
    if unknown := set(options.kind or ()) - kinds:
        raise ArgumentError(f"--kind {min(unknown)} is unknown; there are {', '.join(sorted(kinds))}")
    if not options.url.startswith(("http://", "https://")):
        raise ArgumentError(f"{options.url} is no address of a server; write http://HOST:PORT, or https://HOST")
    key = os.environ.get("OPENAI_API_KEY")
    model = options.model or _first_model(options.url, key)
    checks = [check for check in CHECKS if not options.kind or check.kind in options.kind]
    counts: Counter[str] = Counter()
    client = Client(options.url, model, key, schema_in_object=options.schema_in_object)
    for result in run_checks(client, checks):
        counts[result.verdict] += 1
        sys.stdout.write(_shown(result, as_json=options.json) + "\n")
        sys.stdout.flush()
    total = ", ".join(f"{verdict} {counts[verdict]}" for verdict in _COLOURS)
    sys.stderr.write(f"{total} of {len(checks)} checks\n")
    return NO if counts["fails"] or counts["error"] else 0


def _first_model(url: str, key: str | None) -> str:
    try:
        return Client(url, "", key).models()[0]
    except (URLError, ConnectionError) as error:
        reason = error.reason if isinstance(error, URLError) else error
        raise ArgumentError(f"no server answers at {url}: {reason}; start it, or correct the address") from None
    except (RefusedError, OSError, ValueError, LookupError, TypeError) as error:
        raise ArgumentError(f"the server does not say its models ({error}); give --model NAME") from None


def _shown(result: Result, *, as_json: bool) -> str:
    check = result.check
    if as_json:
        found = {"kind": check.kind, "name": check.name, "verdict": result.verdict, "detail": result.detail}
        return json.dumps(found, ensure_ascii=False)
    verdict = painted(f"{result.verdict:8}", _COLOURS[result.verdict])
    return f"{verdict} {check.kind}: {check.name}" + (f"  ({result.detail})" if result.detail else "")

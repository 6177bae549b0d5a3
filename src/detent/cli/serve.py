"""`detent serve`: a server of OpenAI's API."""

from __future__ import annotations

import math
import os
import signal
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from detent.cli.models import open_model
from detent.errors import ArgumentError

__all__ = ["run"]

_LOCAL = ("127.0.0.1", "localhost", "::1")


def run(options: Any) -> int:
    """Run the command and return its exit status."""
    if not (find_spec("fastapi") and find_spec("uvicorn") and find_spec("prometheus_client")):
        raise ArgumentError("serve needs its extra: pip install 'detent[serve]'")
    import uvicorn

    from detent.serve import ServerSettings, make_app
    from detent.serve.connections import ListeningServer, TimedConnection
    from detent.serve.logs import log_to_stderr
    from detent.serve.memory import exempt_loaded_objects, limit_heaps
    from detent.serve.rules import refuse_misspelt_names

    if not 0 <= options.port < 1 << 16:
        raise ArgumentError(f"--port must be from 0 to 65535, got {options.port}")
    limit_heaps()
    keys = _keys(options.api_key_file)
    if not keys and options.host not in _LOCAL:
        raise ArgumentError(
            f"--host {options.host} would let everybody in: set DETENT_API_KEYS, or give --api-key-file, or listen at "
            "127.0.0.1"
        )
    settings = ServerSettings(
        api_keys=keys,
        hosts=() if keys else _LOCAL,
        style=options.style,
        max_running=options.max_running,
        max_queued=options.max_queued,
        max_body_bytes=options.max_body_bytes,
        requests_per_minute=options.requests_per_minute,
        timeout_seconds=options.timeout_seconds,
    )
    model = open_model(options.model, chat=True)
    name = options.name or ("detent" if options.model is None else options.model.resolve().name)
    app = make_app(model, settings, name=name)
    log_to_stderr()
    refuse_misspelt_names()
    server = ListeningServer(
        uvicorn.Config(
            app,
            host=options.host,
            port=options.port,
            http=TimedConnection,
            log_config=None,
            ws="none",
            access_log=False,
            timeout_graceful_shutdown=math.ceil(options.timeout_seconds),
        )
    )
    # When all requests in flight are answered, uvicorn raises SIGTERM again for the handler that it found. Without one
    # of ours the process would end by the signal, which Kubernetes calls an error.
    signal.signal(signal.SIGTERM, server.handle_exit)
    exempt_loaded_objects()
    try:
        server.run()
    except SystemExit:  # uvicorn has said why it cannot listen
        where = f"{options.host}:{options.port}"
        raise ArgumentError(
            f"cannot listen at {where}; the line above says why; give another --port or --host"
        ) from None
    return 0


def _keys(path: Path | None) -> list[str]:
    keys = os.environ.get("DETENT_API_KEYS", "").split(",")
    if path is not None:
        try:
            keys += path.read_text("utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise ArgumentError(f"--api-key-file {path}: {error}") from None
    return [key.strip() for key in keys if key.strip()]

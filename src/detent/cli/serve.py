"""`detent serve`: a server of OpenAI's API."""

from __future__ import annotations

import math
import os
import signal
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from detent.cli.arguments import Commands, add_command
from detent.cli.models import add_model, open_model
from detent.errors import ArgumentError

__all__ = ["add_to"]

_LOCAL = ("127.0.0.1", "localhost", "::1")


def add_to(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "serve",
        _run,
        summary="run a server of OpenAI's API whose texts are held to their rules",
        description="Run a server of OpenAI's API (chat completions, completions, responses) and Ollama's chat.\n"
        "Its page at / is a playground: type a rule, and watch the model under it.\n"
        "Keys are read from the environment variable DETENT_API_KEYS, separated by commas, or from --api-key-file,\n"
        "one a line; without keys everybody may ask, so the server then listens on this machine alone.",
        example="  detent serve --port 8000\n  curl localhost:8000/v1/chat/completions -d "
        '\'{"messages": [{"role": "user", "content": "Hi"}]}\'',
    )
    add_model(parser)
    parser.add_argument("--name", help="the model's name for clients (default: that of its folder)")
    parser.add_argument("--style", help="the notation of the model's turns (default: the one it names)")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen at (%(default)s)")
    parser.add_argument("--port", metavar="N", type=int, default=8000, help="port; 0 for any free one (%(default)s)")
    parser.add_argument("--api-key-file", metavar="FILE", type=Path, help="file of keys, one a line")
    parser.add_argument("--max-running", metavar="N", type=int, default=16, help="most texts at a time (%(default)s)")
    parser.add_argument("--max-queued", metavar="N", type=int, default=256, help="most waiting texts (%(default)s)")
    parser.add_argument(
        "--max-body-bytes", metavar="N", type=int, default=4 << 20, help="largest request (%(default)s)"
    )
    parser.add_argument(
        "--requests-per-minute", metavar="N", type=float, default=float("inf"), help="most requests of a key"
    )
    parser.add_argument(
        "--timeout-seconds", metavar="S", type=float, default=600.0, help="longest request (%(default)s)"
    )


def _run(options: Any) -> int:
    if not (find_spec("fastapi") and find_spec("uvicorn") and find_spec("prometheus_client")):
        raise ArgumentError("serve needs its extra: pip install 'detent[serve]'")
    import uvicorn

    from detent.serve import ServerSettings, make_app
    from detent.serve.connections import ListeningServer, TimedConnection
    from detent.serve.logs import log_to_stderr
    from detent.serve.memory import exempt_loaded_objects, limit_heaps
    from detent.serve.rules import refuse_misspelt_keywords

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
    refuse_misspelt_keywords()
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

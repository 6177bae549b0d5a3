"""Logs: one JSON object a line on standard error, without prompts, texts, paths and keys.

An error is logged as its type and its stack: its message may quote a prompt.
"""

from __future__ import annotations

import json
import logging
import sys
import time
from traceback import extract_tb
from typing import Any

__all__ = ["Json", "log", "log_to_stderr"]

_logger = logging.getLogger("detent.serve")


class Json(logging.Formatter):
    """Formats an event as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of an event."""
        entry: dict[str, Any] = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(record.created)),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info and record.exc_info[1] is not None:
            _, error, stack = record.exc_info
            entry["error"] = type(error).__name__
            entry["stack"] = [f"{frame.name} ({frame.filename}:{frame.lineno})" for frame in extract_tb(stack)]
        return json.dumps(entry, ensure_ascii=False, default=str)


def log(event: str, *, level: int = logging.INFO, error: BaseException | None = None, **fields: Any) -> None:
    """Log an event with its fields."""
    _logger.log(level, event, exc_info=error, extra={"fields": fields})


def log_to_stderr() -> None:
    """Send the log lines of the server to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Json())
    for logger, level in ((_logger, logging.INFO), (logging.getLogger("uvicorn"), logging.WARNING)):
        logger.handlers[:] = [handler]
        logger.setLevel(level)
        logger.propagate = False

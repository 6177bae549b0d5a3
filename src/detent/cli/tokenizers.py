"""`detent tokenizers`: whether detent can read a tokenizer, and what it finds there."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from time import perf_counter
from typing import Any

from detent.cli.models import open_vocabulary
from detent.cli.terminal import painted
from detent.compiler import compile
from detent.errors import DetentError
from detent.sources.words import literal

__all__ = ["run"]

_SHOWN = 8


def run(options: Any) -> int:
    """Run the command and return its exit status."""
    for path in options.paths or [None]:
        found = _describe(path)
        if options.json:
            sys.stdout.write(json.dumps(found, ensure_ascii=False) + "\n")
            continue
        for name, value in found.items():
            sys.stdout.write(f"{painted(name.replace('_', ' '), 'bold'):20} {_shown(value)}\n")
    return 0


def _shown(value: object) -> str:
    if not isinstance(value, list):
        return str(value)
    if not value:
        return "none"
    return " ".join(map(str, value[:_SHOWN])) + (" ..." if len(value) > _SHOWN else "")


def _describe(path: Path | None) -> dict[str, Any]:
    began = perf_counter()
    vocabulary = open_vocabulary(path)
    seconds = perf_counter() - began
    single = {vocabulary.token_bytes(token_id) for token_id in range(len(vocabulary))}

    def names(ids: Any) -> list[str]:
        return [vocabulary.token_bytes(token_id).decode("utf-8", "backslashreplace") for token_id in sorted(ids)]

    try:
        compile(literal("a"), vocabulary, canonical=True)
        canonical = "exact"
    except DetentError as error:
        canonical = f"no: {error}"
    return {
        "tokenizer": "embedded" if path is None else str(path),
        "tokens": len(vocabulary),
        "end_of_text": names(vocabulary.eos_token_ids),
        "special": names(vocabulary.special_token_ids - set(vocabulary.eos_token_ids)),
        "bytes_without_token": [f"0x{byte:02x}" for byte in range(256) if bytes([byte]) not in single],
        "canonical": canonical,
        "seconds": round(seconds, 3),
    }

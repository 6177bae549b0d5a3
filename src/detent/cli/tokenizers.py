"""`detent tokenizers`: whether detent can read a tokenizer, and what it finds there."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from time import perf_counter
from typing import Any

from detent.cli.arguments import Commands, add_command
from detent.cli.models import open_vocabulary
from detent.cli.terminal import painted
from detent.compiler import compile
from detent.errors import DetentError
from detent.sources.words import literal

__all__ = ["add_to"]

_SHOWN = 8


def add_to(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "tokenizers",
        _run,
        summary="show what detent reads of tokenizers, and whether canonical tokens are exact for them",
        description="Show the size, the end-of-text and special tokens, the bytes without a token, and whether\n"
        "canonical tokens are exact, for each tokenizer.",
        example="  detent tokenizers tokenizer.json ./my-model",
    )
    parser.add_argument(
        "paths", nargs="*", type=Path, help="files or folders of tokenizers (default: the embedded model's)"
    )
    parser.add_argument("--json", action="store_true", help="write one JSON object a line")


def _run(options: Any) -> int:
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

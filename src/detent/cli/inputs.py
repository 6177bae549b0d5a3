"""What the arguments of a command give: the language of a rule, a text, the options of `detent.generate`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import detent
from detent.errors import ArgumentError
from detent.generation.bans import Ban
from detent.language import Language

__all__ = ["read_line", "read_rule", "read_text", "sampling_options"]


def read_rule(options: Any) -> Language | None:
    """Return the language of the options, or None if there is none."""
    for option, text in (("--regex", options.regex), *(("--choice", text) for text in options.choice or ())):
        if text is not None and not text.isascii():
            try:
                text.encode()
            except UnicodeEncodeError:
                raise ArgumentError(f"{option} {text!a} is not valid UTF-8") from None
    if options.regex is not None:
        return detent.regex(options.regex)
    if options.json_schema is not None:
        return detent.json_schema(_schema(options.json_schema))
    if options.grammar is not None:
        suffix = options.grammar.suffix
        read = detent.gbnf if suffix == ".gbnf" else detent.ebnf if suffix == ".ebnf" else detent.grammar
        return read(_read("--grammar", options.grammar))
    return None if options.choice is None else detent.choice(*options.choice)


def _schema(value: str) -> str:
    if value.lstrip().startswith(("{", "[")) or value.strip() in ("true", "false"):
        try:
            json.loads(value)
        except ValueError as error:
            raise ArgumentError(f"--json-schema is neither a file nor a JSON text: {error}") from None
        return value
    return _read("--json-schema", Path(value))


_REMEDIES = {"--json-schema": "give a file, or the JSON itself", "--grammar": "write the grammar to a file"}


def _read(option: str, path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ArgumentError(f"{option} {path}: is not UTF-8, at byte {error.start}") from None
    except OSError as error:
        raise ArgumentError(f"{option} {path}: {error.strerror}; {_REMEDIES[option]}") from None


def read_text(value: str, name: str) -> str:
    """Return an argument as it is, or all of standard input if it is ``-``; `name` is what the text is."""
    if value != "-":
        return value
    return _decoded(sys.stdin.buffer.read(), f"the {name} on standard input")


def read_line() -> str:
    """Return the next line of standard input; empty at its end."""
    return _decoded(sys.stdin.buffer.readline(), "a line of standard input")


def _decoded(data: bytes, subject: str) -> str:
    """Decode UTF-8. Python's own decoding depends on the locale: in some, wrong bytes become lone surrogates."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ArgumentError(f"{subject} is not UTF-8, at byte {error.start}; convert it, as with iconv") from None


def sampling_options(options: Any) -> dict[str, Any]:
    """Return the options of `detent.generate`."""
    names = ("canonical", "max_tokens", "temperature", "top_k", "top_p", "min_p", "seed")
    return {
        **{name: getattr(options, name) for name in names},
        "ban": None if options.ban is None else Ban(options.ban, ignore_case=True),
    }

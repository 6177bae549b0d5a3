"""Reading of untrusted tokenizer files: bounded size, typed errors, recursion bounded by Python."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from detent._core import merges_span
from detent.errors import ArgumentError, VocabularyError
from detent.vocabulary.loaded_tokens import shown

__all__ = [
    "MAX_FILE_BYTES",
    "Source",
    "as_path",
    "expect",
    "open_binary",
    "parse_around_merges",
    "parse_json",
    "parse_without_merges",
    "read_json",
    "read_source",
    "read_start",
    "require",
]

MAX_FILE_BYTES = 1 << 28
"""Largest tokenizer file that is read; the largest in use have 40 MB."""


def as_path(path: object) -> Path:
    """Read a path argument."""
    if not isinstance(path, (str, os.PathLike)) or path == "":
        raise ArgumentError(f"expected the path of a tokenizer file, got {shown(path)}")
    try:
        return Path(os.fsdecode(path))
    except (ValueError, TypeError) as error:
        raise ArgumentError(f"expected the path of a tokenizer file: {error}") from None


class Source(NamedTuple):
    """The content of a file, with the size and time that show whether the file has changed since."""

    path: Path
    data: bytes
    version: tuple[int, int]

    def check_unchanged(self) -> None:
        """Raise `VocabularyError` if the file has changed."""
        with open_binary(self.path) as file:
            if _version(file) != self.version:
                raise VocabularyError(
                    f"{shown(self.path.name)} was changed after the vocabulary was loaded from it; load it again"
                )


def read_source(path: Path) -> Source:
    """Read a whole file of at most `MAX_FILE_BYTES`."""
    with open_binary(path) as file:
        size, time = _version(file)
        if size > MAX_FILE_BYTES:
            raise VocabularyError(
                f"{shown(path.name)} has {size} bytes; tokenizer files are read up to {MAX_FILE_BYTES}"
            )
        return Source(path, file.read(MAX_FILE_BYTES), (size, time))


def read_start(path: Path, size: int = 16) -> bytes:
    """Read the first bytes of a file."""
    with open_binary(path) as file:
        return file.read(size)


@contextmanager
def open_binary(path: Path) -> Iterator[BinaryIO]:
    """Open an ordinary file for reading; devices, pipes and folders are refused."""
    try:
        if not path.is_file():
            found = "a folder; name the file in it" if path.is_dir() else "no such file"
            raise VocabularyError(f"cannot read the tokenizer {shown(str(path), 200)}: {found}")
        with path.open("rb") as file:
            yield file
    except (OSError, ValueError) as error:  # ValueError: a path with a NUL
        raise VocabularyError(f"cannot read the tokenizer {shown(str(path), 200)}: {error}") from error


def _version(file: BinaryIO) -> tuple[int, int]:
    status = os.fstat(file.fileno())
    return status.st_size, status.st_mtime_ns


def parse_json(data: bytes | str, name: str) -> Any:
    """Parse JSON; malformed, too deeply nested or oddly encoded text is a `VocabularyError`."""
    try:
        return json.loads(data)
    except RecursionError:
        raise VocabularyError(f"{name}: nested too deeply for a tokenizer file") from None
    except ValueError as error:  # JSONDecodeError, UnicodeDecodeError, integers with too many digits
        raise VocabularyError(f"{name}: not valid JSON: {error}. Is the file complete?") from None


def parse_without_merges(data: bytes, name: str) -> Any:
    """Parse a `tokenizer.json` with an empty list of merges: four fifths of the file, which no token depends on."""
    return parse_around_merges(data, name)[0]


def parse_around_merges(data: bytes, name: str) -> tuple[Any, bytes | None]:
    """Parse a `tokenizer.json` without its merges, and return their JSON too; None: they are in the value."""
    span = merges_span(data)
    if span is None:
        return parse_json(data, name), None
    first, last = span
    return parse_json(b"".join((data[:first], b"[]", data[last:])), name), data[first:last]


def read_json(path: Path) -> Any:
    """Read and parse a JSON file."""
    return parse_json(read_source(path).data, path.name)


def expect(value: object, kind: type | tuple[type, ...], what: str) -> Any:
    """Return `value` if it is of `kind`, else raise an error that shows it."""
    if isinstance(value, kind) and not (isinstance(value, bool) and kind is int):
        return value
    kinds = kind if isinstance(kind, tuple) else (kind,)
    names = " or ".join("null" if each is type(None) else each.__name__ for each in kinds)
    raise VocabularyError(f"{what}: expected {names}, got {shown(value)}")


def require(package: str, purpose: str, install: str | None = None) -> Any:
    """Import an optional package, or raise an error with its purpose and the command that installs it."""
    try:
        return import_module(package)
    except ImportError as error:
        raise VocabularyError(f"{purpose} needs the package {package!r}: pip install {install or package}") from error

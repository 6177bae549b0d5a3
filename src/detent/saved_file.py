r"""Saved files: named sections of bytes in one file, with a version and a checksum, read through a memory map.

    magic        8 bytes    b"detent\r\n"
    header size  8 bytes    little-endian
    checksum     16 bytes   of all bytes but these
    header       JSON       {"kind", "version", "byteorder", "meta": {...}, "sections": {name: [offset, size]}}
    sections                each at a multiple of 64

No pickle: a header and arrays of numbers. Every change of a byte is a `SavedFileError`. Sections are views of the map,
so a file must not be written to while it is in use; saving again replaces the file, and maps of the old one stay valid.
"""

from __future__ import annotations

import json
import mmap
import os
import sys
from collections.abc import Mapping
from errno import ENOENT
from pathlib import Path
from typing import Any, NamedTuple

from detent import _core
from detent.errors import ArgumentError, SavedFileError

__all__ = ["SavedFile", "read_saved", "write_saved"]

_MAGIC = b"detent\r\n"
_PROLOGUE = 32
_ALIGNMENT = 64
_VERSION = 1


class SavedFile(NamedTuple):
    """The content of a saved file.

    Attributes
    ----------
    name : str
        Of the file, for messages.
    meta : dict
        As it was given to `write_saved`.
    sections : dict of memoryview
        Read-only views of the memory map.
    """

    name: str
    meta: dict[str, Any]
    sections: dict[str, memoryview]

    def damaged(self, reason: object) -> SavedFileError:
        """Return the error for content that does not fit together although its checksum is right."""
        return SavedFileError(f"{self.name} is no file that detent has saved: {reason}; save it again")


def write_saved(path: object, kind: str, meta: Mapping[str, Any], sections: Mapping[str, Any]) -> None:
    """Write a file, or replace it: readers see the old one or the new one."""
    target = _path(path)
    views = {name: memoryview(data).cast("B") for name, data in sections.items()}
    table: dict[str, list[int]] = {}
    header = b""
    offset = 0
    while True:  # the offsets depend on the size of the header, which has them
        at = _aligned(_PROLOGUE + offset)
        for name, view in views.items():
            table[name] = [at, view.nbytes]
            at = _aligned(at + view.nbytes)
        content = {"kind": kind, "version": _VERSION, "byteorder": sys.byteorder, "meta": meta, "sections": table}
        header = json.dumps(content, separators=(",", ":")).encode()
        if len(header) <= offset:
            break
        offset = len(header) + _ALIGNMENT
    body = bytearray(at)
    body[_PROLOGUE : _PROLOGUE + len(header)] = header
    for name, view in views.items():
        start, size = table[name]
        body[start : start + size] = view
    body[:16] = _MAGIC + len(header).to_bytes(8, "little")
    body[16:32] = _core.checksum(memoryview(body)[:16].tobytes() + _core.checksum(memoryview(body)[_PROLOGUE:]))
    if not target.parent.is_dir():
        raise FileNotFoundError(ENOENT, "there is no folder to save into", str(target.parent))
    temporary = target.with_name(f".{target.name}.{os.urandom(8).hex()}")
    try:
        with temporary.open("xb") as file:
            file.write(body)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def read_saved(path: object, kind: str) -> SavedFile:
    """Map a file of a kind, and check it.

    Raises
    ------
    SavedFileError
        The file is damaged, or of another kind, version or machine.
    OSError
        The file cannot be read.
    """
    source = _path(path)
    name = source.name
    with source.open("rb") as file:
        if os.fstat(file.fileno()).st_size < _PROLOGUE:
            raise SavedFileError(f"{name} is no file that detent has saved: it is too short; save it again")
        view = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    if view[:8] != _MAGIC:
        raise SavedFileError(f"{name} is no file that detent has saved: it begins with {bytes(view[:8])!r}")
    if view[16:32] != _core.checksum(view[:16].tobytes() + _core.checksum(view[_PROLOGUE:])):
        raise SavedFileError(f"{name} is damaged: its checksum does not fit; save it again")
    header_size = int.from_bytes(view[8:16], "little")
    try:
        header = json.loads(view[_PROLOGUE : _PROLOGUE + header_size].tobytes())
        given = {key: header[key] for key in ("kind", "version", "byteorder")}
        meta, table = dict(header["meta"]), dict(header["sections"])
        sections = {}
        for section, (start, size) in table.items():
            if not (0 <= start <= start + size <= len(view)):
                raise ValueError(f"section {section!r} is not inside the file")
            sections[section] = view[start : start + size]
    except (KeyError, TypeError, ValueError) as error:
        raise SavedFileError(f"{name} is no file that detent has saved: {error}; save it again") from None
    wanted = {"kind": kind, "version": _VERSION, "byteorder": sys.byteorder}
    for key, value in wanted.items():
        if given[key] != value:
            raise SavedFileError(f"{name} has {key} {given[key]!r}, but {value!r} is wanted; save it again")
    return SavedFile(name, meta, sections)


def _aligned(offset: int) -> int:
    return -(-offset // _ALIGNMENT) * _ALIGNMENT


def _path(path: object) -> Path:
    if not isinstance(path, (str, os.PathLike)):
        raise ArgumentError(f"expected the path of a file, got {type(path).__name__}")
    try:
        name = os.fsdecode(path)
        if "\0" in name:
            raise ValueError("it has a null character")
        os.fsencode(name)
        return Path(name)
    except (ValueError, TypeError) as error:
        raise ArgumentError(f"expected the path of a file: {error}") from None

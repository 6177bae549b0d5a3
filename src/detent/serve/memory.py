"""Memory: what a compiled rule weighs, how freed memory goes back to the system, and what garbage collection visits.

glibc gives each thread a heap of its own, up to eight for each processor core, and keeps what is freed in each. A
server that compiles rules in many threads would grow for hours by memory that is free.
"""

from __future__ import annotations

import ctypes
import gc
from contextlib import suppress
from dataclasses import dataclass

from detent.guide import Guide
from detent.language import Language

__all__ = ["CompiledRule", "exempt_loaded_objects", "limit_heaps", "return_freed_memory"]

_M_ARENA_MAX = -8
_HEAPS = 2

_FIXED = 128 << 10
"""Bytes of the smallest rule: its automata, tables, and Python objects."""
_PER_GUIDE_BYTE = 2.5
"""Bytes that a guide takes for each that it counts: hash tables, allocation, and what searches keep (1.4 to 2.4)."""
_PER_NODE_BYTE = 25
"""Bytes of a language for each of its saved form (9 to 25 for those of more than a megabyte)."""


@dataclass(frozen=True, eq=False)
class CompiledRule:
    """A rule as a language and a guide.

    Attributes
    ----------
    language : Language
        The texts of the rule.
    guide : Guide
        The same, over the tokens of the model.
    source_bytes : int
        The rule's own text and its language, in bytes.
    """

    language: Language
    guide: Guide
    source_bytes: int

    @classmethod
    def of(cls, language: Language, guide: Guide, text: str) -> CompiledRule:
        """Return the rule of a text. Cost: one pass over the language."""
        return cls(language, guide, 2 * len(text) + _PER_NODE_BYTE * len(language._node.to_bytes()))

    @property
    def memory_bytes(self) -> int:
        """An estimate of all memory, from above; it grows with what decoding visits.

        >>> import detent
        >>> language, vocabulary = detent.regex("a+"), detent.load_model().vocabulary
        >>> CompiledRule.of(language, detent.compile(language, vocabulary), "a+").memory_bytes < 200_000
        True
        """
        return _FIXED + self.source_bytes + int(_PER_GUIDE_BYTE * self.guide.memory_bytes)


def limit_heaps() -> None:
    """Give all threads two heaps; to be called before there are threads. Other C libraries are left alone."""
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, _HEAPS)


def exempt_loaded_objects() -> None:
    """Exempt all objects that exist now from garbage collection; to be called once, before the first request.

    A full collection visits each object of the process while it holds the GIL, so that all requests wait: up to 0.1 s
    for the packages of the server alone, more beside those of a model.
    """
    gc.collect()
    gc.freeze()


def return_freed_memory() -> None:
    """Return freed pages to the system, with the GIL released: some milliseconds."""
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)

"""Limits: what one constraint may cost, in work done and never in wall time: a result never depends on the machine."""

from __future__ import annotations

from dataclasses import dataclass, fields

from detent.errors import ArgumentError
from detent.suggestions import suggests_arguments

__all__ = ["DEFAULT_LIMITS", "Limits", "read_limits"]


@suggests_arguments
@dataclass(frozen=True)
class Limits:
    """Bounds on what one constraint may cost; reaching one raises `LimitError`.

    >>> Limits(states=1000).states
    1000

    Parameters
    ----------
    source_bytes : int
        Size of a pattern's UTF-8 text, in bytes.
    depth : int
        Nesting of groups in a pattern.
    pattern_size : int
        Literals and classes in a pattern; its alternatives, groups and repeats; a fifth of the ranges of its classes.
    states : int
        Automaton states that a guide may hold at a time. Decoding drops states to make room for others.
    memory_bytes : int
        Bytes of expressions and automaton rows that one guide may hold.
    work : int
        Units of work (expressions built, edges searched) that one call may take; 10 million are about a second.
        `compile` may take a fifth of them.

    Raises
    ------
    ArgumentError
        A limit is not a positive integer.
    """

    source_bytes: int = 1 << 20
    depth: int = 256
    pattern_size: int = 200_000
    states: int = 250_000
    memory_bytes: int = 256 << 20
    work: int = 20_000_000

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not isinstance(value, int) or isinstance(value, bool) or not 0 < value < 1 << 62:
                is_short = type(value) in (float, bool, str) or (type(value) is int and abs(value) < 1 << 64)
                got = repr(value) if is_short else type(value).__name__
                raise ArgumentError(f"Limits.{field.name} must be an integer from 1 to 2**62 - 1, got {got:.40}")


DEFAULT_LIMITS = Limits()


def read_limits(limits: Limits | None) -> Limits:
    """Return the limits of a call, which are the default ones without any; raises `ArgumentError` for another type."""
    if limits is None:
        return DEFAULT_LIMITS
    if not isinstance(limits, Limits):
        raise ArgumentError(f"limits are detent.Limits(...), got {type(limits).__name__}")
    return limits

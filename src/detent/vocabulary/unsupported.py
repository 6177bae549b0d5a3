"""The error that says why a tokenizer cannot be followed."""

from __future__ import annotations

from detent.errors import UnsupportedError

__all__ = ["unsupported"]


def unsupported(reason: str) -> UnsupportedError:
    """Return the error for a tokenizer that cannot be followed for this reason."""
    return UnsupportedError(f"the tokenizer cannot be followed token by token: {reason}")

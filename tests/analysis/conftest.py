"""What the tests of analysis share with those of generation."""

from __future__ import annotations

from tests.generation.conftest import real

__all__ = ["real"]

"""Writing text with a model: `generate` returns it whole, `stream` piece by piece."""

from __future__ import annotations

from detent.generation.generate import Output, Stream, generate, stream
from detent.generation.sampler import Sampler

__all__ = ["Output", "Sampler", "Stream", "generate", "stream"]

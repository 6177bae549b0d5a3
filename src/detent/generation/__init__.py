"""Writing text with a model: `generate` returns it whole, `stream` piece by piece."""

from __future__ import annotations

from detent.generation.sampler import Sampler
from detent.generation.streaming import Output, Stream
from detent.generation.writing import generate, stream

__all__ = ["Output", "Sampler", "Stream", "generate", "stream"]

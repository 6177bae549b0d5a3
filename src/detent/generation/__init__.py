"""Writing text with a model: `generate` returns it whole, `stream` piece by piece."""

from __future__ import annotations

from detent.generation.output import Output
from detent.generation.report import Report, Rewind, Step
from detent.generation.sampler import Sampler
from detent.generation.streaming import Stream
from detent.generation.writing import generate, stream

__all__ = ["Output", "Report", "Rewind", "Sampler", "Step", "Stream", "generate", "stream"]

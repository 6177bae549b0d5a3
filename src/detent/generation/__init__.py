"""Writing text with a model: `generate` returns it whole, `stream` piece by piece, `generate_batch` several.

`fidelity` says what masks did to the model's choice.
"""

from __future__ import annotations

from detent.generation.beams import beam_search
from detent.generation.comparison import Distance, Fidelity, TextProbability, fidelity
from detent.generation.output import Output
from detent.generation.partial import PartialStream
from detent.generation.plan import Request
from detent.generation.report import Report, Rewind, Step
from detent.generation.sampler import Sampler
from detent.generation.streaming import Stream
from detent.generation.writing import generate, generate_batch, sample_conditioned, stream

__all__ = [
    "Distance",
    "Fidelity",
    "Output",
    "PartialStream",
    "Report",
    "Request",
    "Rewind",
    "Sampler",
    "Step",
    "Stream",
    "TextProbability",
    "beam_search",
    "fidelity",
    "generate",
    "generate_batch",
    "sample_conditioned",
    "stream",
]

"""Writing text with a model: `generate` returns it whole, `stream` piece by piece, `generate_batch` several."""

from __future__ import annotations

from detent.generation.api import generate, generate_batch, stream
from detent.generation.asynchronous import AsyncStream, agenerate, astream, astream_turn
from detent.generation.bans import Ban
from detent.generation.decode_loop import Stream
from detent.generation.output import Output
from detent.generation.partial_stream import PartialStream
from detent.generation.report import Alternative, Report, Rewind, Step
from detent.generation.request import Options, Request
from detent.generation.sampler import Sampler
from detent.generation.turn_stream import TurnStream, stream_turn

__all__ = [
    "Alternative",
    "AsyncStream",
    "Ban",
    "Options",
    "Output",
    "PartialStream",
    "Report",
    "Request",
    "Rewind",
    "Sampler",
    "Step",
    "Stream",
    "TurnStream",
    "agenerate",
    "astream",
    "astream_turn",
    "generate",
    "generate_batch",
    "stream",
    "stream_turn",
]

"""Research tools on masked decoding: beam search, exact conditioned sampling, and the distance from the model's choice.

Nothing here is needed to generate text; `detent.generation` does that.
"""

from __future__ import annotations

from detent.analysis.beam_search import beam_search
from detent.analysis.fidelity import Distance, Fidelity, TextProbability, fidelity
from detent.analysis.rejection_sampling import sample_conditioned

__all__ = ["Distance", "Fidelity", "TextProbability", "beam_search", "fidelity", "sample_conditioned"]

"""detent holds a language model's decoding to a language.

>>> import detent
>>> model = detent.load_model()
>>> detent.generate(model, "Pick a number.", detent.regex("[1-9]"), max_tokens=4, seed=0).finish_reason
'stop'
"""

from __future__ import annotations

from detent import mask, models
from detent.errors import (
    ArgumentError,
    BusyError,
    CancelledError,
    DetentError,
    EmptyLanguageError,
    LimitError,
    ModelError,
    PatternSyntaxError,
    StateError,
    UnsupportedError,
    VocabularyError,
)
from detent.generation import Output, generate, stream
from detent.guide import Cancellation, Guide, compile  # noqa: A004 - as in re.compile
from detent.language import Language
from detent.limits import Limits
from detent.mask import allocate_mask, apply_mask
from detent.matcher import BatchMatcher, Matcher
from detent.models import load_model
from detent.sources.regex import regex
from detent.vocabulary import Vocabulary

__version__ = "0.1.0"

__all__ = [
    "ArgumentError",
    "BatchMatcher",
    "BusyError",
    "Cancellation",
    "CancelledError",
    "DetentError",
    "EmptyLanguageError",
    "Guide",
    "Language",
    "LimitError",
    "Limits",
    "Matcher",
    "ModelError",
    "Output",
    "PatternSyntaxError",
    "StateError",
    "UnsupportedError",
    "Vocabulary",
    "VocabularyError",
    "__version__",
    "allocate_mask",
    "apply_mask",
    "compile",
    "generate",
    "load_model",
    "mask",
    "models",
    "regex",
    "stream",
]

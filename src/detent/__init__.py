"""detent holds a language model's decoding to a language."""

from __future__ import annotations

import contextlib

from detent.errors import *  # noqa: F403
from detent.guide import Cancellation, Guide, compile
from detent.language import Language
from detent.limits import Limits
from detent.mask import allocate_mask, apply_mask
from detent.matcher import BatchMatcher, Matcher
from detent.vocabulary import Vocabulary

with contextlib.suppress(ImportError):
    from detent.sources.regex import regex
__version__ = "0.1.0"

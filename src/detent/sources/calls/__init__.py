"""Functions and their calls: signatures, notations of arguments, and tagged parts of free text."""

from __future__ import annotations

from detent.sources.calls.function import Call
from detent.sources.calls.tags import TaggedPart, structural_tags

__all__ = ["Call", "TaggedPart", "structural_tags"]

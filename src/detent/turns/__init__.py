"""Turns: one language for an assistant's turn, with thinking, text, calls or an answer, and its events."""

from __future__ import annotations

from detent.turns.style import Style
from detent.turns.styles import STYLES

__all__ = ["STYLES", "Style"]

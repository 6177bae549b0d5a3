"""Terminals of single characters and of texts, for the notations that list them."""

from __future__ import annotations

from detent import _core
from detent.code_points import LAST, Range, complement, normalise
from detent.sources.diagnostics import GrammarText
from detent.sources.grammar.productions import EPSILON, Terminal

__all__ = ["class_terminal", "code_point", "text_terminal"]


def code_point(source: GrammarText, value: int, offset: int) -> int:
    """Return a code point back, or raise where text in UTF-8 cannot hold it."""
    if value > LAST:
        source.malformed(f"U+{value:X} is above the last character", offset, "the last is U+10FFFF")
    if 0xD800 <= value <= 0xDFFF:
        what = f"U+{value:04X} is half of a surrogate pair, which UTF-8 text never holds"
        source.malformed(what, offset, "write the character itself, by its one code point")
    return value


def text_terminal(text: str) -> Terminal:
    """Return the terminal of one text."""
    return Terminal(_core.literal(text.encode()), False, len(text)) if text else EPSILON


def class_terminal(ranges: list[Range], negated: bool) -> Terminal:
    """Return the terminal of one character of a class."""
    merged = normalise(ranges)
    if negated:
        merged = complement(merged)
    return Terminal(_core.chars(list(merged)) if merged else _core.empty(), False)

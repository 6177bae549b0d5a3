r"""Anchors and word boundaries, as lookarounds over bytes.

They are exact on UTF-8 text, where a position is always between characters: a newline is one byte, and the bytes before
a position end in exactly one character.
"""

from __future__ import annotations

import re
from functools import cache

from detent import _core
from detent.sources.regex.classes import make_class
from detent.sources.regex.parser import Operator, op

__all__ = ["STARTS", "STOPS", "anchor"]

STARTS = frozenset({op.AT_BEGINNING, op.AT_BEGINNING_STRING})
"""Anchors that hold at the start of the text."""

STOPS = frozenset({op.AT_END, op.AT_END_STRING})
"""Anchors that hold at the end of the text."""

# From Python 3.14 on, \B matches the empty text.
_EMPTY_TEXT_HAS_NON_BOUNDARY = re.fullmatch(r"\B", "") is not None


@cache
def anchor(kind: Operator, multiline: bool, ascii_only: bool) -> _core.Node:
    """Return the assertion that an anchor of the parser's tree stands for."""
    byte = _core.byte_set(bytes(range(256)))
    newline = _core.literal(b"\n")
    other = _core.byte_set(bytes(value for value in range(256) if value != 0x0A))
    if kind is op.AT_BEGINNING and multiline:
        return _core.lookbehind(other, True)
    if kind in STARTS:
        return _core.lookbehind(byte, True)
    if kind is op.AT_END and multiline:
        return _core.lookahead(other, True)
    if kind is op.AT_END:  # at the end, or before a newline at the end
        return _core.lookahead(_core.union([other, _core.concat([newline, byte])]), True)
    if kind is op.AT_END_STRING:
        return _core.lookahead(byte, True)
    word = make_class(((op.CATEGORY, op.CATEGORY_WORD),), False, ascii_only).node
    after, not_after = (_core.lookbehind(word, negative) for negative in (False, True))
    before, not_before = (_core.lookahead(word, negative) for negative in (False, True))
    if kind is op.AT_BOUNDARY:
        return _core.union([_core.concat([after, not_before]), _core.concat([not_after, before])])
    outside = [not_after, not_before]
    if not _EMPTY_TEXT_HAS_NON_BOUNDARY:
        outside.append(_core.union([_core.lookbehind(byte, False), _core.lookahead(byte, False)]))
    return _core.union([_core.concat([after, before]), _core.concat(outside)])

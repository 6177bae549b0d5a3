"""Utf8Decoder: converts the bytes of tokens to whole characters.

A token may end inside a UTF-8 character; the decoder buffers the partial character until its last byte arrives. The
concatenated results are the text. `generate` and `stream` use the same decoder, so they agree.
"""

from __future__ import annotations

import codecs

__all__ = ["Utf8Decoder"]


class Utf8Decoder:
    r"""An incremental UTF-8 decoder; invalid bytes become U+FFFD.

    >>> decoder = Utf8Decoder()
    >>> [decoder.feed(piece) for piece in (b"caf", b"\xc3", b"\xa9!")]
    ['caf', '', 'é!']

    Cost: linear in the bytes; it buffers at most three of them.
    """

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def feed(self, data: bytes) -> str:
        """Return the characters that `data` completes."""
        return self._decoder.decode(data)

    def finish(self, *, cut: bool) -> str:
        """Return the text of a partial character: nothing if the text was `cut` there, else U+FFFD."""
        return "" if cut else self._decoder.decode(b"", final=True)

"""Utf8Decoder: bytes of tokens in, whole characters out.

A token may end in the middle of a UTF-8 character, so a stream must hold the begun character back until its last byte
arrives. What one decoder returned, joined, is the text; `generate` and `stream` use the same one and so agree.
"""

from __future__ import annotations

import codecs

__all__ = ["Utf8Decoder"]


class Utf8Decoder:
    r"""Decodes UTF-8 piece by piece; bytes that can never be UTF-8 become U+FFFD.

    >>> decoder = Utf8Decoder()
    >>> [decoder.feed(piece) for piece in (b"caf", b"\xc3", b"\xa9!")]
    ['caf', '', 'é!']

    Linear in the bytes; holds at most three of them.
    """

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def feed(self, data: bytes) -> str:
        """Return the characters that `data` completes."""
        return self._decoder.decode(data)

    def finish(self, *, cut: bool) -> str:
        """Return what a begun character becomes: nothing if the text was `cut` there, U+FFFD if it ended there."""
        return "" if cut else self._decoder.decode(b"", final=True)

"""The tokenizer attached to a vocabulary: opened at its first use, and then checked against the tokens.

The check encodes a few texts and compares the tokens' bytes with the text. If the tokenizer changes texts before it
encodes them (lower case, NFKC), it compares them with the tokenizer's own decoding of the ids.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

from detent.errors import ArgumentError, VocabularyError
from detent.vocabulary.loaded_tokens import RAW_REMEDY, shown

__all__ = ["CHECK_TEXTS", "AttachedTokenizer", "TokenizerCalls"]

CHECK_TEXTS = (
    "Hello, world! It's 3.14 (or 22/7).",
    'def f(x):\n\treturn {"a": [1,  2],    "b": null}\r\n',
    "na\u00efve caf\u00e9 \u2013 \u03a9\u03bc\u03ad\u03b3\u03b1 \u6f22\u5b57 \u304b\u306a",
    "one \U0001f600 two \U0001f468\u200d\U0001f469\u200d\U0001f467 \U0001f1e9\U0001f1ea.",
)


class TokenizerCalls(NamedTuple):
    """The `encode` and `decode` of one tokenizer of any library; `encode` adds no special tokens."""

    encode: Callable[[str], Sequence[int]]
    decode: Callable[[Sequence[int]], str]


class AttachedTokenizer:
    """A tokenizer that is opened at its first use.

    It takes no locks, so that a process may fork at any time: threads that come first together each open it, and one of
    the results is kept.
    """

    def __init__(self, open_tokenizer: Callable[[], TokenizerCalls]) -> None:
        self._open_tokenizer = open_tokenizer
        self._tokenizer: TokenizerCalls | None = None

    def encode(self, text: str, tokens: Sequence[bytes | None], special: Collection[int]) -> list[int]:
        """Encode a text; when the tokenizer is first opened, it is checked against `tokens` and `special`."""
        return _encode(self._tokenizer or self.check(tokens, special), text)

    def check(self, tokens: Sequence[bytes | None], special: Collection[int]) -> TokenizerCalls:
        """Open the tokenizer and check it now."""
        tokenizer = self._open_tokenizer()
        for sample in CHECK_TEXTS:
            _check(tokenizer, sample, tokens, special)
        self._tokenizer = tokenizer
        return tokenizer


def _encode(tokenizer: TokenizerCalls, text: str) -> list[int]:
    try:
        return [int(token) for token in tokenizer.encode(text)]
    except Exception as error:  # the library may raise any type
        raise ArgumentError(f"the tokenizer could not encode {shown(text)}: {type(error).__name__}: {error}") from error


def _check(tokenizer: TokenizerCalls, text: str, tokens: Sequence[bytes | None], special: Collection[int]) -> None:
    ids = _encode(tokenizer, text)
    if any(not 0 <= token < len(tokens) for token in ids):
        raise VocabularyError(
            f"the tokenizer encodes {shown(text)} to {ids[:20]}, but the loaded vocabulary has ids 0 to "
            f"{len(tokens) - 1}. {RAW_REMEDY}"
        )
    if any(token in special for token in ids):  # the unknown token: no tokens join to this text
        return
    raw_tokens = b"".join(tokens[token] or b"" for token in ids)
    if _same(raw_tokens, text.encode()):
        return
    decoded = tokenizer.decode(ids)
    if not _same(raw_tokens, decoded.encode()):
        raise VocabularyError(
            f"token bytes do not give the text back: {shown(text, 40)} is encoded to {ids[:12]}, whose bytes join to "
            f"{shown(raw_tokens, 40)}, and which the tokenizer decodes to {shown(decoded, 40)}. {RAW_REMEDY}"
        )


def _same(raw_tokens: bytes, text: bytes) -> bool:
    """Whether two texts are equal, up to the space that a tokenizer may put before a text."""
    return raw_tokens == text or (raw_tokens[:1] == b" " and raw_tokens[1:] == text)

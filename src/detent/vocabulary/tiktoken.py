"""Loader: `tiktoken.Encoding`. Its tokens are bytes already; its special tokens are known by name.

Source: https://github.com/openai/tiktoken.
"""

from __future__ import annotations

from typing import Any

from detent.errors import ArgumentError, VocabularyError
from detent.vocabulary.attached_tokenizer import AttachedTokenizer, TokenizerCalls
from detent.vocabulary.loaded_tokens import LoadedTokens, check_width, shown, token_id

__all__ = ["read_tiktoken"]

_END_OF_TEXT = "<|endoftext|>"  # tiktoken.Encoding.eot_token


def read_tiktoken(encoding: Any) -> LoadedTokens:
    """Read an encoding; ids that it does not use have no text."""
    if not all(hasattr(encoding, name) for name in ("decode_single_token_bytes", "special_tokens_set", "n_vocab")):
        raise ArgumentError(f"expected a tiktoken.Encoding, got {shown(encoding)}")
    width = token_id(encoding.n_vocab, "n_vocab")
    check_width(width, "n_vocab")
    if width < 1:
        raise VocabularyError(f"the encoding has no tokens: n_vocab is {width}")
    tokens: list[bytes | None] = [None] * width
    for number in range(width):
        try:
            tokens[number] = encoding.decode_single_token_bytes(number)
        except KeyError:  # a gap
            continue
    special = {name: encoding.encode_single_token(name) for name in encoding.special_tokens_set}
    eos = (special[_END_OF_TEXT],) if _END_OF_TEXT in special else ()
    attached = AttachedTokenizer(lambda: TokenizerCalls(encoding.encode_ordinary, encoding.decode))
    attached.check(tokens, special.values())
    return LoadedTokens(tokens, frozenset(special.values()), lambda: eos, attached=attached)

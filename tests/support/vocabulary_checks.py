"""What every loaded vocabulary must satisfy."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from detent.vocabulary import Vocabulary
from tests.support.tokenizer_texts import SAMPLES


def check_round_trip(
    vocabulary: Vocabulary, texts: Iterable[str] = SAMPLES, encode: Callable[[str], Sequence[int]] | None = None
) -> None:
    """Token bytes of encoded texts give the texts back, after one space where the vocabulary says so."""
    prefix = b" " if vocabulary.leading_space else b""
    for text in texts:
        ids = list((encode or vocabulary.encode)(text))
        assert not vocabulary.special_token_ids.intersection(ids), text
        assert b"".join(map(vocabulary.token_bytes, ids)) == prefix + text.encode()
        assert vocabulary.decode(ids) == prefix + text.encode()


def check_decoder(vocabulary: Vocabulary, decode: Callable[[list[int]], str], anchor: int, ids: Iterable[int]) -> None:
    """Behind an anchor token, every token adds to the decoded text what its bytes say."""
    start = decode([anchor])
    for token in ids:
        if token in vocabulary.special_token_ids:
            continue
        added = vocabulary.token_bytes(token)
        try:
            text = added.decode()
        except UnicodeDecodeError:  # a part of a character, which a decoder cannot show
            continue
        assert decode([anchor, token]) == start + text, (token, added)

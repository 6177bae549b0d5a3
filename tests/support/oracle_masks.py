"""The masks that `detent.oracle` expects, beside those of a matcher along a walk."""

from __future__ import annotations

import random
from collections.abc import Iterator

import detent
from detent import oracle


def text_tokens(vocabulary: detent.Vocabulary) -> list[bytes]:
    """Return the bytes of each id, b"" for the ids that are never text."""
    special = vocabulary.special_token_ids
    return [b"" if token_id in special else vocabulary.token_bytes(token_id) for token_id in range(len(vocabulary))]


def expected(pattern: str, vocabulary: detent.Vocabulary, tokens: list[bytes], text: bytes) -> list[int]:
    """Return the ids that the oracle allows after a text, end-of-text among them."""
    ends = list(vocabulary.eos_token_ids) if oracle.is_match(pattern, 0, text) else []
    return sorted(oracle.allowed(pattern, 0, tokens, text) + ends)


def walk(
    pattern: str, vocabulary: detent.Vocabulary, seed: int, length: int, example: str = ""
) -> Iterator[tuple[bytes, list[int]]]:
    """Yield the text so far and the allowed ids at each place of a walk of random tokens, along an example if given."""
    choose = random.Random(seed)
    matcher = detent.compile(detent.regex(pattern), vocabulary).matcher()
    text, rest = b"", example.encode()
    while True:
        allowed = matcher.allowed().tolist()
        yield text, allowed
        if len(matcher) == length and not example:
            return
        fitting = allowed
        if example:
            fitting = [token for token in allowed if rest.startswith(vocabulary.token_bytes(token))]
            fitting = sorted(fitting, key=lambda token: len(vocabulary.token_bytes(token)))[-3:]
        token = choose.choice(fitting) if rest or not example else vocabulary.eos_token_ids[0]
        if token in vocabulary.eos_token_ids:
            return
        matcher.advance(token)
        text += vocabulary.token_bytes(token)
        rest = rest[len(vocabulary.token_bytes(token)) :]

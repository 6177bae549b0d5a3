"""Canonical masks of lists of distinct items."""

from __future__ import annotations

import detent
from tests.support.shared_data import needs_shared, real_vocabulary

WORDS = ["", "!", "!!", ":", ",", "[", "]", "{}", *"abcdefgh12"]


@needs_shared
def test_masks_after_other_tokens_that_write_the_same_items() -> None:
    """A guide keeps which tokens may repeat an item. In the second walk, only the same item may follow `",`."""
    vocabulary = real_vocabulary("llama3")
    schema = {"type": "array", "items": {"enum": WORDS}, "uniqueItems": True, "minItems": 2}
    guide = detent.compile(detent.json_schema(schema, whitespace="compact"), vocabulary, canonical=True)
    numbers = {vocabulary.token_bytes(token): token for token in range(len(vocabulary))}
    walks = [
        [b"[", b'",', b'","",', b'":', b'","', b"{}", b'","'],
        [b"[", b'":', b'","",', b'",', b'",', b'"]'],
    ]
    for walk in walks:
        matcher = guide.matcher()
        for token in walk:
            matcher.advance(numbers[token])
            for allowed in set(matcher.allowed().tolist()) - set(vocabulary.eos_token_ids):
                matcher.fork().advance(allowed)

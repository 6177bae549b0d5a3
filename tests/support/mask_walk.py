"""The masks along a random walk over a small vocabulary, to compare guides and to reach their states."""

from __future__ import annotations

import random

import detent

_TOKENS = [bytes([byte]) for byte in range(256)] + [b"ab", b"ba", b"aaaa", b"\xc3\xa9", b"11", b" a"]
EOS = len(_TOKENS)


def new_vocabulary() -> detent.Vocabulary:
    """Return a vocabulary of every byte and a few longer tokens, with an empty mask cache."""
    return detent.Vocabulary([*_TOKENS, b""], eos_token_ids=[EOS])


VOCABULARY = new_vocabulary()


def masks_of(guide: detent.Guide, seed: int, steps: int = 40) -> list[bytes]:
    """Return the masks along a random walk."""
    choose = random.Random(seed)
    matcher = guide.matcher()
    row = detent.allocate_mask(1, len(guide.vocabulary))[0]
    masks = []
    for _ in range(steps):
        matcher.fill_mask(row)
        masks.append(row.tobytes())
        token = int(choose.choice(matcher.allowed()))
        if token in guide.vocabulary.eos_token_ids:
            break
        matcher.advance(token)
    return masks

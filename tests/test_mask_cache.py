"""The cache of masks while its table grows: what was evicted is gone, and what was not is found."""

from __future__ import annotations

import random

import detent
from detent import _core


def test_masks_that_are_evicted_while_the_table_grows_are_gone() -> None:
    """Each of eight tables grows at 64 masks, and has room for few more: masks that have not moved yet are evicted."""
    tokens = [bytes([byte]) for byte in range(256)]
    text = bytes(random.Random(0).choices(b"0123456789abcdef", k=2000))

    def guide_with(cache_bytes: int) -> tuple[detent.Guide, _core.Vocabulary]:
        vocabulary = detent.Vocabulary([*tokens, b""], eos_token_ids=[256])
        core = vocabulary._tables.core = _core.Vocabulary([*tokens, b""], [], [256], 257, cache_bytes)
        return detent.compile(detent.regex(text.decode()), vocabulary), core

    def masks_made(guide: detent.Guide, core: _core.Vocabulary, length: int) -> int:
        before = core.cache_counts[1]
        matcher = guide.matcher()
        for byte in text[:length]:
            matcher.allowed()
            matcher.advance_bytes(bytes([byte]))
        return int(core.cache_counts[1] - before)

    guide, core = guide_with(1 << 20)
    masks_made(guide, core, 100)
    of_one = core.cache_bytes // core.cache_counts[1]
    guide, core = guide_with(8 * 68 * of_one)
    masks_made(guide, core, 2000)
    assert core.cache_bytes > 8 * 66 * of_one
    assert masks_made(guide, core, 1000) == 1000

"""Canonical masks of alternatives that nearly every byte leads to themselves, beside what a step decides of each token.

A token that stays whole has no neighbour in its chunk. So it may not stay in such a loop: it follows only by way of an
alternative to which the loop leads.
"""

from __future__ import annotations

import itertools
import random

import pytest

import detent
from detent.vocabulary.pretokenizer_regex import read_splits
from tests.support.long_tests import mostly_long
from tests.support.toy_bpe import Merge, vocabulary_of

WORDS = read_splits(r"\S+|\s+")
LETTER = r"[^\s\x80-\U0010ffff]"


def vocabulary_of_pairs(rng: random.Random) -> detent.Vocabulary:
    """Few tokens begin with the same letter of "qrst", so that no walk takes them at once; some pairs stay whole."""
    tokens = [bytes([byte]) for byte in range(256)]
    merges: list[Merge] = []
    for left in b"qrst":
        for right in rng.sample(b"qrst", 2):
            if rng.random() < 0.5:
                merges.append((left, right, len(merges), len(tokens)))
            tokens.append(bytes((left, right)))
    for pair in itertools.product(b"abcd", repeat=2):
        merges.append((*pair, len(merges), len(tokens)))
        tokens.append(bytes(pair))
        for right in b"abcd":
            merges.append((len(tokens) - 1 - b"abcd".index(right), right, len(merges), len(tokens)))
            tokens.append(bytes((*pair, right)))
    return vocabulary_of(tokens, merges, split=WORDS, ignore_merges=True)


def costly_loops(rng: random.Random) -> str:
    """Give a pattern of long texts, of whose states after a byte each is a large union."""
    return "|".join(
        f"{LETTER}*{rng.choice('abcd')}{LETTER}{{{8 + number}}}{rng.choice('abcd')}{LETTER}{{{number % 7}}}"
        for number in range(100)
    )


@pytest.mark.parametrize("seed", mostly_long(range(8, 40), always=3))
def test_tokens_that_leave_a_loop(seed: int) -> None:
    rng = random.Random(seed)
    vocabulary = vocabulary_of_pairs(rng)
    pairs = ["".join(rng.choices("qrst", k=2)) for _ in range(rng.randint(1, 4))]
    short = "|".join(f"{LETTER}*{pair} {rng.choice('yz')}" for pair in pairs)
    guide = detent.compile(detent.regex(f"{short}|{costly_loops(rng)}"), vocabulary, canonical=True)
    matcher = guide.matcher()
    whole = {token for token in range(len(vocabulary)) if set(vocabulary.token_bytes(token)) <= set(b"qrst")}
    while len(matcher) < 3 and not matcher.is_finished:
        allowed = matcher.allowed().tolist()
        decided = {token for token in whole if matcher.validate([token]) == 1}
        assert decided == whole & set(allowed), pairs
        matcher.advance(rng.choice(allowed))

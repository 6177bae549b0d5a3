"""Canonical masks of strings that bound the number of their words, beside what a step decides of each token."""

from __future__ import annotations

import random
import re

import pytest

import detent
from tests.support.long_tests import mostly_long
from tests.support.toy_bpe import SPLITS, Merge, vocabulary_of


def vocabulary_of_runs(rng: random.Random, letters: str, *, whole: bool) -> detent.Vocabulary:
    """All bytes, a quotation mark after each letter, and runs of a few texts: tokens of up to 24 words."""
    tokens = [bytes([byte]) for byte in range(256)]
    tokens += [f'{letter}"'.encode() for letter in letters]
    for unit in ("".join(rng.choices(letters, k=size)).encode() for size in (1, 2, 2, 2, 3, 4)):
        tokens += [token for size in range(2, 48) if (token := (unit * size)[:size]) not in tokens]
    index = {token: number for number, token in enumerate(tokens)}
    merges: list[Merge] = []
    for token, number in index.items():
        for cut in range(1, len(token)):
            if token[:cut] in index and token[cut:] in index:
                merges.append((index[token[:cut]], index[token[cut:]], number, number))
    rng.shuffle(merges)
    merges = [(left, right, rank, token) for rank, (left, right, _, token) in enumerate(merges)]
    split = SPLITS[rng.choice([name for name in SPLITS if name != "none"])]
    return vocabulary_of(tokens, merges, split=split, ignore_merges=whole)


@pytest.mark.parametrize("seed", mostly_long(range(60), always=8))
def test_words_up_to_a_bound(seed: int) -> None:
    """Tokens with more words than a smaller bound allows, and unsplit ones."""
    rng = random.Random(seed)
    letters = rng.choice(("ab ", "ab ", "a1 b", ". a"))
    vocabulary = vocabulary_of_runs(rng, letters, whole=seed % 2 == 0)
    one, other = re.escape(letters[0]), re.escape(letters[1])
    compared = 0
    for most in (5, 9, 30):
        pattern = rng.choice(
            (
                rf"^([ab1.]+ ){{0,{most}}}{one}+$",
                rf"^({one}+{other}){{0,{most}}}{one}$",
                rf"^(x|{one}*{other}{one}+){{2,{most}}}$",
                rf"^{one}*(({one}+ ){{0,{most}}}|({other}+{one}){{3,{most}}}){one}$",
            )
        )
        bounds = rng.choice(({}, {"maxLength": 3 * most}, {"maxLength": 12}, {"minLength": 1, "maxLength": 60}))
        language = detent.json_schema({"type": "string", "pattern": pattern} | bounds)
        guide = detent.compile(language + detent.literal(rng.choice(("", "x"))), vocabulary, canonical=True)
        for _ in range(3):
            matcher = guide.matcher()
            while len(matcher) < 6 and not matcher.is_finished:
                allowed = matcher.allowed().tolist()
                decided = [token for token in range(len(vocabulary)) if matcher.validate([token]) == 1]
                assert allowed == decided, (pattern, bounds, len(matcher))
                compared += len(decided)
                inside = [token for token in allowed if b'"' not in vocabulary.token_bytes(token)] or allowed
                matcher.advance(rng.choice(allowed if len(matcher) == 0 else inside))
    assert compared


@pytest.mark.parametrize("most", [4, 5, 6, 40])
@pytest.mark.parametrize("pattern", ["^[ab]*$", "^(a+b+)*a*$", "^([ab]{2})*a?$"])
def test_an_unsplit_token_at_a_bound_of_the_characters(pattern: str, most: int) -> None:
    """A chunk of four letters is one token: two tokens may write its text only where a fifth letter may follow."""
    tokens = [*(bytes([byte]) for byte in range(256)), b"ab", b"abab"]
    vocabulary = vocabulary_of(tokens, [(97, 98, 0, 256)], split=SPLITS["gpt2"], ignore_merges=True)
    language = detent.json_schema({"type": "string", "pattern": pattern, "maxLength": most})
    matcher = detent.compile(language, vocabulary, canonical=True).matcher()
    for token in (ord('"'), 256):
        matcher.advance(token)
        allowed = matcher.allowed().tolist()
        assert allowed == [token for token in range(len(vocabulary)) if matcher.validate([token]) == 1]
    assert (256 in allowed) == (most > 4)

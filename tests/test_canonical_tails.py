"""Canonical tokens within a budget, where a text ends with a long part that a rule alone decides."""

from __future__ import annotations

import random

import pytest

import detent
from tests.support.toy_bpe import SPLITS, Merge, vocabulary_of

_TOKENS = [letter.encode() for letter in "ab -'x1s"]
_MERGES: list[Merge] = []
for _left, _right in ((0, 1), (2, 0), (0, 0), (3, 3), (2, 2)):
    _TOKENS.append(_TOKENS[_left] + _TOKENS[_right])
    _MERGES.append((_left, _right, len(_MERGES), len(_TOKENS) - 1))
_PATTERNS = [
    r"a?b?'s[ab]{40}",
    r"(a| )b?[x1]-{30}x",
    r"[ab ]{0,3}(x1){20}",
    r"a*'?(s| )[a]{33}b",
    r" *(a b){15}",
    r"(ab|a )'s(x-){12}",
    r"[ a]{1,6}b{30}",
    r"( |a)* -{25} a",
    r"(a|b| ){2,5}( x){20}",
]


@pytest.mark.parametrize("pattern", _PATTERNS)
@pytest.mark.parametrize("split", SPLITS)
def test_each_text_ends_within_its_budget(split: str, pattern: str) -> None:
    """What a mask allows is taken, and the text is complete in time: bounds on completions are not too small."""
    guide = detent.compile(detent.regex(pattern), vocabulary_of(_TOKENS, _MERGES, split=SPLITS[split]), canonical=True)
    ended = 0
    for max_tokens in range(8, 60):
        for seed in range(2):
            try:
                matcher = guide.matcher(max_tokens=max_tokens)
            except detent.LimitError:
                continue
            choose = random.Random(seed)
            while not matcher.is_finished:
                matcher.advance(choose.choice(matcher.allowed().tolist()))
            assert len(matcher) <= max_tokens + 1  # with end-of-text
            ended += 1
    assert ended > 10

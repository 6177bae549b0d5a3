"""Canonical masks of states that are followed by alternatives, beside the tokens of all words of small languages.

The tokenizers have tokens that stay whole although no merges make them: a text that is such a token is no other row.
"""

from __future__ import annotations

import functools
import operator
import random

import pytest

import detent
from detent.vocabulary.pretokenizer_regex import GPT2_PATTERN
from tests.support.long_tests import mostly_long
from tests.support.toy_tokenizers import LLAMA3, of_bytes, opened, spelled, split_by

LETTERS = "ab "
LONGEST = 5
END = -1


def whole_tokens(rng, path):
    """Draw a tokenizer with many short tokens that stay whole; some of them have merges, too."""
    data = of_bytes(rng, LETTERS)
    data["pre_tokenizer"] = split_by(rng.choice((GPT2_PATTERN, LLAMA3, r"\p{L}{1,3}|[^\p{L}]")))
    data["model"]["ignore_merges"] = True
    vocab = data["model"]["vocab"]
    for _ in range(12):
        token = "".join(rng.choices(LETTERS, weights=(3, 3, 1), k=rng.randint(2, 4)))
        vocab.setdefault(spelled(token.encode()), len(vocab))
    data["added_tokens"][0]["id"] = len(vocab)
    return opened(data, path)


def costly(rng, count):
    """Give a pattern of texts longer than LONGEST, whose derivatives are large unions, new after each letter."""
    letter = f"[{LETTERS}]"
    return "|".join(
        f"{letter}*{rng.choice(LETTERS)}{letter}{{{LONGEST + number}}}{rng.choice(LETTERS)}{letter}{{{number % 7}}}"
        for number in range(count)
    )


def random_words(rng):
    return {"".join(rng.choices(LETTERS, k=rng.randint(1, LONGEST))) for _ in range(rng.choice((10, 40, 120)))}


def costly_words(rng, vocabulary):
    """Draw words, and a guide of them whose masks take much work each, so that they are computed by alternatives."""
    parts = [random_words(rng) for _ in range(rng.randint(1, 3))]
    words = [detent.choice(sorted(part)) & ~detent.regex(costly(rng, 100)) for part in parts]
    drain = detent.choice(["!"]) + detent.regex(costly(rng, 600))
    guide = detent.compile(functools.reduce(operator.or_, [*words, drain]), vocabulary, canonical=True)
    return sorted(set().union(*parts)), guide


def give_up_a_walk(rng, beside):
    """Ask a matcher that has taken "!" for a mask that takes more work than one walk by states may."""
    beside.allowed()
    beside.advance(rng.choice([ord(letter) for letter in LETTERS if ord(letter) in beside.allowed().tolist()]))


@pytest.mark.parametrize("seed", mostly_long(range(24), always=2))
def test_tokens_that_stay_whole(seed, tmp_path):
    rng = random.Random(seed)
    vocabulary, encode = whole_tokens(rng, tmp_path / "tokenizer.json")
    words, guide = costly_words(rng, vocabulary)
    tree: dict[tuple[int, ...], set[int]] = {}
    for word in words:
        row = (*encode(word), END)
        for position, token in enumerate(row):
            tree.setdefault(row[:position], set()).add(token)
    beside = guide.matcher()
    beside.advance(ord("!"))
    for row in sorted(tree, key=lambda each: (len(each), each))[:40]:
        give_up_a_walk(rng, beside)
        matcher = guide.matcher()
        for token in row:
            matcher.advance(token)
        allowed = {END if token in vocabulary.eos_token_ids else token for token in matcher.allowed().tolist()}
        assert allowed - {ord("!")} == tree[row], (row, words)


@pytest.mark.parametrize("seed", mostly_long(range(24), always=4))
def test_budgets_of_tokens_that_stay_whole(seed, tmp_path):
    """Each allowed token begins a word that fits, some token is allowed, and each walk ends in time."""
    rng = random.Random(seed)
    vocabulary, encode = whole_tokens(rng, tmp_path / "tokenizer.json")
    words, guide = costly_words(rng, vocabulary)
    rows = [tuple(encode(word)) for word in words]
    beside = guide.matcher(LONGEST + 700)
    beside.advance(ord("!"))
    for _ in range(4):
        give_up_a_walk(rng, beside)
    seen = 0
    shortest = min(map(len, rows))
    for budget in (shortest, shortest + 1, LONGEST):
        for _ in range(2):
            matcher, taken = guide.matcher(budget), ()
            while not matcher.is_finished:
                after = [
                    row[len(taken)] for row in rows if row[: len(taken)] == taken and len(taken) < len(row) <= budget
                ]
                allowed = {token for token in matcher.allowed().tolist() if token not in vocabulary.eos_token_ids}
                assert allowed - {ord("!")} <= set(after), (taken, budget, words)
                assert matcher.is_accepting == (taken in rows)
                assert len(matcher.completion()) <= budget - len(taken)
                for token in allowed - {ord("!")}:
                    fork = matcher.fork()
                    fork.advance(token)
                    assert len(fork.completion()) <= budget - len(taken) - 1
                    fork.rollback(1)
                    assert fork.completion() == matcher.completion()
                    seen += 1
                if not allowed - {ord("!")}:
                    break
                token = rng.choice(sorted(allowed - {ord("!")}))
                matcher.advance(token)
                taken = (*taken, token)
            assert matcher.is_finished or taken in rows
    assert seen > 0


@pytest.mark.parametrize("costly_pattern", [r".*{letter}.{{{count}}}", r"[^{letter}]*{letter}.{{{count}}}"])
def test_the_mask_of_a_union_is_that_of_its_operands(costly_pattern: str) -> None:
    """The union is followed by alternatives, which stay after nearly each byte (`.*`) or not; operands by states."""
    vocabulary = detent.load_model().vocabulary
    patterns = [costly_pattern.format(letter=letter, count=8 + i) for i, letter in enumerate("etaoinshrdlucmfw")]
    union = detent.compile(detent.regex("|".join(patterns)), vocabulary, canonical=True).matcher()
    operands = [detent.compile(detent.regex(each), vocabulary, canonical=True).matcher() for each in patterns]
    for token in [*vocabulary.encode("The weather in Oslo is fine, and so is that of Bergen."), None]:
        allowed = {each for operand in operands for each in operand.allowed().tolist()}
        assert set(union.allowed().tolist()) == allowed
        if token is None or token not in allowed:
            break
        union.advance(token)
        operands = [each for each in operands if _advances(each, token)]


def _advances(matcher: detent.Matcher, token: int) -> bool:
    try:
        matcher.advance(token)
    except detent.StateError:
        return False
    return True

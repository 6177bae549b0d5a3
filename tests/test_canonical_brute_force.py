"""Canonical guides of random small tokenizers beside all texts of small languages, as `tokenizers` tokenizes them."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass

import pytest

import detent
from detent.errors import UnsupportedError
from tests.support import canonical_walks
from tests.support.canonical_walks import Row, check_budgets, check_prompts, check_rows, guides
from tests.support.long_tests import mostly_long
from tests.support.shared_data import needs_shared, real_vocabulary
from tests.support.toy_languages import LETTERS, LONGEST, random_language
from tests.support.toy_tokenizers import of_bytes, of_pieces, opened, spelled


@dataclass
class Case(canonical_walks.Case):
    """A tokenizer that writes each text in one way."""

    most_rows = 150

    encode: Callable[[str], Row]

    def rows_of(self, word):
        tokens = self.encode(word)
        return [] if self.unknown(tokens) else [tokens]

    def unknown(self, tokens):
        """Whether the tokenizer has no token for a character."""
        return any(token in self.vocabulary.special_token_ids for token in tokens)

    def is_written(self, word, tokens):
        return self.encode(word) == tokens

    def guesses(self, rng):
        return rng.sample(range(len(self.vocabulary)), 8)


def random_case(rng, path):
    letters = rng.choice(LETTERS)
    data = (of_pieces if rng.random() < 0.25 else of_bytes)(rng, letters)
    vocabulary, encode = opened(data, path)
    language, accepts = random_language(rng, letters)
    return Case(vocabulary, language, letters, accepts, LONGEST[len(letters)], encode)


@pytest.mark.parametrize("seed", mostly_long(range(20), always=5))
def test_rows_of_tokens_are_those_of_the_texts(seed, tmp_path):
    for rng, case, guide in guides(random_case, seed, 12, tmp_path):
        check_rows(rng, case, guide.matcher(), case.rows())


def case_with_gaps(rng, path):
    """Draw a byte-level tokenizer that lacks bytes of some letters; one token may contain such a byte."""
    letters = rng.choice([each for each in LETTERS if len(each) > 1])
    data = of_bytes(rng, letters, missing=bytes(rng.sample(sorted(set(letters.encode())), 1)) + b"\x07\xc0\xff")
    vocab = data["model"]["vocab"]
    if rng.random() < 0.5 and not data["model"]["ignore_merges"]:
        text = "".join(rng.choices(letters, k=2)).encode()
        vocab.setdefault(spelled(text), len(vocab))
        data["added_tokens"][0]["id"] = len(vocab)
    vocabulary, encode = opened(data, path)
    language, accepts = random_language(rng, letters)
    return CaseWithGaps(vocabulary, language, letters, accepts, LONGEST[len(letters)], encode)


@dataclass
class CaseWithGaps(Case):
    """A tokenizer that drops the characters that it cannot write."""

    def unknown(self, tokens):
        return False

    def rows_of(self, word):
        tokens = self.encode(word)
        written = b"".join(self.vocabulary.token_bytes(token) for token in tokens)
        return [tokens] if written == word.encode() else []

    def is_written(self, word, tokens):
        return self.rows_of(word) == [tokens]


@pytest.mark.parametrize("seed", range(12))
def test_texts_with_missing_bytes_are_left_out(seed, tmp_path):
    for rng, case, guide in guides(case_with_gaps, 300 + seed, 10, tmp_path):
        check_rows(rng, case, guide.matcher(), case.rows())


@pytest.mark.parametrize("seed", mostly_long(range(10), always=6))
def test_rows_go_on_from_a_prompt(seed, tmp_path):
    for rng, case, guide in guides(random_case, 100 + seed, 8, tmp_path):
        check_prompts(rng, case, guide, case.encode)  # type: ignore[attr-defined]


@pytest.mark.parametrize("seed", range(10))
def test_budgets_end_in_time(seed, tmp_path):
    """What a budget allows always ends within it; what it refuses of a few tokens rarely would have."""
    found = guides(random_case, 200 + seed, 10, tmp_path)
    assert sum(check_budgets(rng, case, guide, 6) for rng, case, guide in found) <= 6


def test_a_space_that_is_no_piece_is_refused(tmp_path):
    data = of_pieces(random.Random(1), "ab")
    del data["model"]["vocab"]["\u2581"]
    data["model"]["merges"] = []
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps({"version": "1.0", **data}), encoding="utf-8")
    vocabulary = detent.Vocabulary.from_file(path, eos_token_ids=[1])
    with pytest.raises(UnsupportedError, match="no token stands for a space"):
        detent.compile(detent.regex("a"), vocabulary, canonical=True)


@needs_shared
@pytest.mark.parametrize("tokenizer", ["llama3", "starcoder"])
def test_parts_of_characters_begin_the_encoding_of_one(tokenizer):
    """Thousands of tokens end inside a character at one state; each needs a rest that the tokenizer writes after it."""
    vocabulary = real_vocabulary(tokenizer)
    following = {}
    for code in range(0x80, 0x3000):
        row = vocabulary.encode_canonical("a" + chr(code))
        for length, token in enumerate(row):
            following.setdefault(tuple(row[:length]), set()).add(token)
    matcher = detent.compile(detent.regex("a[\u0080-\u2fff]"), vocabulary, canonical=True).matcher()

    def check(matcher, before):
        tokens = following.get(before, set())
        assert set(matcher.allowed().tolist()) - set(vocabulary.eos_token_ids) == tokens
        for token in sorted(tokens)[:100]:
            after = matcher.fork()
            after.advance(token)
            check(after, (*before, token))

    check(matcher, ())

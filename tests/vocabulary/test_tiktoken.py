"""tiktoken encodings, built here from the merges of a small byte-level tokenizer."""

from __future__ import annotations

import json

import pytest

from detent.errors import ArgumentError, VocabularyError
from detent.vocabulary import Vocabulary
from detent.vocabulary.byte_level import bytes_of_tokens
from tests.support.vocabulary_checks import check_round_trip

tiktoken = pytest.importorskip("tiktoken", reason="needs the package tiktoken")

PATTERN = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"


@pytest.fixture(scope="module")
def ranks(byte_bpe):
    """Token bytes by rank: the single bytes first, then merges in order, as tiktoken has them."""
    model = json.loads(byte_bpe.to_str())["model"]
    merged, _ = bytes_of_tokens(["".join(pair) for pair in model["merges"]])
    tokens = [bytes([byte]) for byte in range(256)] + merged
    return {token: rank for rank, token in enumerate(dict.fromkeys(tokens))}


def encoding(ranks, special):
    return tiktoken.Encoding("small", pat_str=PATTERN, mergeable_ranks=ranks, special_tokens=special)


def test_round_trip(ranks):
    eos = len(ranks)
    vocabulary = Vocabulary.from_tiktoken(encoding(ranks, {"<|endoftext|>": eos, "<|fim|>": eos + 1}))
    assert vocabulary.eos_token_ids == (eos,)
    assert vocabulary.special_token_ids == {eos, eos + 1}
    assert vocabulary.token_bytes(eos + 1) == b"<|fim|>"
    check_round_trip(vocabulary)
    check_round_trip(vocabulary, ["  leading", "<|endoftext|> is text here"])


def test_gaps(ranks):
    vocabulary = Vocabulary.from_tiktoken(encoding(ranks, {"<|endoftext|>": len(ranks) + 10}))
    assert len(vocabulary) == len(ranks) + 11
    assert vocabulary.token_bytes(len(ranks) + 3) == b""


def test_end_of_text_must_be_known(ranks):
    with pytest.raises(VocabularyError, match="eos_token_ids"):
        Vocabulary.from_tiktoken(encoding(ranks, {"<|return|>": len(ranks)}))
    assert Vocabulary.from_tiktoken(encoding(ranks, {}), eos_token_ids=[3], size=1000).eos_token_ids == (3,)


@pytest.mark.parametrize("wrong", [None, "cl100k_base", 3])
def test_what_is_not_an_encoding(wrong):
    with pytest.raises(ArgumentError):
        Vocabulary.from_tiktoken(wrong)

"""The tokenizers of real models: bytes equal texts, and every token is what its decoder makes of it."""

from __future__ import annotations

import functools

import pytest

from detent.vocabulary import Vocabulary
from detent.vocabulary.byte_level import bytes_of_tokens
from detent.vocabulary.file_io import read_json
from tests.support.shared_data import FOLDER, needs_shared, real_vocabulary, tokenizer_file
from tests.support.tokenizer_texts import SAMPLES
from tests.support.vocabulary_checks import check_decoder, check_round_trip

tokenizers = pytest.importorskip("tokenizers", reason="needs the package tokenizers")

NAMES = ["gpt2", "llama2-spm", "llama3", "mistral-v3", "qwen2", "tekken"]

pytestmark = needs_shared


@functools.cache
def load(name):
    return real_vocabulary(name), tokenizers.Tokenizer.from_file(str(tokenizer_file(name)))


@pytest.mark.parametrize("name", NAMES)
def test_bytes_of_encoded_texts_are_the_texts(name):
    vocabulary, backend = load(name)
    info = read_json(FOLDER / "tokenizers" / name / "info.json")
    config = read_json(FOLDER / "tokenizers" / name / "tokenizer_config.json")
    assert len(vocabulary) == info["vocab_size"]
    assert vocabulary.eos_token_ids == (backend.token_to_id(config["eos_token"]),)
    check_round_trip(vocabulary, SAMPLES, lambda text: backend.encode(text, add_special_tokens=False).ids)


@pytest.mark.parametrize("name", ["gpt2", "llama2-spm"])
def test_encode_is_the_tokenizers_own(name):
    vocabulary, backend = load(name)
    for text in SAMPLES:
        assert vocabulary.encode(text) == backend.encode(text, add_special_tokens=False).ids


@pytest.mark.parametrize("name", NAMES)
def test_every_token_is_what_the_decoder_makes_of_it(name):
    vocabulary, backend = load(name)
    check_decoder(vocabulary, backend.decode, backend.token_to_id("a"), range(0, len(vocabulary), 3))


def test_tiktoken_from_the_ranks_of_llama3():
    tiktoken = pytest.importorskip("tiktoken", reason="needs the package tiktoken")
    vocabulary, backend = load("llama3")
    pieces = [backend.id_to_token(i) for i in range(128_000)]
    ranks = {token: rank for rank, token in enumerate(bytes_of_tokens(pieces)[0])}
    special = {backend.id_to_token(i): i for i in range(128_000, 128_256)}
    encoding = tiktoken.Encoding(
        "llama3",
        pat_str=read_json(tokenizer_file("llama3"))["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"],
        mergeable_ranks=ranks,
        special_tokens=special,
    )
    loaded = Vocabulary.from_tiktoken(encoding, eos_token_ids=vocabulary.eos_token_ids)
    assert loaded.fingerprint == vocabulary.fingerprint
    check_round_trip(loaded)

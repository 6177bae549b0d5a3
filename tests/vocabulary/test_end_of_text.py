"""Which files beside a tokenizer name the end of text."""

from __future__ import annotations

import pytest

from detent.errors import VocabularyError
from detent.vocabulary import Vocabulary


@pytest.fixture(scope="module")
def tokenizer(fallback_bpe):
    return fallback_bpe


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"tokenizer_config": {"eos_token": "</s>"}}, (2,)),
        ({"tokenizer_config": {"eos_token": {"content": "</s>", "special": True}}}, (2,)),
        ({"generation_config": {"eos_token_id": 1}}, (1,)),
        ({"generation_config": {"eos_token_id": [1, 2]}}, (1, 2)),
        ({"generation_config": {"eos_token_id": [1]}, "tokenizer_config": {"eos_token": "</s>"}}, (1, 2)),
        ({"generation_config": {"eos_token_id": None}, "tokenizer_config": {"eos_token": "</s>"}}, (2,)),
        ({"generation_config": {"eos_token_id": 1}, "config": {"eos_token_id": 2}}, (1,)),
        ({"tokenizer_config": {}, "special_tokens_map": {"eos_token": "</s>"}}, (2,)),
        ({"config": {"eos_token_id": 2}}, (2,)),
    ],
)
def test_sources(tokenizer, save, files, expected):
    assert Vocabulary.from_file(save(tokenizer, **files)).eos_token_ids == expected


@pytest.mark.parametrize(
    "files",
    [
        {},
        {"tokenizer_config": {}},
        {"tokenizer_config": {"eos_token": None}},
        {"tokenizer_config": {"eos_token": "<|absent|>"}},
        {"tokenizer_config": {"eos_token": 2}},
        {"tokenizer_config": {"eos_token": {"content": []}}},
        {"tokenizer_config": []},
        {"generation_config": {"eos_token_id": 10**6}},
        {"generation_config": {"eos_token_id": -1}},
        {"generation_config": {"eos_token_id": "2"}},
        {"generation_config": {"eos_token_id": [2.0]}},
        {"generation_config": {"eos_token_id": [300]}},
        {"generation_config": 3},
    ],
)
def test_refused(tokenizer, save, files):
    with pytest.raises(VocabularyError):
        Vocabulary.from_file(save(tokenizer, **files))


def test_the_callers_word_helps_where_a_file_is_wrong(tokenizer, save):
    path = save(tokenizer, generation_config={"eos_token_id": 10**6})
    assert Vocabulary.from_file(path, eos_token_ids=[2]).eos_token_ids == (2,)


def test_malformed_neighbour(tokenizer, save):
    path = save(tokenizer)
    (path.parent / "generation_config.json").write_text("{", encoding="utf-8")
    with pytest.raises(VocabularyError, match="generation_config"):
        Vocabulary.from_file(path)

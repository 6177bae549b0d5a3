"""Which files beside a tokenizer name the end of text."""

from __future__ import annotations

import pytest

import detent
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


def test_ids_and_names():
    tokens = [b"a", b"</s>", b"<|eot|>", b"b"]
    for given, expected in ((1, (1,)), ("</s>", (1,)), (["</s>", 2], (1, 2)), (["<|eot|>"], (2,)), ("b", (3,))):
        assert Vocabulary(tokens, eos_token_ids=given, special_token_ids=[1, 2]).eos_token_ids == expected
    twice = Vocabulary([b"</s>", b"</s>"], eos_token_ids="</s>", special_token_ids=[1])
    assert twice.eos_token_ids == (1,)


def test_errors_list_candidates():
    tokens = [b"a", b"<|im_end|>", b"<|endoftext|>", b"<pad>"]
    with pytest.raises(VocabularyError, match=r"no token '<\|end_of_text\|>'.*'<\|endoftext\|>' \(2\)"):
        Vocabulary(tokens, eos_token_ids="<|end_of_text|>", special_token_ids=[1, 2, 3])
    with pytest.raises(VocabularyError, match=r"could not stop.*'<\|im_end\|>' \(1\), '<\|endoftext\|>' \(2\)"):
        Vocabulary(tokens, special_token_ids=[1, 2, 3])


def test_a_folder_opens_its_tokenizer(tokenizer, save, tmp_path):
    folder = save(tokenizer, tokenizer_config={"eos_token": "</s>"}).parent
    assert Vocabulary.from_file(folder).eos_token_ids == (2,)
    assert Vocabulary.from_file(folder, eos_token_ids="<s>").eos_token_ids == (1,)
    (tmp_path / "empty").mkdir()
    with pytest.raises(VocabularyError, match=r"no tokenizer\.json.*it has no files"):
        Vocabulary.from_file(tmp_path / "empty")
    (tmp_path / "outer" / "inner").mkdir(parents=True)
    with pytest.raises(VocabularyError, match=r"it has no files, and the folders inner: name one of them"):
        Vocabulary.from_file(tmp_path / "outer")
    (tmp_path / "two").mkdir()
    for name in ("a.gguf", "b.gguf"):
        (tmp_path / "two" / name).write_bytes(b"")
    with pytest.raises(VocabularyError, match=r"several tokenizer files: a\.gguf, b\.gguf"):
        Vocabulary.from_file(tmp_path / "two")


def test_the_embedded_vocabulary_encodes():
    vocabulary = detent.load_model().vocabulary
    assert vocabulary.decode(vocabulary.encode("Please think.")) == b"Please think."

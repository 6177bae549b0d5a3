"""Mistral's tokenizers: all that mistral-common carries, and malformed Tekken files."""

from __future__ import annotations

import base64
import copy
import json
from pathlib import Path

import pytest

from detent.errors import ArgumentError, VocabularyError
from detent.vocabulary import Vocabulary
from tests.support.tokenizer_texts import SAMPLES
from tests.support.vocabulary_checks import check_round_trip

mistral_common = pytest.importorskip("mistral_common", reason="needs the package mistral-common")

from mistral_common.tokens.tokenizers.mistral import MistralTokenizer  # noqa: E402 - after importorskip
from mistral_common.tokens.tokenizers.tekken import Tekkenizer  # noqa: E402 - after importorskip

FILES = sorted((Path(mistral_common.__file__).parent / "data").glob("*"))
TEXTS = [text for text in SAMPLES if "\x00" not in text]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_files_that_the_package_carries(path):
    tokenizer = MistralTokenizer.from_file(str(path))
    inner = tokenizer.instruct_tokenizer.tokenizer
    from_path = Vocabulary.from_mistral(path)
    assert len(from_path) == inner.n_words
    assert from_path.eos_token_ids == (inner.eos_id,)
    assert from_path.special_token_ids >= set(inner.special_ids)
    check_round_trip(from_path, TEXTS, lambda text: inner.encode(text, bos=False, eos=False))
    assert Vocabulary.from_mistral(tokenizer).fingerprint == from_path.fingerprint
    assert Vocabulary.from_file(path).fingerprint == from_path.fingerprint


def test_inner_tokenizers_and_encode():
    small = MistralTokenizer.from_file(str(next(path for path in FILES if path.name.endswith("v3"))))
    vocabulary = Vocabulary.from_mistral(small.instruct_tokenizer.tokenizer)
    assert vocabulary.leading_space
    check_round_trip(vocabulary, TEXTS)


def tekken(*, tokens=(b"ab", b"abc"), specials=4, size=None, names=("<unk>", "<s>", "</s>")):
    vocab = [bytes([byte]) for byte in range(256)] + list(tokens)
    return {
        "config": {
            "pattern": r"\p{L}+|[^\p{L}]+",
            "num_vocab_tokens": len(vocab),
            "default_vocab_size": len(vocab) + specials if size is None else size,
            "default_num_special_tokens": specials,
            "version": "v7",
        },
        "vocab": [
            {"rank": rank, "token_bytes": base64.b64encode(token).decode(), "token_str": None}
            for rank, token in enumerate(vocab)
        ],
        "special_tokens": [{"rank": rank, "token_str": name, "is_control": True} for rank, name in enumerate(names)],
    }


def write(tmp_path, data):
    path = tmp_path / "tekken.json"
    path.write_text(json.dumps(data), encoding="utf-8")
    return path


def test_listed_special_tokens_and_fillers(tmp_path):
    path = write(tmp_path, tekken())
    vocabulary = Vocabulary.from_mistral(path)
    assert [vocabulary.token_bytes(i) for i in (0, 2, 3, 4 + 65, 260, 261)] == [
        b"<unk>", b"</s>", b"<SPECIAL_3>", b"A", b"ab", b"abc",
    ]  # fmt: skip
    assert vocabulary.special_token_ids == {0, 1, 2, 3}
    assert Vocabulary.from_mistral(Tekkenizer.from_file(path)).fingerprint == vocabulary.fingerprint
    check_round_trip(vocabulary)


def test_unused_tokens_are_cut(tmp_path):
    path = write(tmp_path, tekken(size=261))
    assert len(Vocabulary.from_mistral(path)) == 261 == Tekkenizer.from_file(path).n_words


def test_files_without_an_end_of_text(tmp_path):
    path = write(tmp_path, tekken(names=("<unk>",)))
    with pytest.raises(VocabularyError, match="eos_token_ids"):
        Vocabulary.from_mistral(path)
    assert Vocabulary.from_mistral(path, eos_token_ids=[1]).eos_token_ids == (1,)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("vocab", 0, "rank"), 99999999999),
        (("vocab", 0, "rank"), -1),
        (("vocab", 0, "rank"), "0"),
        (("vocab", 3, "rank"), 4),
        (("vocab", 0, "token_bytes"), "not base64!"),
        (("vocab", 0, "token_bytes"), "\u00e9"),
        (("vocab", 0, "token_bytes"), 3),
        (("vocab", 0, "token_bytes"), None),
        (("vocab", 0), {}),
        (("vocab", 0), None),
        (("vocab", 0), [1, 2]),
        (("vocab",), {}),
        (("vocab",), []),
        (("config",), None),
        (("config", "default_vocab_size"), None),
        (("config", "default_vocab_size"), 10**12),
        (("config", "default_vocab_size"), True),
        (("config", "default_vocab_size"), 3),
        (("config", "default_vocab_size"), 263),
        (("config", "default_num_special_tokens"), -1),
        (("config", "default_num_special_tokens"), 2),
        (("config", "default_num_special_tokens"), 10**12),
        (("config", "default_num_special_tokens"), 1.0),
        (("special_tokens",), {}),
        (("special_tokens", 0), 3),
        (("special_tokens", 0, "rank"), 1),
        (("special_tokens", 0, "token_str"), None),
        (("special_tokens", 0, "token_str"), "\ud800"),
    ],
)
def test_malformed_files(tmp_path, path, value):
    data = copy.deepcopy(tekken())
    part = data
    for key in path[:-1]:
        part = part[key]
    part[path[-1]] = value
    for load in (Vocabulary.from_mistral, Vocabulary.from_file):
        with pytest.raises(VocabularyError) as caught:
            load(write(tmp_path, data))
        assert len(str(caught.value).encode()) <= 512


@pytest.mark.parametrize("wrong", [None, 3, object()])
def test_what_is_not_a_tokenizer(wrong):
    with pytest.raises(ArgumentError):
        Vocabulary.from_mistral(wrong)

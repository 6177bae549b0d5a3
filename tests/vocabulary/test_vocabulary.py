"""The class: what it accepts, what it refuses, what it promises."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from detent.errors import ArgumentError, DetentError, VocabularyError
from detent.vocabulary import Vocabulary
from detent.vocabulary.loaded_tokens import MAX_IDS, MAX_TOKEN_BYTES, MAX_TOTAL_BYTES

TOKENS = [b"a", b"b", b"ab", b"\xff", b"", None, b"</s>"]


@pytest.fixture
def vocabulary():
    return Vocabulary(TOKENS, eos_token_ids=[6])


def test_bytes_of_each_id(vocabulary):
    assert [vocabulary.token_bytes(i) for i in range(len(vocabulary))] == [
        b"a",
        b"b",
        b"ab",
        b"\xff",
        b"",
        b"",
        b"</s>",
    ]


def test_end_of_text_is_special(vocabulary):
    assert vocabulary.eos_token_ids == (6,)
    assert vocabulary.special_token_ids == {6}


def test_several_end_of_text_ids_are_sorted():
    assert Vocabulary(TOKENS, eos_token_ids=[6, 3, 6]).eos_token_ids == (3, 6)


def test_padding(vocabulary):
    padded = Vocabulary(TOKENS, eos_token_ids=[6], size=100)
    assert len(padded) == 100
    assert padded.token_bytes(99) == b""
    assert len(vocabulary) == 7


def test_mapping_from_id_to_bytes():
    sparse = Vocabulary({5: b"b", 0: b"a"}, eos_token_ids=[3])
    assert len(sparse) == 6
    assert [sparse.token_bytes(i) for i in range(6)] == [b"a", b"", b"", b"", b"", b"b"]


def test_no_end_of_text_must_be_asked_for():
    assert Vocabulary([b"a"], eos_token_ids=None).eos_token_ids == ()
    for refused in ({}, {"eos_token_ids": []}, {"eos_token_ids": "auto"}):
        with pytest.raises(VocabularyError, match="eos_token_ids"):
            Vocabulary([b"a"], **refused)


@pytest.mark.parametrize("number", [np.int32(2), np.int64(2), np.uint8(2), np.array(2)])
def test_numpy_ids(vocabulary, number):
    assert vocabulary.token_bytes(number) == b"ab"


@pytest.mark.parametrize(
    "number", [-1, 7, 2**31, 2**63, -(2**70), True, False, np.True_, 1.0, np.float32(1), "1", None, b"a"]
)
def test_wrong_ids(vocabulary, number):
    with pytest.raises(VocabularyError):
        vocabulary.token_bytes(number)
    with pytest.raises(VocabularyError):
        vocabulary.decode([0, number])


def test_decode_joins_text_and_leaves_special_tokens_out(vocabulary):
    assert vocabulary.decode([2, 3, 6, 4, 0]) == b"ab\xffa"
    assert vocabulary.decode(np.array([0, 1])) == b"ab"


def test_encode_needs_a_tokenizer(vocabulary):
    with pytest.raises(VocabularyError, match="no tokenizer"):
        vocabulary.encode("a")
    with pytest.raises(ArgumentError):
        vocabulary.encode(b"a")


@pytest.mark.parametrize(
    ("tokens", "options"),
    [
        ([], {}),
        ({}, {}),
        (["a"], {}),
        ([b"a", bytearray(b"b")], {}),
        ([b"a", 3], {}),
        (b"abc", {}),
        ("abc", {}),
        (None, {}),
        (7, {}),
        ({"x": b"a"}, {}),
        ({-1: b"a"}, {}),
        ({True: b"a"}, {}),
        ({2**40: b"a"}, {}),
        ({0: "a"}, {}),
        ([b"a"], {"eos_token_ids": [-1]}),
        ([b"a"], {"eos_token_ids": [1]}),
        ([b"a"], {"eos_token_ids": [2**64]}),
        ([b"a"], {"eos_token_ids": [0.0]}),
        ([b"a"], {"eos_token_ids": [True]}),
        ([b"a"], {"eos_token_ids": 0.5}),
        ([b"a"], {"eos_token_ids": "0"}),
        ([b"a"], {"eos_token_ids": {0: 1}}),
        ([b"a"], {"special_token_ids": [1]}),
        ([b"a"], {"special_token_ids": ["a"]}),
        ([b"a"], {"size": 0}),
        ([b"a"], {"size": -1}),
        ([b"a"], {"size": 1.5}),
        ([b"a"], {"size": True}),
        ([b"a"], {"size": 10**12}),
        ([b"a"], {"size": MAX_IDS + 1}),
        ([b"a" * (MAX_TOKEN_BYTES + 1)], {}),
        ([b"a" * MAX_TOKEN_BYTES] * (MAX_TOTAL_BYTES // MAX_TOKEN_BYTES + 1), {}),
    ],
)
def test_wrong_arguments(tokens, options):
    with pytest.raises(DetentError) as caught:
        Vocabulary(tokens, **{"eos_token_ids": None, **options})
    assert len(str(caught.value).encode()) <= 512


def test_end_of_text_may_lie_in_the_padding():
    assert Vocabulary([b"a"], eos_token_ids=[3], size=4).eos_token_ids == (3,)


def test_immutable(vocabulary):
    with pytest.raises(AttributeError):
        vocabulary.eos_token_ids = (0,)
    with pytest.raises(AttributeError):
        vocabulary.other = 1
    with pytest.raises(AttributeError):
        del vocabulary.eos_token_ids
    tokens = [b"a", b"b"]
    copied = Vocabulary(tokens, eos_token_ids=None)
    tokens[0] = b"changed"
    assert copied.token_bytes(0) == b"a"


def test_fingerprint_depends_on_everything_that_masks_depend_on():
    base = {"tokens": [b"a", b"bc", b"", b"x"], "eos_token_ids": [3], "special_token_ids": [], "size": 4}
    changes = [
        {},
        {"tokens": [b"ab", b"c", b"", b"x"]},
        {"tokens": [b"bc", b"a", b"", b"x"]},
        {"eos_token_ids": [2]},
        {"eos_token_ids": None},
        {"special_token_ids": [2]},
        {"size": 5},
    ]
    prints = [Vocabulary(**{**base, **change}).fingerprint for change in changes]
    assert len(set(prints)) == len(changes)
    assert Vocabulary(**{**base, "tokens": [b"a", b"bc", None, b"x"]}).fingerprint == prints[0]
    assert prints[0] == "756efee03824554bf001dd6949807173"  # the same in every version


def test_repr(vocabulary):
    assert repr(vocabulary) == "<Vocabulary of 7 ids, 1 special, end of text 6>"
    assert "end of text none" in repr(Vocabulary([b"a"], eos_token_ids=None))


def test_threads_share_a_vocabulary(byte_bpe, save):
    shared = Vocabulary.from_file(save(byte_bpe, "<|endoftext|>"))
    expected = byte_bpe.encode("Hello, world!", add_special_tokens=False).ids
    results: list[object] = []

    def work() -> None:
        results.append((shared.encode("Hello, world!"), shared.fingerprint, shared.decode(expected)))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [(expected, shared.fingerprint, b"Hello, world!")] * 8

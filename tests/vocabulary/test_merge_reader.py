"""The merges of a tokenizer.json are what a JSON parser and a dictionary make of them."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from detent._core import read_merges
from detent.errors import ArgumentError
from tests.support.shared_data import needs_shared, tokenizer_file

_NAMES = ["a", "b", '"', "\\", "\n", "\x7f", "é", "▁", "한", "😀", "/", "\u2028"]
_IDS = {
    name: number
    for number, name in enumerate([*_NAMES, *(left + right for left in _NAMES for right in _NAMES), "a▁b", "ab▁"])
}
_PAIRS = st.tuples(st.sampled_from(_NAMES), st.sampled_from(_NAMES))
_ENTRIES = st.lists(st.tuples(_PAIRS, st.booleans()), max_size=6)


def table(ids, pairs):
    return [[ids[left], ids[right], rank, ids[left + right]] for rank, (left, right) in enumerate(pairs)]


def read(ids, merges, unmerged="", **form):
    text = merges if isinstance(merges, bytes) else json.dumps(merges, **form).encode()
    return np.frombuffer(read_merges(ids, text, unmerged), np.uint32).reshape(-1, 4).tolist()


@settings(deadline=None)
@given(entries=_ENTRIES, ascii_only=st.booleans(), indent=st.sampled_from([None, 1]))
def test_merges_are_read_in_both_forms(entries, ascii_only, indent):
    merges = [list(pair) if apart else " ".join(pair) for pair, apart in entries]
    pairs = [pair for pair, _ in entries]
    assert read(_IDS, merges, ensure_ascii=ascii_only, indent=indent) == table(_IDS, pairs)


def test_merges_to_a_right_name_with_a_space_are_left_out():
    merges = ["a b", "a ▁", "▁ a", "b a"]
    assert read(_IDS, merges, "▁") == table(_IDS, [("a", "b"), ("▁", "a"), ("b", "a")])


@pytest.mark.parametrize(
    ("text", "entry"),
    [
        ('["a b", "a z"]', 1),
        ('["a b", "ab b"]', 1),
        ('["a"]', 0),
        ('["a b b"]', 0),
        ('["a  b"]', 0),
        ('[["a"]]', 0),
        ('[["a", "b", "b"]]', 0),
        ('["a b" "a b"]', 0),
        ('["a b",]', 1),
        ('["a b"', 0),
        ('["a b"] 1', 1),
        ('["a \\ud83d"]', 0),
        ('["a \\ud83d\\u0061"]', 0),
        ('["a \\u00g1"]', 0),
        ('["a \\u00', 0),
        ('["a \\x"]', 0),
        ('["a \n"]', 0),
        ('["a b', 0),
        ("[1]", 0),
        ("{}", 0),
        ("", 0),
    ],
)
def test_other_forms_are_refused_by_entry(text, entry):
    with pytest.raises(ArgumentError, match=f"entry {entry} is not two tokens that join to a third"):
        read_merges(_IDS, text.encode())


@needs_shared
@pytest.mark.parametrize("name", ["llama3", "llama2-spm"])
def test_merges_of_real_tokenizers_are_read(name):
    model = json.loads(tokenizer_file(name).read_bytes())["model"]
    pairs = [pair.split(" ") if isinstance(pair, str) else pair for pair in model["merges"]]
    assert read(model["vocab"], model["merges"]) == table(model["vocab"], pairs)

"""A tokenizer.json is read without its merges: the rest is what a parser of the whole file reads."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from detent import Vocabulary, VocabularyError
from detent._core import merges_span
from detent.vocabulary.file_io import parse_without_merges

_TEXTS = st.text(max_size=6) | st.sampled_from(['"', "\\", '\\"', "[", "]}", "merges", "\ud800", "é", "Ġa"])
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | _TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXTS | st.just("merges"), inner, max_size=3),
    max_leaves=8,
)
_MERGES = st.lists(_TEXTS | st.lists(_TEXTS, max_size=2), max_size=4)
_FILES = st.dictionaries(_TEXTS, _VALUES, max_size=3).flatmap(
    lambda others: st.tuples(st.dictionaries(_TEXTS, _VALUES, max_size=3), _MERGES, st.permutations([*others, "model"]))
    .map(lambda drawn: {key: {**drawn[0], "merges": drawn[1]} if key == "model" else others[key] for key in drawn[2]})
)  # fmt: skip


def _cut(data: bytes) -> bytes | None:
    span = merges_span(data)
    return None if span is None else data[: span[0]] + b"[]" + data[span[1] :]


def _written(value: Any, *, ascii_only: bool, indent: int | None) -> bytes:
    return json.dumps(value, ensure_ascii=ascii_only, indent=indent).encode("utf-8", "surrogatepass")


@settings(deadline=None)
@given(file=_FILES, ascii_only=st.booleans(), indent=st.sampled_from([None, 2]))
def test_all_but_the_merges_is_read(file: dict[str, Any], ascii_only: bool, indent: int | None) -> None:
    data = _written(file, ascii_only=ascii_only, indent=indent)
    span = merges_span(data)
    keys = [*file, *file["model"]]
    if any("\\" in json.dumps(key, ensure_ascii=ascii_only) for key in keys):
        assert span is None  # a name with an escape might be any name
        return
    assert span is not None
    assert json.loads(data[span[0] : span[1]]) == file["model"]["merges"]
    assert parse_without_merges(data, "x") == {**file, "model": {**file["model"], "merges": []}}


@settings(deadline=None, max_examples=300)
@given(file=_FILES, seed=st.integers(0, 1 << 30))
def test_no_error_outside_the_merges_is_lost(file: dict[str, Any], seed: int) -> None:
    data = bytearray(_written(file, ascii_only=False, indent=None))
    rng = random.Random(seed)
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(len(data))
        data[at : at + rng.randint(0, 2)] = bytes(rng.choice(b'[]{}",:\\ a1\n\x80') for _ in range(rng.randint(0, 2)))
    cut = _cut(bytes(data))
    if cut is None:
        return
    span = merges_span(bytes(data))
    assert span is not None
    try:
        without = json.loads(cut)
    except ValueError:
        without = None
    try:
        whole = json.loads(bytes(data))
    except ValueError:
        if without is not None:  # the error is inside
            with pytest.raises(ValueError):
                json.loads(bytes(data)[span[0] : span[1]])
        return
    whole["model"]["merges"] = []
    assert without == whole


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"model": {"vocab": {}}}',
        '{"model": {"merges": null}}',
        '{"model": {"merges": [1]}}',
        '{"model": {"merges": [{}]}}',
        '{"model": {"merges": []',
        '{"model": {"merges": ["a b"]} "x": 1}',
        '{"model": {"merges": [], "merges": ["a b"]}}',
        '{"model": {"merges": []}, "model": {}}',
        '{"model": {"m\\u0065rges": []}}',
        '{"model": [], "merges": []}',
        '{"model": {"vocab": {"merges": []}}}',
        '{"model": {"merges": ["\\"]}}',
    ],
)
def test_other_forms_are_left_to_the_parser(text: str) -> None:
    assert merges_span(text.encode()) is None
    assert merges_span(text.encode("utf-16")) is None


def test_deep_nesting_is_no_recursion() -> None:
    deep = b"[" * 1_000_000
    assert merges_span(b'{"x": ' + deep) is None
    assert merges_span(b'{"model": {"merges": ' + deep) is None


def test_a_broken_file_is_refused_and_broken_merges_where_they_are_needed(tmp_path: Path) -> None:
    model = '"model": {"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": ["a x"]}'
    around = '"pre_tokenizer": {"type": "ByteLevel"}, "decoder": {"type": "ByteLevel"}'
    path = tmp_path / "tokenizer.json"
    path.write_text(f"{{{model}, {around}}}", encoding="utf-8")
    vocabulary = Vocabulary.from_file(path, eos_token_ids=None)
    assert [vocabulary.token_bytes(token) for token in range(2)] == [b"a", b"b"]
    with pytest.raises(VocabularyError, match=r"model\.merges"):
        vocabulary.encode_canonical("ab")
    path.write_text(f"{{{model}, {around},}}", encoding="utf-8")
    with pytest.raises(VocabularyError, match="not valid JSON"):
        Vocabulary.from_file(path, eos_token_ids=None)

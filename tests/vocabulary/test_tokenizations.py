"""tokenizations: against brute force, and against a published table."""

from __future__ import annotations

import ast
import re
from itertools import islice, pairwise, product

import pytest

import detent
from detent.errors import ArgumentError
from tests.support.shared_data import FOLDER, needs_shared, real_vocabulary


def by_force(word: bytes, vocabulary: detent.Vocabulary) -> set[tuple[int, ...]]:
    """Cut the word in every way, and take every token for every piece."""
    ids: dict[bytes, list[int]] = {}
    for token_id in set(range(len(vocabulary))) - vocabulary.special_token_ids:
        ids.setdefault(vocabulary.token_bytes(token_id), []).append(token_id)
    found = set()
    for cuts in product([False, True], repeat=len(word) - 1):
        places = [0, *(place + 1 for place, cut in enumerate(cuts) if cut), len(word)]
        pieces = [word[start:end] for start, end in pairwise(places)]
        found |= set(product(*(ids.get(piece, []) for piece in pieces)))
    return found


@pytest.mark.parametrize("word", ["aaab", "abab", "b", "éa", "c"])
def test_all_of_them_and_each_once(word: str) -> None:
    tokens = [b"a", b"b", b"aa", b"aa", b"ab", b"ba", b"abab", b"\xc3", b"\xa9", "éa".encode(), b"aaab", b"", b"</s>"]
    vocabulary = detent.Vocabulary(tokens, eos_token_ids=[12], special_token_ids=[10])
    spellings = list(detent.tokenizations(word, vocabulary))
    assert len(set(spellings)) == len(spellings)
    assert set(spellings) == by_force(word.encode(), vocabulary)
    assert [len(ids) for ids in spellings] == sorted(len(ids) for ids in spellings)


def test_a_long_word_yields_at_once() -> None:
    vocabulary = detent.Vocabulary([b"a", b"aa", b""], eos_token_ids=[2])
    assert [len(ids) for ids in islice(detent.tokenizations("a" * 5000, vocabulary), 3)] == [2500, 2501, 2501]
    assert list(detent.tokenizations("a" * 5000 + "b", vocabulary)) == []


@pytest.mark.parametrize("word", ["", b"", None, 5, "\ud800"])
def test_refusals(word: object) -> None:
    with pytest.raises(ArgumentError, match="tokenizations"):
        detent.tokenizations(word, detent.Vocabulary([b"a"], eos_token_ids=None))  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="Vocabulary"):
        detent.tokenizations("a", None)  # type: ignore[arg-type]


@needs_shared
def test_the_table_of_the_banned_words_article() -> None:
    """The article lists the spellings of "talk", "listen" and "fuck you" by Gemma 2's pieces: Llama 2 has most."""
    vocabulary = real_vocabulary("llama2-spm")
    article = next((FOLDER.parent / "seeds").glob("000_*")).read_text()
    rows = re.findall(r"^(\['.*'\]) \[\d[\d, ]*\]$", article, re.MULTILINE)
    table = {tuple(piece.replace("▁", " ").encode() for piece in ast.literal_eval(row)) for row in rows}
    assert len(table) == 140
    written = set()
    for word in ("talk", "listen", "fuck you"):
        for text in (word, " " + word):
            for ids in detent.tokenizations(text, vocabulary):
                written.add(tuple(vocabulary.token_bytes(token_id) for token_id in ids))
            if len(text) < 8:
                assert set(detent.tokenizations(text, vocabulary)) == by_force(text.encode(), vocabulary)
    known = {vocabulary.token_bytes(token_id) for token_id in range(len(vocabulary))}
    possible = {row for row in table if known.issuperset(row)}
    assert len(possible) > 80
    assert possible <= written
    # What the article leaves out: a space that is a token of its own.
    spaced = {row for row in written - table if known.issuperset(row)}
    assert (b" ", b"talk") in spaced or (b" ", b"t", b"alk") in spaced

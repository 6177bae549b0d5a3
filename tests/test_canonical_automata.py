"""DirectMerge and CartesianMerge: equal to merging every text, on proper tables; the source's own examples."""

from __future__ import annotations

import itertools
import json
import random

import pytest

import detent
from detent.canonical_automata import TokenAutomaton, add_merged_edges, cartesian_merge, direct_merge, explore
from detent.errors import ArgumentError, EmptyLanguageError, LimitError
from detent.vocabulary.core_encoder import CoreEncoder
from tests.support.shared_data import needs_shared, tokenizer_file
from tests.support.toy_bpe import make_encoder, merge


def language_of(automaton, length, spelled=None):
    """Give the rows that an automaton takes, of up to `length` tokens, or letters that tokens are spelled with."""
    found, level = set(), {((), 0): automaton.start}
    while level:
        found |= {row for (row, _), state in level.items() if state in automaton.accepting}
        level = {
            ((*row, token), size + (len(spelled[token]) if spelled else 1)): to
            for (row, size), state in level.items()
            for token, to in automaton.rows.get(state, {}).items()
            if size + (len(spelled[token]) if spelled else 1) <= length
        }
    return found


def random_automaton(rng, letters):
    states = range(rng.randint(1, 5))
    rows = {state: {letter: rng.choice(states) for letter in range(letters) if rng.random() < 0.7} for state in states}
    return TokenAutomaton(0, frozenset(state for state in states if rng.random() < 0.5), rows)


def random_table(rng, letters):
    """Draw a proper table: each token is made once, after its parts."""
    spelled = {letter: (letter,) for letter in range(letters)}
    merges = []
    for token in range(letters, letters + rng.randint(1, 6)):
        left, right = rng.choice(sorted(spelled)), rng.choice(sorted(spelled))
        if spelled[left] + spelled[right] not in spelled.values():
            spelled[token] = spelled[left] + spelled[right]
            merges.append((left, right, token))
    return spelled, merges


@pytest.mark.parametrize("seed", range(15))
def test_merging_the_automaton_is_merging_its_texts(seed):
    rng = random.Random(seed)
    for _ in range(8):
        letters = rng.choice((1, 2, 3))
        automaton = random_automaton(rng, letters)
        spelled, merges = random_table(rng, letters)
        ranked = [(left, right, rank, token) for rank, (left, right, token) in enumerate(merges)]
        texts = language_of(automaton, 6)
        if not texts:
            with pytest.raises(EmptyLanguageError):
                direct_merge(automaton, merges)
            continue
        expected = {tuple(merge(text, ranked)) for text in texts}
        direct, product = direct_merge(automaton, merges), cartesian_merge(automaton, merges)
        assert language_of(direct, 6, spelled) == expected
        assert language_of(product, 6, spelled) == expected
        every = language_of(add_merged_edges(automaton, merges), 6, spelled)
        assert expected <= every
        assert {tuple(itertools.chain.from_iterable(spelled[token] for token in row)) for row in every} == texts
        assert all(direct.accepts(row) and product.accepts(row) for row in expected)
        if direct.transition_count:
            assert len(direct.table().names) == len(product.table().names)


def test_the_table_of_the_source():
    # "a*b*" with the merges ab, aa, ac: the row aaaabaacac is aa a ab aa c ac, and is no text of a*b*.
    ranked = [(0, 1, 0, 3), (0, 0, 1, 4), (0, 2, 2, 5)]
    text = [0, 0, 0, 0, 1, 0, 0, 2, 0, 2]
    assert merge(text, ranked) == [4, 0, 3, 4, 2, 5]
    merges = [(left, right, token) for left, right, _, token in ranked]
    anything = TokenAutomaton(0, frozenset({0}), {0: dict.fromkeys(range(3), 0)})
    assert direct_merge(anything, merges).accepts([4, 0, 3, 4, 2, 5])
    assert not direct_merge(anything, merges).accepts(text)
    stars = TokenAutomaton("a", frozenset({"a", "b"}), {"a": {0: "a", 1: "b"}, "b": {1: "b"}})
    merged = direct_merge(stars, merges)
    assert merged.accepts([4, 4, 3, 1])
    assert not merged.accepts([4, 0, 0, 3])
    assert not merged.accepts([0, 4, 3])  # an odd a stands last
    assert merged.accepts([4, 0])


def test_what_a_guide_visits():
    tokens = [b"a", b"b", b"ab", b"aa"]
    vocabulary = detent.Vocabulary([*tokens, b"</s>"], eos_token_ids=[4])
    encoder = CoreEncoder(make_encoder([*tokens, b""], [(0, 1, 0, 2), (0, 0, 1, 3)]))
    object.__setattr__(vocabulary, "_tables", vocabulary._tables.with_encoder(encoder))
    guide = detent.compile(detent.regex("a*b*"), vocabulary, canonical=True)
    stars = TokenAutomaton("a", frozenset({"a", "b"}), {"a": {0: "a", 1: "b"}, "b": {1: "b"}})
    expected = direct_merge(stars, [(0, 1, 2), (0, 0, 3)])
    assert language_of(explore(guide), 6) == language_of(expected, 6)
    with pytest.raises(LimitError, match="max_transitions"):
        explore(guide, max_transitions=2)
    plain = explore(detent.compile(detent.regex("a*b*"), vocabulary))
    assert language_of(plain, 5) == language_of(add_merged_edges(stars, [(0, 1, 2), (0, 0, 3)]), 5)


@needs_shared
def test_the_boolean_of_the_source():
    path = tokenizer_file("mistral-v3")
    vocabulary = detent.Vocabulary.from_file(path)
    boolean = detent.regex("boolean: ((true)|(false))")
    plain = explore(detent.compile(boolean, vocabulary))
    pieces = json.loads(path.read_bytes())["model"]["vocab"]
    bytes_alone = {number for piece, number in pieces.items() if piece.startswith("<0x")}
    shown = sum(token not in bytes_alone for row in plain.rows.values() for token in row)
    assert (plain.state_count, shown) == (17, 48)
    automaton = explore(detent.compile(boolean, vocabulary, canonical=True))
    assert (automaton.state_count, automaton.transition_count) == (5, 4)
    assert [vocabulary.token_bytes(token) for token in automaton.rows[automaton.start]] == [b"boolean"]


@needs_shared
def test_the_boolean_of_the_source_by_merging():
    path = tokenizer_file("mistral-v3")
    model = json.loads(path.read_bytes())["model"]
    ids = model["vocab"]
    texts = ["boolean:\u2581true", "boolean:\u2581false"]
    rows = {}
    for text in texts:
        for position, character in enumerate(text):
            rows.setdefault(text[:position], {})[ids[character]] = text[: position + 1]
    spellings = TokenAutomaton("", frozenset(texts), rows)
    listed = []
    for rank, pair in enumerate(model["merges"]):
        left, right = pair.split(" ") if isinstance(pair, str) else pair
        if any(left + right in text for text in texts):
            listed.append((ids[left], ids[right], rank, ids[left + right]))
    piece_of = {number: piece for piece, number in ids.items()}
    merges = []
    for left, right, _, token in listed:
        # Of several ways to make a token, one is ever taken: that by which the tokenizer makes it of its characters.
        others = [each for each in listed if each[3] != token]
        if merge([ids[character] for character in piece_of[token]], others) == [left, right]:
            merges.append((left, right, token))
    vocabulary = detent.Vocabulary.from_file(path)
    own = {tuple(vocabulary.encode_canonical(text.replace("\u2581", " "))) for text in texts}
    assert add_merged_edges(spellings, merges).transition_count > 40
    for merged in (direct_merge(spellings, merges), cartesian_merge(spellings, merges)):
        assert language_of(merged, 13) == own
        assert (merged.state_count, merged.transition_count) == (5, 4)


def test_improper_tables_are_refused():
    letters = TokenAutomaton(0, frozenset({0}), {0: {0: 0}})
    # (aa)*a, where the order of the merges is not that of the tokens' making.
    for merges in ([(0, 1, 2), (0, 0, 1)], [(0, 0, 1), (1, 0, 2), (0, 1, 2)], [(0, 0, 0)]):
        with pytest.raises(ArgumentError, match="improper"):
            direct_merge(letters, merges)
        with pytest.raises(ArgumentError, match="improper"):
            cartesian_merge(letters, merges)


def test_what_is_built_is_bounded():
    stars = TokenAutomaton(0, frozenset({0}), {0: {0: 0}})
    doubling = [(token, token, token + 1) for token in range(3000)]  # every power of two is a token
    for build in (direct_merge, cartesian_merge):
        with pytest.raises(LimitError, match="over 20000 transitions"):
            build(stars, doubling, max_transitions=20_000)
    # Only merges that the texts can have count, however many the table has.
    absent = [(7, 1, 1000 + number) for number in range(50_000)]
    for build in (direct_merge, cartesian_merge, add_merged_edges):
        assert build(stars, absent, max_transitions=10).transition_count == 1
    chain = TokenAutomaton(0, frozenset({20_000}), {state: {0: state + 1} for state in range(20_000)})
    assert direct_merge(chain, doubling[:10]).transition_count == 21  # 19 times 1,024, 512, 32
    vocabulary = detent.load_model().vocabulary
    with pytest.raises(LimitError, match="max_transitions"):
        explore(detent.compile(detent.regex(".*"), vocabulary, canonical=True), max_transitions=10_000)
    deep = explore(detent.compile(detent.regex("q{3000}"), vocabulary, canonical=True))
    assert deep.transition_count == len(vocabulary.encode_canonical("q" * 3000))


def test_malformed_arguments():
    letters = TokenAutomaton(0, frozenset({0}), {0: {0: 0}})
    assert repr(letters) == "TokenAutomaton(1 states, 1 transitions)"
    for build in (direct_merge, cartesian_merge, add_merged_edges):
        for wrong in ((0, 0), "abc", (0, 0, 1.5), None):
            with pytest.raises(ArgumentError, match="merge 1 must be three token ids"):
                build(letters, [(0, 0, 1), wrong])
        with pytest.raises(ArgumentError, match="TokenAutomaton, got dict"):
            build({}, [])
        with pytest.raises(ArgumentError, match="max_transitions"):
            build(letters, [], max_transitions=-1)
    with pytest.raises(ArgumentError, match="needs a Guide, got int"):
        explore(3)

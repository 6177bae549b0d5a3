"""Masks against the oracle: exhaustively for small patterns, then at random, then on real vocabularies."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import product

import numpy as np
import pytest
import regex as partial
from hypothesis import given, settings
from hypothesis import strategies as st

import detent
from detent import _core, oracle
from tests.conftest import SHARED, needs_shared

# --- Exhaustively

_UNARY = ["{}*", "{}+", "{}?", "{}{{2}}", "{}{{1,2}}"]
_TEXTS = ["".join(text) for length in range(7) for text in product("ab", repeat=length)]
_SMALL_TOKENS = ["a", "b", "aa", "ab", "ba", "bb", "c", "\n", "é"]
_SMALL = detent.Vocabulary([token.encode() for token in _SMALL_TOKENS] + [b""], eos_token_ids=[len(_SMALL_TOKENS)])


@lru_cache(maxsize=None)
def _trees(nodes: int) -> list[str]:
    """Return all patterns of so many nodes: letters and dots below repeats, concatenations and alternations."""
    if nodes == 1:
        return ["a", "b", "."]
    found = [unary.format(f"(?:{inner})") for inner in _trees(nodes - 1) for unary in _UNARY]
    for left in range(1, nodes - 1):
        pairs = list(product(_trees(left), _trees(nodes - 1 - left)))
        found += [f"(?:{x}){y}" for x, y in pairs] + [f"(?:{x}|{y})" for x, y in pairs]
    return found


@pytest.mark.parametrize("part", range(8))
def test_every_small_pattern_on_every_small_text(part: int) -> None:
    """All patterns of up to 5 nodes on all texts of up to 6 letters; masks at texts of up to 4."""
    for pattern in [pattern for nodes in range(1, 6) for pattern in _trees(nodes)][part::8]:
        _check_small(pattern)


def _check_small(pattern: str) -> None:
    accepts = re.compile(pattern).fullmatch
    begins = partial.compile(pattern).fullmatch
    live = {text: begins(text, partial=True) is not None for text in _TEXTS}
    matcher = detent.compile(detent.regex(pattern), _SMALL).matcher()
    row = detent.allocate_mask(1, len(_SMALL))[0]
    pending = [""]
    while pending:
        text = pending.pop()
        while len(matcher) > max(len(text) - 1, 0):
            matcher.rollback()
        if text:
            try:
                matcher.advance_bytes(text[-1].encode())
                assert live[text], f"{pattern!r} lives after {text!r}"
            except detent.StateError:
                assert not live[text], f"{pattern!r} is dead after {text!r}"
                continue
        assert matcher.is_accepting == (accepts(text) is not None), f"{pattern!r} on {text!r}"
        if len(text) < 6:
            pending += [text + "a", text + "b"]
        if len(text) <= 4:
            matcher.fill_mask(row)
            expected = [
                live[longer] if (longer := text + token) in live else begins(longer, partial=True) is not None
                for token in _SMALL_TOKENS
            ]
            bits = [bool(row[0] >> i & 1) for i in range(32)]
            assert bits[: len(expected)] == expected, f"{pattern!r} after {text!r}"
            assert bits[len(expected)] == matcher.is_accepting, f"{pattern!r} after {text!r}"
            assert not any(bits[len(_SMALL) :])


# --- Constructs, on a small vocabulary that splits characters

_PIECES = [
    *(bytes([byte]) for byte in b"abcAKSZ019_-. \n\t\"\\"),
    *(text.encode() for text in ("ab", "ba", "a b", " a", "10", "\n\n", "é", "éa", "ß", "ſ", "漢", "漢字", "😀", "\u0663")),
    *(b"\xc3", b"\xa9", b"\xc5", b"\xe6", b"\xbc\xa2", b"\xbc", b"\xf0", b"\x9f\x98", b"\x80", b"a\xc3", b"\xa9b", b"\x80a"),
    *(b"\xff", b"\xed\xa0", b"\xc0\x80", b"\xf4\x90", b"ab", b"\xc3\xa9"),
]
_PIECE_VOCABULARY = detent.Vocabulary([*_PIECES, b""], eos_token_ids=[len(_PIECES)])

_CONSTRUCTS = [
    (r"\w+", 0),
    (r"\w+", re.ASCII),
    (r"\W\s?\S", 0),
    (r"\d{2,3}|\D", 0),
    (r"[^\W\d_]{2}", 0),
    (r"ks|ß", re.IGNORECASE),
    (r"ks|ß", re.IGNORECASE | re.ASCII),
    (r"[a-z]é?", re.IGNORECASE),
    (r".{2}", re.DOTALL),
    (r".*é", 0),
    (r"(?i:a)b | c", re.VERBOSE),
    (r"(?P<x>a)(?:b|\n)*?0??", 0),
    (r"[^a-z\n]+", 0),
    (r"[À-ÿ漢\U0001f600-\U0001f64f]{1,2}", 0),
    ("\"[^\"\\\\]*\"", 0),
    (r"(a|ab)(c|bcd)?", 0),
    (r"(?:a?){20}a{20}", 0),
    (r"a{0,100000}b", 0),
]

_ASSERTIONS = [
    (r"a\b.?a?", 0),
    (r"a\B.?a?", 0),
    (r"\ba?\b", 0),
    (r"^a?$\n?", 0),
    (r"a?$", 0),
    (r"^a$|^b$", re.MULTILINE),
    (r"(?:^a$\n?){1,2}", re.MULTILINE),
    (r"\Aa\Z", 0),
    (r"(?!ab)[ab]{1,2}", 0),
    (r"(?=a)..?", 0),
    (r"(?=.?b)[ab]{2}(?<!ba)", 0),
    (r"[ab]{1,2}(?<=a)", 0),
    (r"(?<!a)b?|a(?!b)[ab]?", 0),
    (r"(?:\ba\b ?){1,2}", 0),
    (r"é(?=ß|a)\w", 0),
]


@pytest.mark.parametrize(("pattern", "flags"), _CONSTRUCTS)
def test_constructs(pattern: str, flags: int) -> None:
    _check_walks(pattern, flags, oracle.begins_match, states=60)


@pytest.mark.parametrize(("pattern", "flags"), _ASSERTIONS)
def test_assertions(pattern: str, flags: int) -> None:
    """Each of these patterns is at most two characters from a match, wherever one can still be reached."""
    _check_walks(pattern, flags, oracle.reaches_match(2), states=40)


def _check_walks(pattern: str, flags: int, live: oracle.Verdict, states: int) -> None:
    """Compare the masks of the first texts that tokens write, breadth first."""
    guide = detent.compile(detent.regex(pattern, flags), _PIECE_VOCABULARY)
    texts = [b""]
    for text in texts:
        matcher = guide.matcher()
        if text:
            matcher.advance_bytes(text)
        expected = oracle.allowed(pattern, flags, _PIECES, text, live)
        expected += [len(_PIECES)] * oracle.is_match(pattern, flags, text)
        # The oracle knows nothing of spelling; a byte that is missing here is needed by nothing above.
        assert matcher.allowed().tolist() == expected, f"{pattern!r} after {text!r}"
        longer = [text + _PIECES[token_id] for token_id in expected if token_id < len(_PIECES)]
        texts += [new for new in longer if new not in texts][: max(0, states - len(texts))]


# --- At random

_ATOMS = st.sampled_from(
    ["a", "b", "0", "-", " ", "é", "漢", ".", r"\w", r"\d", r"\s", r"[^a]", r"[^\n\"]", "[a-c0]", "[^\\W_]", "(?i:k)"]
)
_REPEATS = st.sampled_from(["*", "+", "?", "{2}", "{0,3}", "{1,40}", "{3,}", "*?"])
_PATTERNS = st.recursive(
    _ATOMS,
    lambda inner: st.one_of(
        st.lists(inner, min_size=2, max_size=3).map("".join),
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: "(?:" + "|".join(parts) + ")"),
        st.tuples(inner, _REPEATS).map(lambda pair: f"(?:{pair[0]}){pair[1]}"),
    ),
    max_leaves=6,
)


@settings(max_examples=60, deadline=None)
@given(pattern=_PATTERNS, seed=st.integers(0, 2**32))
def test_random_patterns_on_a_small_vocabulary(pattern: str, seed: int) -> None:
    tokens = [bytes([byte]) for byte in range(256)] + _PIECES
    vocabulary = detent.Vocabulary([*tokens, b""], eos_token_ids=[len(tokens)])
    for text, allowed in _random_walk(pattern, vocabulary, seed, tokens=6):
        expected = oracle.allowed(pattern, 0, tokens, text) + [len(tokens)] * oracle.is_match(pattern, 0, text)
        assert allowed == expected, f"{pattern!r} after {text!r}"


def _random_walk(
    pattern: str, vocabulary: detent.Vocabulary, seed: int, tokens: int
) -> Iterator[tuple[bytes, list[int]]]:
    """Yield the text so far and the allowed ids, at each place of a walk by random allowed tokens."""
    choose = random.Random(seed)
    matcher = detent.compile(detent.regex(pattern), vocabulary).matcher()
    text = b""
    for _ in range(tokens):
        allowed = matcher.allowed().tolist()
        yield text, allowed
        token = choose.choice(allowed)
        if token in vocabulary.eos_token_ids:
            return
        matcher.advance(token)
        text += vocabulary.token_bytes(token)


# --- On real vocabularies

SEED_PATTERNS = [
    r"([0-9]+)?\.[0-9]+",
    r"[0-9]+\.[0-9]+",
    r"[a-z]{3}[0-9]",
    r"(ishmael|moby dick)",
    r"(\([0-9]{3}\) |[0-9]{3}-)[0-9]{3}-[0-9]{4}",
    r"(https:\/\/www\.|http:\/\/www\.|https:\/\/|http:\/\/)[a-zA-Z]{2,20}\.(com|ai|org|edu)",
]

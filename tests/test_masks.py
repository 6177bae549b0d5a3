"""Masks against the oracle: exhaustively for small patterns, then at random, then on real vocabularies."""

from __future__ import annotations

import random
import re
from functools import cache, lru_cache
from itertools import product

import pytest
import regex as partial
from hypothesis import given, settings
from hypothesis import strategies as st

import detent
from detent import oracle
from tests.support.long_tests import mostly_long
from tests.support.measured_patterns import EVERY, EXAMPLES
from tests.support.oracle_masks import expected, text_tokens, walk
from tests.support.shared_data import needs_shared, real_vocabulary

# --- Exhaustively

_UNARY = ["{}*", "{}+", "{}?", "{}{{2}}", "{}{{1,2}}"]
_TEXTS = ["".join(text) for length in range(7) for text in product("ab", repeat=length)]
_SMALL_TOKENS = ["a", "b", "aa", "ab", "ba", "bb", "c", "\n", "é"]
_SMALL = detent.Vocabulary([token.encode() for token in _SMALL_TOKENS] + [b""], eos_token_ids=[len(_SMALL_TOKENS)])


@cache
def _trees(nodes: int) -> list[str]:
    """Return all patterns of so many nodes: letters and dots below repeats, concatenations and alternations."""
    if nodes == 1:
        return ["a", "b", "."]
    found = [unary.format(f"(?:{inner})") for inner in _trees(nodes - 1) for unary in _UNARY]
    for left in range(1, nodes - 1):
        pairs = list(product(_trees(left), _trees(nodes - 1 - left)))
        found += [f"(?:{x}){y}" for x, y in pairs] + [f"(?:{x}|{y})" for x, y in pairs]
    return found


@pytest.mark.parametrize("part", mostly_long(range(8), always=4))
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


# --- Constructs, on a vocabulary whose tokens split characters

_BYTES = [bytes([byte]) for byte in range(256)]
_PIECES = [
    *_BYTES,
    *(
        text.encode()
        for text in ("ab", "ba", "a b", " a", "10", "\n\n", "é", "éa", "ß", "\u017f", "漢字", "😀", "\u0663")
    ),
    *(
        b"\xbc\xa2",
        b"\x9f\x98",
        b"a\xc3",
        b"\xa9b",
        b"\x80a",
        b"\xed\xa0",
        b"\xc0\x80",
        b"\xf4\x90",
        b"ab",
        b"\xc3\xa9",
    ),
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
    (r"(?P<x>a)(?:b|\n)*0?", 0),
    (r"[^a-z\n]+", 0),
    ("[À-ÿ漢\U0001f600-\U0001f64f]{1,2}", 0),
    (r'"[^"\\]*"', 0),
    (r"(a|ab)(c|bcd)?", 0),
    (r"(?:a?){20}a{20}", 0),
    (r"a{0,100000}b", 0),
    (r"(?:[^ab]{0,3}a){2,900}", 0),
]

_ASSERTIONS_AND_LAZY_REPEATS = [
    (r"a*?a", 0),
    (r"(?:a|b)+?b", 0),
    (r"(?P<x>a)(?:b|\n)*?0??", 0),
    (r".{1,9}?[^a]", 0),
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
    _check_tree(pattern, flags, oracle.begins_match)


@pytest.mark.parametrize(("pattern", "flags"), _ASSERTIONS_AND_LAZY_REPEATS)
def test_assertions_and_lazy_repeats(pattern: str, flags: int) -> None:
    """Each of these patterns is at most two characters from a match, wherever one can still be reached."""
    _check_tree(pattern, flags, oracle.reaches_match(2))


def _check_tree(pattern: str, flags: int, live: oracle.Verdict, width: int = 4, states: int = 40) -> None:
    """Compare the masks of texts that tokens write: breadth first, a few random tokens from each."""
    choose = random.Random(0)
    guide = detent.compile(detent.regex(pattern, flags), _PIECE_VOCABULARY)
    texts = [b""]
    for text in texts:
        matcher = guide.matcher()
        matcher.advance_bytes(text)
        allowed = oracle.allowed(pattern, flags, _PIECES, text, live)
        end = [len(_PIECES)] * oracle.is_match(pattern, flags, text)
        assert matcher.allowed().tolist() == allowed + end, f"{pattern!r} after {text!r}"
        if len(texts) < states:
            texts += [text + _PIECES[token] for token in choose.sample(allowed, min(width, len(allowed)))]


# --- At random

# No (?i:...): in the package regex, (?:\d|[^a]|(?i:k)) does not match "A". The constructs above have one.
_ATOMS = st.sampled_from(
    ["a", "b", "0", "-", " ", "é", "漢", ".", r"\w", r"\d", r"\s", r"[^a]", r"[^\n\"]", "[a-c0]", r"[^\W_]"]
)
_REPEATS = st.sampled_from(["*", "+", "?", "{2}", "{0,3}", "{1,40}", "{3,}"])
_PATTERNS = st.recursive(
    _ATOMS,
    lambda inner: st.one_of(
        st.lists(inner, min_size=2, max_size=3).map("".join),
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: "(?:" + "|".join(parts) + ")"),
        st.tuples(inner, _REPEATS).map(lambda pair: f"(?:{pair[0]}){pair[1]}"),
    ),
    max_leaves=6,
)


@settings(max_examples=40)
@given(pattern=_PATTERNS, seed=st.integers(0, 2**32))
def test_random_patterns_on_a_small_vocabulary(pattern: str, seed: int) -> None:
    for text, allowed in walk(pattern, _PIECE_VOCABULARY, seed, length=6):
        assert allowed == expected(pattern, _PIECE_VOCABULARY, _PIECES, text), f"{pattern!r} after {text!r}"


# --- On real vocabularies


@lru_cache(maxsize=1)
def _real(name: str) -> tuple[detent.Vocabulary, list[bytes]]:
    vocabulary = real_vocabulary(name)
    return vocabulary, text_tokens(vocabulary)


_LARGE = ["URL", "number", '[^"]{0,1000}', r"(\w+ ){1,50}\w+", "Pink Floyd", ".{0,1000}"]
_REAL = mostly_long([*(("gpt2", label) for label in EVERY), *(("llama3", x) for x in _LARGE)], always=8)


@needs_shared
@pytest.mark.parametrize(("name", "label"), _REAL)
def test_real_vocabularies(name: str, label: str) -> None:
    """The whole mask at one place of each pattern; `python -m benchmarks.oracle_check` compares hundreds."""
    vocabulary, tokens = _real(name)
    pattern, example = EVERY[label], EXAMPLES.get(label, "").encode()
    text = example[: random.Random(label).randrange(len(example) + 1)]  # perhaps within a character
    matcher = detent.compile(detent.regex(pattern), vocabulary).matcher()
    matcher.advance_bytes(text)
    assert matcher.allowed().tolist() == expected(pattern, vocabulary, tokens, text)

"""The oracle against the method that it abbreviates, and its two verdicts against each other."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from detent import oracle
from detent.oracle import allowed, begins_match, is_match, reaches_match

# Covers each length of UTF-8, both ends of several classes, and characters that case folding joins.
FIRST_BYTES = (b"\xc3", b"\xe6", b"\xe6\xbc", b"\xed\x9f", b"\xf0\x9f\x98")
STARTING_WITH = {
    first: [c for c in map(chr, (*range(0xD800), *range(0xE000, 0x20000))) if c.encode().startswith(first)]
    for first in FIRST_BYTES
}
CHARACTERS = [*"abK0 \n_éß", "\u017f", "\u212a", "\u0663", "漢", "\ud7ff", "\ue000", "😀", "\U0010ffff"]


def test_the_example_of_the_outlines_post() -> None:
    tokens = [b"a", b".", b".2", b"1"]
    masks = [allowed("[0-9]+[.][0-9]", 0, tokens, text) for text in (b"", b"1", b"1.", b"1.2")]
    assert masks == [[3], [1, 2, 3], [3], []]


def test_tokens_without_bytes_are_never_allowed() -> None:
    assert allowed(".*", 0, [b"", b"a", b""], b"") == [1]


@pytest.mark.parametrize("pattern", [r"[^\W\d_]+é?", r"[à-ÿ]|\d", r"漢|[😀-😂]x", "(?s:.)b", r"\w\s\S", r"[^a]"])
@pytest.mark.parametrize("flags", [0, re.ASCII, re.IGNORECASE, re.IGNORECASE | re.DOTALL])
def test_trying_one_character_of_each_kind_is_trying_them_all(pattern: str, flags: int) -> None:
    kinds = oracle._kinds(pattern, flags)
    for character in CHARACTERS:
        assert is_match(pattern, flags, character.encode()) == is_match(pattern, flags, kinds[ord(character)].encode())
    for first, every in STARTING_WITH.items():
        assert set(kinds.starting_with(first)) == {kinds[ord(character)] for character in every}


def test_bytes_that_are_no_utf_8_are_refused() -> None:
    tokens = [
        b"\x80",
        b"\xc3",
        b"\xc3\xa9",
        b"\xed\x9f",
        b"\xc0",
        b"\xe0\x80",
        b"\xed\xa0",
        b"\xf4\x90",
        b"\xf5",
    ]
    assert allowed("(?s).*", 0, tokens, b"") == [1, 2, 3]
    assert allowed("(?s).*", 0, tokens, b"\xc3") == [0]


@pytest.mark.parametrize(
    ("pattern", "expected"), [("é", [0, 1]), ("e", []), ("[à-ÿ]", [0, 1]), ("\xa9", []), ("[^a]", [0, 1])]
)
def test_a_token_may_end_inside_a_character(pattern: str, expected: list[int]) -> None:
    assert allowed(pattern, 0, [b"\xc3", b"\xc3\xa9"], b"") == expected


def test_the_second_verdict_knows_assertions() -> None:
    tokens = [b"a", b" ", b"b"]
    assert allowed(r"a\b.", 0, tokens, b"a", reaches_match(1)) == [1]
    assert allowed(r"(?!a|.b).*", 0, tokens, b"", reaches_match(1)) == [1, 2]
    assert allowed(r"(?!a|.b).*", 0, tokens, b" ", reaches_match(1)) == [0, 1]


_PLAIN = st.recursive(
    st.sampled_from(["a", "b", ".", "[ab]", "[^a]", "é", r"\w", ""]),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map(lambda pair: f"(?:{pair[0]}|{pair[1]})"),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "{2}", "{1,2}"])).map(lambda pair: f"(?:{pair[0]}){pair[1]}"),
    ),
    max_leaves=4,
)


@settings(max_examples=60)
@given(pattern=_PLAIN)
@example(pattern="(?:a|(?:a)*b)")
def test_the_two_verdicts_agree_without_assertions(pattern: str) -> None:
    for text in ("", "a", "b", "ab", "ba", "abb"):
        if begins_match(pattern, 0, text):  # four leaves, twice each, are never further than 8 from the end
            assert any(reaches_match(steps)(pattern, 0, text) for steps in (2, 4, 8))
        else:
            assert not reaches_match(3)(pattern, 0, text)

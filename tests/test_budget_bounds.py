"""Masks know a bound on the completions after all their tokens: within it, a budget takes nothing away.

In each language here some token needs a much longer completion than others. A bound that is too small would let a
budget allow it.
"""

from __future__ import annotations

import string
from collections.abc import Iterable

import pytest

import detent

_LONG = string.ascii_lowercase[1:] + string.ascii_uppercase + string.digits + string.ascii_letters
_PAIRS = [f"xy{one}{other}" for one in "abcdefghijklmnop" for other in "abcdefghijklmnop"]


def _check(language: detent.Language[str], tokens: Iterable[str], texts: list[str], text: str) -> None:
    """Check each token after `text`, near many limits; other texts of the guide come first."""
    # Lower bounds up to the length of the longest token are not clamped, so that masks know the lengths.
    words = [*(bytes([byte]) for byte in range(256)), b"#" * 128, *(token.encode() for token in tokens)]
    vocabulary = detent.Vocabulary([*words, b""], eos_token_ids=[len(words)])
    guide = detent.compile(language, vocabulary)
    for other in texts:
        matcher = guide.matcher()
        for byte in other.encode():
            matcher.advance(byte)
        matcher.allowed()
    checked = 0
    for left in range(1, 180, 4):
        try:
            matcher = guide.matcher(max_tokens=len(text) + left)
        except detent.LimitError:
            continue
        for byte in text.encode():
            matcher.advance(byte)
        for token in matcher.allowed().tolist():
            if token == len(words):
                continue
            after = matcher.fork()
            after.advance(token)
            assert len(after.completion()) < left, (left, words[token])
            checked += 1
    assert checked > 10


@pytest.mark.parametrize("least", [8, 40, 120])
@pytest.mark.parametrize("pattern", ["(a|{long}){{{least},}}", "[xy]{{1,3}}(a|{long}){{{least},}}"])
def test_rounds_that_a_lower_bound_asks_for(pattern: str, least: int) -> None:
    rule = detent.json_schema({"type": "string", "pattern": f"^{pattern.format(long=_LONG, least=least)}$"})
    text = '"' if pattern.startswith("(") else '"x'
    _check(rule, [], [], text)


@pytest.mark.parametrize("most", [None, 160])
@pytest.mark.parametrize("pattern", ["(AB|C)[a-z]*", "(AB|C)(d|ef)*[a-z]*", "(AB|C)\u20ac*"])
def test_characters_that_min_length_asks_for(pattern: str, most: int | None) -> None:
    schema = {"type": "string", "pattern": f"^{pattern}$", "minLength": 120}
    rule = detent.json_schema(schema if most is None else {**schema, "maxLength": most})
    other = "\u20ac" if "\u20ac" in pattern else "x"
    tokens = ["C" + other * 119 + '"', "AB" + other * 118 + '"', '"C' + other * 119 + '"']
    _check(rule, tokens, [], '"')
    _check(rule, tokens, [], "")


@pytest.mark.parametrize(("one", "other"), [(60, 100), (40, 90), (60, 65)])
def test_a_mask_beside_that_of_a_smaller_lower_bound(one: int, other: int) -> None:
    """Lower bounds above the length of most tokens look alike, so the two states have one mask, but other lengths."""
    rule = detent.regex(f"(1[xX](y[a-p]{{{one}}}[zZ]|w)|2[xX](y[a-p]{{{other}}}[zZ]|w))")
    tokens = ["xyb", "xyab", "xya"]
    _check(rule, tokens, ["1"], "2")
    _check(rule, tokens, ["2"], "1")


@pytest.mark.parametrize("rest", ["q{60}z", "q{60}[zZ]", "(q{60}|u{50})"])
def test_a_loop_before_a_lower_bound(rest: str) -> None:
    """All tokens over a loop are taken at once; what follows the loop is long."""
    _check(detent.regex(f"[xX](y[a-p]{{0,100}}{rest}|w)"), _PAIRS, [], "")

"""Every small pattern on every small text, against `re.fullmatch`."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

import pytest

from tests.support.acceptance import accepted


def patterns(size: int, leaves: list[str], unary: list[str], binary: list[str]) -> Iterator[str]:
    """Yield every pattern of so many nodes."""
    if size == 1:
        yield from leaves
    for inner in patterns(size - 1, leaves, unary, binary) if size > 1 else ():
        yield from (shape.format(inner) for shape in unary)
    for left_size in range(1, size - 1):
        for left in patterns(left_size, leaves, unary, binary):
            for right in patterns(size - 1 - left_size, leaves, unary, binary):
                yield from (shape.format(left, right) for shape in binary)


def check(pattern: str, flags: int, alphabet: str, longest: int) -> None:
    try:
        matches = re.compile(pattern, flags).fullmatch
    except re.error:  # a lookbehind without a fixed width
        return
    texts = ("".join(text) for size in range(longest + 1) for text in itertools.product(alphabet, repeat=size))
    assert accepted(pattern, flags, alphabet, longest) == {text for text in texts if matches(text)}, pattern


@pytest.mark.parametrize("size", range(1, 6))
def test_plain(size):
    for pattern in patterns(size, ["a", "b", "(?:)"], ["(?:{})*", "(?:{})+?", "(?:{}){{2}}"], ["{}{}", "(?:{}|{})"]):
        # The oracle backtracks: nested loops cost it minutes on longer texts.
        check(pattern, 0, "ab", 6 if pattern.count("(?:(?:(?:") == 0 else 3)


@pytest.mark.parametrize("flags", [0, re.M], ids=["", "multiline"])
@pytest.mark.parametrize("size", range(1, 5))
def test_anchors(size, flags):
    leaves = ["a", r"\n", "^", "$", r"\Z"]
    for pattern in patterns(size, leaves, ["(?:{})*", "(?:{})?"], ["{}{}", "(?:{}|{})"]):
        check(pattern, flags, "a\n", 4)


@pytest.mark.parametrize("size", range(1, 4))
def test_lookarounds(size):
    unary = ["(?:{})*", "(?={})", "(?!{})", "(?<={})", "(?<!{})"]
    for pattern in patterns(size, ["a", "b", "^", "$"], unary, ["{}{}", "(?:{}|{})"]):
        check(f".*{pattern}.*", 0, "ab", 4)
        check(f"(?:a|{pattern})*b?", 0, "ab", 4)


@pytest.mark.parametrize("size", range(1, 5))
def test_boundaries(size):
    for pattern in patterns(size, ["a", "-", r"\b", r"\B"], ["(?:{})*"], ["{}{}", "(?:{}|{})"]):
        check(pattern, 0, "a-", 4)


@pytest.mark.skipif(not hasattr(re, "NOFLAG"), reason="possessive repeats need Python 3.11")
@pytest.mark.parametrize("size", range(1, 5))
def test_possessive(size):
    leaves = ["a", "b", "a*+", "[ab]?+", "a{1,2}+", "(?>b+)"]
    for pattern in patterns(size, leaves, ["(?:{})*"], ["{}{}", "(?:{}|{})"]):
        check(pattern, 0, "ab", 4)

"""The function `detent.regex`: arguments, limits, and what stays out of a node."""

from __future__ import annotations

import re

import pytest

import detent


@pytest.mark.parametrize(
    ("pattern", "advice"),
    [
        (b"a", "decode it"),
        (bytearray(b"a"), "decode it"),
        (re.compile("a"), r"\.pattern and \.flags"),
        (None, "NoneType"),
        (1, "int"),
    ],
)
def test_a_pattern_is_a_str(pattern, advice):
    with pytest.raises(detent.ArgumentError, match=advice):
        detent.regex(pattern)


@pytest.mark.parametrize("flags", [re.LOCALE, re.DEBUG, re.LOCALE | re.I, 1, 512, -1, "i", None, 2.0])
def test_flags_without_meaning(flags):
    with pytest.raises(detent.ArgumentError, match="IGNORECASE, MULTILINE"):
        detent.regex("a", flags)


def test_two_alphabets():
    with pytest.raises(detent.ArgumentError, match="exclude each other"):
        detent.regex("a", re.ASCII | re.UNICODE)
    with pytest.raises(detent.PatternSyntaxError, match="ASCII and UNICODE"):
        detent.regex("(?a)a", re.UNICODE)


def test_lone_surrogates():
    with pytest.raises(detent.UnsupportedError, match="surrogate") as caught:
        detent.regex("ab\ud800")
    assert caught.value.position == 2
    str(caught.value).encode()


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("^abc$", "abc"),
        (r"\Aabc\Z", "abc"),
        ("(?:^a|^b)(?:c$|d)", "(a|b)(c|d)"),
        ("(?P<name>a)(?:b)", "(a)b"),
        ("a*?b+?c??d{2,3}?", "a*b+c?d{2,3}"),
        ("a|b|[cd]", "[a-d]"),
        ("(?:a)", "a"),
        (r"\x41\u0042", "AB"),
        ("(?x) a b # c", "ab"),
        ("(?i:é)", "[éÉ]"),
        (r"\d", "[0-9]"),
        ("(?:^)*a(?:$)?", "a"),
    ],
)
def test_equal_nodes(left, right):
    flags = re.ASCII if r"\d" in left else 0
    assert detent.regex(left, flags) == detent.regex(right, flags)


def test_description():
    assert repr(detent.regex("a|b")) == "Language(regex 'a|b')"
    assert repr(detent.regex("a", re.I)) == "Language(regex 'a', re.IGNORECASE)"
    assert len(detent.regex("a" * 100_000).description) < 300


def test_source_bytes():
    limits = detent.Limits(source_bytes=4)
    assert detent.regex("abcd", limits=limits).accepts("abcd")
    assert detent.regex("éé", limits=limits).accepts("éé")
    for pattern in "abcde", "ééa":
        with pytest.raises(detent.LimitError, match="5 bytes, above the limit of 4"):
            detent.regex(pattern, limits=limits)


def test_positions():
    limits = detent.Limits(pattern_size=5)
    assert not detent.regex("ab[cd].{1000}e", limits=limits).is_empty()
    for pattern in "abcdef", "a[bc]defg", "(a|b|c)...xy", "ab|cd|ef", "(?i)abcdef":
        with pytest.raises(detent.LimitError, match="more than 5"):
            detent.regex(pattern, limits=limits)


def test_ranges_of_distinct_classes():
    limits = detent.Limits(pattern_size=200)
    assert not detent.regex(r"\w" * 199, limits=limits).is_empty()
    with pytest.raises(detent.LimitError, match="list more than 1000 ranges"):
        detent.regex(r"\w[\w.]", limits=limits)


def test_messages_are_short_and_encodable():
    for pattern in (
        "(?P<" + "漢" * 1000 + "-",
        "x" * 500 + "(" + "😀" * 500,
        "\u0301" * 300 + "(",
        r"\N{" + "é" * 500 + "}",
    ):
        with pytest.raises(detent.PatternSyntaxError) as caught:
            detent.regex(pattern)
        assert len(str(caught.value).encode()) <= 512
        assert str(caught.value).count("^") == 1
        assert " … " not in str(caught.value)


def test_the_caret_points_at_the_spot():
    with pytest.raises(detent.UnsupportedError) as caught:
        detent.regex("漢\n" + "x" * 100 + r"(é)\1" + "y" * 100)
    _, shown, caret, _ = str(caught.value).splitlines()
    assert shown.index("\\1") == caret.index("^")
    assert shown.strip().startswith("…") and shown.endswith("…")

"""The private copy of the standard parser: it is strict, bounded, and nobody else's."""

from __future__ import annotations

import re
import sys
import warnings

import pytest

import detent
from detent.sources.regex.parser import op, parse

LIMITS = detent.Limits()


def test_the_stock_parser_is_untouched():
    name = "re._parser" if sys.version_info >= (3, 11) else "sre_parse"
    stock = sys.modules[name]
    assert stock is not op
    assert stock.SubPattern is not op.SubPattern
    assert stock._parse_sub.__module__ == name
    assert "warnings" not in vars(stock)
    with pytest.raises(re.error):
        re.compile(r"\p{L}")
    with pytest.warns(FutureWarning):
        re.compile("[[a]unlikely")


@pytest.mark.parametrize("pattern", ["[[a]", "[a--b]", "[a||b]", "[a&&b]", "[a~~b]", "[+--]"])
def test_where_re_warns_detent_refuses(pattern):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        with pytest.raises(detent.UnsupportedError, match="may come to change"):
            detent.regex(pattern)
    assert not seen


@pytest.mark.parametrize("pattern", [r"[\[a]", r"[a\-\-b]", "a||b", "a--b", "[&a&]", "[^[]"])
def test_where_re_does_not_warn(pattern):
    assert not detent.regex(pattern).is_empty()


def test_depth():
    assert not detent.regex("(" * 256 + "a" + ")" * 256).is_empty()
    for opener in "(", "(?:", "(?P<a>", "(?=", "(?i:":
        with pytest.raises(detent.LimitError, match="256 deep") as caught:
            detent.regex("(?:" * 256 + opener + "a" + ")" * 257)
        assert caught.value.position == 3 * 256
    with pytest.raises(detent.LimitError, match="2 deep"):
        detent.regex("(((a)))", limits=detent.Limits(depth=2))
    for size in 100_000, 1:
        with pytest.raises(detent.DetentError) as caught:
            detent.regex("(" * size)
        assert caught.value.code == ("limit" if size > 256 else "syntax")
    assert not detent.regex("(?x) a # " + "(" * 1000).is_empty()
    assert not detent.regex("[" + "(" * 1000 + "]" + r"\(" * 1000 + "(?#" + "(" * 1000 + ")").is_empty()


def test_the_result_does_not_depend_on_the_callers_stack():
    pattern = "(" * 250 + "a" + ")" * 250

    def deep(frames):
        return deep(frames - 1) if frames else detent.regex(pattern)

    assert deep(sys.getrecursionlimit() - 250) == detent.regex(pattern)


def test_deeper_than_python_can_recurse():
    pattern = "(" * 5000 + "a" + ")" * 5000
    with pytest.raises(detent.LimitError, match="setrecursionlimit"):
        detent.regex(pattern, limits=detent.Limits(depth=10_000))


def test_parts_are_counted_while_parsing():
    few = detent.Limits(pattern_size=10)
    for pattern in "|" * 10, "()" * 10, "a?" * 11, "(?:a?|b)" * 6:
        with pytest.raises(detent.LimitError, match="more than 10 alternatives"):
            detent.regex(pattern, limits=few)
    assert not detent.regex("a?" * 9, limits=few).is_empty()


def test_properties_are_counted():
    with pytest.raises(detent.LimitError, match="64 Unicode properties") as caught:
        detent.regex("".join(rf"\p{{{' ' * size}L}}" for size in range(70)))
    assert caught.value.position is not None


def test_huge_counts():
    assert detent.regex("a{4294967294}") == detent.regex("a{04294967294}")
    for digits in 10, 20, 5000, 500_000:
        with pytest.raises(detent.LimitError, match="4294967294") as caught:
            detent.regex("ba{2," + "9" * digits + "}")
        assert caught.value.position == 2


def test_alternatives_are_not_factored():
    tree, _ = parse("ab|ac", 0, LIMITS)
    ((kind, (_, branches)),) = tree
    assert kind is op.BRANCH
    assert [len(branch) for branch in branches] == [2, 2]


def test_inline_flags():
    for letters, flag in {"i": re.I, "m": re.M, "s": re.S, "x": re.X, "a": re.A}.items():
        _, flags = parse(f"(?{letters})a", 0, LIMITS)
        assert flags & flag
    assert parse("a", 0, LIMITS)[1] == re.U


@pytest.mark.parametrize(
    ("pattern", "remedy"),
    [
        (r"\h", r"[ \t]"),
        (r"a\R", r"(?:\r\n|\n|\r)"),
        (r"\x{41}", "without braces"),
        (r"\Q.\E", "re.escape"),
        ("(?'n'a)", "(?P<name>...)"),
        ("(?R)", "detent.grammar"),
        ("(?P>n)", "detent.grammar"),
        ("(?|a|b)", "(?:...)"),
        ("(?i)a(?-i)b", "(?-i:...)"),
        ("[[:alpha:]]", r"\p{Alpha}"),
        ("[[:^xdigit:]]", r"\P{Xdigit}"),
    ],
)
def test_notations_of_other_engines_have_a_remedy(pattern: str, remedy: str) -> None:
    with pytest.raises(detent.DetentError) as caught:
        detent.regex(pattern)
    assert remedy in str(caught.value)

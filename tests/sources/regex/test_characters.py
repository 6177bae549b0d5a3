"""Classes, categories, properties and case, over all code points, against the engines that define them."""

from __future__ import annotations

import _sre
import re

import pytest

import detent
from detent.code_points import LAST, complement, normalise
from detent.sources.regex.case_folding import case_variants
from detent.sources.regex.characters import category_ranges, has_property, property_ranges
from detent.sources.regex.classes import class_ranges
from detent.sources.regex.parser import parse
from tests.support.acceptance import BYTES

EVERY = "".join(map(chr, range(LAST + 1)))
PLANE = EVERY[:0x10000]
CASED = "".join(map(chr, filter(_sre.unicode_iscased, range(LAST + 1))))


def members(ranges):
    return {chr(code) for low, high in ranges for code in range(low, high + 1)}


def matched(pattern, flags, text=EVERY, engine=re):
    """Give the code points of `text` that a one-character pattern matches."""
    spans = (match.span() for match in engine.compile(f"(?:{pattern})+", flags).finditer(text))
    return normalise((start, end - 1) for start, end in spans)


def class_of(pattern, flags=0, last=LAST):
    (item,), all_flags = parse(pattern, flags, detent.Limits())
    ranges, _ = class_ranges(tuple(item[1]), bool(all_flags & re.I), bool(all_flags & re.A))
    return tuple((low, min(high, last)) for low, high in ranges if low <= last)


@pytest.mark.parametrize("flags", [0, re.A], ids=["unicode", "ascii"])
@pytest.mark.parametrize("letter", "dswDSW")
def test_categories(letter, flags):
    ranges = category_ranges(letter.lower(), letter.isupper(), bool(flags))
    assert ranges == matched(rf"\{letter}", flags)


def test_categories_hold_a_capital_exactly_when_they_hold_its_small_letter():
    for letter in r"\w", r"\d", r"\s":
        matches = re.compile(letter).match
        assert all(bool(matches(c)) == bool(matches(chr(_sre.unicode_tolower(ord(c))))) for c in CASED)


@pytest.mark.parametrize("name", ["L", "Lu", "Nd", "Greek", "Script=Han", "Alphabetic", "IsCyrillic", "Any"])
@pytest.mark.parametrize("ignore_case", [False, True])
def test_properties(name, ignore_case):
    regex = pytest.importorskip("regex", reason="properties need the package regex")
    wanted = matched(rf"\p{{{name}}}", regex.I if ignore_case else 0, engine=regex)
    assert property_ranges(name, ignore_case) == wanted


@pytest.mark.parametrize(
    "pattern", [r"[\p{Lu}_]", r"[^\p{Lu}_]", r"[\P{Lu}A]", r"[^\P{L}\p{Greek}]", r"[\p{^Ll}\P{^Nd}]"]
)
def test_properties_in_classes(pattern):
    regex = pytest.importorskip("regex", reason="properties need the package regex")
    assert class_of(pattern) == matched(pattern, 0, engine=regex)


def test_properties_in_classes_mean_the_same_when_case_is_ignored():
    letters = property_ranges("Lu", True)
    assert class_of(r"[\p{Lu}\p{Lu}]", re.I) == letters
    assert class_of(r"[^\p{Lu}]", re.I) == class_of(r"[\P{Lu}]", re.I) == complement(letters)
    assert class_of(r"[\p{Lu}0-9]", re.I) == normalise([*letters, (48, 57)])


@pytest.mark.parametrize("name", ["", "Foo", "L}|(a", "L\\", "é", "L" * 101, "\n"])
def test_unknown_properties(name):
    assert not has_property(name)


def test_case_of_every_letter():
    for letter in CASED:
        code = ord(letter)
        wanted = set(re.compile(re.escape(letter), re.I).findall(CASED))
        assert {letter} | members(case_variants([(code, code)], ascii_only=False)) == wanted, hex(code)


def test_case_of_ascii():
    for code in range(0x200):
        wanted = members(matched(re.escape(chr(code)), re.I | re.A, EVERY[:0x200]))
        assert {chr(code)} | members(case_variants([(code, code)], ascii_only=True)) == wanted, hex(code)


def test_cased_letters_lie_in_the_first_two_planes():
    assert ord(CASED[-1]) < 0x20000


@pytest.mark.parametrize("flags", [0, re.I, re.A, re.I | re.A], ids=["", "i", "a", "ia"])
@pytest.mark.parametrize(
    "pattern",
    [
        "[a-z]", "[^a-z]", "[A-Za-z0-9_]", "[^kq]", "[i-k]", "[I-K]", "[@-Z]", "[Z-a]", r"[\w-]", r"[^\w-]", r"[\Wa]",
        r"[\d\s]", r"[^\D]", r"[\S\s]", r"[^\S\s]", r"[^\x00-\x7f]", r"[\x00-\uffff]", "[à-ÿ]", "[^à-ÿ]", "[À-Þ]",
        "[\u0130-\u0131]", "[\u017f-\u0180]", "[\u0100-\uffff]", "[a-\u212b]", "[\u0345\u03b9]", "[\u01c5\u01c6]",
        "[\u1c80-\u1c88]", "[\ufb05x]", "[\u03a9-\u03f4]",
    ],
)  # fmt: skip
def test_classes(pattern, flags):
    assert class_of(pattern, flags, 0xFFFF) == matched(pattern, flags, PLANE)


def test_classes_above_the_first_plane():
    for pattern in "[\U00010400-\U0001044f]", "[\U00010428-\U00010430]", "[a-\U0010ffff]", "[^\U0001f600-\U0001f64f]":
        for flags in 0, re.I:
            assert class_of(pattern, flags) == matched(pattern, flags)
    # Here `re` forgets the capital itself.
    assert members(class_of("[\U00010400x]", re.I)) == set("\U00010400\U00010428xX")


def test_complement():
    for ranges in [(), ((0, LAST),), ((0, 5),), ((7, LAST),), ((3, 3), (5, 9))]:
        assert complement(complement(ranges)) == ranges
        assert normalise([*ranges, *complement(ranges)]) == ((0, LAST),)


@pytest.mark.parametrize(
    "pattern", ["(?s).*", "[^a]*", r"\W*", r"[^\x00-\x7f]*", r"\P{L}*", r"[\x00-\U0010ffff]*", "(?i)[^k]*"]
)
def test_only_utf8(pattern):
    guide = detent.compile(detent.regex(pattern), BYTES)
    for text in (
        b"\x80", b"\xbf", b"\xc0\x80", b"\xc1\xbf", b"\xe0\x80\x80", b"\xe0\x9f\xbf", b"\xed\xa0\x80", b"\xed\xbf\xbf",
        b"\xf0\x80\x80\x80", b"\xf0\x8f\xbf\xbf", b"\xf4\x90\x80\x80", b"\xf5\x80\x80\x80", b"\xfe", b"\xff",
        b"\xc2\x41",
    ):  # fmt: skip
        with pytest.raises(detent.StateError):
            guide.matcher().advance_bytes(text)
    for text in "\u0080", "\u07ff", "\u0800", "\ud7ff", "\ue000", "\uffff", "\U00010000", "\U0010ffff":
        accepted = guide.matcher()
        if re.fullmatch(pattern.replace(r"\P{L}", r"[\W\d]"), text):
            accepted.advance_bytes(text.encode())  # type: ignore[attr-defined]
            assert accepted.is_accepting


def test_a_property_without_the_package(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "regex", None)
    with pytest.raises(detent.UnsupportedError, match="pip install regex") as caught:
        detent.regex(r"a\p{Lt}")
    assert caught.value.position == 1

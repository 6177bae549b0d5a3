"""What may follow a text, in words: checked against `accepts` of every character of some alphabets."""

from __future__ import annotations

import re
from random import Random

import pytest

import detent
from detent.expected import character_start, expected_after, shown_byte_set, shown_characters

ALPHABET = '\x00\taZ09-]^[\\"é߿ࠀ—\uffff😀\U0010ffff'


def _follows(language: detent.Language, text: str) -> set[str]:
    return {each for each in ALPHABET if language._dfa().after((text + each).encode())}


def _shown(expected: str) -> set[str]:
    """Read a description again: a class of Python's `re`, a quoted character, or any character."""
    characters = expected.removesuffix(" or the end")
    if characters == "any character":
        return set(ALPHABET)
    if characters.startswith("'"):
        return {each for each in ALPHABET if repr(each) == characters}
    return {each for each in ALPHABET if re.fullmatch(characters, each)}


def _draw_class(rng: Random) -> str:
    parts = []
    for _ in range(rng.randrange(1, 4)):
        low, high = sorted(rng.choices(ALPHABET, k=2))
        parts.append(f"{re.escape(low)}-{re.escape(high)}" if rng.random() < 0.5 else re.escape(low))
    return f"[{'^' if rng.random() < 0.3 else ''}{''.join(parts)}]"


@pytest.mark.parametrize("seed", [*range(20), *(pytest.param(seed, marks=pytest.mark.long) for seed in range(20, 400))])
def test_a_description_names_the_characters_that_follow(seed: int) -> None:
    rng = Random(seed)
    pattern = "".join(_draw_class(rng) + rng.choice(["", "?", "*"]) for _ in range(3))
    language = detent.regex(pattern)
    text = ""
    for _ in range(4):
        dfa = language._dfa()
        following = _follows(language, text)
        expected = expected_after(dfa, text.encode())
        assert expected.endswith("the end") == language.accepts(text), (pattern, text)
        if expected != "the end":
            assert _shown(expected) == following, (pattern, text, expected)
        if not following:
            return
        text += rng.choice(sorted(following))


@pytest.mark.parametrize("character", ["é", "—", "😀"])
def test_a_part_of_a_character_is_described_from_its_beginning(character: str) -> None:
    dfa = detent.regex(f"a[{character}!]")._dfa()
    data = character.encode()
    for length in range(len(data)):
        assert _shown(expected_after(dfa, b"a" + data[:length])) == {each for each in ALPHABET if each == character}
        assert character_start(b"a" + data[:length]) == 1
    assert character_start(b"a" + data) == 1 + len(data)


def test_bytes_that_begin_no_character_are_shown_as_bytes() -> None:
    lone = detent.byte_class(b"a\x80\xff")
    assert expected_after(lone._dfa(), b"") == r"[a\x80\xFF]"
    assert expected_after((~detent.literal("a"))._dfa(), b"") == "any byte or the end"
    half = detent.byte_class(b"\xc3") + detent.byte_class(b"\xa9\xff")
    assert expected_after(half._dfa(), b"") == r"[\xC3]"
    assert shown_byte_set(bytes(range(256))) == "any byte"


def test_long_sets_are_cut() -> None:
    assert expected_after(detent.regex(r"\w")._dfa(), b"").endswith("…]")
    assert shown_characters(tuple((code, code) for code in range(97, 122, 2))) == "[acegikmoqsuw…]"

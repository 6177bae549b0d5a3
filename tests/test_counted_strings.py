"""Strings whose texts match a pattern and have a number of characters, beside all spellings of all texts.

The core takes their masks from the string without bounds, and finds by form whether few enough characters complete a
text. The oracle here writes every text over a small alphabet in every spelling, and asks which tokens begin one.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from itertools import product

import pytest

import detent
from detent.queries import ByteDfa

SPELLINGS = {
    "a": ["a"],
    " ": [" "],
    '"': ['\\"'],
    "\u00e9": ["\u00e9", "\\u00e9"],
    "\U0001f600": ["\U0001f600", "\\ud83d\\ude00"],
}
PATTERNS = [
    "^(a+ ){0,2}a+$",  # counted words
    "^(a |\u00e9)*a$",
    '^(aa|"\u00e9\U0001f600)*$',
    "^[a\u00e9]* [a\U0001f600]*$",
    "a\u00e9",  # matches anywhere
    "^(aaa|\u00e9)$|^ +$",
    "^\u00e9a{0,2}$",
]
BOUNDS = [(0, 1), (0, 3), (1, 4), (2, 4), (3, 3), (4, 5)]
PARTS = ["a", " ", "\u00e9", "\U0001f600", '\\"', "\\u00e9", "\\ud83d\\ude00", "\\ud83d", "\\", "\\u00", '"']


def spelled(pattern: str, least: int, most: int) -> Iterator[str]:
    """Write each text of the pattern with that many characters, in each spelling."""
    for length in range(least, most + 1):
        for text in product(SPELLINGS, repeat=length):
            if re.search(pattern, "".join(text)):
                for letters in product(*map(SPELLINGS.__getitem__, text)):
                    yield f'"{"".join(letters)}"'


TOKENS = sorted({"".join(one).encode() for count in (1, 2) for one in product(PARTS, repeat=count)})
TOKENS += [b"aaa", b"aaaa", b"aaaaa", b"a a a", b" a a a", b"\xc3", b"\xa9", b'\xa9"', b"\xf0\x9f", b'aa"', b'aaa"']
BYTES = [bytes([byte]) for byte in range(256)]
ALL = [*sorted({*TOKENS, *BYTES})]
VOCABULARY = detent.Vocabulary([*ALL, b""], eos_token_ids=[len(ALL)])


def is_whole(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return not re.search(rb"\\(?!\"|u00e9|ud83d\\ude00)", text.replace(b"\\ud83d\\ude00", b""))


@pytest.mark.parametrize("bounds", BOUNDS)
@pytest.mark.parametrize("pattern", PATTERNS)
def test_patterns_with_a_number_of_characters(pattern: str, bounds: tuple[int, int]) -> None:
    least, most = bounds
    texts = [text.encode() for text in spelled(pattern, least, most)]
    started = {text[:end] for text in texts for end in range(len(text) + 1)}
    schema = {"type": "string", "pattern": pattern, "minLength": least, "maxLength": most}
    if not texts:
        with pytest.raises(detent.DetentError):
            detent.compile(detent.json_schema(schema, spelling="written"), VOCABULARY)
        return
    guide = detent.compile(detent.json_schema(schema, spelling="written"), VOCABULARY)
    choose = random.Random(f"{pattern}{bounds}")
    known, tokens = sorted(started), {*TOKENS}
    if not pattern.startswith("^"):  # a part of a character may be that of one that is not written here
        known, tokens = [text for text in known if is_whole(text)], {token for token in tokens if is_whole(token)}
    for before in {b'"', *choose.sample(known, min(len(known), 40))}:
        matcher = guide.matcher()
        matcher.advance_bytes(before)
        allowed = {ALL[i] for i in matcher.allowed() if i < len(ALL)}
        assert allowed & tokens == {token for token in tokens if before + token in started}, before


LETTERS = ["a", "b", "\u00e9"]


@pytest.mark.parametrize("count", range(6))
@pytest.mark.parametrize("pattern", ["(aa|\u00e9)*b", "a*b?\u00e9", "(ab|b\u00e9)*", "aaa|\u00e9"])
def test_patterns_with_a_number_of_bytes(pattern: str, count: int) -> None:
    texts = ("".join(text) for length in range(count + 1) for text in product(LETTERS, repeat=length))
    found = [text.encode() for text in texts if re.fullmatch(pattern, text) and len(text.encode()) <= count]
    language = detent.regex(pattern) & detent.byte_class(bytes(range(256))).repeat(0, count)
    started = {text[:end] for text in found for end in range(len(text) + 1)}
    tokens = [bytes(one) for length in (1, 2, 3) for one in product(b"ab\xc3\xa9", repeat=length)]
    questions = ByteDfa(language._node)
    for token in tokens:
        assert (questions.after(token) != 0) == (token in started), token


def can_advance(matcher: detent.Matcher, token: int) -> bool:
    try:
        matcher.fork().advance(token)
    except detent.StateError:
        return False
    return True


@pytest.mark.parametrize("pattern", ["^(\\S+\\s+){0,3}\\S+$", "[A-z]+", "^(?!.*bb)[a-z]{2,30}$", "\\d\\d"])
@pytest.mark.parametrize("bounds", [(0, 9), (3, 12), (5, 40), (0, 200), (20, None)])
def test_masks_and_steps_agree(pattern: str, bounds: tuple[int, int | None]) -> None:
    """What a mask allows is what the states of the product allow, which the mask does not visit."""
    vocabulary = detent.load_model().vocabulary
    schema: dict[str, object] = {"type": "string", "pattern": pattern, "minLength": bounds[0]}
    if bounds[1] is not None:
        schema["maxLength"] = bounds[1]
    guide = detent.compile(detent.json_schema(schema), vocabulary)
    choose = random.Random(f"{pattern}{bounds}")
    for _ in range(3):
        matcher = guide.matcher()
        for _ in range(30):
            if matcher.is_finished:
                break
            allowed = {int(i) for i in matcher.allowed()}
            others = choose.sample(range(len(vocabulary)), 200)
            for token in {*others, *choose.sample(sorted(allowed), min(len(allowed), 100))}:
                assert can_advance(matcher, token) == (token in allowed), token
            matcher.advance(choose.choice(sorted(allowed)))


# Many tokens of letters, and few with the bytes of needles.
FILLERS = ["".join(one).encode() for one in product("acdeghnt", repeat=4)]
NEEDLE_PARTS = ["net", "_", "a", "z", "Q", "@", ".", "dir", '"', "x_y", "\u00e9", "q"]
WITH_NEEDLES = sorted({"".join(one).encode() for count in (1, 2) for one in product(NEEDLE_PARTS, repeat=count)})
WITH_NEEDLES += [
    b"net_a",
    b"net_dir",
    b"a_dirb",
    b'_a": ',
    b'a"',
    b"x_yx_y",
    b"a@b.c",
    b"@net.a",
    b"_Z",
    b"a_ZQ",
    b"\xc3",
    b"\xa9_a",
]
WITH_NEEDLES += [b'net": ', b'a":', b'z": n', b'a_": ', b'a@.": "', b'Q":', b'_Z"}', b'Q"}', b'a",']
MOSTLY_LETTERS = [*sorted({*FILLERS, *WITH_NEEDLES, *BYTES})]
LETTER_VOCABULARY = detent.Vocabulary([*MOSTLY_LETTERS, b""], eos_token_ids=[len(MOSTLY_LETTERS)])

# Patterns that most texts leave alive: a token without the bytes of their needles is decided at once.
NEEDLES = [
    {"patternProperties": {"net_[a-z]+": {"type": "null"}, "_dir(a|b)": {"const": 1}, "x_y": {"const": 2}}},
    {"patternProperties": {"q": {"type": "null"}, "z": {"const": 1}}, "minProperties": 1},
    {"propertyNames": {"pattern": "^[^_#]+_[^_#]*$"}},
    {"propertyNames": {"pattern": "@.*\\.", "maxLength": 30}},
    {"propertyNames": {"not": {"pattern": "_|Q$"}}},
    {"additionalProperties": {"type": "string", "pattern": "^(?!.*_Z)[a-z_A-Z ]*Q"}},
]


@pytest.mark.parametrize("number", range(len(NEEDLES)))
@pytest.mark.parametrize("text", ['{"', '{"net', '{"net_', '{"a_dir', '{"x', '{"@', '{"a": "', '{"a": "b_'])
def test_masks_and_steps_agree_where_needles_decide(number: int, text: str) -> None:
    schema = {"type": "object", **NEEDLES[number]}
    matcher = detent.compile(detent.json_schema(schema), LETTER_VOCABULARY).matcher()
    try:
        matcher.advance_bytes(text.encode())
    except detent.StateError:
        return
    allowed = {int(i) for i in matcher.allowed()}
    few = {MOSTLY_LETTERS.index(text) for text in [*WITH_NEEDLES, *BYTES, *FILLERS[::50]]}
    assert {token for token in few if can_advance(matcher, token)} == allowed & few

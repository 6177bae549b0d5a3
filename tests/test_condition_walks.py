"""Masks of strings without words or whole words, against all tokens tried one by one."""

from __future__ import annotations

import random
import re
from functools import cache
from itertools import product

import pytest

import detent
from tests.support.long_tests import mostly_long

LETTERS = ["a", "b", "é", "東"]
TEXTS = ["".join(row) for count in range(1, 5) for row in product(LETTERS, repeat=count)]
TOKENS = [
    *(bytes([byte]) for byte in range(256) if byte != 0x22),
    *(text.encode() for text in TEXTS if len(text.encode()) > 1),
    *(text.encode() + lead for text in TEXTS[:84] for lead in (b"\xc3", b"\xe6\x9d")),
    *(bytes([byte]) + text.encode() for text in TEXTS[:20] for byte in b"\xa9\xb1\""),
    *(text.encode() + b'"' for text in TEXTS[:84]),
    b'{"k":"', b'"', b'"}',
]  # fmt: skip
VOCABULARY = detent.Vocabulary([*TOKENS, b"</s>"], eos_token_ids=[len(TOKENS)])
BACKSLASH = TOKENS.index(b"\\")
"""No text here has an escape, which might hide a letter of a word."""
SCHEMA = {"type": "object", "properties": {"k": {"type": "string"}}, "required": ["k"], "additionalProperties": False}
PARTS = [b"\xa9", b"\xa9a", b"a\xc3", b"\x9d\xb1", b"b\xa9"]
"""Words need not be whole characters."""


def words_of(choose: random.Random) -> list[str | bytes]:
    words: list[str | bytes] = choose.choices(TEXTS[len(LETTERS) :], k=choose.choice((0, 1, 3, 12, 60)))
    return words + choose.sample(PARTS, choose.choice((0, 1, 2)) if words else 1)


@pytest.mark.parametrize("seed", mostly_long(range(60), always=6))
def test_masks_are_those_of_tokens_tried_one_by_one(seed: int) -> None:
    choose = random.Random(seed)
    words = words_of(choose)
    encoded = [word.encode() if isinstance(word, str) else word for word in words]
    every = detent.json_schema(SCHEMA)
    if choose.random() < 0.3:
        every = detent.json_schema(SCHEMA | {"properties": {"k": {"type": "string", "minLength": 2}}})
    guide = detent.compile(every & detent.without(*words), VOCABULARY)
    plain = detent.compile(every, VOCABULARY)
    for _ in range(8):
        matcher, beside, text = guide.matcher(), plain.matcher(), b""
        for _ in range(6):
            allowed = [token for token in matcher.allowed().tolist() if token != BACKSLASH]
            expected = [
                token
                for token in beside.allowed().tolist()
                if token != BACKSLASH
                and (token == len(TOKENS) or not any(word in text + TOKENS[token] for word in encoded))
            ]
            assert allowed == expected, (words, text, [TOKENS[each] for each in {*allowed} ^ {*expected}])
            token = choose.choice(allowed)
            if token == len(TOKENS):
                break
            matcher.advance(token)
            beside.advance(token)
            text += TOKENS[token]


LONE = [b"\xc3", b"\xe6\x9d", b"\xe2\x80", b"\xf1", b"\xf0\x9f"]
"""First bytes of characters. No letter begins with the third or the fourth."""
WHOLE_TOKENS = [
    *(bytes([byte]) for byte in range(256) if byte != 0x5C),
    *(text.encode() for text in TEXTS[:84] if len(text.encode()) > 1),
    *(mark + text.encode() for text in TEXTS[:20] for mark in (b" ", b"-", b"\xa9", b"\x9f")),
    *(text.encode() + end for text in TEXTS[:20] for end in (*LONE, b" ", b".", b'"', b'"}')),
    b'{"k":"',
    b'"}',
    b'",',
]
WHOLE_VOCABULARY = detent.Vocabulary([*WHOLE_TOKENS, b"</s>"], eos_token_ids=[len(WHOLE_TOKENS)])


@cache
def has_letter(first: bytes) -> bool:
    """Whether some letter or digit begins with these bytes of a character."""
    missing = (2 if first[0] < 0xE0 else 3 if first[0] < 0xF0 else 4) - len(first)
    more = product(range(0x80, 0xC0), repeat=missing)
    return any(re.match(r"\w", (first + bytes(rest)).decode(errors="ignore")) for rest in more)


def is_refused(text: bytes, words: list[str]) -> bool:
    """Whether one of the words is whole in each text that goes on; a word may grow where the text ends."""
    whole = re.compile(rf"(?<!\w)(?:{'|'.join(words)})(?=\W)")
    read = text.decode(errors="ignore")
    first = text[len(read.encode()) :]
    return bool(whole.search(read + "-" if first and not has_letter(first) else read))


@pytest.mark.parametrize("seed", mostly_long(range(60), always=8))
def test_masks_of_whole_words(seed: int) -> None:
    choose = random.Random(seed)
    words = choose.choices(TEXTS, k=choose.choice((1, 3, 12, 60)))
    string = {"type": "string", "minLength": choose.choice((0, 0, 2))}
    every = detent.json_schema(SCHEMA | {"properties": {"k": string}})
    guide = detent.compile(every & detent.without(*words, whole_words=True), WHOLE_VOCABULARY)
    plain = detent.compile(every, WHOLE_VOCABULARY)
    for _ in range(8):
        matcher, beside, text = guide.matcher(), plain.matcher(), b""
        for _ in range(8):
            allowed = matcher.allowed().tolist()
            expected = [
                token
                for token in beside.allowed().tolist()
                if token == len(WHOLE_TOKENS) or not is_refused(text + WHOLE_TOKENS[token], words)
            ]
            difference = [WHOLE_TOKENS[each] for each in {*allowed} ^ {*expected}]
            assert allowed == expected, (words, text, difference)
            inside = [token for token in allowed if token != len(WHOLE_TOKENS) and b'"' not in WHOLE_TOKENS[token]]
            token = choose.choice(inside if inside and choose.random() < 0.7 else allowed)
            if token == len(WHOLE_TOKENS):
                break
            matcher.advance(token)
            beside.advance(token)
            text += WHOLE_TOKENS[token]


# Each excludes some continuations of a letter, and together they exclude all: no one of them is dead by itself.
TOGETHER = [
    [r"\bq\b", r"q\w"],
    [r"\bab\b", r"ab[a-m0-9_A-Z]", r"ab[n-z]", r"ab[^\x00-\x7f]"],
    [r"q\W", r"q\w"],
    [r"[a-z]\b", r"[a-y]\w"],
    [r'[a-z]"', r"q[^!]", r"\bz\b"],
    [r"\bq\b|q\w|\bx\b"],
    [r'[^q!{:]"', r"q\w|q[^\w\"]|x"],
    [r'[^!{:]"', r'q[^"]*!'],  # each string ends with a mark that does not follow this letter
    [r'[^!{:]"', r"q[^\"]*!|[é東]", r"\bx\b"],
]


@pytest.mark.parametrize("patterns", TOGETHER, ids=" ".join)
@pytest.mark.parametrize("is_one", [False, True])
def test_conditions_that_exclude_all_continuations_together(patterns: list[str], is_one: bool) -> None:
    """A token is allowed if and only if the matcher takes it, which follows states and decides whether they live."""
    conditions = [patterns] if is_one else [[pattern] for pattern in patterns]
    text = {"type": "string"}  # the name has no letter, which a pattern might exclude
    language = detent.json_schema(
        {"type": "object", "properties": {"!": text}, "required": ["!"], "additionalProperties": False}
    )
    for condition in conditions:
        language &= detent.without(*map(re.compile, condition))
    guide = detent.compile(language, WHOLE_VOCABULARY)
    choose = random.Random(5)
    for _ in range(4):
        matcher = guide.matcher()
        matcher.advance_bytes(b'{"!":"')
        for _ in range(6):
            allowed = matcher.allowed().tolist()
            taken = [token for token in range(len(WHOLE_TOKENS) + 1) if is_taken(matcher, token)]
            assert allowed == taken, {token for token in {*allowed} ^ {*taken}}
            token = choose.choice(allowed)
            if token == len(WHOLE_TOKENS):
                break
            matcher.advance(token)


def is_taken(matcher: detent.Matcher, token: int) -> bool:
    """Whether a matcher takes a token; it is left as it is."""
    try:
        matcher.fork().advance(token)
    except detent.StateError:
        return False
    return True

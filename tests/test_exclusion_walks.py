"""Masks of schemas without patterns that count, against all tokens tried one by one: those follow states, not sets."""

from __future__ import annotations

import random
import re
from itertools import product

import pytest

import detent

PIECES = ["".join(letters) for size in (2, 3) for letters in product("abcd ", repeat=size)]
TOKENS = [
    *(bytes([byte]) for byte in range(256)),
    *(piece.encode() for piece in PIECES),
    *(piece.encode() + b'","'[:size] for piece in PIECES[:25] for size in (1, 2, 3)),
    *("é", "aé", "éb", "東", "b東a", "bé"),
    *(b'\xc3", "a', b"a\xc3", b"b\xe6\x9d", b"\xa9b", b"\xa9b\\", b'","bi', b'","bio":"', b'":"', b'a":"b'),
    *(b"\\n", b"\\u00"),
    *(bytes(random.Random(seed).choices(b"abcdio ", k=random.Random(seed).randrange(4, 9))) for seed in range(600)),
]  # fmt: skip
VOCABULARY = detent.Vocabulary(
    [*(token.encode() if isinstance(token, str) else token for token in TOKENS), b""], eos_token_ids=[len(TOKENS)]
)
TEXTS = [VOCABULARY.token_bytes(token) for token in range(len(TOKENS))]
SCHEMA = {
    "type": "object",
    "properties": {
        "a": {"type": "string"},
        "bio": {"type": "string"},
        "c": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["a", "bio"],
}
PATTERNS = [
    "a.{10}b",
    "a.{12}b|b.{11}c|c.{12}d",
    'a.{8}"',  # a string may not end
    r"\w{9}",
    r"(?:a|b)*c\w{12}d",
    "[^ ]{14}",
    'a.{4}",".{0,4}b',  # what follows a string
    '[ab].{6}[",:]',
    "a.{4}[}]|b.{6}é",
    r"(?:ab|ba| c){4}d",
]


def tried(matcher: detent.Matcher) -> list[int]:
    """Return the tokens that a matcher takes, of those that it is asked for one by one."""
    found = []
    for token in range(len(TOKENS) + 1):
        fork = matcher.fork()
        try:
            fork.advance(token)
        except detent.StateError:
            continue
        found.append(token)
    return found


@pytest.mark.parametrize("pattern", PATTERNS)
def test_masks_are_those_of_tokens_tried_one_by_one(pattern: str) -> None:
    guide = detent.compile(detent.json_schema(SCHEMA) & detent.without(re.compile(pattern)), VOCABULARY)
    choose = random.Random(pattern)
    for start in (b"", b'{"a":"ab cabd', b'{"a": "", "bio": "b'):
        matcher = guide.matcher()
        matcher.advance_bytes(start)
        for _ in range(6):
            allowed = matcher.allowed().tolist()
            assert allowed == tried(matcher), [TEXTS[token] for token in {*allowed} ^ {*tried(matcher)}]
            plain = [token for token in allowed if token < len(TOKENS) and TEXTS[token].isalpha()]
            token = choose.choice(plain if plain and choose.random() < 0.8 else allowed)
            matcher.advance(token)
            if matcher.is_finished:
                break


def test_masks_need_no_state_for_each_text() -> None:
    """Each mask by states would add some 20,000; the limit is reached after a few."""
    pattern = "|".join(f"{one}.{{12}}{other}" for one, other in ("ab", "bc", "cd", "da"))
    rule = detent.json_schema(SCHEMA) & detent.without(re.compile(pattern))
    guide = detent.compile(rule, VOCABULARY, limits=detent.Limits(states=8_000))
    matcher, choose = guide.matcher(), random.Random(1)
    matcher.advance_bytes(b'{"a":"')
    for _ in range(40):
        letters = [token for token in matcher.allowed().tolist() if token < len(TOKENS) and TEXTS[token].isalpha()]
        matcher.advance(choose.choice(letters))


def refused(text: str, pattern: str) -> bool:
    return re.search(pattern, text, re.DOTALL) is not None


@pytest.mark.parametrize(
    "pattern", ["a.{10}b", 'a.{8}"', "a.{12}b|b.{11}c|c.{12}d", '[ab].{6}[",:]', "a.{4}[}]|b.{6}e"]
)
def test_of_the_last_tokens_those_remain_that_fit(pattern: str) -> None:
    """With three tokens left inside the last string, a text of letters may follow if a quote and a brace may."""
    guide = detent.compile(detent.json_schema(SCHEMA) & detent.without(re.compile(pattern)), VOCABULARY)
    choose = random.Random(pattern)
    letters = [token for token in range(len(TOKENS)) if TEXTS[token].isalpha() and TEXTS[token].isascii()]
    compared = 0
    for _ in range(30):
        text = '{"a":"","bio":"' + "".join(choose.choices("abcdio ", k=choose.randrange(20)))
        if refused(text + '"}', pattern):
            continue
        begin = [b"{", b'"', b"a", b'":"', b'","bio":"']
        matcher = guide.matcher(len(begin) + 3)
        for part in begin:
            matcher.advance(TEXTS.index(part))
        try:
            matcher.advance_bytes(text[len(b"".join(begin)) :].encode())
        except detent.StateError:  # these bytes are searched by states
            continue
        allowed = {*matcher.allowed().tolist()}  # and those that other tokens may follow, such as a letter with a quote
        expected = [token for token in letters if not refused(text + TEXTS[token].decode() + '"}', pattern)]
        assert not [TEXTS[token] for token in expected if token not in allowed], text
        compared += 1
    assert compared > 3


@pytest.mark.parametrize("pattern", PATTERNS)
def test_texts_end_in_time(pattern: str) -> None:
    guide = detent.compile(detent.json_schema(SCHEMA) & detent.without(re.compile(pattern)), VOCABULARY)
    choose = random.Random(pattern)
    for max_tokens in range(12, 40, 3):
        matcher, text = guide.matcher(max_tokens), b""
        while not matcher.is_finished:
            allowed = matcher.allowed().tolist()
            assert allowed, (max_tokens, text)
            letters = [token for token in allowed if token < len(TOKENS) and TEXTS[token].isalpha()]
            token = choose.choice(letters if letters and choose.random() < 0.7 else allowed)
            matcher.advance(token)
            text += TEXTS[token] if token < len(TOKENS) else b""
        assert not refused(text.decode(), pattern)

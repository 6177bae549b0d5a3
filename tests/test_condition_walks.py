"""Masks of texts without words, against all tokens tried one by one: strings, whose masks are those of conditions."""

from __future__ import annotations

import random
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

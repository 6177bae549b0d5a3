"""Budgets inside JSON strings: tokens grouped by the state after them, against the table of all states."""

from __future__ import annotations

from random import Random
from typing import Literal

import pytest

import detent

_BYTES = [bytes([byte]) for byte in range(256)]
_PUNCTUATION = [b'{"', b'":', b'": ', b'","', b'", "', b'"}', b'":"', b'": "', b'""', b'"a', b'a"', b'ab",']
_LETTERS = [b"ab", b"ba", b"abc", b"aaaa", b"bcab", b"nam", b"ame", b"name", b'name":', b"size", b"siz"]
_BEYOND_ASCII = ["é".encode(), "aé".encode(), b"a\xc3", b"\xa9b", b"ab\xf0\x9f", b"\x98\x80", b'\xa9"']
_ESCAPES = [
    b"\\n",
    b"\\u",
    b"a\\",
    b"ab\\u00",
    b"\\u0",
    b'\\"',
    b'n"',
    b'\\""',
    b"\\ud83d",
    b"\\ude00",
    b"09",
    b"\\u00",
]
_VOCABULARIES = {
    "letters": _PUNCTUATION + _LETTERS,
    "letters alone": [b"a", *_LETTERS[:5], b"nam", b"name", b"siz", b"ba" * 3],
    "beyond ASCII": _PUNCTUATION + _LETTERS + _BEYOND_ASCII,
    "cut characters": [
        b"\xe1",
        b"aa\xe2",
        b'\x80\x80"',
        b"a\xf0\x9f",
        b'\x98\x80bb"',
    ],  # the same may follow \xe1 and \xe2
    "escapes": _PUNCTUATION + _LETTERS + _BEYOND_ASCII + _ESCAPES,
    "long": [*_PUNCTUATION, *(b"a" * length for length in range(2, 50)), b"a" * 40 + b'"', b"a" * 40 + b"\xc3"],
}
_SHORT = {"type": "string", "maxLength": 3}
_SCHEMAS = {
    "any": {"type": "string"},
    "at most": {"type": "string", "maxLength": 5},
    "at least": {"type": "string", "minLength": 3},
    "between": {"type": "string", "minLength": 2, "maxLength": 4},
    "exactly": {"type": "string", "minLength": 3, "maxLength": 3},
    "of a set": {"type": "string", "pattern": "^[ab\\u00e9]{1,6}$"},
    "of a set without bounds": {"type": "string", "pattern": "^[ab]+$"},
    "long": {"type": "string", "minLength": 35, "maxLength": 45},
    "alternatives": {"anyOf": [_SHORT, {"enum": ["name", "abcabcab", "ab"]}]},
    "not": {"type": "string", "not": {"enum": ["a", "ab", "name"]}},
    "not, bounded": {"type": "string", "maxLength": 4, "not": {"enum": ["ab", "name"]}},
    "two members": {
        "properties": {"a": {"type": "string"}, "name": _SHORT},
        "required": ["a", "name"],
        "additionalProperties": False,
    },
    "free names": {
        "properties": {"name": {"const": 0}, "size": {"const": 1}},
        "required": ["size"],
        "additionalProperties": {"type": "string"},
    },
    "names of a kind": {"patternProperties": {"^[ab]{1,4}$": {"const": 0}}, "additionalProperties": False},
}


def _vocabulary(tokens: list[bytes]) -> detent.Vocabulary:
    every = list(dict.fromkeys([*tokens, *_BYTES]))
    return detent.Vocabulary([*every, b""], eos_token_ids=[len(every)])


@pytest.mark.parametrize("spelling", ["written", "any"])
@pytest.mark.parametrize("words", _VOCABULARIES)
@pytest.mark.parametrize("name", _SCHEMAS)
def test_masks_inside_strings_are_those_of_the_table(
    name: str, words: str, spelling: Literal["written", "any"]
) -> None:
    vocabulary = _vocabulary(_VOCABULARIES[words])
    schema = {"type": "object", **_SCHEMAS[name]} if "roperties" in str(_SCHEMAS[name]) else _SCHEMAS[name]
    language = detent.json_schema(schema, spelling=spelling, whitespace=" ?")
    guide = detent.compile(language, vocabulary)
    table = guide.to_table()
    rng = Random(f"{name} {words}")
    least = language.min_tokens(vocabulary)
    for tokens in [*range(least, least + 5), least + 12]:
        for _ in range(3):
            ours, theirs, text = guide.matcher(tokens), table.matcher(tokens), b""
            while not ours.is_finished:
                allowed = ours.allowed()
                assert allowed.tolist() == theirs.allowed().tolist(), (tokens, text)
                longest = rng.random() < 0.3
                by_length = max(allowed, key=lambda each: len(vocabulary.token_bytes(each)))
                token = by_length if longest else rng.choice(allowed)
                text += vocabulary.token_bytes(token)
                ours.advance(token)
                theirs.advance(token)

"""Strings that a pattern excludes, which lacks some letter: masks against all short texts."""

from __future__ import annotations

import json
import re
from itertools import product
from random import Random

import pytest

import detent

_LETTERS = "abcd"  # "d" stands for all letters that no pattern names
_PARTS = ["a", "b", "ab", "[ab]", "[^c]", "[^cd]", "[^a]", "[^ab]", r"[\s\S]"]
_EXCLUDED = [
    [r"a[\s\S]*"],
    [r"(?:a|b)(?:[^c]|c)*"],
    ["a[^c]*", r"b[\s\S]*"],
    [r"[ab]{2}(?:[\s\S]{2})*[\s\S]?"],
    ["a(?:[ab]c?)*", "[^cd]*"],
    ["[^c]*", "[^d]*"],
    ["a[^c]*", "a[^b]*c[^b]*"],
]


def _pattern(rng: Random, depth: int) -> str:
    if depth == 0 or rng.random() < 0.2:
        return rng.choice(_PARTS)
    parts = [_pattern(rng, depth - 1) for _ in range(rng.randint(1, 3))]
    made = rng.choice(["", "|"]).join(parts)
    return f"(?:{made}){rng.choice(['', '*', '*', '?', '+', '{2,3}', '{0,4}'])}"


def _texts(length: int) -> list[str]:
    return ["".join(text) for size in range(length + 1) for text in product(_LETTERS, repeat=size)]


@pytest.mark.parametrize("seed", range(len(_EXCLUDED) + 20))
def test_masks_of_strings_without_those_of_patterns(seed: int) -> None:
    rng = Random(seed)
    excluded = [_pattern(rng, 2) for _ in range(rng.randint(1, 2))]
    if seed < len(_EXCLUDED):
        excluded = _EXCLUDED[seed]
    longest = 7  # of the texts, some of which complete each token
    kept = [t for t in _texts(longest) if not any(re.fullmatch(pattern, t) for pattern in excluded)]
    tokens = [t for t in _texts(2) if t] + ['"', *(f'{letter}"' for letter in _LETTERS)]
    others = [bytes([byte]) for byte in range(256) if chr(byte) not in tokens]
    vocabulary = detent.Vocabulary([*(t.encode() for t in tokens), *others, b""], eos_token_ids=[256 + 16 + 4])
    rule = {"type": "string", "not": {"anyOf": [{"pattern": f"^(?:{pattern})$"} for pattern in excluded]}}
    try:
        guide = detent.compile(detent.json_schema(rule), vocabulary)
    except detent.EmptyLanguageError:
        assert not kept
        return
    prefixes = {f'"{t}"'[:size] for t in kept for size in range(longest + 3)}
    for text in _texts(2):
        if f'"{text}' not in prefixes:
            continue
        matcher = guide.matcher()
        for byte in f'"{text}':
            matcher.advance(tokens.index(byte))
        allowed = {token for token in matcher.allowed().tolist() if token < len(tokens)}
        assert allowed == {k for k, each in enumerate(tokens) if f'"{text}{each}' in prefixes}, (excluded, text)


def test_one_mask_of_strings_that_are_no_uri() -> None:
    tokens = ["h", "t", "http", "://", "e", ".", " ", '"', 'e"', ' "', 'e.e"', "%", "{"]
    others = [bytes([byte]) for byte in range(256) if chr(byte) not in tokens]
    texts = [*(t.encode() for t in tokens), *others]
    vocabulary = detent.Vocabulary([*texts, b""], eos_token_ids=[len(texts)])
    guide = detent.compile(detent.json_schema({"type": "string", "not": {"format": "uri"}}), vocabulary)
    matcher = guide.matcher()
    for token in ['"', "http", "://"]:
        matcher.advance(tokens.index(token))
    allowed = {tokens[token] for token in matcher.allowed().tolist() if token < len(tokens)}
    is_uri = detent.json_schema({"type": "string", "format": "uri"}).accepts
    assert allowed == {
        token for token in tokens if not token.endswith('"') or not is_uri(json.dumps(f"http://{token[:-1]}").encode())
    }

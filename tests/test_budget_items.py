"""Token limits in lists of distinct items, by all texts: a token may end an item and begin the next one."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest

import detent

_BYTES = [bytes([byte]) for byte in b'[],truef"alsn1{}:b']
_LONGER = [b"],[", b"[],", b"true,true", b"tru", b'","', b'","a', b"1,1", b"},{", b",[", b"[true"]


def _arrays(item: str, most: int) -> list[str]:
    return ["[" + ",".join([item] * count) + "]" for count in range(most + 1)]


_ITEMS: dict[str, tuple[Any, list[str]]] = {
    "arrays": ({"type": "array", "items": {"const": True}, "maxItems": 2}, _arrays("true", 2)),
    "longer arrays": ({"type": "array", "items": {"const": 1}, "maxItems": 3}, _arrays("1", 3)),
    "strings": ({"type": "string", "pattern": "^a{0,2}$"}, ['""', '"a"', '"aa"']),
    "values": ({"enum": ["", "a", "ab", 1, 11]}, ['""', '"a"', '"ab"', "1", "11"]),
    "objects": (
        {"type": "object", "properties": {"a": {"const": 1}, "b": {"const": 11}}, "additionalProperties": False},
        ["{}", '{"a":1}', '{"b":11}', '{"a":1,"b":11}'],
    ),
}


def _fewest(items: list[str], tokens: list[bytes], most: int) -> dict[bytes, int]:
    """Return how many tokens complete each beginning of a list, by all lists and all tokens."""
    fewest: dict[bytes, int] = {}
    for count in range(most + 1):
        for chosen in itertools.permutations(items, count):
            text = f"[{','.join(chosen)}]".encode()
            left = {len(text): 0}
            for start in reversed(range(len(text))):
                after = [left[start + len(token)] for token in tokens if text.startswith(token, start)]
                left[start] = 1 + min(after)
            for start, number in left.items():
                fewest[text[:start]] = min(number, fewest.get(text[:start], number))
    return fewest


@pytest.mark.parametrize("longer", [[], _LONGER], ids=["bytes", "longer tokens"])
@pytest.mark.parametrize("name", _ITEMS)
def test_each_token_that_fits(name: str, longer: list[bytes]) -> None:
    """Every token of a mask leaves a completion that fits. With single bytes, each such token is in the mask."""
    schema, items = _ITEMS[name]
    tokens, most = [*_BYTES, *longer], 4
    list_of = {"type": "array", "uniqueItems": True, "items": schema, "maxItems": most}
    vocabulary = detent.Vocabulary([*tokens, b""], eos_token_ids=[len(tokens)])
    guide = detent.compile(detent.json_schema(list_of, whitespace="compact"), vocabulary)
    fewest = _fewest(items, tokens, most)
    for seed in range(60):
        rng = random.Random(seed)
        left, text = rng.randint(2, 20), b""
        matcher = guide.matcher(left)
        while not matcher.is_finished:
            allowed = {int(token) for token in matcher.allowed() if token < len(tokens)}
            fitting = {i for i, token in enumerate(tokens) if fewest.get(text + token, left) < left}
            assert allowed <= fitting if longer else allowed == fitting, (text, left)
            if not allowed:
                assert len(tokens) in matcher.allowed()
                break
            token = rng.choice(sorted(allowed))
            matcher.advance(token)
            text, left = text + tokens[token], left - 1

"""Objects of hundreds of members in any order: each list of members that are left is stored, and must stay as it is."""

from __future__ import annotations

from random import Random

import pytest

import detent

_NAMES = [f"m{index:03}" for index in range(700)]
_MEMBERS = [f'"{name}":1'.encode() for name in _NAMES]
_TOKENS = [*_MEMBERS, b"{", b"}", b",", *(bytes([byte]) for byte in b'"m0123456789:')]


def _object(count: int, required: int) -> detent.Language:
    names = _NAMES[:count]
    schema = {
        "type": "object",
        "properties": {name: {"const": 1} for name in names},
        "required": names[:required],
        "additionalProperties": False,
    }
    return detent.json_schema(schema, order="any", whitespace=None)


@pytest.mark.parametrize("is_evicted", [False, True])
@pytest.mark.parametrize(("count", "required"), [(700, 0), (300, 3), (255, 0), (254, 1), (90, 2)])
def test_the_members_that_are_left(count: int, required: int, is_evicted: bool) -> None:
    rng = Random(count)
    vocabulary = detent.Vocabulary([*_TOKENS, b""], eos_token_ids=[len(_TOKENS)])
    guide = detent.compile(_object(count, required), vocabulary)
    members = range(len(_MEMBERS))
    for _ in range(3):
        matcher = guide.matcher()
        matcher.advance(_TOKENS.index(b"{"))
        left = set(range(count))
        for _ in range(min(count, 40)):
            assert {token for token in matcher.allowed().tolist() if token in members} == left
            if is_evicted and rng.random() < 0.2:
                guide._machine().renew()
            chosen = rng.choice(sorted(left))
            matcher.advance(chosen)
            left.remove(chosen)
            is_complete = left.isdisjoint(range(required))
            assert (_TOKENS.index(b"}") in matcher.allowed().tolist()) == is_complete
            if not left:
                break
            matcher.advance(_TOKENS.index(b","))

"""Budgets of languages with very many unions of alternatives, against distances that plain Python computes."""

from __future__ import annotations

from random import Random
from typing import TypeAlias

import pytest

import detent
from tests.support.long_tests import mostly_long
from tests.support.shared_data import needs_shared, real_vocabulary

_PATTERNS = [(letter, 4 + count) for count, letter in enumerate("abcdefgh")]
"""A letter, and the number of characters from there to the end of the text: an exclamation mark."""
_EXPRESSION = f"(?:{'|'.join(f'[^!]*{letter}[^!]{{{count}}}' for letter, count in _PATTERNS)})!"
_LOOP, _END = (-1, 0), (-2, 0)
Position: TypeAlias = "tuple[int, int]"  # a pattern, and the characters left; or one of these two
State: TypeAlias = "frozenset[tuple[Position, bytes]]"  # each with the bytes of a character that is cut off
_START: State = frozenset([(_LOOP, b"")])


def _after_character(position: Position, character: str) -> list[Position]:
    index, left = position
    if position == _END:
        return []
    if character == "!":
        return [_END] if position != _LOOP and left == 0 else []
    if position != _LOOP:
        return [(index, left - 1)] if left > 0 else []
    return [_LOOP, *((i, count) for i, (letter, count) in enumerate(_PATTERNS) if letter == character)]


def _after(state: State, token: bytes) -> State:
    for byte in token:
        following = set()
        for position, partial in state:
            whole = partial + bytes([byte])
            if whole == b"\xc3":
                if _after_character(position, "é"):
                    following.add((position, whole))
            elif whole == b"\xc3\xa9" or whole[0] < 0x80:
                following |= {(after, b"") for after in _after_character(position, whole.decode())}
        state = frozenset(following)
    return state


def _distances(tokens: list[bytes]) -> dict[tuple[Position, bytes], int]:
    """Return for each position the fewest tokens that complete it."""
    positions = {_LOOP, _END, *((i, left) for i, (_, count) in enumerate(_PATTERNS) for left in range(count + 1))}
    steps = {
        at: {after for token in tokens for after in _after(frozenset([at]), token)}
        for at in ((position, partial) for position in positions for partial in (b"", b"\xc3"))
    }
    fewest = {(_END, b""): 0}
    for count in range(1, 20):
        fewest |= {at: count for at, after in steps.items() if at not in fewest and after & fewest.keys()}
    return fewest


@pytest.mark.parametrize("seed", mostly_long(range(12), always=3))
def test_masks_of_unions(seed: int) -> None:
    rng = Random(seed)
    cut = {"".join(rng.choices("abcdefghé!", [4] * 8 + [5, 1], k=rng.randrange(2, 9))).encode() for _ in range(400)}
    cut |= {token[:-1] for token in cut if token.endswith("é".encode())}
    cut |= {b"\xa9" + token for token in rng.sample(sorted(cut), 20)}
    every = [bytes([byte]) for byte in range(256)] + sorted(cut)
    vocabulary = detent.Vocabulary([*every, b""], eos_token_ids=[len(every)])
    tokens = {i: token for i, token in enumerate(every) if set(token) <= set("abcdefghé!".encode())}
    fewest = _distances(list(tokens.values()))
    guide = detent.compile(detent.regex(_EXPRESSION), vocabulary)
    for budget in (3, 4, 6, 9):
        matcher, state = guide.matcher(budget), _START
        for left in range(budget, 0, -1):
            after = {i: _after(state, token) for i, token in tokens.items()}
            expected = {i for i, positions in after.items() if min((fewest[at] for at in positions), default=99) < left}
            assert set(matcher.allowed().tolist()) & tokens.keys() == expected
            if not expected:
                break
            taken = rng.choice(sorted(expected))
            matcher.advance(taken)
            state = after[taken]
        assert (_END, b"") in state


@needs_shared
@pytest.mark.parametrize("name", ["gpt2", "starcoder"])
@pytest.mark.parametrize(("growth", "rounds"), [(4, "*"), (3, "{2,9}")])
def test_advance_takes_each_token_of_a_mask(name: str, growth: int, rounds: str) -> None:
    """In rounds of alternatives, few tokens before the limit, each alternative may end a round or begin the next."""
    alternatives = "|".join(f".*{letter}.{{{1 + growth * i}}}" for i, letter in enumerate("abcdef"))
    guide = detent.compile(detent.regex(f"(?:{alternatives}){rounds};"), real_vocabulary(name))
    for seed in range(4):
        rng = Random(seed)
        for budget in (3, 4, 5, 6, 8):
            matcher = guide.matcher(budget)
            while not matcher.is_finished:
                allowed = matcher.allowed().tolist()
                for token in rng.sample(allowed, min(60, len(allowed))):
                    matcher.fork().advance(token)
                matcher.advance(rng.choice(allowed))

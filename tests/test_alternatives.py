"""Masks of states that have very many unions of alternatives, beside the naive method: each token, byte by byte.

A walk follows alternatives instead of their unions once it has done much work, leaves out alternatives whose texts
another one has, and keeps the rest of a character whole. The oracle asks for each token whether its bytes may follow;
these steps take transition rows of unions, and none of the above.
"""

from __future__ import annotations

import random
import re
from itertools import product

import pytest

import detent
from detent import _core

NAMES = r"^(?!.*://)(?=.{1,60}$)((.{1,9}\.){1,12}(?![0-9]*$)[a-z0-9-]+\.?)$"
CHARACTERS = "".join(f"{chr(at)}-{chr(at + 2)}" for at in range(0xC0, 0x3000, 7))  # some 1,700 ranges
PATTERNS = {
    "labels in rounds": NAMES,
    "labels in other rounds": r"^(([a-z]{1,7}-){0,5}[a-z]{2,4}\.){2,9}[a-z]{3}$",
    "rounds in rounds": r"^((a{1,3}|b){2,5}\.?){3,8}$",
    "rounds without bounds": r"^(?!.*//)(.{2,}[.:]){1,9}.{0,3}$",
    "bounds of both kinds": r"^(?=.{5,9}$|.{20,30}$)(.{0,4}\.|.{6}-){0,6}$",
    "alternatives that do not contain each other": "|".join(f".*{chr(97 + at)}.{{{at + 5}}}" for at in range(9)),
    "long texts after each": "|".join(f"[a-z.]*{one}[a-z.]{{{at}}}{'[a-z]' * 90}[.z]" for at, one in enumerate("abez")),
    "many ranges": f"^[{CHARACTERS}]([{CHARACTERS}a-z.]{{1,9}}\\.){{1,6}}$",
    "many ranges, and others": f"^([{CHARACTERS}]{{1,5}}[a-m]|[\u0400-\u0450a-z]{{2,7}}\\.){{1,9}}$",
}


def vocabulary() -> detent.Vocabulary:
    choose = random.Random(0)
    letters = ["a", "b", "z", "e", ".", "-", ":", "/", "0", " ", "\u00c1", "\u0410", "\u2fff", "\U0001f600"]
    tokens = {"".join(part).encode() for count in (1, 2, 3) for part in product(letters[:12], repeat=count)}
    tokens |= {
        (one * count).encode() for one in (".", "a.", "ab.", "-", "a", "\u0410.", "::") for count in range(2, 30)
    }
    tokens |= {"".join(choose.choices(letters, k=choose.randint(4, 24))).encode() for _ in range(1500)}
    tokens |= {"".join(choose.choices("ab.", k=choose.randint(4, 30))).encode() for _ in range(500)}
    tokens |= {text.encode()[:-1] for text in ("\u0410", "a\u2fff", "..\U0001f600")}
    every = [*sorted({*tokens, *(bytes([byte]) for byte in range(256))}), b""]
    return detent.Vocabulary(every, eos_token_ids=[len(every) - 1])


VOCABULARY = vocabulary()
TOKENS = [(VOCABULARY.token_bytes(i), i) for i in range(len(VOCABULARY)) if i not in VOCABULARY.eos_token_ids]


def allowed_by_steps(matcher: detent.Matcher) -> list[int]:
    """Return the ids whose bytes may follow, one byte after the other."""
    allowed = [] if not matcher.is_accepting else [*VOCABULARY.eos_token_ids]
    live = {b""}
    for token, token_id in TOKENS:
        for end in range(1, len(token) + 1):
            if token[:end] in live:
                continue
            fork = matcher.fork()
            try:
                _core.Matcher.advance_bytes(fork, token[:end])  # without a message that names thousands of ranges
            except detent.StateError:
                break
            live.add(token[:end])
        else:
            allowed.append(token_id)
    return sorted(allowed)


@pytest.mark.parametrize("spelling", ["text", "JSON string"])
@pytest.mark.parametrize("name", PATTERNS)
def test_masks_of_many_alternatives_are_those_of_single_steps(name: str, spelling: str) -> None:
    pattern = PATTERNS[name]
    language = (
        detent.regex(pattern) if spelling == "text" else detent.json_schema({"pattern": pattern, "type": "string"})
    )
    guide = detent.compile(language, VOCABULARY)
    choose = random.Random(name)
    for _ in range(2):
        matcher = guide.matcher()
        for _ in range(5):
            allowed = sorted(matcher.allowed())
            assert allowed == allowed_by_steps(matcher)
            continuations = [token for token in allowed if token not in VOCABULARY.eos_token_ids]
            if not continuations:
                break
            longer = [token for token in continuations if len(VOCABULARY.token_bytes(token)) > 3]
            matcher.advance(choose.choice(longer or continuations))


def test_masks_of_many_optional_words_are_those_of_single_steps() -> None:
    words = random.Random(1).choices(["a", "b", "ab", "ba", ".", "a.", "b.", "z", "ez"], k=120)
    optional = "".join(f"(?:{re.escape(word)})?" for word in words)
    matcher = detent.compile(detent.regex(optional), VOCABULARY).matcher()
    for token in (b"a", b"ab.", b"z"):
        assert sorted(matcher.allowed()) == allowed_by_steps(matcher)
        matcher.advance(next(token_id for text, token_id in TOKENS if text == token))


def test_a_walk_with_more_sets_than_it_remembers() -> None:
    """Sets of 2^15 nodes, with a transition for each of some 200 byte classes, exceed the 16 MB of a walk."""
    words = ["".join(letters) for letters in product("ab", repeat=14)]
    tokens = [*(bytes([byte]) for byte in range(256)), *(f"{word}c".encode() for word in words)]
    pairs = "|".join(re.escape(chr(at) + chr(at + 1)) for at in (*range(0x21, 0x60), *range(0xA0, 0xFF)))
    guide = detent.compile(
        detent.regex(f"[ab]*a[ab]{{12}}c|[ab]*b[ab]{{13}}cc|{pairs}"),
        detent.Vocabulary([*tokens, b""], eos_token_ids=[len(tokens)]),
    )
    begins = re.compile(rb"[ab]*(a[ab]{12}|b[ab]{13})c|[ab!-_\xc2\xc3]", re.DOTALL)
    assert guide.matcher().allowed().tolist() == [i for i, token in enumerate(tokens) if begins.fullmatch(token)]

"""Small vocabularies and constraints that every implementation of tables is walked through."""

from __future__ import annotations

import random

import detent

_TOKENS = [bytes([byte]) for byte in range(256)]
_TOKENS += [b"ab", b"ba", b"aaaa", b"11", b"ab", b" a", "é".encode(), b'","', b"xy"]

WITH_END = detent.Vocabulary([*_TOKENS, b"</s>", b""], eos_token_ids=[len(_TOKENS)], size=300)
TWO_ENDS = detent.Vocabulary([b"<e>", *_TOKENS, b"<f>"], eos_token_ids=[0, len(_TOKENS) + 1])
FEW_BYTES = detent.Vocabulary([b"ab", b"b", b"aab", b"x", b"yy", b"1", b""], eos_token_ids=[6])
VOCABULARIES = {"with end": WITH_END, "two ends": TWO_ENDS, "few bytes": FEW_BYTES}

PATTERNS = ["(ab)+", "a{1,30}b", "(a|b)*a(a|b){5}", "x|yy|xyxy", "(?:ab|x){2,4}1*", "(aab)*", "[a-z1]{0,12}"]


def random_pattern(rng: random.Random) -> str:
    """Return a pattern over a, b, x, 1; of bounded size, mostly with few states."""
    parts = ["a", "b", "ab", "x", "1", "[ab]", "[^a]"]
    for _ in range(rng.randint(2, 6)):
        one, other = rng.choice(parts), rng.choice(parts)
        parts.append(
            rng.choice(
                [f"{one}{other}", f"(?:{one}|{other})", f"(?:{one})*", f"(?:{one}){{1,3}}", f"(?:{one})?{other}"]
            )
        )
    return parts[-1]


def random_tables(
    vocabulary: detent.Vocabulary, seed: int, count: int
) -> list[tuple[detent.Guide, detent.tables.TokenDfa]]:
    """Return guides of random languages that the vocabulary can write, and their tables."""
    rng = random.Random(seed)
    found = []
    while len(found) < count:
        try:
            guide = detent.compile(detent.regex(random_pattern(rng)), vocabulary)
        except detent.EmptyLanguageError:
            continue
        found.append((guide, guide.to_table()))
    return found

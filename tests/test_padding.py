"""Grammars without the matches of patterns that count: which texts go on is found by padding (automaton/padding.h)."""

from __future__ import annotations

import itertools
import random
import re
from functools import cache

import pytest

import detent
from detent.sources.grammar import gbnf

WINDOW = 8  # letters; no match needs more
TOKENS = ["".join(letters) for size in (1, 2, 3) for letters in itertools.product("abx", repeat=size)] + [
    "!",
    "b!",
    "!b",
]
PADDED = [
    "a.{4}b",  # the padding is xxxxx, and leaves .*a.{4}b
    "a.{4}[bx]|b.{6}a",  # no letter is safe for all
    "a(?:xx){2,3}b",
    "[ab].{4}!",  # the end of the free text may be excluded
    "a.{4}b|b.{5}x",
    "(?:a|b)*x[ab]{4}b",  # reset by one letter
    "!b.{4}",  # what must come
    "[abx].{4}!",  # no padding: after five letters, none is live
    "a.{4}!|b.{4}!",
    ".{5}b!",  # padding leaves the matches
]
ENDS = {"!bb": r"!b(?:bb)*b", "!": r"!(?:bb)*", "!b|!aba": r"!(?:b|aba)(?:bb)*"}


def grammar(end: str) -> detent.Language:
    """Any letters, one of some ends, then an even number of b: a rule that calls itself."""
    ends = " | ".join(f'"{each}"' for each in end.split("|"))
    return gbnf(f'root ::= [abx]* ({ends}) even\neven ::= "" | "b" even "b"')


@cache
def is_live(text: str, end: str, pattern: str) -> bool:
    """Whether some text goes on: by trying every next letter. Only the last letters matter to the patterns."""
    if text.count("!") > 1:
        return False
    if "!" in text:
        letters, _, rest = text.rpartition("!")
        return any(tail.startswith("!" + rest) and allows(letters, tail, pattern) for tail in tails(end))
    dead = known_dead(end, pattern)
    seen, pending = {text[-WINDOW:]}, [text[-WINDOW:]]
    while pending:
        letters = pending.pop()
        if letters in dead:
            continue
        if is_live(letters + "!", end, pattern):
            return True
        for letter in "abx":
            after = (letters + letter)[-WINDOW:]
            if after not in seen and allows(letters, letter, pattern):
                seen.add(after)
                pending.append(after)
    dead |= seen
    return False


@cache
def known_dead(end: str, pattern: str) -> set[str]:
    """The last letters of texts without an end, filled by is_live."""
    return set()


@cache
def tails(end: str) -> list[str]:
    every = ("!" + "".join(tail) for size in range(8) for tail in itertools.product("ab", repeat=size))
    return [tail for tail in every if re.fullmatch(ENDS[end], tail)]


@cache
def allows(letters: str, added: str, pattern: str) -> bool:
    """Whether no match ends in what is added."""
    if len(letters) > WINDOW:
        return allows(letters[-WINDOW:], added, pattern)
    window = letters + added
    return not any(
        re.search(f"(?:{pattern})$", window[:length], re.DOTALL)
        for length in range(len(window) - len(added) + 1, len(window) + 1)
    )


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("pattern", PADDED)
def test_masks_of_grammars_without_counted_matches(pattern: str, end: str) -> None:
    vocabulary = detent.Vocabulary([*(token.encode() for token in TOKENS), b""], eos_token_ids=[len(TOKENS)])
    guide = detent.compile(grammar(end) & detent.without(re.compile(pattern, re.DOTALL)), vocabulary)
    rng = random.Random(f"{pattern} {end}")
    for _ in range(4):
        matcher, text = guide.matcher(), ""
        for _ in range(12):
            allowed = [each for each in matcher.allowed() if each < len(TOKENS)]
            assert [TOKENS[each] for each in allowed] == [
                token
                for token in TOKENS
                if all(allows(text, token[:size], pattern) for size in range(1, len(token) + 1))
                and is_live((text + token)[-2 * WINDOW :], end, pattern)
            ], text
            if not allowed or "!" in text:
                break
            token = rng.choice([each for each in allowed if "!" not in TOKENS[each]] or allowed)
            matcher.advance(int(token))
            text += TOKENS[token]


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("pattern", PADDED)
def test_texts_end_in_time(pattern: str, end: str) -> None:
    """The padding is part of the bound on a completion: random walks by masks end before the tokens are spent."""
    vocabulary = detent.Vocabulary([*(token.encode() for token in TOKENS), b""], eos_token_ids=[len(TOKENS)])
    guide = detent.compile(grammar(end) & detent.without(re.compile(pattern, re.DOTALL)), vocabulary)
    rng = random.Random(f"{pattern} {end}")
    for max_tokens in range(4, 14):
        matcher, text = guide.matcher(max_tokens), ""
        while len(TOKENS) not in (allowed := [int(each) for each in matcher.allowed()]):
            assert allowed, (max_tokens, text)
            token = rng.choice([each for each in allowed if "!" not in TOKENS[each]] or allowed)
            matcher.advance(token)
            text += TOKENS[token]
        assert re.fullmatch(f"[abx]*{ENDS[end]}", text)
        assert not re.search(pattern, text, re.DOTALL)

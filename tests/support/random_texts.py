"""Texts of a language drawn by a matcher: random tokens, structure more often than letters, the end in sight."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import detent

TOKENS = [bytes([byte]) for byte in range(256)]
TOKENS += [
    b"None",
    b"True",
    b"', '",
    b"{'",
    b"': ",
    b'": ',
    b'{"',
    b"=",
    b"()",
    b")]",
    b"null",
    b"</",
    b"tool_call>",
    b"[[",
]
VOCABULARY = detent.Vocabulary([*TOKENS, b""], eos_token_ids=[len(TOKENS)])
_STRUCTURE = frozenset("'\\\"()=,[]{}:0123456789<>/ab ")


def texts(language: detent.Language, count: int, seed: int = 0, extra: int = 40) -> Iterator[str]:
    """Yield random texts of at most `extra` tokens more than the shortest."""
    guide, shortest, choose = detent.compile(language, VOCABULARY), language.min_tokens(VOCABULARY), Random(seed)
    for _ in range(count):
        matcher = guide.matcher(max_tokens=shortest + choose.randint(0, extra))
        text = b""
        while True:
            allowed = matcher.allowed().tolist()
            others = [token for token in allowed if token < len(TOKENS)]
            if len(others) < len(allowed) and (not others or choose.random() < 0.3):
                break
            marked = [token for token in others if token >= 256 or chr(token) in _STRUCTURE]
            token = choose.choice(marked if marked and choose.random() < 0.9 else others)
            matcher.advance(token)
            text += TOKENS[token]
        yield text.decode()

"""How typed values are tested: members are drawn, members are spoilt, and a plain reference judges both."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random

import detent

BYTES = detent.Vocabulary([bytes([byte]) for byte in range(256)] + [b""], eos_token_ids=[256])


def valid(reference: Callable[[str], object], text: str) -> bool:
    """Whether the reference takes a text; it raises ValueError if not."""
    try:
        reference(text)
    except ValueError:
        return False
    return True


def check(language: detent.Language, reference: Callable[[str], object], alphabet: str, seed: int = 0) -> None:
    """Compare verdicts and values on texts of the language, and on texts that differ a little from them."""
    rng = Random(seed)
    for text in [*draw(language, rng, 60), *walk(language, rng, 30)]:
        assert language.accepts(text), text
        assert language.parse(text) == reference(text), text
        for spoilt in spoil(text, alphabet, rng, 12):
            assert language.accepts(spoilt) == valid(reference, spoilt), spoilt


def draw(language: detent.Language, rng: Random, count: int) -> Iterator[str]:
    """Yield texts, all lengths alike."""
    longest = 48
    for _ in range(count):
        yield language.sample(rng, longest).decode()


def walk(language: detent.Language, rng: Random, count: int) -> Iterator[str]:
    """Yield texts as a model writes them that has no preference: one allowed token after the other."""
    guide = detent.compile(language, BYTES)
    for _ in range(count):
        matcher = guide.matcher()
        text = b""
        while True:
            token_id = rng.choice(matcher.allowed().tolist())
            if token_id == 256 or (len(text) > 300 and matcher.is_accepting):
                break
            matcher.advance(token_id)
            text += bytes([token_id])
        yield text.decode()


def spoil(text: str, alphabet: str, rng: Random, count: int) -> Iterator[str]:
    """Yield texts with a character replaced, dropped, put in or swapped with the next; some remain as they were."""
    for _ in range(count):
        place = rng.randrange(len(text) + 1)
        letter = rng.choice(alphabet)
        yield rng.choice(
            (
                text[:place] + letter + text[place + 1 :],
                text[:place] + text[place + 1 :],
                text[:place] + letter + text[place:],
                text[:place] + text[place : place + 2][::-1] + text[place + 2 :],
            )
        )

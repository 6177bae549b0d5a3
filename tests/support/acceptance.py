"""What a pattern accepts, found by walking the compiled guide byte by byte."""

from __future__ import annotations

from collections.abc import Iterable

import detent

BYTES = detent.Vocabulary([bytes([value]) for value in range(256)] + [b""], eos_token_ids=[256])
"""Every byte is a token, so every text can be written in exactly one way."""


def accepts(pattern: str, flags: int, texts: Iterable[str]) -> dict[str, bool]:
    """Tell for each text whether the pattern's language holds it."""
    texts = list(texts)
    try:
        guide = detent.compile(detent.regex(pattern, flags), BYTES)
    except detent.EmptyLanguageError:
        return dict.fromkeys(texts, False)
    return {text: _accepts(guide, text.encode()) for text in texts}


def _accepts(guide: detent.Guide, text: bytes) -> bool:
    matcher = guide.matcher()
    try:
        matcher.advance_bytes(text)
    except detent.StateError:
        return False
    return matcher.is_accepting


def accepted(pattern: str, flags: int, alphabet: str, longest: int) -> set[str]:
    """Give all accepted texts over an alphabet, up to a length; a prefix that is refused ends its branch."""
    try:
        guide = detent.compile(detent.regex(pattern, flags), BYTES)
    except detent.EmptyLanguageError:
        return set()
    found = set()
    pending = [("", guide.matcher())]
    while pending:
        text, matcher = pending.pop()
        if matcher.is_accepting:
            found.add(text)
        if len(text) == longest:
            continue
        for character in alphabet:
            longer = matcher.fork()
            try:
                longer.advance_bytes(character.encode())
            except detent.StateError:
                continue
            pending.append((text + character, longer))
    return found

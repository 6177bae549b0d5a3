"""Token healing: the tokens that a text begins with, however it goes on.

They are what a canonical matcher is forced to write for "this beginning, then anything". Looking back a fixed number of
tokens from the end would not do: in Llama 3, 31 tildes are four tokens, but 32 are one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from detent import _core
from detent.errors import ArgumentError, EmptyLanguageError, StateError
from detent.limits import Limits
from detent.vocabulary.loaded_tokens import shown

__all__ = ["heal_tokens"]

_TEXT = _core.repeat(_core.chars([(0, 0x10FFFF)]), 0, None)
_MOST_RECENT = 32
"""Recent tokens that count: trying them costs the square. Behind those of a split's last chunk, more change nothing."""
_ANYTHING = _core.repeat(_core.byte_set(bytes(range(256))), 0, None)


def heal_tokens(
    vocabulary: _core.Vocabulary,
    steps: _core.PretokenTransitions,
    text: bytes,
    recent: Sequence[int],
    decode: Callable[[Sequence[int]], bytes],
) -> list[int]:
    """Return the tokens that a text which begins with `text`, after as many of `recent` as fit, has behind these."""
    limits = Limits()
    recent = recent[-_MOST_RECENT:]
    for skipped in range(len(recent) + 1):
        before = recent[skipped:]
        try:
            node = _beginning(decode(before) + text)
            machine = _core.CanonicalMachine(node, vocabulary, steps, limits.states, limits.memory_bytes, limits.work)
            matcher = _core.Matcher(machine)
            for token in before:
                matcher.advance(token)
        except (StateError, EmptyLanguageError):
            continue
        return matcher.forced()
    raise ArgumentError(
        f"heal: no text begins with {shown(text)}; bytes must be the beginning of UTF-8, and of characters "
        "that the tokenizer can write"
    )


def _beginning(text: bytes) -> _core.Node:
    """Return the texts that begin so; the last character may be incomplete."""
    whole = text.decode("utf-8", "ignore").encode()
    if whole == text:
        return _core.concat([_core.literal(text), _TEXT])
    return _core.intersection([_core.concat([_core.literal(text), _ANYTHING]), _TEXT])

"""LoadedTokens, the result of a loader: one byte string for each token id, and the ids that are not text.

A loader turns one kind of tokenizer into a `LoadedTokens`; `Vocabulary` makes of them the trie that masks are made
from. The rule for every loader: the bytes of a token are what it adds to decoded text *in the middle of a text*. Where
a tokenizer writes a space before the first word (SentencePiece's dummy prefix, WordPiece), decoders strip it from the
start of a whole text; a mask continues a prompt, so the token keeps its space, and `leading_space` says so.

An unknown construct raises `VocabularyError`; nothing is guessed, since one wrong byte string makes every mask wrong.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from detent.errors import VocabularyError

if TYPE_CHECKING:
    from detent.vocabulary.attached_tokenizer import AttachedTokenizer
    from detent.vocabulary.core_encoder import CoreEncoder

__all__ = [
    "MAX_IDS",
    "MAX_TOKEN_BYTES",
    "MAX_TOTAL_BYTES",
    "RAW_REMEDY",
    "LoadedTokens",
    "by_id",
    "check_width",
    "shown",
    "token_id",
]

MAX_IDS = 1 << 21
"""Largest width of a vocabulary; the largest in use is below a million."""
MAX_TOKEN_BYTES = 1 << 16
"""Largest token; the longest in use have a few hundred bytes. Masks look this far ahead, so it must be small."""
MAX_TOTAL_BYTES = 1 << 25
"""All tokens together; the largest vocabularies in use have 3 MB."""

RAW_REMEDY = "If you know its bytes, pass them: Vocabulary(tokens=[...], eos_token_ids=[...])."


@dataclass(frozen=True)
class LoadedTokens:
    """The bytes of each id, and the facts that the source names about the ids.

    Parameters
    ----------
    tokens : list of (bytes or None)
        Bytes of each id; None where an id has no text. Special ids carry their name, for display only.
    special_token_ids : frozenset of int
        Ids that never stand for text.
    find_end_of_text : callable
        Returns the ids that end a text, none if the source does not tell. It is called only if the caller does not say,
        so that the caller's word helps where the source is wrong.
    leading_space : bool
        Whether encoding puts a space before a text that does not begin with one.
    attached : AttachedTokenizer or None
        The tokenizer itself, where it can encode.
    open_encoder : callable or None
        Gives the tokenizer in the core for that many ids, where the source says how it tokenizes.
    """

    tokens: list[bytes | None]
    special_token_ids: frozenset[int]
    find_end_of_text: Callable[[], Collection[int]] = tuple
    leading_space: bool = False
    attached: AttachedTokenizer | None = None
    open_encoder: Callable[[int], CoreEncoder] | None = None


def shown(value: object, limit: int = 60) -> str:
    """Return a short representation of any value, for messages."""
    if isinstance(value, (str, bytes)):
        text = repr(value[:limit])
        return text if len(value) <= limit else f"{text}... ({len(value)} long)"
    if isinstance(value, int) and value.bit_length() > 64:
        return f"an integer of {value.bit_length()} bits"
    if isinstance(value, (bool, int, float)) or value is None:
        return repr(value)
    return f"a {type(value).__name__}"


def token_id(value: object, what: str = "token id") -> int:
    """Read one token id: a Python or NumPy integer, never a boolean, a float or a string."""
    try:
        if not isinstance(value, bool):
            return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        pass
    raise VocabularyError(f"{what}: expected an integer, got {shown(value)}")


def check_width(width: int, what: str) -> None:
    """Raise `VocabularyError` for a width that no model has, before memory is allocated for it."""
    if width > MAX_IDS:
        raise VocabularyError(f"{what}: {shown(width)} is above the largest supported width of {MAX_IDS} ids")


def by_id(tokens: Mapping[str, int] | Iterable[tuple[object, object]], what: str) -> list[object]:
    """Return the tokens of (token, id) pairs as a list by id, with None in gaps; refuse wrong, doubled and huge ids."""
    pairs = list(tokens.items() if isinstance(tokens, Mapping) else tokens)
    ids = [pair[1] for pair in pairs]
    if set(map(type, ids)) - {int}:
        wrong = next(pair for pair in pairs if type(pair[1]) is not int)
        raise VocabularyError(f"{what}: the id of token {shown(wrong[0])} must be an integer, got {shown(wrong[1])}")
    numbers: list[int] = ids
    if not numbers:
        return []
    if min(numbers) < 0:
        raise VocabularyError(f"{what}: a token id must not be negative, got {shown(min(numbers))}")
    check_width(max(numbers) + 1, what)
    if numbers == list(range(len(numbers))):  # in order, as files usually are
        return [token for token, _ in pairs]
    listed: list[object] = [None] * (max(numbers) + 1)
    for (token, _), number in zip(pairs, numbers, strict=True):
        if listed[number] is not None:
            raise VocabularyError(f"{what}: id {number} is given to both {shown(listed[number])} and {shown(token)}")
        listed[number] = token
    return listed

"""Reading the arguments of `Vocabulary`: whatever is passed, the result is right or an error says what was found."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from detent.errors import ArgumentError, VocabularyError
from detent.vocabulary.loaded_tokens import MAX_TOKEN_BYTES, MAX_TOTAL_BYTES, by_id, check_width, shown, token_id

__all__ = ["read_end_of_text", "read_ids", "read_size", "read_tokens"]


def read_tokens(tokens: object) -> list[bytes]:
    """Return the bytes of each id as a new list, with `b""` where an id has no text."""
    if isinstance(tokens, Mapping):
        tokens = by_id([(token, token_id(number)) for number, token in tokens.items()], "tokens")
    elif not isinstance(tokens, Sequence) or isinstance(tokens, (str, bytes, bytearray, memoryview)):
        raise ArgumentError(f"tokens: expected a sequence of bytes, or a mapping from id to bytes, got {shown(tokens)}")
    if not tokens:
        raise VocabularyError("tokens: a vocabulary needs at least one token, got none")
    check_width(len(tokens), "tokens")
    if set(map(type, tokens)) - {bytes, type(None)}:
        number = next(i for i, token in enumerate(tokens) if type(token) not in (bytes, type(None)))
        raise VocabularyError(
            f"token {number}: expected bytes or None, got {shown(tokens[number])}. "
            "The bytes of a token are its text as decoded, for instance ' the'.encode()."
        )
    table: list[bytes] = [token or b"" for token in tokens]  # type: ignore[misc]  # the types were just checked
    lengths = [len(token) for token in table]
    if max(lengths) > MAX_TOKEN_BYTES:
        number = lengths.index(max(lengths))
        raise VocabularyError(f"token {number} has {max(lengths)} bytes; a token may have at most {MAX_TOKEN_BYTES}")
    if sum(lengths) > MAX_TOTAL_BYTES:
        raise VocabularyError(f"the tokens have {sum(lengths)} bytes; a vocabulary may have at most {MAX_TOTAL_BYTES}")
    return table


def read_size(size: object, tokens: int) -> int:
    """Return the width of the logits: `size`, or the number of tokens."""
    if size is None:
        return tokens
    width = token_id(size, "size")
    if width < tokens:
        raise VocabularyError(
            f"size is {shown(width)}, but the tokens reach id {tokens - 1}: logits must be as wide as the ids"
        )
    check_width(width, "size")
    return width


def read_ids(values: object, width: int, what: str) -> frozenset[int]:
    """Return a set of token ids, each below `width`."""
    if not isinstance(values, Collection) or isinstance(values, (str, bytes, Mapping)):
        raise ArgumentError(f"{what}: expected a sequence of token ids, got {shown(values)}")
    ids = frozenset(token_id(value, what) for value in values)
    for number in ids:
        if not 0 <= number < width:
            raise VocabularyError(f"{what}: {shown(number)} is not a token id; the ids are 0 to {width - 1}")
    return ids


def read_end_of_text(eos_token_ids: object, width: int) -> frozenset[int]:
    """Return the end-of-text ids; only None, said on purpose, means that there are none."""
    if eos_token_ids is None:
        return frozenset()
    told = () if isinstance(eos_token_ids, str) and eos_token_ids == "auto" else eos_token_ids
    ids = read_ids(told, width, "eos_token_ids")
    if not ids:
        raise VocabularyError(
            "nothing says which token ids end a text, so generation could not stop. Pass eos_token_ids=[...], or "
            "eos_token_ids=None if the model has none."
        )
    return ids

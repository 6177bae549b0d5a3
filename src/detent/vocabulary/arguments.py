"""Reading the arguments of `Vocabulary`: whatever is passed, the result is right or an error says what was found."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from difflib import get_close_matches

from detent.errors import ArgumentError, VocabularyError
from detent.vocabulary.loaded_tokens import MAX_TOKEN_BYTES, MAX_TOTAL_BYTES, by_id, check_width, shown, token_id

__all__ = ["read_end_of_text", "read_ids", "read_size", "read_tokens"]

_END_NAME = re.compile(r"</s>|eos|eot|end|stop", re.IGNORECASE)
_SHOWN_CANDIDATES = 5


def read_tokens(tokens: object) -> list[bytes]:
    """Return the bytes of each id as a new list, with `b""` where an id has no text."""
    if isinstance(tokens, Mapping):
        tokens = by_id([(token, token_id(number)) for number, token in tokens.items()], "tokens")
    elif not isinstance(tokens, Sequence) or isinstance(tokens, (str, bytes, bytearray, memoryview)):
        raise ArgumentError(
            f"tokens: expected a sequence of bytes, or a mapping from id to bytes, got {shown(tokens)}; "
            "Vocabulary.from_file and Vocabulary.from_transformers read tokenizers"
        )
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


def read_end_of_text(
    eos_token_ids: object, tokens: Sequence[bytes], width: int, special_token_ids: Collection[int]
) -> frozenset[int]:
    """Return the end-of-text ids of an argument: an id, a name, a sequence of these, or None for no end of text.

    A name stands for the special tokens of that name, or for the tokens of these bytes if none of them is special.
    """
    if eos_token_ids is None:
        return frozenset()
    values: object = eos_token_ids
    if isinstance(eos_token_ids, str) and eos_token_ids == "auto":
        values = ()
    elif isinstance(eos_token_ids, str) or hasattr(eos_token_ids, "__index__"):
        values = [eos_token_ids]
    if isinstance(values, Collection) and not isinstance(values, (bytes, Mapping)):
        values = [
            number
            for value in values
            for number in (_ids_of(value, tokens, special_token_ids) if isinstance(value, str) else [value])
        ]
    ids = read_ids(values, width, "eos_token_ids")
    if not ids:
        candidates = _candidates(tokens, special_token_ids)
        raise VocabularyError(
            "nothing says which token ids end a text, so generation could not stop. Pass eos_token_ids=[...], or "
            f"eos_token_ids=None if the model has none. {candidates}"
        )
    return ids


def _ids_of(name: str, tokens: Sequence[bytes], special_token_ids: Collection[int]) -> list[int]:
    """Return the ids of the special tokens of a name, or of all tokens with these bytes."""
    raw = name.encode("utf-8", "surrogatepass")
    ids = [number for number, token in enumerate(tokens) if token == raw and raw]
    if not ids:
        raise VocabularyError(
            f"eos_token_ids: the vocabulary has no token {shown(name)}. {_candidates(tokens, special_token_ids, name)}"
        )
    return [number for number in ids if number in special_token_ids] or ids


def _candidates(tokens: Sequence[bytes], special_token_ids: Collection[int], name: str = "") -> str:
    """Return a sentence that lists the special tokens nearest to a name, or those that look like an end of text."""
    names = {number: tokens[number].decode(errors="replace") for number in sorted(special_token_ids)}
    names = {number: text for number, text in names.items() if text}
    near = get_close_matches(name, names.values(), _SHOWN_CANDIDATES) if name else []
    chosen = [number for number, text in names.items() if text in near]
    chosen += [number for number, text in names.items() if number not in chosen and _END_NAME.search(text)]
    chosen += [number for number in names if number not in chosen]
    if not chosen:
        return "It has no special tokens."
    listed = ", ".join(f"{shown(names[number], 24)} ({number})" for number in chosen[:_SHOWN_CANDIDATES])
    return f"Its special tokens are {listed}{', ...' if len(chosen) > _SHOWN_CANDIDATES else ''}"

"""`tokenizations`: every token sequence whose bytes join to a word.

A word of n bytes has up to 2**(n-1) tokenizations, so they are yielded one at a time, the shortest first. A table says
for each position in the word and each number of tokens whether that many tokens can cover the rest, so that the search
never fails.
"""

from __future__ import annotations

from collections.abc import Iterator

from detent.errors import ArgumentError
from detent.suggestions import suggests_names
from detent.vocabulary.loaded_tokens import shown
from detent.vocabulary.vocabulary import Vocabulary

__all__ = ["tokenizations"]


@suggests_names
def tokenizations(word: str | bytes, vocabulary: Vocabulary) -> Iterator[tuple[int, ...]]:
    """Yield every sequence of token ids whose bytes join to a word; the shortest first, equal lengths by their pieces.

    >>> import detent
    >>> vocabulary = detent.Vocabulary([b"l", b"li", b"isten", b"sten", b" listen", b""], eos_token_ids=[5])
    >>> [[vocabulary.token_bytes(i).decode() for i in ids] for ids in tokenizations("listen", vocabulary)]
    [['li', 'sten'], ['l', 'isten']]

    With a space before the word, those in the middle of a sentence. Longer pieces come before shorter ones, and lower
    ids before higher ones of the same bytes. Special ids never bytes_of_tokens text.

    Parameters
    ----------
    word : str or bytes
        At least one byte.
    vocabulary : Vocabulary
        The tokens.

    Yields
    ------
    tuple of int
        Up to 2**(n-1) of them for n bytes: take what you need. The first takes a look at each token.

    Raises
    ------
    ArgumentError
        The word is empty or not text.
    """
    if not isinstance(word, (str, bytes)) or not word:
        raise ArgumentError(f"tokenizations needs a word of at least one byte, got {shown(word)}")
    if not isinstance(vocabulary, Vocabulary):
        raise ArgumentError(f"tokenizations needs a detent.Vocabulary, got {type(vocabulary).__name__}")
    try:
        data = word.encode() if isinstance(word, str) else word
    except UnicodeEncodeError as error:
        raise ArgumentError(
            f"tokenizations got half of a surrogate pair at character {error.start}, which no token contains"
        ) from None
    return _search(_pieces(data, vocabulary))


def _pieces(word: bytes, vocabulary: Vocabulary) -> list[list[tuple[int, int]]]:
    """Return for each position in the word the tokens that match there, as pairs of end position and id."""
    pieces: list[list[tuple[int, int]]] = [[] for _ in word]
    for token_id in range(len(vocabulary)):
        token = vocabulary.token_bytes(token_id)
        if not token or len(token) > len(word) or token_id in vocabulary.special_token_ids:
            continue
        start = word.find(token)
        while start >= 0:
            pieces[start].append((start + len(token), token_id))
            start = word.find(token, start + 1)
    for here in pieces:
        here.sort(key=lambda piece: (-piece[0], piece[1]))
    return pieces


def _search(pieces: list[list[tuple[int, int]]]) -> Iterator[tuple[int, ...]]:
    size = len(pieces)
    # Bit n of counts[position]: n tokens can cover the rest of the word.
    counts = [0] * size + [1]
    for position in reversed(range(size)):
        for end, _ in pieces[position]:
            counts[position] |= counts[end] << 1
    for count in range(1, size + 1):
        if counts[0] >> count & 1:
            yield from _of_length(pieces, counts, count)


def _of_length(pieces: list[list[tuple[int, int]]], counts: list[int], count: int) -> Iterator[tuple[int, ...]]:
    """Yield the tokenizations of exactly `count` tokens, depth first."""
    ids: list[int] = []
    stack = [iter(pieces[0])]
    while stack:
        left = count - len(ids)
        step = next((piece for piece in stack[-1] if counts[piece[0]] >> (left - 1) & 1), None)
        if step is None:
            stack.pop()
            if ids:
                ids.pop()
            continue
        end, token_id = step
        if left == 1:
            yield (*ids, token_id)
            continue
        ids.append(token_id)
        stack.append(iter(pieces[end]))

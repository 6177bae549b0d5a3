"""A byte-level BPE encoder in plain Python, for the embedded model's own `tokenizer.json`.

A text is cut into pieces: first every numeric character by itself, then words, runs of punctuation (both with the one
space before them) and white space, after GPT-2. Inside a piece, the adjacent pair that was learnt first is joined,
leftmost first, until no pair is known (Sennrich, Haddow & Birch 2016). The result equals that of the `tokenizers`
library, which the tests compare; special tokens are never made from text.

Cost: O(n log n) for a piece of n bytes; about 1 µs a byte.
"""

from __future__ import annotations

import heapq
import json
import re
import unicodedata
from collections.abc import Iterator
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

from detent.errors import ArgumentError, ModelError
from detent.vocabulary.byte_level import CHARACTER_OF_BYTE, bytes_of_tokens

__all__ = ["ByteLevelBPE"]

# `re` has no \p{L}, and its \s also has U+001C to U+001F. Numeric characters never reach this pattern.
_SPACE = r"\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_PIECES = re.compile(
    rf"'(?:s|t|re|ve|m|ll|d)| ?[^\W_]+| ?(?:(?![{_SPACE}])[\W_])+|[{_SPACE}]+(?![^{_SPACE}])|[{_SPACE}]+"
)

_PRE_TOKENIZER = {
    "type": "Sequence",
    "pretokenizers": [
        {"type": "Split", "pattern": {"Regex": r"\p{N}"}, "behavior": "Isolated", "invert": False},
        {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
    ],
}


class ByteLevelBPE:
    """Encodes text with the vocabulary and merges of a `tokenizer.json`.

    Parameters
    ----------
    path : Path
        A tokenizer file with the pre-tokenizer described above.

    Raises
    ------
    ModelError
        The file cannot be read, or describes another kind of tokenizer.
    """

    def __init__(self, path: Path) -> None:
        try:
            file: Any = json.loads(path.read_bytes())
            model = file["model"]
            if (model["type"], file["pre_tokenizer"], file["normalizer"]) != ("BPE", _PRE_TOKENIZER, None):
                raise ValueError("expected byte-level BPE with isolated digits and no normalizer")
            spelled: dict[str, int] = model["vocab"]
            self.special_ids: dict[str, int] = {token["content"]: token["id"] for token in file["added_tokens"]}
            self._ranks = {
                (spelled[left], spelled[right]): (rank, spelled[left + right])
                for rank, (left, right) in enumerate(model["merges"])
            }
            self._bytes = [spelled[character] for character in CHARACTER_OF_BYTE]
            self.tokens = _bytes_of_ids(spelled, self.special_ids)
        except OSError as error:
            raise ModelError(f"cannot read the tokenizer {path}: {error.strerror}") from None
        except (ValueError, KeyError, TypeError, IndexError, RecursionError) as error:
            raise ModelError(f"{path} is not a tokenizer that the embedded model can read: {error!r}") from None

    def encode(self, text: str) -> list[int]:
        """Return the token ids of a text.

        Raises
        ------
        ArgumentError
            The text holds a lone surrogate, which UTF-8 cannot write.
        """
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise ArgumentError(
                f"a prompt must be text that UTF-8 can write: {error.reason} at {error.start}"
            ) from None
        pieces = ([self._bytes[byte] for byte in piece.encode()] for piece in _pieces(text))
        return [token for piece in pieces for token in self._join(piece)]

    def _join(self, ids: list[int]) -> list[int]:
        """Join pairs in the order in which they were learnt, leftmost first; `ids` are those of the single bytes."""
        ranks, size = self._ranks, len(ids)
        after, before = list(range(1, size + 1)), list(range(-1, size - 1))
        queue = [(ranks[pair][0], at, pair) for at, pair in enumerate(pairwise(ids)) if pair in ranks]
        heapq.heapify(queue)
        while queue:
            _, at, pair = heapq.heappop(queue)
            right = after[at]
            if right >= size or (ids[at], ids[right]) != pair:
                continue  # one of the two was joined to something else meanwhile
            ids[at], ids[right] = ranks[pair][1], -1
            after[at] = after[right]
            if after[at] < size:
                before[after[at]] = at
            for left, other in ((before[at], at), (at, after[at])):
                if left >= 0 and other < size and (ids[left], ids[other]) in ranks:
                    fresh = (ids[left], ids[other])
                    heapq.heappush(queue, (ranks[fresh][0], left, fresh))
        return [token for token in ids if token >= 0]


def _bytes_of_ids(spelled: dict[str, int], special_ids: dict[str, int]) -> list[bytes]:
    """Return the bytes of each id; special tokens carry their name."""
    names = {token: name for name, token in (spelled | special_ids).items()}
    if sorted(names) != list(range(len(names))):
        raise ValueError("the token ids are not 0 to n - 1")
    special = set(special_ids.values())
    texts, _ = bytes_of_tokens(["" if token in special else names[token] for token in range(len(names))])
    return [names[token].encode() if token in special else text for token, text in enumerate(texts)]


def _pieces(text: str) -> Iterator[str]:
    """Cut a text as the pre-tokenizer does."""
    for numeric, group in groupby(text, lambda character: unicodedata.category(character)[0] == "N"):
        if numeric:
            yield from group
        else:
            yield from _PIECES.findall("".join(group))

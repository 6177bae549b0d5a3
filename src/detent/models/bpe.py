"""A byte-level BPE encoder in plain Python, for the `tokenizer.json` of the embedded model.

Pre-tokenization isolates each numeric character, then splits words, runs of punctuation (both with one preceding space)
and white space, as GPT-2 does. Inside a pre-token, the adjacent pair of the lowest rank is merged, leftmost first,
until no pair has a rank (Sennrich, Haddow & Birch 2016). The tests compare the result with that of the library
`tokenizers`. Text never becomes a special token.

Cost: O(n log n) for a pre-token of n bytes; about 1 µs a byte.
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
_PRETOKENS = re.compile(
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
            id_of_name: dict[str, int] = model["vocab"]
            self.special_ids: dict[str, int] = {token["content"]: token["id"] for token in file["added_tokens"]}
            self._ranks = {
                (id_of_name[left], id_of_name[right]): (rank, id_of_name[left + right])
                for rank, (left, right) in enumerate(model["merges"])
            }
            self._bytes = [id_of_name[character] for character in CHARACTER_OF_BYTE]
            self.tokens = _bytes_of_ids(id_of_name, self.special_ids)
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
        pretokens = ([self._bytes[byte] for byte in pretoken.encode()] for pretoken in _pretokens(text))
        return [token for symbols in pretokens for token in self._merge(symbols)]

    def _merge(self, ids: list[int]) -> list[int]:
        """Merge adjacent pairs by rank, leftmost first; `ids` are those of the single bytes."""
        ranks, size = self._ranks, len(ids)
        after, before = list(range(1, size + 1)), list(range(-1, size - 1))
        queue = [(ranks[pair][0], at, pair) for at, pair in enumerate(pairwise(ids)) if pair in ranks]
        heapq.heapify(queue)
        while queue:
            _, at, pair = heapq.heappop(queue)
            right = after[at]
            if right >= size or (ids[at], ids[right]) != pair:
                continue  # one of the two was merged with another neighbour
            ids[at], ids[right] = ranks[pair][1], -1
            after[at] = after[right]
            if after[at] < size:
                before[after[at]] = at
            for left, other in ((before[at], at), (at, after[at])):
                if left >= 0 and other < size and (ids[left], ids[other]) in ranks:
                    new_pair = (ids[left], ids[other])
                    heapq.heappush(queue, (ranks[new_pair][0], left, new_pair))
        return [token for token in ids if token >= 0]


def _bytes_of_ids(id_of_name: dict[str, int], special_ids: dict[str, int]) -> list[bytes]:
    """Return the bytes of each id; those of a special token are its name."""
    names = {token: name for name, token in (id_of_name | special_ids).items()}
    if sorted(names) != list(range(len(names))):
        raise ValueError("the token ids are not 0 to n - 1")
    special = set(special_ids.values())
    texts, _ = bytes_of_tokens(["" if token in special else names[token] for token in range(len(names))])
    return [names[token].encode() if token in special else text for token, text in enumerate(texts)]


def _pretokens(text: str) -> Iterator[str]:
    """Yield the pre-tokens of a text."""
    for numeric, group in groupby(text, lambda character: unicodedata.category(character)[0] == "N"):
        if numeric:
            yield from group
        else:
            yield from _PRETOKENS.findall("".join(group))

"""Small Unigram tokenizers, and the slow way to say which rows of tokens pairs leave."""

from __future__ import annotations

import random
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import detent

SPACE = "\u2581"
ROUNDING = 1e-7


class Unigram:
    """A random model over letters: scores of halves, with many ties, or any."""

    def __init__(self, rng: random.Random, letters: str) -> None:
        alphabet = [SPACE if letter == " " else letter for letter in letters]
        self.fallback, self.words = rng.random() < 0.5, rng.random() < 0.4
        pieces = {SPACE, *(letter for letter in alphabet if rng.random() < 0.9)}
        pieces |= {"".join(rng.choices(alphabet, k=rng.randint(2, 4))) for _ in range(rng.randint(0, 12))}
        names = rng.sample(sorted(pieces), len(pieces))
        halves, scale = rng.random() < 0.6, rng.choice((1, 1, 5))
        scores = [scale * (-rng.randint(1, 8) / 2 if halves else -8 * rng.random()) for _ in names]
        special = [("<unk>", 0.0), ("</s>", 0.0)]
        of_bytes = [(f"<0x{byte:02X}>", 0.0) for byte in range(256)] if self.fallback else []
        self.vocab = [*special, *of_bytes, *zip(names, scores, strict=True)]
        self.unknown = min(score for _, score in self.vocab) - 10
        first = len(special) + len(of_bytes)
        texts = {number: piece.replace(SPACE, " ") for number, piece in enumerate(names, first)}
        self.texts = {number: text for number, text in texts.items() if not (self.words and " " in text[1:])}
        self.number = {text: number for number, text in self.texts.items()}

    def backend(self) -> Any:
        """Give the tokenizer of the package; made of numbers, since the package reads those of files but nearly."""
        tokenizers = pytest.importorskip("tokenizers", reason="what canonical means is what this package does")
        backend = tokenizers.Tokenizer(tokenizers.models.Unigram(self.vocab, 0, self.fallback))
        backend.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace(prepend_scheme="never", split=self.words)
        back, decoders = tokenizers.decoders.Replace(SPACE, " "), tokenizers.decoders
        backend.decoder = decoders.Sequence([back, decoders.ByteFallback(), decoders.Fuse()])
        backend.add_special_tokens(["<unk>", "</s>"])
        return backend

    def open(self, path: Path) -> detent.Vocabulary:
        path.write_text(self.backend().to_str(), encoding="utf-8")
        return detent.Vocabulary.from_file(path, eos_token_ids=[1])

    def score(self, token: int) -> float:
        return self.vocab[token][1]

    def best(self, text: str) -> float:
        """Give the largest sum of all rows of a text."""
        sums = [0.0]
        for end in range(1, len(text) + 1):
            found = [
                sums[begin] + self.score(self.number[text[begin:end]])
                for begin in range(end)
                if text[begin:end] in self.number
            ]
            sums.append(max([*found, sums[end - 1] + self.unknown] if text[end - 1] not in self.number else found))
        return sums[-1]

    @cache  # noqa: B019 - small, and dies with the test
    def fits(self, *tokens: int) -> bool:
        """Whether one or two tokens are the best row of their text."""
        text = "".join(self.texts[token] for token in tokens)
        return sum(map(self.score, tokens)) >= self.best(text) - ROUNDING

    def writable(self, text: str) -> bool:
        return self.fallback or all(letter in self.number for letter in text)

    def rows(self, text: str) -> list[tuple[int, ...]]:
        """Give all rows of a text whose neighbours all fit; a byte piece stands beside anything."""
        rows: list[list[tuple[int, ...]]] = [[()], *([] for _ in text)]
        for end in range(1, len(text) + 1):
            for begin in range(end):
                token = self.number.get(text[begin:end])
                if token is not None and self.fits(token):
                    rows[end] += [
                        (*row, token)
                        for row in rows[begin]
                        if not row or row[-1] not in self.texts or self.fits(row[-1], token)
                    ]
            if self.fallback and text[end - 1] not in self.number:
                own = tuple(2 + byte for byte in text[end - 1].encode())
                rows[end] += [(*row, *own) for row in rows[end - 1]]
        return rows[-1]

    def passes(self, row: tuple[int, ...]) -> bool:
        """Whether each token of a row, and each two neighbours, fit."""
        pieces = [token for token in row if token in self.texts]
        pairs = [(left, right) for left, right in pairwise(row) if left in self.texts and right in self.texts]
        return all(map(self.fits, pieces)) and all(self.fits(*pair) for pair in pairs)

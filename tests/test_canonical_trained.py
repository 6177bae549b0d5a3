"""Canonical guides of tokenizers that the package `tokenizers` has trained, beside all texts of small languages."""

from __future__ import annotations

import itertools
import json
import random
import re
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import detent
from detent.errors import UnsupportedError
from detent.vocabulary.pretokenizer_regex import GPT2_PATTERN

tokenizers = pytest.importorskip("tokenizers", reason="trains tokenizers")

LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|"
    r"\s+(?!\S)|\s+"
)
UPPER, LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
O200K = (
    rf"[^\r\n\p{{L}}\p{{N}}]?{UPPER}*{LOWER}+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
    rf"[^\r\n\p{{L}}\p{{N}}]?{UPPER}+{LOWER}*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
    r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
DEEPSEEK = (r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", "[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+", r"\p{N}")
TEXTS = [
    Path(__file__).read_text(encoding="utf-8"),
    "it's we're I'll don't THEY'D 12345 67 890 1,234.56\r\n\n\t  x   y    z \n  \n" * 20,
    "Le caf\u00e9 \u00e9tait l\u00e0. \ud55c\uad6d\uc5b4 \ud14d\uc2a4\ud2b8 \u4e2d\u6587 \U0001f600 " * 20,
]  # fmt: skip
UNITS = [
    "a", "b", " ", "the", "1", "23", "'s", "\n", "\u00e9", "\ud55c", "  ", ".", "A", "\r\n", "_", "\U0001f600", "in",
    " self", "'", "(", "):", "return", "\t", "ab", " ab", "\u03a3", "\u00a0", "\u65e5\u672c", "==", " =", "4567", "'LL",
    '"',
]  # fmt: skip


def train(parts: list[Any], *, alphabet: bool = True, change: Callable[[Any], None] | None = None) -> dict[str, Any]:
    """Train a byte-level BPE; `change` edits its model."""
    splits = [tokenizers.pre_tokenizers.Split(tokenizers.Regex(part), "isolated") for part in parts]
    byte_level = tokenizers.pre_tokenizers.ByteLevel
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Sequence(
        [*splits, byte_level(add_prefix_space=False, use_regex=False)]
    )
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    known = byte_level.alphabet() if alphabet else []
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=800, special_tokens=["</s>"], initial_alphabet=known, show_progress=False
    )
    tokenizer.train_from_iterator(TEXTS, trainer)
    data: dict[str, Any] = json.loads(tokenizer.to_str())
    if change:
        change(data["model"])
    return data


def shuffled(model: dict[str, Any]) -> None:
    random.Random(5).shuffle(model["merges"])


def unsplit(model: dict[str, Any]) -> None:
    shuffled(model)
    model["ignore_merges"] = True


TOKENIZERS: dict[str, Callable[[], dict[str, Any]]] = {
    "gpt2": lambda: train([GPT2_PATTERN]),
    "llama3": lambda: train([LLAMA3]),
    "o200k": lambda: train([O200K]),
    "deepseek": lambda: train([*DEEPSEEK]),
    "digits first": lambda: train([r"\p{N}", GPT2_PATTERN]),
    "text between matches": lambda: train([r"\s+(?!\S)|[a-z]{2,3}"]),
    "no split": lambda: train([]),
    "bytes without tokens": lambda: train([LLAMA3], alphabet=False),
    "merges in any order": lambda: train([LLAMA3], change=shuffled),
    "whole pre-tokens": lambda: train([LLAMA3], change=unsplit),
}


@pytest.mark.parametrize("name", TOKENIZERS)
def test_masks_are_those_of_all_texts(name, tmp_path):
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(TOKENIZERS[name]()), encoding="utf-8")
    backend, vocabulary = (
        tokenizers.Tokenizer.from_file(str(path)),
        detent.Vocabulary.from_file(path, eos_token_ids=[0]),
    )
    rng, compared = random.Random(name), 0
    for _ in range(6):
        units, most = rng.sample(UNITS, 3), rng.choice((3, 4))
        first, last = rng.choice(["", "'", " ", "x"]), rng.choice(["", ".", "\n", " x"])
        following: dict[tuple[int, ...], set[int]] = defaultdict(set)
        for count in range(most + 1):
            for parts in itertools.product(units, repeat=count):
                text = first + "".join(parts) + last
                tokens = tuple(backend.encode(text, add_special_tokens=False).ids)
                if b"".join(map(vocabulary.token_bytes, tokens)) != text.encode():
                    continue  # the tokenizer dropped a character
                for length in range(len(tokens)):
                    following[tokens[:length]].add(tokens[length])
                following[tokens].update(vocabulary.eos_token_ids)
        units_pattern = "|".join(map(re.escape, units))
        language = detent.regex(f"{re.escape(first)}({units_pattern}){{0,{most}}}{re.escape(last)}")
        guide = detent.compile(language, vocabulary, canonical=True)
        for tokens in rng.sample(sorted(following), min(25, len(following))):
            matcher = guide.matcher()
            for token in tokens:
                matcher.advance(token)
            assert set(matcher.allowed().tolist()) == following[tokens], (language, tokens)
            compared += 1
    assert compared > 60


@pytest.mark.parametrize("name", ["llama3", "no split", "whole pre-tokens"])
def test_forced_tokens_are_canonical_under_budgets(name, tmp_path):
    """Whatever the budget, tokens that are forced or complete a text are those of some text of the language."""
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(TOKENIZERS[name]()), encoding="utf-8")
    backend, vocabulary = (
        tokenizers.Tokenizer.from_file(str(path)),
        detent.Vocabulary.from_file(path, eos_token_ids=[0]),
    )
    rng = random.Random(2)
    for _ in range(12):
        units = rng.sample(UNITS, 3)
        language = detent.regex(f"({'|'.join(map(re.escape, units))}){{1,4}}{re.escape(rng.choice(UNITS))}( the)?")
        guide = detent.compile(language, vocabulary, canonical=True)
        shortest = len(guide.matcher().completion())
        for budget in (shortest, shortest + 1, shortest + 3, None):
            matcher = guide.matcher(max_tokens=budget)
            taken: list[int] = []
            while not matcher.is_finished:
                forced = [int(token) for token in matcher.forced()]
                for token in forced:
                    assert token in matcher.allowed().tolist()
                    matcher.advance(token)
                taken += forced
                if matcher.is_finished:
                    break
                text = vocabulary.decode([*taken, *(rest := [int(token) for token in matcher.completion()])])
                encoded = backend.encode(text.decode(), add_special_tokens=False).ids
                assert [token for token in (*taken, *rest) if token not in vocabulary.eos_token_ids] == encoded
                allowed = matcher.allowed().tolist()
                taken.append(rng.choice(allowed))
                matcher.advance(taken[-1])
            text = vocabulary.decode([token for token in taken if token not in vocabulary.eos_token_ids]).decode()
            encoded = backend.encode(text, add_special_tokens=False).ids
            assert [token for token in taken if token not in vocabulary.eos_token_ids] == encoded
            assert language.accepts(text)
            assert budget is None or len(encoded) <= budget


def test_what_changes_texts_is_refused(tmp_path):
    for normalizer in (
        {"type": "NFKC"},
        {"type": "Lowercase"},
        {"type": "Strip", "strip_left": True, "strip_right": True},
    ):
        path = tmp_path / f"{normalizer['type']}.json"
        path.write_text(json.dumps({**train([GPT2_PATTERN]), "normalizer": normalizer}), encoding="utf-8")
        with pytest.raises(UnsupportedError, match=str(normalizer["type"])):
            detent.compile(detent.regex("a"), detent.Vocabulary.from_file(path, eos_token_ids=[0]), canonical=True)

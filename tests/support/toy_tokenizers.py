"""Small random BPE tokenizers, as files that `tokenizers` reads too."""

from __future__ import annotations

import json

import pytest

import detent
from detent.vocabulary.byte_level import CHARACTER_OF_BYTE
from detent.vocabulary.pretokenizer_regex import GPT2_PATTERN

LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|"
    r"\s*[\r\n]+|\s+(?!\S)|\s+"
)
SPLITS = (
    None,
    GPT2_PATTERN,
    LLAMA3,
    r"\s\p{L}|\s+|\p{L}{1,2}|[^\s\p{L}]+(?=\p{L})|[^\s\p{L}]",
    r"\p{L}+(?!\s)|\p{L}|[^\p{L}]{2}|[^\p{L}]",
    r"(?:ab)+|a{2,3}(?=\s)|[^\s]|\s{1,2}(?!\s)|\s",
)


def spelled(text: bytes) -> str:
    return "".join(CHARACTER_OF_BYTE[byte] for byte in text)


def random_merges(rng, base, tokens, most):
    """Add tokens of random merges; the merges may have any order, and there may be several ways to a token."""
    pool, merges = list(base), []
    for _ in range(rng.randint(0, most)):
        pair = (rng.choice(pool), rng.choice(pool))
        joined = pair[0] + pair[1]
        if len(joined) > 8 or pair in merges:
            continue
        merges.append(pair)
        if joined not in tokens:
            tokens.append(joined)
            pool.append(joined)
    others = [
        (token[:cut], token[cut:])
        for token in pool
        for cut in range(1, len(token))
        if token[:cut] in pool and token[cut:] in pool and (token[:cut], token[cut:]) not in merges
    ]
    merges += rng.sample(others, rng.randint(0, len(others)))
    if rng.random() < 0.5:
        rng.shuffle(merges)
    return merges


def split_by(pattern):
    """Give the pre-tokenizer of a pattern, or one without a split for None."""
    parts = [
        {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": pattern == GPT2_PATTERN}
    ]
    if pattern not in (None, GPT2_PATTERN):
        parts.insert(0, {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False})
    return {"type": "Sequence", "pretokenizers": parts}


def of_bytes(rng, letters, missing=b""):
    """Draw a byte-level tokenizer; the bytes in `missing` are no tokens."""
    tokens = [bytes([byte]) for byte in range(256) if byte not in missing]
    base = [bytes([byte]) for byte in sorted(set(letters.encode()) - set(missing))]
    merges = random_merges(rng, base, tokens, 12)
    whole = rng.random() < 0.4
    for _ in range(rng.randint(0, 4) if whole else 0):
        token = b"".join(rng.choices(base, k=rng.randint(2, 5)))
        if token not in tokens:
            tokens.append(token)
    return {
        "added_tokens": [special(len(tokens), "</s>")],
        "pre_tokenizer": split_by(rng.choice(SPLITS)),
        "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
        "model": {
            "type": "BPE",
            "ignore_merges": whole,
            "vocab": {spelled(token): number for number, token in enumerate(tokens)},
            "merges": [[spelled(left), spelled(right)] for left, right in merges],
        },
    }


def of_pieces(rng, letters):
    """Draw a tokenizer of pieces, with or without byte pieces."""
    fallback = rng.random() < 0.7
    pieces = ["\u2581", *(c for c in letters if c != " " and (not fallback or rng.random() < 0.7))]
    merges = random_merges(rng, list(pieces), pieces, 10)
    names = ["<unk>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), *pieces]
    back = {"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "}
    return {
        "added_tokens": [special(0, "<unk>"), special(1, "</s>")],
        "normalizer": {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"},
        "decoder": {"type": "Sequence", "decoders": [back, {"type": "ByteFallback"}, {"type": "Fuse"}]},
        "model": {
            "type": "BPE",
            "unk_token": "<unk>",
            "byte_fallback": fallback,
            "vocab": {name: number for number, name in enumerate(names)},
            "merges": [list(pair) for pair in merges],
        },
    }


def special(number, content):
    return {
        "id": number, "content": content, "special": True, "single_word": False, "lstrip": False, "rstrip": False,
        "normalized": False,
    }  # fmt: skip


def opened(data, path):
    """Return the vocabulary of a tokenizer, and what the tokenizer does."""
    path.write_text(json.dumps({"version": "1.0", **data}), encoding="utf-8")
    tokenizers = pytest.importorskip("tokenizers", reason="what canonical means is what this package does")
    backend = tokenizers.Tokenizer.from_file(str(path))
    known: dict[str, tuple[int, ...]] = {}

    def encode(text):
        if text not in known:
            known[text] = tuple(backend.encode(text, add_special_tokens=False).ids)
        return known[text]

    return detent.Vocabulary.from_file(path, eos_token_ids=[data["added_tokens"][-1]["id"]]), encode

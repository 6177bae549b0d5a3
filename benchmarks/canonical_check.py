"""Whether canonical masks and outputs are what the package `tokenizers` says, on real tokenizers.

    python -m benchmarks.canonical_check
    python -m benchmarks.canonical_check --tokenizers llama3 --outputs 2000

Random walks through canonical guides, of regular expressions and JSON Schemas, to the end of the text. Each *output*
must be what the package makes of its text. Along one walk in twenty, a mask is checked against its definition: a token
that is allowed must have an end with which the package gives the row as it stands; a token that the language allows and
the mask does not must begin no text whose row, by the package, goes on so, tried on ends that the plain guide has. Any
difference stops the run.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random

import detent
from benchmarks.canonical import CALLS, SHARED, schema_of
from detent.errors import LimitError
from detent.vocabulary.file_io import require

PATTERNS = (
    r'"([^"\\]|\\[nt"])*"',
    r"[a-z]+( [a-z]+)*\.",
    r"(The|the|They|Theodore) (there|thing|think|in)( \w+){0,5}",
    r"\s*a\s*b\s*(\n+c)?",
    r"-?\d+(\.\d+)?(e[+-]?\d+)?",
    r"([A-Z][a-z]+ ?)+'(s|re|ve|m|t)?",
    r"(#+ [^\n]+\n\n?)+",
    "[\u4e00-\u9fff]{2,10}[\U0001f600-\U0001f64f]+\u00e9*",
    r"[\w ]{0,40}",
    r"(\t| {2,8})*(if|for|while)[ (][^\n]*:\n",
    r"~{1,70}(~|x)",
    r"(.|\n){0,60}",
)

FEW = detent.Limits(work=300_000)  # ends that are far away are not searched for

Encode = Callable[[str], list[int]]


def languages(vocabulary: detent.Vocabulary) -> list[detent.Language]:
    """Return what is walked; where the tokenizer puts a space before a text, the texts have it."""
    found = [detent.regex(pattern) for pattern in PATTERNS]
    found += [detent.json_schema(schema_of(name)) for name in CALLS]
    return [detent.literal(" ") + each for each in found] if vocabulary.leading_space else found


def encoder(path: Path, vocabulary: detent.Vocabulary) -> Encode:
    """Return what the package makes of a text."""
    backend = require("tokenizers", "the check").Tokenizer.from_file(str(path))
    skipped = 1 if vocabulary.leading_space else 0
    return lambda text: list(backend.encode(text[skipped:], add_special_tokens=False).ids)


def check_masks(guide: detent.Guide, plain: detent.Guide, tokens: list[int], encode: Encode, rng: Random) -> int:
    """Check some tokens of one mask; return how many."""
    vocabulary = guide.vocabulary
    matcher, free = guide.matcher(), plain.matcher()
    for token in tokens:
        matcher.advance(token)
        free.advance(token)
    ends = set(vocabulary.eos_token_ids)
    allowed, others = (set(each.allowed().tolist()) - ends for each in (matcher, free))
    if not allowed <= others:
        raise AssertionError(f"{sorted(allowed - others)} are allowed out of the language")
    for token in rng.sample(sorted(allowed), min(12, len(allowed))):
        ahead = matcher.fork()
        ahead.advance(token)
        row = [*tokens, token, *ahead.completion()]
        text = vocabulary.decode(row).decode()
        if encode(text) != row or not guide.language.accepts(text):
            raise AssertionError(f"{token} after {tokens} is allowed, but {text!r} is {encode(text)}")
    refused = rng.sample(sorted(others - allowed), min(24, len(others - allowed)))
    for token in refused:
        ahead, row = free.fork(), [*tokens, token]
        ahead.advance(token)
        for _ in range(3):
            try:
                end = ahead.completion()
            except LimitError:  # too far away to search for
                break
            text = vocabulary.decode([*row, *end]).decode()
            if encode(text)[: len(tokens) + 1] == [*tokens, token]:
                raise AssertionError(f"{token} after {tokens} is refused, but begins {text!r}")
            following = [each for each in ahead.allowed().tolist() if each not in ends]
            if not following:
                break
            row.append(rng.choice(following))
            ahead.advance(row[-1])
    return min(12, len(allowed)) + len(refused)


def check(name: str, outputs: int) -> str:
    """Return the cells of a tokenizer's row."""
    path = SHARED / "tokenizers" / name / "tokenizer.json"
    vocabulary = detent.Vocabulary.from_file(path)
    encode = encoder(path, vocabulary)
    guides = [
        (detent.compile(language, vocabulary, canonical=True), detent.compile(language, vocabulary, limits=FEW))
        for language in languages(vocabulary)
    ]
    rng = Random(name)
    tokens_of_all = checked = 0
    for output in range(outputs):
        guide, plain = guides[output % len(guides)]
        tokens: list[int] = []
        matcher, budget = guide.matcher(), rng.randint(1, 60)
        while len(tokens) < budget and not (matcher.is_accepting and rng.random() < 0.1):
            following = [token for token in matcher.allowed().tolist() if token not in vocabulary.eos_token_ids]
            if not following:
                break
            tokens.append(rng.choice(following))
            matcher.advance(tokens[-1])
        tokens += matcher.completion()
        text = vocabulary.decode(tokens).decode()
        if encode(text) != tokens or not guide.language.accepts(text):
            raise AssertionError(f"{name}: {tokens} is {text!r}, which is {encode(text)}")
        tokens_of_all += len(tokens)
        if output % 20 == 0:
            checked += check_masks(guide, plain, tokens[: rng.randint(0, len(tokens))], encode, rng)
    return f"{outputs} | {tokens_of_all} | 0 | {checked} | 0"


def main() -> int:
    parser = argparse.ArgumentParser(description="Canonical masks and outputs against the package tokenizers.")
    names = ["gpt2", "llama2-spm", "llama3", "mistral-v3", "qwen2", "tekken"]
    parser.add_argument("--tokenizers", nargs="+", default=names, metavar="NAME")
    parser.add_argument("--outputs", type=int, default=1700, help="of each tokenizer")
    options = parser.parse_args()
    print(
        "| tokenizer | outputs | tokens | that the package writes otherwise | tokens of masks checked | differences |"
    )
    print("|---|---|---|---|---|---|")
    for name in options.tokenizers:
        print(f"| {name} | {check(name, options.outputs)} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

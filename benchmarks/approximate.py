"""How near `canonical="approximate"` comes to a Unigram tokenizer: how much is still written that it would not write.

    python -m benchmarks.approximate
    python -m benchmarks.approximate --pieces 32000 --texts 20

A Unigram model is trained on the sources of the standard library, the text that each machine with Python has;
spaces are U+2581 and begin words, as in T5, or stand anywhere. Then texts of the function calls of
`benchmarks.canonical` are drawn, token by token among those that a mask allows: evenly, or by the scores of
the pieces, as a model would that knows nothing but how frequent they are. The package tokenizers encodes each
text again. A text is *its own* if its tokens come back; a token is if the tokenizer has it at that place of
the text. Times are CPU times of one thread.
"""

from __future__ import annotations

import argparse
import json
import math
import sysconfig
import tempfile
import time
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path
from random import Random
from typing import Any

import tokenizers

import detent
from benchmarks.canonical import CALLS, schema_of
from detent.vocabulary.core_encoder import read_core_encoder

SPACE = "\u2581"
LONGEST = 200


def trained(pieces: int, *, words: bool, most: int) -> Any:
    """Train a tokenizer."""
    backend = tokenizers.Tokenizer(tokenizers.models.Unigram())
    backend.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace(prepend_scheme="never", split=words)
    backend.decoder = tokenizers.decoders.Metaspace(prepend_scheme="never")
    trainer = tokenizers.trainers.UnigramTrainer(
        vocab_size=pieces, special_tokens=["<unk>", "</s>"], unk_token="<unk>",
        initial_alphabet=[SPACE, "\n", *map(chr, range(33, 127))], show_progress=False,
    )  # fmt: skip
    backend.train_from_iterator(lines(most), trainer)
    return backend


def lines(most: int) -> Iterator[str]:
    """Give the lines of the standard library's sources, up to so many characters."""
    for path in sorted(Path(sysconfig.get_path("stdlib")).glob("*.py")):
        text = path.read_text(encoding="utf-8", errors="ignore")
        for line in text.splitlines():
            yield line.strip() + "\n"
        most -= len(text)
        if most < 0:
            return


def drawn(guide: detent.Guide, weights: list[float] | None, rng: Random) -> list[int]:
    """Draw a text; behind `LONGEST` tokens it ends as soon as it may."""
    matcher = guide.matcher()
    row: list[int] = []
    ends = guide.vocabulary.eos_token_ids
    while not matcher.is_finished:
        allowed = matcher.allowed().tolist()
        if len(row) >= LONGEST:
            return [*row, *matcher.completion()]
        if weights is None:
            token = rng.choice(allowed)
        else:
            sums = list(accumulate(weights[each] for each in allowed))
            token = rng.choices(allowed, cum_weights=sums)[0]
        if token in ends:
            break
        matcher.advance(token)
        row.append(token)
    return row


def spans(vocabulary: detent.Vocabulary, row: list[int]) -> set[tuple[int, int]]:
    """Give the places of a row's tokens in its text."""
    ends = list(accumulate(len(vocabulary.token_bytes(token)) for token in row))
    return set(zip([0, *ends], ends, strict=False))


def compare(
    backend: Any, vocabulary: detent.Vocabulary, canonical: Any, weights: list[float] | None, texts: int
) -> str:
    """Draw texts under one kind of masks; say how many, and how many tokens, are not the tokenizer's own."""
    rng = Random(0)
    rows, seconds = [], 0.0
    for name in CALLS:
        guide = detent.compile(
            detent.json_schema(schema_of(name), whitespace="single"), vocabulary, canonical=canonical
        )
        begin = time.process_time()
        rows += [drawn(guide, weights, rng) for _ in range(texts)]
        seconds += time.process_time() - begin
    wrong_texts = wrong_tokens = count = 0
    for row in rows:
        own = backend.encode(vocabulary.decode(row).decode(), add_special_tokens=False).ids
        wrong_texts += own != row
        wrong_tokens += len(spans(vocabulary, row) - spans(vocabulary, own))
        count += len(row)
    return (
        f"{wrong_texts / len(rows):.1%} of {len(rows)} texts, {wrong_tokens / count:.2%} of {count} tokens "
        f"| {1e6 * seconds / count:.0f} µs"
    )


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pieces", type=int, default=8000, help="of the tokenizer (%(default)s)")
    parser.add_argument("--characters", type=int, default=3_000_000, help="of text to train on (%(default)s)")
    parser.add_argument("--texts", type=int, default=50, help="for each of the twelve schemas (%(default)s)")
    options = parser.parse_args()
    for words in (True, False):
        backend = trained(options.pieces, words=words, most=options.characters)
        data = json.loads(backend.to_str())
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "tokenizer.json"
            path.write_text(backend.to_str(), encoding="utf-8")
            vocabulary = detent.Vocabulary.from_file(path, eos_token_ids=[1])
            begin = time.process_time()
            read_core_encoder(data, len(vocabulary))
            set_up = time.process_time() - begin
            kind = "begin words" if words else "stand anywhere"
            print(f"Unigram of {len(vocabulary)} pieces, spaces {kind}; set up in {set_up:.3f} s:\n")
            print("| drawn | masks | not the tokenizer's own | a token, masks made included |\n|---|---|---|---|")
            for name, weights in (
                ("evenly", None),
                ("by scores", [math.exp(score) for _, score in data["model"]["vocab"]]),
            ):
                for canonical in (False, "approximate"):
                    masks = canonical or "plain"
                    print(f"| {name} | {masks} | {compare(backend, vocabulary, canonical, weights, options.texts)} |")
            print()


if __name__ == "__main__":
    main()

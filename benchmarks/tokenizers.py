"""Every tokenizer at hand, the same rules: set-up, first-visit masks, the worst step, plain and canonical.

    python -m benchmarks.tokenizers [--only llama3 starcoder] [--files path/to/tokenizer.json] [--record]

The tokenizers are those of ../shared/data/tokenizers, those that the package mistral-common carries, those of
`--files`, and llama3 without any token that holds one of some bytes (*gaps*): trainers leave such bytes out. A file
with a token in base64 and its rank on each line is read as the ranks of a `tiktoken.Encoding`. The rules are formats,
patterns and schemas; the texts are random walks, the same number of steps everywhere. All times are CPU time of one
thread. The last column divides the mean first-visit mask, per id, by that of llama3.
"""

from __future__ import annotations

import argparse
import base64
import gc
import gzip
import json
import random
import re
import statistics
import tempfile
import warnings
from collections.abc import Collection, Iterator
from datetime import date
from pathlib import Path
from time import process_time_ns
from typing import Any

import mistral_common
import numpy as np
import tiktoken

import detent
from benchmarks.process import ROOT, machine

SHARED = ROOT.parent / "shared" / "data"
GAPS: dict[str, Collection[int]] = {
    "C0-C1, F5-FF": [0xC0, 0xC1, *range(0xF5, 0x100)],
    "00-08": range(9),
}
CARRIED = Path(mistral_common.__file__).parent / "data"
RANK = re.compile(rb"[A-Za-z0-9+/=]+ 0\n")
RULES = {
    "email": lambda: detent.json_schema({"type": "string", "format": "email"}),
    "hostname": lambda: detent.json_schema({"type": "string", "format": "hostname"}),
    "date-time": lambda: detent.json_schema({"type": "string", "format": "date-time"}),
    "any text": detent.text,
    "bounded": lambda: detent.json_schema(
        {
            "type": "object",
            "properties": {
                "name": {"type": "string", "pattern": "^[A-Za-z]*$", "maxLength": 500},
                "n": {"type": "integer"},
            },
            "required": ["name", "n"],
        }
    ),
    "words": lambda: detent.regex(r"(\S+\s+){0,49}\S+"),
    "letters": lambda: detent.regex(r"\p{Lu}\p{Ll}{1,20}( \p{L}+){2,9}\."),
    "ban": lambda: detent.without("the", "of", "listen"),
    "any JSON": lambda: detent.json_value(),
}


def of_ranks(path: Path) -> tiktoken.Encoding:
    """Return the encoding of a file with a token in base64 and its rank on each line."""
    pairs = [line.split() for line in path.read_bytes().splitlines() if line]
    ranks = {base64.b64decode(token): int(rank) for token, rank in pairs}
    pattern = r"\p{L}+|\p{N}+|[^\p{L}\p{N}]+"  # not the model's: masks do not depend on it
    return tiktoken.Encoding(
        path.parent.name, pat_str=pattern, mergeable_ranks=ranks, special_tokens={"<|endoftext|>": len(ranks)}
    )


def set_up(path: Path) -> tuple[detent.Vocabulary, float]:
    """Return a vocabulary and the CPU seconds of its set-up, the better of two."""
    seconds = []
    encoding = of_ranks(path) if path.is_file() and RANK.match(path.read_bytes()[:100]) else None
    for _ in range(2):
        gc.collect()
        start = process_time_ns()
        if encoding is None:
            vocabulary = detent.Vocabulary.from_file(path)
        else:
            vocabulary = detent.Vocabulary.from_tiktoken(encoding)
        seconds.append((process_time_ns() - start) / 1e9)
    return vocabulary, min(seconds)


def tokenizers(files: list[Path]) -> Iterator[tuple[str, detent.Vocabulary, float]]:
    """Yield each name with its vocabulary and the CPU seconds of its set-up."""
    paths = {folder.name: folder / "tokenizer.json" for folder in sorted((SHARED / "tokenizers").iterdir())}
    paths |= {path.name: path for path in sorted(CARRIED.iterdir()) if path.suffix in {".json", ".v1", ".v3", ".v7"}}
    paths |= {f"{path.parent.name} {path.name}": path for path in files}
    for name, path in paths.items():
        try:
            vocabulary, seconds = set_up(path)
        except detent.DetentError:
            continue  # the carried folder has other files too
        yield name, vocabulary, seconds
        for title, missing in GAPS.items() if name == "llama3" else ():
            with tempfile.TemporaryDirectory() as folder:  # canonical tokens read the file again
                gapped = Path(folder) / "tokenizer.json"
                gapped.write_text(without_bytes(path, missing), encoding="utf-8")
                start = process_time_ns()
                gap = detent.Vocabulary.from_file(gapped, eos_token_ids=vocabulary.eos_token_ids)
                yield f"llama3 without {title}", gap, (process_time_ns() - start) / 1e9


def without_bytes(path: Path, missing: Collection[int]) -> str:
    """Return a byte-level tokenizer.json without the tokens, and the merges, that hold one of some bytes."""
    tokenizer = json.loads(path.read_text(encoding="utf-8"))
    shown = {chr(byte) if chr(byte).isprintable() and byte not in (0x20, 0xA0, 0xAD) else None for byte in missing}
    hidden = [byte for byte in range(256) if byte <= 0x20 or 0x7F <= byte <= 0xA0 or byte == 0xAD]
    gone = {chr(256 + hidden.index(byte)) for byte in missing if byte in hidden} | (shown - {None})
    model = tokenizer["model"]
    model["vocab"] = {token: number for token, number in model["vocab"].items() if not gone & set(token)}
    pairs = (merge.split(" ") if isinstance(merge, str) else merge for merge in model["merges"])
    model["merges"] = [list(pair) for pair in pairs if not gone & set("".join(pair))]
    return json.dumps(tokenizer)


def rules(count: int) -> dict[str, Any]:
    """Return the rules: those above, and schemas of the development set."""
    found: dict[str, Any] = dict(RULES)
    with gzip.open(SHARED / "maskbench-dev.jsonl.gz", "rt", encoding="utf-8") as lines:
        schemas = [json.loads(line)["schema"] for line in lines]
    random.Random(3).shuffle(schemas)
    for number, schema in enumerate(schemas[:count]):
        found[f"schema {number}"] = lambda schema=schema: detent.json_schema(schema)
    return found


def walk(guide: detent.Guide, seed: int, steps: int) -> list[int]:
    """Return the CPU nanoseconds of the masks of a random walk."""
    rng, times = random.Random(seed), []
    row = detent.allocate_mask(1, len(guide.vocabulary))[0]
    matcher = guide.matcher()
    for _ in range(steps):
        start = process_time_ns()
        matcher.fill_mask(row)
        times.append(process_time_ns() - start)
        ids = np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little"))
        matcher.advance(int(ids[rng.randrange(len(ids))]))
        if matcher.is_finished:
            break
    return times


def measure(vocabulary: detent.Vocabulary, rule: Any, *, canonical: bool) -> tuple[list[int], list[str]]:
    """Return the times of first-visit masks, and the errors."""
    try:
        guide = detent.compile(rule(), vocabulary, canonical=canonical)
        return [time for seed in range(2) for time in walk(guide, seed, 30)], []
    except detent.DetentError as error:
        return [], [type(error).__name__]


def table(found: dict[str, dict[str, Any]]) -> str:
    """Compose the table."""
    head = [
        "tokenizer",
        "ids",
        "set-up s",
        "mean µs",
        "p99 ms",
        "worst ms",
        "of",
        "canonical mean µs",
        "worst ms",
        "of",
    ]
    head += ["refused", "mean, to llama3"]
    lines = [head, ["---"] * len(head)]
    base = found.get("llama3")
    for name, row in found.items():
        cells = [name, f"{row['ids']:,}", f"{row['set_up']:.2f}"]
        for kind in ("plain", "canonical"):
            times = row[kind]
            flat = sorted(time for walked in times.values() for time in walked)
            if not flat:
                cells += [""] * (4 if kind == "plain" else 3)
                continue
            slowest = max(times, key=lambda rule: max(times[rule], default=0))
            cells.append(f"{statistics.fmean(flat) / 1e3:.0f}")
            cells += [f"{flat[int(len(flat) * 0.99)] / 1e6:.2f}"] if kind == "plain" else []
            cells += [f"{flat[-1] / 1e6:.1f}", slowest]
        cells.append(", ".join(row["refused"]))
        ratio = ""
        if base and (plain := [time for walked in row["plain"].values() for time in walked]):
            reference = statistics.fmean(time for walked in base["plain"].values() for time in walked) / base["ids"]
            ratio = f"{statistics.fmean(plain) / row['ids'] / reference:.2f}"
        lines.append([*cells, ratio])
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--files", nargs="*", type=Path, default=[])
    parser.add_argument("--schemas", type=int, default=20)
    parser.add_argument("--record", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    chosen, found = rules(options.schemas), {}
    for name, vocabulary, seconds in tokenizers(options.files):
        if options.only and not name.startswith(tuple(options.only)):
            continue
        row: dict[str, Any] = {"ids": len(vocabulary), "set_up": seconds, "refused": []}
        for kind in ("plain", "canonical"):
            row[kind] = {}
            for title, rule in chosen.items():
                row[kind][title], errors = measure(vocabulary, rule, canonical=kind == "canonical")
                row["refused"] += [f"{kind} {title}: {error}" for error in errors]
        refused = row["refused"]
        row["refused"] = [*refused[:1], f"{len(refused) - 1} more"] if len(refused) > 1 else refused
        found[name] = row
    page = f"# Tokenizers\n\n{machine()}, {date.today()}.\n\n{table(found)}"
    print(page)
    if options.record:
        (ROOT / "benchmarks" / "record" / f"{date.today()}-tokenizers.md").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()

"""Drafts from prompt lookup with the embedded model: pruned by the rule, masked only when they are verified, and none.

    python -m benchmarks.speculation [--schemas 200]

The embedded model (in transformers, which computes the logits after each of several tokens) writes an instance of each
schema of MaskBench, whose text is in the prompt. A *draft* is what followed the last tokens where they occurred before
(prompt lookup), eight tokens at most. *Mask only* verifies the draft as it is: a token that the rule refuses ends it.
*Pruned* asks the matcher first: forced tokens are drafted, and the draft ends before the first token that the rule
refuses. *Acceptance* is the share of drafted tokens that are taken. The greedy texts of all three must be equal.

Then the distribution: a rule with few texts, sampled with and without drafts, and compared with the probabilities that
follow from the model and the masks (chi-square).
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import AutoModelForCausalLM, DynamicCache

import detent
from benchmarks.batch import DATA, texts
from detent.models import Chat

sys.path.insert(0, str(Path(__file__).parents[1] / "tools"))

DRAFT = 8
LIMIT = 64
LONGEST_PROMPT = 700
#: From a matcher and all ids so far to the drafted ids.
Drafter = Callable[[detent.Matcher, list[int]], list[int]]
#: From masked logits to a token.
Choose = Callable[[NDArray[np.float32]], int]


def no_draft(matcher: detent.Matcher, ids: list[int]) -> list[int]:
    """Return nothing."""
    return []


def looked_up(ids: list[int]) -> list[int]:
    """Return what followed the last occurrence of the last ids: three of them, or two, or one."""
    for size in (3, 2, 1):
        tail = ids[-size:]
        for start in range(len(ids) - size - 1, -1, -1):
            if ids[start : start + size] == tail:
                return ids[start + size : start + size + DRAFT]
    return []


def mask_only(matcher: detent.Matcher, ids: list[int]) -> list[int]:
    """Return the tokens of prompt lookup."""
    return looked_up(ids)


def pruned(matcher: detent.Matcher, ids: list[int]) -> list[int]:
    """Return forced tokens, and the tokens of prompt lookup after them, as far as the rule allows."""
    forced = matcher.forced()[:DRAFT]
    draft = (forced + looked_up(ids + forced))[: max(DRAFT, len(forced))]
    return draft[: matcher.validate(draft)]


class Decoder:
    """A model of transformers that reads drafts, with a cache that forgets what was not taken."""

    def __init__(self, network: Any) -> None:
        self.network = network
        self.passes = 0

    def write(
        self, prompt: list[int], matcher: detent.Matcher, draft: Drafter, choose: Choose
    ) -> tuple[list[int], int, int]:
        """Return the ids of the text with its end, how many were drafted, and how many of these were taken."""
        ids, cache = list(prompt), DynamicCache(config=self.network.config)
        size = len(matcher.guide.vocabulary)
        rows = detent.allocate_mask(2 * LIMIT, size)
        drafted = taken = read = 0
        while not matcher.is_finished:
            guesses = draft(matcher, ids)
            drafted += len(guesses)
            with torch.no_grad():
                out = self.network(torch.tensor([ids[read:] + guesses]), cache=cache)
            self.passes += 1
            logits = out.logits[0, -1 - len(guesses) :].numpy()
            masks = matcher.fill_tree(guesses, list(range(-1, len(guesses) - 1)), rows[: len(guesses) + 1])
            for step in range(len(guesses) + 1):
                scores = logits[step].copy()
                detent.apply_mask(scores, rows[masks.rows[step - 1]])  # -1 is the mask before the draft
                token = choose(scores)
                matcher.advance(token)
                ids.append(token)
                if matcher.is_finished or step == len(guesses) or token != guesses[step]:
                    break
                taken += 1
            read = len(ids) - 1
            surplus = cache.get_seq_length() - read
            if surplus > 0:
                cache.crop(-surplus)
        return ids[len(prompt) :], drafted, taken


def cases(model: Any, count: int) -> Iterator[tuple[Any, list[int]]]:
    """Yield schemas with the ids of a prompt that shows them."""
    for text in texts(model.vocabulary, DATA / "maskbench-dev.jsonl.gz", 7):
        prompt = model.encode_chat(Chat("Write JSON of this schema: " + json.dumps(text.schema)))
        if len(prompt) <= LONGEST_PROMPT:
            try:
                guide = detent.compile(detent.json_schema(text.schema), model.vocabulary, canonical=True)
                guide.matcher(LIMIT)
            except detent.DetentError:
                continue
            yield guide, prompt
            count -= 1
            if not count:
                return


def greedy(scores: NDArray[np.float32]) -> int:
    """Return the likeliest token."""
    return int(scores.argmax())


def measure(decoder: Decoder, model: Any, count: int) -> None:
    """Print acceptance and speed on schemas."""
    ways = {"no drafts": no_draft, "mask only": mask_only, "pruned by the rule": pruned}
    totals = {name: np.zeros(5) for name in ways}  # tokens, passes, drafted, taken, seconds
    different = 0
    for guide, prompt in cases(model, count):
        found = []
        for name, draft in ways.items():
            decoder.write(prompt, guide.matcher(LIMIT), draft, greedy) if name == "no drafts" else None  # warm masks
            decoder.passes, start = 0, process_time()
            ids, drafted, taken = decoder.write(prompt, guide.matcher(LIMIT), draft, greedy)
            totals[name] += [len(ids), decoder.passes, drafted, taken, process_time() - start]
            found.append(ids)
        different += any(ids != found[0] for ids in found)
    print(f"{count} schemas; texts that differ: {different}\n")
    print(
        "| drafts | tokens by pass | drafted | taken | acceptance | tokens by CPU second |\n|---|---|---|---|---|---|"
    )
    for name, (written, passes, guessed, right, seconds) in totals.items():
        share = f"{right / guessed:.0%}" if guessed else ""
        print(f"| {name} | {written / passes:.2f} | {guessed:.0f} | {right:.0f} | {share} | {written / seconds:.0f} |")


def distribution(decoder: Decoder, model: Any, samples: int) -> None:
    """Print the chi-square statistics of samples with and without drafts."""
    vocabulary = model.vocabulary
    guide = detent.compile(detent.regex("(yes|no)( (yes|no)){0,2}"), vocabulary, canonical=True)
    prompt = model.encode_chat(Chat("Say yes or no: no yes no yes yes no no yes"))
    exact: dict[tuple[int, ...], float] = {}

    def walk(ids: list[int], chance: float) -> None:
        with torch.no_grad():
            scores = decoder.network(torch.tensor([prompt + ids])).logits[0, -1].numpy().astype(np.float64)
        matcher = guide.matcher()
        for token in ids:
            matcher.advance(token)
        allowed = matcher.allowed()
        weights = np.exp((scores[allowed] - scores[allowed].max()) / 2)  # a temperature of 2: no text is rare
        for token, weight in zip(allowed.tolist(), weights / weights.sum(), strict=True):
            if token in vocabulary.eos_token_ids:
                exact[(*ids, token)] = chance * weight
            else:
                walk([*ids, token], chance * weight)

    walk([], 1.0)
    rng = np.random.default_rng(0)

    def sample(scores: NDArray[np.float32]) -> int:
        weights = np.exp((scores.astype(np.float64) - scores.max()) / 2)
        return int(rng.choice(len(weights), p=weights / weights.sum()))

    print(
        "\n| drafts | samples | texts | chi-square | degrees of freedom | 99.9 % quantile |\n|---|---|---|---|---|---|"
    )
    for name, draft in (("no drafts", no_draft), ("mask only", mask_only), ("pruned by the rule", pruned)):
        counts = Counter(tuple(decoder.write(prompt, guide.matcher(), draft, sample)[0]) for _ in range(samples))
        assert set(counts) <= set(exact)  # noqa: S101
        common = [ids for ids, chance in exact.items() if chance * samples >= 5]
        rest = 1 - sum(exact[ids] for ids in common)
        cells = [(counts[ids], exact[ids] * samples) for ids in common]
        if rest * samples > 1e-6:
            cells.append((samples - sum(seen for seen, _ in cells), rest * samples))
        value = sum((seen - expected) ** 2 / expected for seen, expected in cells)
        free = len(cells) - 1
        quantile = free * (1 - 2 / (9 * free) + 3.0902 * (2 / (9 * free)) ** 0.5) ** 3  # Wilson and Hilferty 1931
        print(f"| {name} | {samples} | {len(exact)} | {value:.1f} | {free} | {quantile:.1f} |", flush=True)


def main() -> None:
    """Measure and print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--schemas", type=int, default=200)
    parser.add_argument("--samples", type=int, default=2000)
    options = parser.parse_args()
    from write_transformers import write_transformers

    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        write_transformers(Path(folder))
        network: Any = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    network.eval()
    decoder, model = Decoder(network), detent.load_model()
    measure(decoder, model, options.schemas)
    distribution(decoder, model, options.samples)


if __name__ == "__main__":
    main()

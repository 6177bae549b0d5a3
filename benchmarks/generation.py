"""Generation with and without a constraint: tokens a second, model calls, and what is spent beside the model.

    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python -m benchmarks.generation
    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python -m benchmarks.generation --large ../shared/data/tokenizers/llama3

A record of a schema with long fixed keys, greedy: with the schema alone, with banned words, and with the tokenizer's
own tokens only. Beside them the plainest loop there is, without detent: read the logits, take the best token, append
it, as many times as the record of the schema alone has tokens. Models are the embedded one and the same weights in
transformers; or with `--large`, a random Llama of transformers with the vocabulary of a real tokenizer, as large as
makes a step take about 10 ms on one core. Then eight rows, one after the other and together.

All of one model is measured in one run, in turns, after one turn that warms up; figures are medians. "Beside the model"
is all the time that is not spent in forward passes: masks, and for each choice the report's masses and the sampler too.
"""

from __future__ import annotations

import argparse
import runpy
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import detent
from detent.generation import Step
from detent.models import Model, Transformers

PROMPT = "Anna Berg is 34. Anna Berg lives in Oslo. Write the person as JSON."
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "customer_identification_number": {"type": "integer", "minimum": 0, "maximum": 99999},
        "preferred_delivery_address_city": {"type": "string", "maxLength": 12},
        "is_premium_subscription_active": {"type": "boolean"},
        "date_of_the_last_modification": {"type": "string", "format": "date"},
    },
    "required": [
        "customer_identification_number",
        "preferred_delivery_address_city",
        "is_premium_subscription_active",
        "date_of_the_last_modification",
    ],
    "additionalProperties": False,
}
BANNED = ["0", "an", "tr"]
ROWS = 8

Reports = list[detent.Report]


def same_in_transformers() -> Model:
    """Load the embedded model's weights with transformers."""
    example = Path(__file__).parents[1] / "examples" / "transformers_generate.py"
    load: Callable[[Path], Model] = runpy.run_path(str(example))["load"]
    return load(Path(detent.__file__).parent / "models" / "weights")


def large(folder: Path) -> Model:
    """Make a random Llama with the vocabulary of a tokenizer."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    file = folder / "tokenizer.json" if folder.is_dir() else folder
    make_tokenizer: Any = PreTrainedTokenizerFast
    tokenizer = make_tokenizer(tokenizer_file=str(file), eos_token="<|end_of_text|>")
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=192, intermediate_size=512, num_hidden_layers=6, num_attention_heads=6,
        tie_word_embeddings=True, bos_token_id=None, eos_token_id=tokenizer.eos_token_id, initializer_range=0.1,
    )  # fmt: skip
    model: Any = LlamaForCausalLM(config)
    return Transformers(model.eval(), tokenizer)


def plain_loop(model: Model, count: int) -> detent.Report:
    """Write `count` tokens without detent, past any end of text."""
    started = time.perf_counter()
    session = model.start(model.encode(PROMPT))
    steps, inside = [], 0.0
    for _ in range(count):
        began = time.perf_counter()
        logits = session.logits
        inside += time.perf_counter() - began
        token_id = int(logits.argmax())
        steps.append(Step(token_id, token_id))
        session.append([token_id])
    return detent.Report(
        steps=tuple(steps), model_calls=count, seconds=time.perf_counter() - started, model_seconds=inside
    )


def median(reports: Reports, figure: Callable[[detent.Report], float]) -> float:
    return statistics.median(figure(report) for report in reports)


def row(name: str, reports: Reports) -> str:
    cells = (
        name,
        f"{median(reports, lambda report: len(report.steps)):.0f}",
        f"{median(reports, lambda report: report.model_calls):.0f}",
        f"{median(reports, lambda report: report.tokens_per_second):.0f}",
        f"{median(reports, lambda report: 1e3 * report.model_seconds / report.model_calls):.2f}",
        f"{median(reports, lambda report: 1e6 * report.mask_seconds / len(report.steps)):.0f}",
        f"{median(reports, lambda r: 1e6 * (r.seconds - r.model_seconds) / len(r.steps)):.0f}",
        f"{median(reports, lambda report: 100 * report.mask_share):.2f} %",
        f"{median(reports, lambda report: len(report.rewinds)):.0f}",
    )
    return f"| {' | '.join(cells)} |"


def one_text(model: Model, max_tokens: int, repeats: int) -> None:
    """Compare ways to write one text, in turns."""
    language = detent.json_schema(SCHEMA, whitespace="compact")
    guides = {way: detent.compile(language, model.vocabulary, canonical=way) for way in (False, True)}

    def generate(ban: list[str], canonical: bool = False) -> detent.Report:
        guide = guides[canonical]
        return detent.generate(model, PROMPT, guide, max_tokens=max_tokens, temperature=0, ban=ban).report

    count = len(generate([]).steps)
    ways: dict[str, Callable[[], detent.Report]] = {
        "a plain loop, unconstrained": lambda: plain_loop(model, count),
        "schema": lambda: generate([]),
        "schema, 3 banned words": lambda: generate(BANNED),
        "schema, canonical": lambda: generate([], canonical=True),
        "schema, canonical, 3 banned words": lambda: generate(BANNED, canonical=True),
    }
    reports: dict[str, Reports] = {name: [] for name in ways}
    for turn in range(repeats + 1):
        for name, write in ways.items():
            report = write()
            if turn:
                reports[name].append(report)
    print("| | tokens | model calls | tokens a second | ms a pass | us in masks a token | us beside the model a token "
          "| time in masks | rewinds |")  # fmt: skip
    print("|---|---|---|---|---|---|---|---|---|")
    for name, found in reports.items():
        print(row(name, found))


def many_texts(model: Model, max_tokens: int, repeats: int) -> None:
    """Compare rows one after the other with rows read together."""
    guide = detent.compile(detent.json_schema(SCHEMA, whitespace="compact"), model.vocabulary)
    requests = [
        detent.Request(PROMPT, guide, max_tokens=max_tokens, samples=ROWS // 2, seed=0),
        detent.Request("Tell me a story about a dog.", max_tokens=max_tokens, samples=ROWS - ROWS // 2, seed=0),
    ]
    seconds: dict[int, list[float]] = {1: [], ROWS: []}
    tokens = 0
    for turn in range(repeats + 1):
        for batch_size, times in seconds.items():
            started = time.perf_counter()
            outs = detent.generate_batch(model, requests, batch_size=batch_size)
            if turn:
                times.append(time.perf_counter() - started)
            tokens = sum(len(out.token_ids) for out in outs)
    alone, together = (tokens / statistics.median(seconds[size]) for size in (1, ROWS))
    print(f"\n{ROWS} rows of two prompts, {tokens} tokens: {alone:.0f} a second one by one, {together:.0f} together")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--large", type=Path, help="a tokenizer.json, or its folder, for a model of 10 ms a step")
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--tokens", type=int, default=120, help="max_tokens")
    options = parser.parse_args()
    models: dict[str, Callable[[], Model]] = {"embedded": detent.load_model, "transformers": same_in_transformers}
    if options.large is not None:
        models = {"random Llama": lambda: large(options.large)}
    for name, load in models.items():
        model = load()
        print(f"\n{name}, {len(model.vocabulary)} tokens\n")
        one_text(model, options.tokens, options.repeats)
        many_texts(model, options.tokens, max(options.repeats // 3, 1))


if __name__ == "__main__":
    main()

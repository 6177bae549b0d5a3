"""Generation with and without a constraint: tokens a second, model calls, and the share of masks.

    OPENBLAS_NUM_THREADS=1 python -m benchmarks.generation
    python -m benchmarks.generation --model path/to/a/folder --repeats 10 --tokens 100

A record of a schema with long fixed keys, greedy, with the schema alone and with banned words; and the plainest loop
there is, without detent: read the logits, take the best token, append it, as many times as the record has tokens. The
embedded model, or any folder that transformers loads. Figures are medians of the repeats, after one that warms up.
On busy cores, more threads make NumPy's passes of a few tokens slow: hence OPENBLAS_NUM_THREADS.
"""

from __future__ import annotations

import argparse
import statistics
import time
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


def load(folder: Path | None) -> Model:
    if folder is None:
        return detent.load_model()
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model = AutoModelForCausalLM.from_pretrained(folder, local_files_only=True).eval()
    return Transformers(model, AutoTokenizer.from_pretrained(folder, local_files_only=True))


def row(name: str, reports: list[detent.Report]) -> str:
    tokens = statistics.median(len(report.steps) for report in reports)
    calls = statistics.median(report.model_calls for report in reports)
    rate = statistics.median(report.tokens_per_second for report in reports)
    per_step = statistics.median(report.mask_seconds / len(report.steps) for report in reports)
    share = statistics.median(report.mask_share for report in reports)
    rewinds = statistics.median(len(report.rewinds) for report in reports)
    cells = (name, f"{tokens:.0f}", f"{calls:.0f}", f"{rate:.0f}", f"{100 * share:.1f} %", f"{1e6 * per_step:.0f}")
    return f"| {' | '.join(cells)} | {rewinds:.0f} |"


def plain_loop(model: Model, count: int) -> detent.Report:
    """Write `count` tokens without detent, past any end of text."""
    started = time.perf_counter()
    session = model.start(model.encode(PROMPT))
    steps = []
    for _ in range(count):
        token_id = int(session.logits.argmax())
        steps.append(Step(token_id, token_id))
        session.append([token_id])
    return detent.Report(steps=tuple(steps), model_calls=count, seconds=time.perf_counter() - started)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, help="a folder that transformers loads (default: the embedded model)")
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--tokens", type=int, default=120, help="max_tokens")
    options = parser.parse_args()
    model = load(options.model)
    guide = detent.compile(detent.json_schema(SCHEMA, whitespace="compact"), model.vocabulary)

    def constrained(**more: Any) -> list[detent.Report]:
        outputs = [
            detent.generate(model, PROMPT, guide, max_tokens=options.tokens, temperature=0, **more)
            for _ in range(options.repeats + 1)
        ]
        return [out.report for out in outputs[1:]]

    schema = constrained()
    plain = [plain_loop(model, len(schema[0].steps)) for _ in range(options.repeats + 1)][1:]
    print("| | tokens | model calls | tokens a second | time in masks | us of masks a token | rewinds |")
    print("|---|---|---|---|---|---|---|")
    print(row("a plain loop, unconstrained", plain))
    print(row("schema", schema))
    print(row("schema, 3 banned words", constrained(ban=["0", "an", "tr"])))


if __name__ == "__main__":
    main()

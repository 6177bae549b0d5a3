"""`detent generate`: write the continuation of a prompt."""

from __future__ import annotations

import json
import sys
from typing import Any

from detent.cli.inputs import read_rule, read_text, sampling_options
from detent.cli.models import open_model
from detent.cli.terminal import progress
from detent.generation import Output, stream

__all__ = ["run"]


def run(options: Any) -> int:
    """Run the command and return its exit status."""
    prompt = read_text(options.prompt, "prompt")
    language = read_rule(options)
    model = open_model(options.model)
    with progress("compiling the language"):
        pieces = stream(model, prompt, language, **sampling_options(options))
    if options.json:
        for _ in pieces:
            pass
        sys.stdout.write(json.dumps(_as_json(pieces.output), ensure_ascii=False, default=str) + "\n")
        return 0
    live = sys.stdout.isatty()
    for piece in pieces:
        sys.stdout.write(piece)
        if live:
            sys.stdout.flush()
    sys.stdout.write("\n")
    if options.report:
        sys.stdout.flush()
        sys.stderr.write(f"{pieces.output.report}\n")
    return 0


def _as_json(output: Output[Any]) -> dict[str, Any]:
    report = output.report
    return {
        "text": output.text,
        "value": None if output.value_error else output.value,
        "finish_reason": output.finish_reason,
        "tokens": len(output.token_ids),
        "prompt_tokens": output.prompt_token_count,
        "model_calls": report.model_calls,
        "log_mass": report.log_mass,
        "canonical": report.canonical,
        "budget": report.budget,
        "budget_bound_at": report.budget_bound_at,
        "seconds": report.seconds,
    }

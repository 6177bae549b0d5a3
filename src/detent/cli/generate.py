"""`detent generate`: write the continuation of a prompt."""

from __future__ import annotations

import json
import sys
from typing import Any

from detent.cli.arguments import (
    Commands,
    add_command,
    add_rule,
    add_sampling,
    read_rule,
    read_text,
    sampling_options,
)
from detent.cli.models import add_model, open_model
from detent.cli.terminal import progress
from detent.generation import Output, stream

__all__ = ["add_to"]


def add_to(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "generate",
        _run,
        summary="write the continuation of a prompt",
        description="Write the continuation of a prompt that matches a regular expression, is valid against a JSON\n"
        "Schema, is in the language of a grammar, or is one of several texts.",
        example='  detent generate --regex "[0-9]{4}-[0-9]{2}-[0-9]{2}" "What is the date?"',
    )
    parser.add_argument("prompt", help="the text to continue; - reads it from standard input")
    add_rule(parser, required=False)
    add_model(parser)
    add_sampling(parser)
    parser.add_argument("--report", action="store_true", help="write the report to standard error")
    parser.add_argument(
        "--json", action="store_true", help="write one JSON object: text, value, reason of the end, report"
    )


def _run(options: Any) -> int:
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

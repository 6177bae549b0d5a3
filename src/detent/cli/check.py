"""`detent check`: whether a text is in the language of a rule, and where it leaves the language."""

from __future__ import annotations

import json
import sys
from typing import Any

from detent.cli.arguments import Commands, add_command, add_rule, read_rule, read_text
from detent.cli.terminal import NO, painted
from detent.language import Language

__all__ = ["add_to"]


def add_to(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "check",
        _run,
        summary="say whether a text is one of a rule, and where it stops",
        description="Say whether a text is one of a rule. If it is not, say where it leaves the rule, what was\n"
        "expected there, and give an example. The exit status is 0 or 1.",
        example='  detent check --regex "[0-9]{4}-[0-9]{2}" "2021-3"',
    )
    parser.add_argument("text", help="the text; - reads it from standard input, without the last line feed")
    add_rule(parser, required=True)
    parser.add_argument("--json", action="store_true", help="write one JSON object")


def _run(options: Any) -> int:
    rule = read_rule(options)
    assert isinstance(rule, Language)  # noqa: S101 - the rule is required
    text = read_text(options.text, "text")
    if options.text == "-":
        text = text.removesuffix("\n")
    mismatch = rule.why(text)
    if options.json:
        found: dict[str, Any] = {"accepted": mismatch is None}
        if mismatch is not None:
            found |= {
                "position": mismatch.position,
                "expected": mismatch.expected,
                "part": mismatch.part,
                "example": mismatch.example,
                "reasons": [str(reason) for reason in mismatch.reasons],
            }
        sys.stdout.write(json.dumps(found, ensure_ascii=False) + "\n")
    else:
        sys.stdout.write(painted("accepted", "green") + "\n" if mismatch is None else f"{mismatch}\n")
    return 0 if mismatch is None else NO

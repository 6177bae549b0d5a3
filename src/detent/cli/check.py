"""`detent check`: whether a text is in the language of a rule, and where it leaves the language."""

from __future__ import annotations

import json
import sys
from typing import Any

from detent.cli.inputs import read_rule, read_text
from detent.cli.terminal import NO, painted
from detent.language import Language
from detent.mismatch import Mismatch

__all__ = ["run"]


def run(options: Any) -> int:
    """Run the command and return its exit status."""
    rule = read_rule(options)
    assert isinstance(rule, Language)  # noqa: S101 - the rule is required
    text = read_text(options.text, "text")
    mismatch = _why_line(rule, text) if options.text == "-" else rule.why(text)
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


def _why_line(rule: Language, text: str) -> Mismatch | None:
    """Return why a rule has a text neither with nor without the line feed at its end, which most programs add."""
    mismatch = rule.why(text.removesuffix("\n"))
    if mismatch is None or not text.endswith("\n"):
        return mismatch
    exact = rule.why(text)
    # Where the rule allows the line feed, it belongs to the text: what the rule expects after it is the answer.
    return exact if exact is None or exact.position == len(text) else mismatch

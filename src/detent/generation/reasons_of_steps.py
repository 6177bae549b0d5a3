"""Reasons of steps: why candidates were refused, and where each token stands, by walking a guide again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from detent.errors import ArgumentError, DetentError
from detent.reason import listed
from detent.sources.json_schema.position import locate
from detent.sources.json_schema.schema_source import SchemaSource

if TYPE_CHECKING:
    from collections.abc import Callable

    from detent.generation.report import Report
    from detent.guide import Guide
    from detent.matcher import Matcher

__all__ = ["read_report"]


def read_report(report: Report, guide: Guide) -> tuple[Callable[[int, int], str], list[str]]:
    """Return a function from a step and a refused candidate to a sentence, and the JSON pointer of each step.

    Raises `ArgumentError` for a guide that does not have the text.
    """
    sentences: dict[tuple[int, int], str] = {}
    pointers: list[str] = []
    is_json = isinstance(guide.language._origin.source, SchemaSource)
    matcher = guide.matcher()
    text = b""
    for number, step in enumerate(report.steps):
        for each in step.alternatives:
            if not each.is_allowed:
                sentences[number, each.token_id] = _sentence(matcher, each.token_id)
        if is_json:
            pointers.append(locate(text).pointer or "/")
        refusal = matcher.why(step.token_id)
        if refusal is not None:
            if refusal.kind in ("language", "incomplete", "finished"):
                raise ArgumentError(
                    f"the text of this report is none of {guide!r}: {refusal}; pass the guide that it was written with"
                )
            break  # the text goes on after a prompt's tokens
        matcher.advance(step.token_id)
        text += report.tokens.get(step.token_id, b"")
    return lambda number, token_id: sentences.get((number, token_id), "refused"), pointers


def _sentence(matcher: Matcher, token_id: int) -> str:
    try:
        refusal = matcher.why(token_id)
    except DetentError:
        return "refused"
    if refusal is None:
        return "refused by a ban or the budget"
    if refusal.kind == "language":
        by = f", by {listed(refusal.reasons)}" if refusal.reasons else ""
        where = f"at byte {(refusal.position or 0) + 1} of the token, " if len(refusal.token) > 1 else ""
        return f"{where}{refusal.expected} is expected{by}"
    if refusal.kind == "not canonical" and refusal.encoding:
        tokens = map(matcher.guide.vocabulary.token_bytes, refusal.encoding)
        written = " ".join(f"“{each.decode('utf-8', 'replace')}”" for each in tokens)
        return f"allowed by the language but not canonical: the tokenizer writes {written}"
    return refusal.sentence().removeprefix(": ")

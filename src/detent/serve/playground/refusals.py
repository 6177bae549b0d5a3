"""Refusals: why a token may not stand at a position, in a word and a sentence, cheap enough for each step of a run."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from detent import _core
from detent.matcher import Matcher
from detent.reason import Reason
from detent.serve.playground.fields import Part
from detent.serve.playground.json_position import position_of
from detent.serve.playground.study import described, phrase
from detent.sources.calls.function import SCHEMA_KEYS

__all__ = ["details_of", "marks_of", "reason_of", "shown_byte"]

_MOST_MARKS = 16
_MOST_SHOWN = 60

_SENTENCES = {
    _core.Refusal.BUDGET: ("budget", "no end in the tokens left"),
    _core.Refusal.FINISHED: ("finished", "the text has ended"),
    _core.Refusal.INCOMPLETE: ("incomplete", "the text is not complete"),
    _core.Refusal.TOKENIZATION: ("canonical", "the rule allows it, but the tokenizer would not write it here"),
    _core.Refusal.TOKEN_DFA: ("table", "the table does not allow it here"),
}


def reason_of(matcher: Matcher, token_id: int, *, is_banned: bool) -> dict[str, str]:
    """Return the kind of a refusal and a sentence.

    Parameters
    ----------
    matcher : Matcher
        Before the token.
    token_id : int
        A token that may not follow.
    is_banned : bool
        Whether a rewind has banned it at this position.
    """
    if is_banned:
        return {"kind": "banned", "text": "it began a banned word, and was taken back"}
    kind, text = _SENTENCES.get(matcher._refusal(token_id)) or _of_language(matcher, token_id)
    return {"kind": kind, "text": text}


def _of_language(matcher: Matcher, token_id: int) -> tuple[str, str]:
    vocabulary = matcher.guide.vocabulary
    data = vocabulary.token_bytes(token_id)
    if token_id in vocabulary.eos_token_ids:
        return "incomplete", "the text is not complete"
    if token_id in vocabulary.special_token_ids or not data:
        return "special", "a special token, and the rule does not ask for it here"
    offset, expected, is_complete, _ = matcher._diagnose(data)
    if offset == len(data):
        return "vocabulary", "no tokens could write what would have to follow"
    found = shown_byte(data[offset])
    where = found if len(data) == 1 else f"byte {offset + 1} is {found}"
    return "language", f"{where}, where {described(expected, is_end=is_complete)} is expected"


def details_of(matcher: Matcher, token_id: int, parts: Sequence[Part]) -> dict[str, Any] | None:
    """Return which parts of a rule refuse a token, and where they stand in the rule; None if it is allowed.

    Costs a search; see `detent.refusal.Refusal.reasons`.
    """
    refusal = matcher.why(token_id)
    if refusal is None:
        return None
    text = ""
    if refusal.kind == "budget" and refusal.needed is not None and refusal.tokens_left is not None:
        text = f"the shortest end is {_shown(refusal.needed)}, {refusal.tokens_needed} tokens; left are "
        text += str(refusal.tokens_left)
    elif refusal.kind == "not canonical" and refusal.encoding:
        vocabulary = matcher.guide.vocabulary
        text = "the tokenizer writes " + " ".join(_shown(vocabulary.token_bytes(each)) for each in refusal.encoding)
    marks = [mark for each in refusal.reasons for mark in marks_of(each, parts)]
    return {"text": text, "by": phrase(refusal.reasons), "marks": marks[:_MOST_MARKS]}


def marks_of(reason: Reason, parts: Sequence[Part]) -> list[dict[str, int]]:
    """Return where a reason stands in the sources of a rule's parts."""
    found = []
    for index, part in enumerate(parts):
        start, length = None, 0
        if reason.kind in ("pattern", "assertion") and part.kind == "regex" and part.source == reason.text:
            start, length = reason.position, len(reason.name)
        elif reason.kind == "keyword" and part.kind in ("schema", "tools"):
            pointer, _, keyword = reason.name.rpartition("/")
            within = _schema_of(part.source, reason) if part.kind == "tools" else ""
            if within is not None:
                start, length = position_of(part.source, within + pointer, keyword), len(keyword) + 2
        elif reason.kind in ("rule", "lexer", "difference") and part.kind == "grammar" and reason.position is not None:
            lines = part.source.split("\n")
            if reason.position <= len(lines):
                start = sum(len(line) + 1 for line in lines[: reason.position - 1])
                length = len(lines[reason.position - 1])
        if start is not None and length:
            found.append({"part": index, "start": start, "end": start + length})
    return found


def _schema_of(source: str, reason: Reason) -> str | None:
    """Return the JSON pointer of the schema in a list of tools that a reason is about."""
    tools = json.loads(source)
    for index, tool in enumerate(tools if isinstance(tools, list) else [tools]):
        inner = tool.get("function", tool)
        if str(Reason("part", "arguments", inner.get("name", ""))) == reason.part:
            path = (f"/{index}" if isinstance(tools, list) else "") + ("/function" if inner is not tool else "")
            return next((f"{path}/{key}" for key in SCHEMA_KEYS if isinstance(inner.get(key), dict)), None)
    return None


def _shown(text: bytes) -> str:
    shown = text.decode("utf-8", "backslashreplace")
    return "“" + (shown if len(shown) <= _MOST_SHOWN else shown[: _MOST_SHOWN - 1] + "…") + "”"


def shown_byte(byte: int) -> str:
    """Return a byte as a sentence names it."""
    named = {0x09: "a tab", 0x0A: "a line break", 0x20: "a space"}
    return named.get(byte) or (f"“{chr(byte)}”" if 0x20 < byte < 0x7F else f"the byte {byte:#04x}")

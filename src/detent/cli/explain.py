"""`detent explain`: which tokens may follow a text, and why others may not."""

from __future__ import annotations

import json
import sys
from html import escape
from typing import Any

import numpy as np

from detent.cli.inputs import read_rule
from detent.cli.models import open_vocabulary
from detent.cli.terminal import painted, progress
from detent.errors import ArgumentError, DetentError
from detent.generation.request import compile_by_default
from detent.guide import Guide
from detent.language import Language
from detent.matcher import Matcher
from detent.pictures import language_body, matcher_body, page
from detent.refusal import shown_bytes

__all__ = ["run"]

_SHOWN = 20


def run(options: Any) -> int:
    """Run the command and return its exit status."""
    rule = read_rule(options)
    assert isinstance(rule, Language)  # noqa: S101 - the rule is required
    vocabulary = open_vocabulary(options.tokenizer)
    with progress("compiling the language"):
        guide = compile_by_default(rule, vocabulary, options.canonical)
        matcher, is_complete = _matcher_after(guide, rule, options.text, options.max_tokens)
    allowed = np.asarray(matcher.allowed())
    reasons = [matcher.explain(token_id) for text in options.next or () for token_id in _ids(vocabulary, text)]
    texts = sorted(vocabulary.token_bytes(int(token_id)) for token_id in allowed)
    texts.sort(key=len, reverse=True)
    if options.output is not None:
        listed = "".join(f"<p>{escape(reason)}</p>" for reason in reasons)
        body = matcher_body(matcher) + (f"<h2>Tokens</h2>{listed}" if listed else "") + language_body(rule)
        try:
            options.output.write_text(page(rule.description, body), encoding="utf-8")
        except OSError as error:
            raise ArgumentError(f"-o {options.output}: {error.strerror}; give a file that can be written") from None
        return 0
    if options.json:
        found = {
            "is_complete": is_complete,
            "canonical": guide.canonical,
            "allowed": len(allowed),
            "vocabulary": len(vocabulary),
            "tokens": [token.decode("utf-8", "backslashreplace") for token in texts],
            "reasons": reasons,
        }
        sys.stdout.write(json.dumps(found, ensure_ascii=False) + "\n")
        return 0
    shown = " ".join(repr(token)[1:] for token in texts[:_SHOWN]) + (" ..." if len(texts) > _SHOWN else "")
    ending = "the text may end here" if is_complete else "the text is not complete"
    kind = "canonical tokens" if guide.canonical else "tokens"
    sys.stdout.write(f"{ending}; {len(allowed)} of {len(vocabulary)} {kind} may follow: {shown}\n")
    for reason in reasons:
        sys.stdout.write(painted(reason, "dim") + "\n")
    return 0


def _matcher_after(guide: Guide, rule: Language, text: str, tokens_left: int | None) -> tuple[Matcher, bool]:
    """Return the matcher after a text, and whether the text may end there."""
    data = text.encode("utf-8", "surrogateescape")
    position, _, is_complete, _ = guide.matcher()._diagnose(data)
    if position < len(data):
        raise ArgumentError(str(rule.why(text)))
    try:
        tokens = guide.vocabulary.encode_canonical(data)
    except DetentError:  # the tokenizer is not known, or the text breaks off inside a character
        if guide.canonical:
            raise
        matcher = guide.matcher(tokens_left)
        matcher.advance_bytes(data)
        return matcher, is_complete
    matcher = guide.matcher(None if tokens_left is None else tokens_left + len(tokens))
    for token_id in tokens:
        refusal = matcher.why(token_id)
        if refusal is None:
            matcher.advance(token_id)
        elif refusal.kind == "not canonical":
            raise ArgumentError(
                f"generate never stands at the end of {shown_bytes(data)}: the tokenizer writes each text that goes on "
                "from there with tokens that go beyond it; cut the text elsewhere, or pass --no-canonical"
            )
        else:
            raise ArgumentError(str(refusal))
    return matcher, is_complete


def _ids(vocabulary: Any, text: str) -> list[int]:
    data = text.encode()
    found = [token_id for token_id in range(len(vocabulary)) if vocabulary.token_bytes(token_id) == data]
    if not found:
        raise ArgumentError(f"--next {text!r} is no token of the vocabulary")
    return found

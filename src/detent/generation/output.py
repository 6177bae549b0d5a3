"""Output: the generated text, its value, and the reason of its end."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from detent.generation.report import Report
from detent.generation.utf8_stream import Utf8Decoder
from detent.language import Language
from detent.vocabulary import Vocabulary

__all__ = ["FinishReason", "Output", "make_output"]

FinishReason = Literal["stop", "length"]

_NO_REPORT = Report()


@dataclass(frozen=True)
class Output:
    """A generated text.

    Attributes
    ----------
    text : str
        The text, without the prompt.
    token_ids : tuple of int
        The ids of the text, without an end-of-text id. If a stop string ended the text, the ids contain it too, up to
        the end of its last token.
    finish_reason : "stop" or "length"
        "stop": the model, the language or a stop string ended the text. "length": `max_tokens` did. A text of a
        language is complete even then; without a language, a partial character at the end is dropped.
    value : object
        The Python value of the text: an int, a date, an instance of a type; the text itself if the language has none.
    budget_bound_at : int or None
        How many tokens were written when `max_tokens` first removed a token from the mask; None if it never did.
    prompt_token_count : int
        Number of tokens of the prompt.
    stop_string : str or None
        The stop string that ended the text.
    report : Report
        Probabilities, model calls and times. Outputs are compared without it.
    """

    text: str
    token_ids: tuple[int, ...]
    finish_reason: FinishReason
    value: object
    budget_bound_at: int | None
    prompt_token_count: int
    stop_string: str | None = None
    report: Report = field(default=_NO_REPORT, compare=False, repr=False)


def make_output(
    vocabulary: Vocabulary, language: Language, report: Report, finish_reason: FinishReason, prompt_token_count: int
) -> Output:
    """Return the output of a sequence of steps."""
    ids = [step.token_id for step in report.steps if step.token_id not in vocabulary.eos_token_ids]
    decoder = Utf8Decoder()
    text = decoder.feed(vocabulary.decode(ids)) + decoder.finish(cut=finish_reason == "length")
    return Output(
        text=text,
        token_ids=tuple(ids),
        finish_reason=finish_reason,
        value=text if language.value is None else language.value(text),
        budget_bound_at=report.budget_bound_at,
        prompt_token_count=prompt_token_count,
        report=report,
    )

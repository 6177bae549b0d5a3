"""Output: the generated text, its value, and the reason of its end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeAlias

from detent.errors import OutputValueError
from detent.generation.report import Report
from detent.generation.utf8_stream import Utf8Decoder
from detent.language import Language, T_co
from detent.turns.events import Turn
from detent.vocabulary import Vocabulary

__all__ = ["FinishReason", "Output", "convert", "make_output"]

FinishReason: TypeAlias = Literal["stop", "length"]

_NO_REPORT = Report()


@dataclass(frozen=True, repr=False)
class Output(Generic[T_co]):
    """A generated text. ``Output[T]`` has a value of type T, for type checkers.

    Attributes
    ----------
    text : str
        The text, without the prompt.
    token_ids : tuple of int
        The ids of the text, without an end-of-text id. If a stop string ended the text, the ids contain it too, up to
        the end of its last token.
    finish_reason : "stop" or "length"
        "length": the budget decided the end. Either it was spent before the end of the text, or it excluded a token
        that the model preferred, or left one token of several. A text of a language is complete even then; without a
        language, a partial character at the end is dropped. "stop": the model, the language or a stop string ended the
        text.
    budget_bound_at : int or None
        How many tokens were written when the budget first removed a token from the mask; None if it never did.
    prompt_token_count : int
        Number of tokens of the prompt.
    stop_string : str or None
        The stop string that ended the text.
    report : Report
        Probabilities, model calls and times. Outputs are compared without it.
    value_error : Exception or None
        The error of the conversion of the text to its value, of a validator for example.
    failed_attempts : tuple of Output
        With ``retries``: the outputs before this one, each with its `value_error`.
    """

    text: str
    token_ids: tuple[int, ...]
    finish_reason: FinishReason
    _value: Any = field(hash=False)
    budget_bound_at: int | None
    prompt_token_count: int
    stop_string: str | None = None
    report: Report = field(default=_NO_REPORT, compare=False)
    value_error: Exception | None = field(default=None, compare=False)
    failed_attempts: tuple[Output, ...] = field(default=(), compare=False)

    @property
    def value(self) -> T_co:
        """The Python value of the text: an int, a date, an instance of a type; the text itself if there is no other.

        Raises
        ------
        OutputValueError
            The conversion failed: see `value_error`. The error has the output.
        """
        if self.value_error is not None:
            kind, reason = type(self.value_error).__name__, str(self.value_error)
            raise OutputValueError(
                f"the text has no value, {kind}: {reason}; the text is in out.text, the error in out.value_error",
                output=self,
            ) from self.value_error
        value: T_co = self._value
        return value

    @property
    def log_probabilities(self) -> tuple[float | None, ...]:
        """The logarithm of the model's probability of each token, before masking; None for a forced token.

        The last entry may be that of a chosen end-of-text token. The sum is `Report.log_probability`.
        """
        return tuple(step.log_probability for step in self.report.steps)

    def _repr_html_(self) -> str:
        from detent.pictures import framed, report_body, shown_text, turn_body

        if isinstance(self._value, Turn):
            shown = turn_body(self._value)
        else:
            value = "" if self.value_error else f"<p>Value: <code>{shown_text(repr(self._value))}</code></p>"
            shown = f"<h1>Output</h1><pre>{shown_text(self.text)}</pre>{value}"
        return framed(f"{shown}<p>It ended by {self.finish_reason!r}.</p>{report_body(self.report)}")

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        from detent.pictures import mime_bundle

        return mime_bundle(self, include, exclude)

    def __repr__(self) -> str:
        value = f"value_error={self.value_error!r}" if self.value_error else f"value={self._value!r}"
        return f"Output(text={self.text!r}, {value}, finish_reason={self.finish_reason!r})"


def convert(
    language: Language, vocabulary: Vocabulary, token_ids: Sequence[int], text: str
) -> tuple[object, Exception | None]:
    """Return the value of a text, or the error of its conversion.

    A turn is read from its tokens, since the text lacks the special tokens between its parts.
    """
    of_tokens = getattr(language.value, "of_tokens", None)
    try:
        if of_tokens is not None:
            return of_tokens(vocabulary, token_ids), None
        return (text if language.value is None else language.value(text)), None
    except Exception as error:  # validators of users raise anything
        return None, error


def make_output(
    vocabulary: Vocabulary, language: Language, report: Report, finish_reason: FinishReason, prompt_token_count: int
) -> Output:
    """Return the output of a sequence of steps."""
    ids = [step.token_id for step in report.steps if step.token_id not in vocabulary.eos_token_ids]
    decoder = Utf8Decoder()
    text = decoder.feed(vocabulary.decode(ids)) + decoder.finish(cut=finish_reason == "length")
    value, value_error = convert(language, vocabulary, ids, text)
    return Output(
        text,
        tuple(ids),
        finish_reason,
        value,
        report.budget_bound_at,
        prompt_token_count,
        report=report,
        value_error=value_error,
    )

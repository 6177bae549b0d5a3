"""Stream: one text under way, token after token.

    logits = the model's          mask = the matcher's          token = the sampler's
       session.append <─────────────── matcher.advance <────────────────┘

Nothing here knows about regexes or caches: the model is a `Session`, the language a `Matcher`, the choice a `Sampler`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from detent.errors import ModelError, StateError
from detent.generation.ends import end_of_text_row
from detent.generation.sampler import Sampler
from detent.generation.text import TextDecoder
from detent.guide import Guide
from detent.mask import allocate_mask, apply_mask
from detent.models.base import Model, Session

__all__ = ["Output", "Stream"]

FinishReason = Literal["stop", "length"]


@dataclass(frozen=True)
class Output:
    """What `generate` wrote.

    Attributes
    ----------
    text : str
        The text, without the prompt.
    token_ids : tuple of int
        The ids that spell it, without an end-of-text id.
    finish_reason : "stop" or "length"
        "stop": the model or the language ended the text. "length": `max_tokens` did; a text of a language is complete
        even then, and of a text without one what it had begun of a character is left out.
    value : object
        The text as the language's Python value: an int, a date, a choice; the text itself where it has no other.
    squeezed_at : int or None
        How many tokens were written when `max_tokens` first took a token from the choice; None if it never did.
    prompt_token_count : int
        Number of tokens of the prompt.
    """

    text: str
    token_ids: tuple[int, ...]
    finish_reason: FinishReason
    value: object
    squeezed_at: int | None
    prompt_token_count: int


class Stream(Iterator[str]):
    """The text piece by piece; made by `stream`. After the last piece, `output` has the whole."""

    def __init__(self, model: Model, prompt_ids: list[int], guide: Guide, sampler: Sampler, max_tokens: int) -> None:
        self._model = model
        self._prompt_ids = prompt_ids
        self._language = guide.language
        self._matcher = guide.matcher(max_tokens)
        self._sampler = sampler
        self._max_tokens = max_tokens
        self._output: Output | None = None
        self._pieces = self._write()

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        return next(self._pieces)

    @property
    def output(self) -> Output:
        """The whole, once the stream is exhausted.

        Raises
        ------
        StateError
            There are pieces left.
        """
        if self._output is None:
            raise StateError("The stream has not ended, so it has no output yet; iterate it to its end first")
        return self._output

    def _write(self) -> Iterator[str]:
        vocabulary = self._model.vocabulary
        decoder = TextDecoder()
        pieces: list[str] = []
        token_ids: list[int] = []
        session: Session | None = None
        mask = allocate_mask(1, len(vocabulary))
        ends = end_of_text_row(vocabulary)
        finish_reason: FinishReason
        while True:
            self._matcher.fill_mask(mask[0])
            if not (mask[0] & ~ends).any():  # only end-of-text is left: no need to ask the model
                spent = len(token_ids) == self._max_tokens
                finish_reason = "length" if spent and self._matcher.expected_bytes() else "stop"
                break
            if session is None:
                session = self._model.start(self._prompt_ids)
            else:
                session.append(token_ids[-1:])
            logits = _logits(session, len(vocabulary))
            apply_mask(logits, mask[0])
            token_id = self._sampler.pick(logits)
            if token_id in vocabulary.eos_token_ids:
                finish_reason = "stop"
                break
            self._matcher.advance(token_id)
            token_ids.append(token_id)
            if piece := decoder.feed(vocabulary.token_bytes(token_id)):
                pieces.append(piece)
                yield piece
        if piece := decoder.finish(cut=finish_reason == "length"):
            pieces.append(piece)
            yield piece
        text = "".join(pieces)
        self._output = Output(
            text=text,
            token_ids=tuple(token_ids),
            finish_reason=finish_reason,
            value=text if self._language.value is None else self._language.value(text),
            squeezed_at=self._matcher.squeezed_at,
            prompt_token_count=len(self._prompt_ids),
        )


def _logits(session: Session, width: int) -> NDArray[np.float32]:
    """Return the session's logits as a float32[width] of our own, to be masked in place."""
    logits = np.array(session.logits, dtype=np.float32)
    if logits.shape != (width,):
        raise ModelError(
            f"The model gives logits of shape {logits.shape} but its vocabulary has {width} ids; if the model's "
            f"logits are padded, pass size={logits.shape[-1] if logits.ndim else width} to the Vocabulary"
        )
    return logits

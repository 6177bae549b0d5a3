"""LogitsCache: keeps a model's session in step with a text that grows and is cut, asking for no logits twice.

Tokens are handed over when logits are next wanted, all in one `append`: a run of tokens that were forced costs one pass
of the model. While the text may still be cut, the rows of its places are kept, so that going back costs no pass at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from detent.errors import ModelError
from detent.models.base import Model, Session

__all__ = ["LogitsCache"]

Row = NDArray[np.float32]


class LogitsCache:
    """What the model says after the prompt and some tokens of ours.

    Parameters
    ----------
    model : Model
        Its sessions must have `crop` where rows are kept.
    prompt_ids : sequence of int
        The prompt.
    """

    def __init__(self, model: Model, prompt_ids: Sequence[int]) -> None:
        self.prompt_ids = list(prompt_ids)
        self._model = model
        self._session: Session | None = None
        self._count = 0
        self._rows: dict[int, Row] = {}
        self._is_read = False
        self.calls = 0
        self.seconds = 0.0

    def logits(self, token_ids: Sequence[int], *, keep: bool) -> Row:
        """Return the logits after the prompt and the tokens: float32[V], to be read only.

        The tokens are those of the call before, cut by `crop` if need be, and more; with `keep`, the row is kept until
        `forget`.
        """
        place = len(token_ids)
        row = self._rows.get(place)
        if row is None:
            started = perf_counter()
            row = self._checked(self.session(token_ids).logits, own=keep)
            self.seconds += perf_counter() - started
            self.calls += not self._is_read
            self._is_read = False
            if keep:
                self._rows[place] = row
        return row

    def crop(self, count: int) -> None:
        """Keep the prompt and the first `count` tokens."""
        if self._session is not None and self._count > count:
            self._session.crop(len(self.prompt_ids) + count)
            self._count = count
        for place in [place for place in self._rows if place > count]:
            del self._rows[place]

    def discard_before(self, count: int) -> None:
        """Let go of the rows before place `count`: the text will not be cut there."""
        for place in [place for place in self._rows if place < count]:
            del self._rows[place]

    def needs_pass(self, count: int) -> bool:
        """Whether the model is still to be asked for the logits after `count` tokens."""
        return count not in self._rows

    @property
    def has_session(self) -> bool:
        """Whether there is a session."""
        return self._session is not None

    def open(self, session: Session) -> None:
        """Go on with a session that holds the prompt and nothing else."""
        self._session = session

    def close(self) -> Session | None:
        """Give the session away, cut to the prompt."""
        self.crop(0)
        session, self._session = self._session, None
        return session

    def session(self, token_ids: Sequence[int]) -> Session:
        """Hand the tokens over to the session, and return it."""
        if self._session is None:
            self._session = self._model.start(self.prompt_ids)
        if self._count < len(token_ids):
            self._session.append(list(token_ids[self._count :]))
            self._count = len(token_ids)
        return self._session

    def record_pass(self, seconds: float, *, passes: int = 1) -> None:
        """Take note that the session was read in a pass with others."""
        self.seconds += seconds
        self.calls += passes
        self._is_read = True

    def _checked(self, logits: Row, *, own: bool) -> Row:
        """Return the session's logits as float32; where they are kept, a copy, as the session may go on in its own."""
        logits = np.array(logits, dtype=np.float32) if own else np.asarray(logits, dtype=np.float32)
        width = len(self._model.vocabulary)
        if logits.shape != (width,):
            raise ModelError(
                f"The model gives logits of shape {logits.shape} but its vocabulary has {width} ids; if the model's "
                f"logits are padded, pass size={logits.shape[-1] if logits.ndim else width} to the Vocabulary"
            )
        return logits

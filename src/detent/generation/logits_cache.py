"""LogitsCache: keeps a model's session in step with a text that grows and is truncated.

Tokens are appended to the session when logits are next needed, all in one `append`. So a run of forced tokens costs one
pass of the model. While the text may be truncated, the logits of its positions are cached, and rewinding costs no pass.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from detent.errors import ModelError
from detent.models.base import BatchModel, Model, Session

__all__ = ["LogitsCache"]

Logits = NDArray[np.float32]


class LogitsCache:
    """The logits of a model after a prompt and each prefix of a text.

    Parameters
    ----------
    model : Model
        Its sessions must have `crop` if the text is ever truncated.
    prompt_ids : sequence of int
        The prompt.
    bias : mapping of int to float, optional
        What is added to the logits of these ids.

    Attributes
    ----------
    calls : int
        Passes of the model.
    seconds : float
        Wall time in the model.
    """

    def __init__(self, model: Model, prompt_ids: Sequence[int], bias: Mapping[int, float] | None = None) -> None:
        self.prompt_ids = list(prompt_ids)
        self._bias = bias
        self._model = model
        self._session: Session | None = None
        self._count = 0
        self._logits: dict[int, Logits] = {}
        self._pass_recorded = False
        self.calls = 0
        self.seconds = 0.0

    def logits(self, token_ids: Sequence[int], *, keep: bool) -> Logits:
        """Return the logits after the prompt and some tokens.

        Parameters
        ----------
        token_ids : sequence of int
            The tokens of the last call, cut by `crop` if need be, and more.
        keep : bool
            Whether to cache the logits until `discard_before`.

        Returns
        -------
        float32[V]
            Read-only for the caller.
        """
        position = len(token_ids)
        logits = self._logits.get(position)
        if logits is None:
            started = perf_counter()
            logits = self._checked(self.session(token_ids).logits, copy=keep)
            self.seconds += perf_counter() - started
            self.calls += not self._pass_recorded
            self._pass_recorded = False
            if keep:
                self._logits[position] = logits
        return logits

    def crop(self, count: int) -> None:
        """Keep the prompt and the first `count` tokens."""
        if self._session is not None and self._count > count:
            self._session.crop(len(self.prompt_ids) + count)
            self._count = count
        for position in [position for position in self._logits if position > count]:
            del self._logits[position]

    def discard_before(self, count: int) -> None:
        """Drop the cached logits before position `count`: the text will not be truncated there."""
        for position in [position for position in self._logits if position < count]:
            del self._logits[position]

    def needs_pass(self, count: int) -> bool:
        """Return whether the logits after `count` tokens need a pass of the model."""
        return count not in self._logits

    @property
    def has_session(self) -> bool:
        """Whether the session has started."""
        return self._session is not None

    def fork(self, session: Session) -> Session:
        """Return a copy of a session of the model, which must be a `BatchModel`."""
        assert isinstance(self._model, BatchModel)  # noqa: S101 - others have no sessions to share
        return self._model.fork(session)

    def open(self, session: Session) -> None:
        """Take over a session that contains the prompt and nothing else."""
        self._session = session

    def close(self) -> Session | None:
        """Hand over the session, truncated to the prompt."""
        self.crop(0)
        session, self._session = self._session, None
        return session

    def release(self) -> None:
        """Drop the session and all cached logits."""
        self._session = None
        self._logits.clear()

    def session(self, token_ids: Sequence[int]) -> Session:
        """Return the session, with the tokens appended."""
        if self._session is None:
            self._session = self._model.start(self.prompt_ids)
        if self._count < len(token_ids):
            self._session.append(list(token_ids[self._count :]))
            self._count = len(token_ids)
        return self._session

    def record_pass(self, seconds: float, *, passes: int = 1) -> None:
        """Record that the session was read in a pass with other sessions."""
        self.seconds += seconds
        self.calls += passes
        self._pass_recorded = True

    def _checked(self, logits: Logits, *, copy: bool) -> Logits:
        """Return the session's logits as float32, with the bias; as a copy if they outlive the session's next pass."""
        copy = copy or bool(self._bias)
        logits = np.array(logits, dtype=np.float32) if copy else np.asarray(logits, dtype=np.float32)
        width = len(self._model.vocabulary)
        if logits.shape != (width,):
            raise ModelError(
                f"The model gives logits of shape {logits.shape} but its vocabulary has {width} ids; if the model's "
                f"logits are padded, pass size={logits.shape[-1] if logits.ndim else width} to the Vocabulary"
            )
        for token_id, bias in (self._bias or {}).items():
            logits[token_id] += bias
        return logits

"""What decoding asks of a model: a vocabulary, an encoder of prompts, and sessions that hold a text under way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from detent.vocabulary.vocabulary import Vocabulary

__all__ = ["BatchModel", "Model", "Session"]


@runtime_checkable
class Session(Protocol):
    """One text under way: its tokens, and the model's logits for the token after them.

    Cost: `append` is one pass of the model for all its tokens; `crop` keeps what was computed for the tokens that stay.
    """

    @property
    def token_ids(self) -> list[int]:
        """All token ids so far, the prompt's included (a copy)."""

    @property
    def logits(self) -> NDArray[np.float32]:
        """Logits of the next token: float32, shape (V,), V being the width of the vocabulary. Treat it as read-only."""

    def append(self, token_ids: Sequence[int]) -> None:
        """Add tokens at the end."""

    def crop(self, length: int) -> None:
        """Keep the first `length` tokens, the prompt's included."""


@runtime_checkable
class Model(Protocol):
    """A language model that decoding can drive.

    >>> import detent
    >>> model = detent.load_model()
    >>> session = model.start(model.encode("Can we talk?"))
    >>> session.logits.shape == (len(model.vocabulary),)
    True
    """

    @property
    def vocabulary(self) -> Vocabulary:
        """The bytes of each token id; its width is the logits' width."""

    def encode(self, prompt: str) -> list[int]:
        """Write a prompt as token ids, in the model's chat template if it has one."""

    def start(self, token_ids: Sequence[int]) -> Session:
        """Begin a session with a prompt of at least one token."""


@runtime_checkable
class BatchModel(Model, Protocol):
    """A model that reads several sessions in one pass; what only `Model` asks for is read one session at a time."""

    def read(self, sessions: Sequence[Session]) -> None:
        """Compute the `logits` of all sessions, which are this model's own, in one pass."""

    def fork(self, session: Session) -> Session:
        """Return an independent session with the same tokens, without reading them again."""

"""The protocols of a model: a vocabulary, an encoder of prompts, and sessions, one for each text."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, SupportsIndex, runtime_checkable

import numpy as np

from detent.errors import ArgumentError
from detent.sources.nodes import short_repr

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from detent.models.chat import Chat
    from detent.vocabulary.vocabulary import Vocabulary

__all__ = ["BatchModel", "ChatModel", "Model", "Session", "context_of", "temperature_of"]

DEFAULT_TEMPERATURE = 0.7


@runtime_checkable
class Session(Protocol):
    """The tokens of one text, and the model's logits for the next token.

    Cost: one pass of the model for all tokens of an `append`. `crop` keeps the computed state of the remaining tokens.
    """

    @property
    def token_ids(self) -> list[int]:
        """All token ids so far, the prompt's included (a copy)."""

    @property
    def logits(self) -> NDArray[np.float32]:
        """Logits of the next token: float32[V], V being the width of the vocabulary; read-only for the caller."""

    def append(self, token_ids: Sequence[int]) -> None:
        """Add tokens at the end."""

    def crop(self, length: int) -> None:
        """Keep the first `length` tokens, the prompt's included."""


@runtime_checkable
class Model(Protocol):
    """A language model.

    A model may have two more attributes. ``context`` is the most tokens of a session; `generate` then fits the text
    into it. ``temperature`` is the default temperature; without it, it is 0.7.

    >>> import detent
    >>> model = detent.load_model()
    >>> session = model.start(model.encode("Can we talk?"))
    >>> session.logits.shape == (len(model.vocabulary),)
    True
    """

    @property
    def vocabulary(self) -> Vocabulary:
        """The bytes of each token id; its width is that of the logits."""

    def encode(self, prompt: str) -> list[int]:
        """Return the token ids of a prompt, in the model's chat template if it has one."""

    def start(self, token_ids: Sequence[int]) -> Session:
        """Start a session with a prompt of at least one token."""


@runtime_checkable
class BatchModel(Model, Protocol):
    """A model that reads several sessions in one pass. Other models read one session at a time."""

    def read(self, sessions: Sequence[Session]) -> None:
        """Compute the `logits` of several sessions of this model in one pass."""

    def fork(self, session: Session) -> Session:
        """Return an independent session with the same tokens, without reading them again."""


@runtime_checkable
class ChatModel(Model, Protocol):
    """A model with a chat template; `generate` then takes conversations as a prompt."""

    @property
    def chat(self) -> bool:
        """Whether `encode` wraps a prompt in the template, as the message of a user."""

    def encode_chat(self, chat: Chat) -> list[int]:
        """Return the token ids of a conversation, up to the start of the next answer.

        Raises `ArgumentError` for a conversation that the template cannot express.
        """


def context_of(model: Model) -> int | None:
    """Return the most tokens of a session, or None if the model does not know."""
    context = getattr(model, "context", None)
    return context if isinstance(context, int) and context > 0 else None


def temperature_of(model: Model) -> float:
    """Return the default temperature of a model."""
    temperature = getattr(model, "temperature", None)
    return DEFAULT_TEMPERATURE if temperature is None else temperature


def checked_ids(token_ids: object, vocab_size: int | None = None) -> list[int]:
    """Return token ids as a list of int, or raise `ArgumentError`."""
    if not isinstance(token_ids, (Sequence, np.ndarray)) or isinstance(token_ids, (str, bytes, bytearray)):
        raise ArgumentError(f"token ids must be a sequence of integers, got {type(token_ids).__name__}")
    try:
        ids = [operator.index(token_id) for token_id in token_ids]
    except TypeError:
        raise ArgumentError(f"token ids must be integers, got {short_repr(token_ids)}") from None
    for token_id in ids:
        if token_id < 0 or (vocab_size is not None and token_id >= vocab_size):
            known = "" if vocab_size is None else f" of {vocab_size} ids"
            raise ArgumentError(f"token id {token_id} is outside the vocabulary{known}")
    return ids


def checked_length(length: SupportsIndex, size: int, *, least: int) -> int:
    """Return the length to which a sequence of `size` tokens is cropped, or raise `ArgumentError`."""
    try:
        value = operator.index(length)
    except TypeError:
        value = -1
    if not least <= value <= size:
        raise ArgumentError(
            f"cannot crop {size} tokens to {short_repr(length)}: give an integer from {least} to {size}"
        )
    return value

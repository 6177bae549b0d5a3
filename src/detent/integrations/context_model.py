"""ContextModel: a model for `detent.generate` from an engine's context, which reads tokens and forgets the last ones.

Engines of one sequence, such as llama.cpp, have a context: the keys and values of the tokens that they have read. Their
own loops read one token at a time. Here the loop is detent's: it reads forced tokens together, and returns to an
earlier token where a ban asks for that.

A context serves any number of sessions, one at a time: it keeps the tokens that it has in common with the session that
asks, and reads the others. Sessions that take turns are slow, and exact.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Lock
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from detent.errors import ArgumentError, ModelError
from detent.models.base import checked_ids
from detent.models.callable import ComputedSession
from detent.models.chat import Chat, Message
from detent.models.chat_template import ChatTemplate
from detent.models.template_tokens import tokenize_chat
from detent.vocabulary import Vocabulary

__all__ = ["ContextModel", "TokenContext"]


class TokenContext(Protocol):
    """What an engine offers."""

    def read(self, token_ids: Sequence[int]) -> NDArray[np.float32]:
        """Read tokens after those that were read before; return the logits after the last, float32[L], L >= V."""

    def truncate(self, length: int) -> None:
        """Forget all but the first `length` tokens."""

    def has_read(self, token_ids: Sequence[int]) -> bool:
        """Whether these are the tokens that were read; not so if somebody else has used the engine."""


class ContextModel:
    """A model whose sessions share one context.

    Parameters
    ----------
    context : TokenContext
        The context; nobody else may use it meanwhile.
    vocabulary : Vocabulary
        The bytes of each id.
    encode : callable
        From a text to token ids; it reads the names of special tokens.
    size : int or None
        The most tokens of a session.
    chat_template : ChatTemplate or None
        For prompts that are conversations.
    """

    chat = False
    """`encode` uses no chat template."""

    def __init__(
        self,
        context: TokenContext,
        vocabulary: Vocabulary,
        encode: Callable[[str], Sequence[int]],
        *,
        size: int | None = None,
        chat_template: ChatTemplate | None = None,
    ) -> None:
        self.vocabulary = vocabulary
        self.context = size
        self._encode = encode
        self._chat_template = chat_template
        self._shared = _SharedContext(context, len(vocabulary), size)

    def encode(self, prompt: str) -> list[int]:
        """Return the token ids of a prompt."""
        return checked_ids(self._encode(prompt), len(self.vocabulary))

    def encode_chat(self, chat: Chat | Sequence[Message]) -> list[int]:
        """Return the token ids of a conversation; raise `ArgumentError` if the model has no chat template for it."""
        if self._chat_template is None:
            raise ArgumentError("the model has no chat template for a conversation; pass a str as the prompt")
        return tokenize_chat(self._chat_template, Chat.of(chat), self.vocabulary, self.encode)

    def start(self, token_ids: Sequence[int]) -> ComputedSession:
        """Start a session with the ids of a prompt."""
        ids = checked_ids(token_ids, len(self.vocabulary))
        if not ids:
            raise ArgumentError("the prompt has no tokens; the model needs at least one")
        return ComputedSession(self._shared.logits, ids, least=1)


class _SharedContext:
    """The context, and the tokens that it has read."""

    def __init__(self, context: TokenContext, width: int, size: int | None) -> None:
        self._context = context
        self._width = width
        self._size = size
        self._tokens: list[int] = []
        self._lock = Lock()

    def logits(self, ids: list[int]) -> NDArray[np.float32]:
        """Return the logits after these tokens, of which the last one is read in any case."""
        if self._size is not None and len(ids) > self._size:
            raise ModelError(
                f"the sequence has {len(ids)} tokens, but the context has {self._size}; shorten the prompt"
            )
        with self._lock:
            known = self._tokens
            common = 0
            while common < min(len(known), len(ids) - 1) and known[common] == ids[common]:
                common += 1
            self._tokens = []  # after an error, nothing is known
            if not known or not self._context.has_read(known):
                common = 0
                self._context.truncate(0)
            elif common < len(known):
                self._context.truncate(common)
            found = self._context.read(ids[common:])
            if found.ndim != 1 or len(found) < self._width:
                raise ModelError(f"the engine has logits of shape {found.shape}, the vocabulary {self._width} ids")
            logits = np.empty(self._width, dtype=np.float32)
            logits[:] = found[: self._width]  # a copy: engines reuse theirs
            self._tokens = list(ids)
        return logits

"""CallableModel: a model from a function of token ids to logits.

The function gets the whole sequence at each call, so it may be stateless: an n-gram table, a compressor, a remote
service. Its result is checked at each call, because a wrong width or NaN would result in wrong text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from detent.errors import ArgumentError, ModelError
from detent.models.base import Session, checked_ids, checked_length
from detent.models.chat import Chat, Message
from detent.models.chat_template import ChatTemplate
from detent.models.template_tokens import tokenize_chat
from detent.suggestions import suggests_arguments
from detent.vocabulary import Vocabulary

__all__ = ["CallableModel"]


@suggests_arguments
class CallableModel:
    """A model from a function of all token ids so far to the logits of the next token.

    >>> import detent
    >>> vocabulary = detent.Vocabulary([b"a", b"b", b""], eos_token_ids=[2])
    >>> model = CallableModel(lambda token_ids: [0.0, 1.0, -5.0], vocabulary)
    >>> detent.generate(model, [0], detent.regex("a?b{3}"), temperature=0).text
    'bbb'

    Cost: one call of `function` a token, with the whole sequence (prompt included).

    Parameters
    ----------
    function : callable
        Takes a list of ids and returns real numbers of shape ``(len(vocabulary),)``: a list, NumPy array or CPU
        tensor. Minus infinity excludes a token.
    vocabulary : Vocabulary
        The bytes of each id.
    encode : callable or None
        From a prompt to token ids. None takes `Vocabulary.encode`, which needs an attached tokenizer.
    chat_template : ChatTemplate or None
        For prompts that are conversations. `encode` then gets the text of the template: it must read the names of
        special tokens, and add none.
    """

    chat = False
    """`encode` uses no chat template."""

    def __init__(
        self,
        function: Callable[[Sequence[int]], ArrayLike],
        vocabulary: Vocabulary,
        encode: Callable[[str], Sequence[int]] | None = None,
        *,
        chat_template: ChatTemplate | None = None,
    ) -> None:
        if not callable(function):
            raise ArgumentError(f"function must be callable, got {type(function).__name__}")
        if not isinstance(vocabulary, Vocabulary):
            raise ArgumentError(f"vocabulary must be a detent.Vocabulary, got {type(vocabulary).__name__}")
        if encode is not None and not callable(encode):
            raise ArgumentError(f"encode must be callable or None, got {type(encode).__name__}")
        if chat_template is not None and not isinstance(chat_template, ChatTemplate):
            raise ArgumentError(
                f"chat_template must be a detent.models.ChatTemplate, got {type(chat_template).__name__}; "
                "write ChatTemplate(source) or ChatTemplate.from_file(path)"
            )
        self.vocabulary = vocabulary
        self._function = function
        self._encode = encode
        self._chat_template = chat_template

    def encode(self, prompt: str) -> list[int]:
        """Return the token ids of a prompt."""
        if self._encode is None:
            return self.vocabulary.encode(prompt)
        try:
            return checked_ids(self._encode(prompt), len(self.vocabulary))
        except ArgumentError as error:
            raise ModelError(f"the model's encode must return token ids: {error}") from None

    def encode_chat(self, chat: Chat | Sequence[Message]) -> list[int]:
        """Return the token ids of a conversation.

        Raises
        ------
        ArgumentError
            The model has no chat template, or its template cannot express the conversation.
        """
        if self._chat_template is None:
            raise ArgumentError(
                "the model has no chat template for a conversation; pass chat_template= to CallableModel, or a str as "
                "the prompt"
            )
        return tokenize_chat(self._chat_template, Chat.of(chat), self.vocabulary, self.encode)

    def start(self, token_ids: Sequence[int]) -> Session:
        """Start a session with the ids of a prompt."""
        return ComputedSession(lambda ids: _checked(self._function(ids), len(self.vocabulary)), token_ids)


class ComputedSession:
    """A session whose logits a function of all its ids computes, when they are first read after a change."""

    def __init__(
        self, compute: Callable[[list[int]], NDArray[np.float32]], token_ids: Sequence[int], *, least: int = 0
    ) -> None:
        self._compute = compute
        self._token_ids = checked_ids(token_ids)
        self._least = least
        self._logits: NDArray[np.float32] | None = None

    @property
    def token_ids(self) -> list[int]:
        return list(self._token_ids)

    @property
    def logits(self) -> NDArray[np.float32]:
        if self._logits is None:
            self._logits = self._compute(list(self._token_ids))
        return self._logits

    def append(self, token_ids: Sequence[int]) -> None:
        self._token_ids.extend(checked_ids(token_ids))
        self._logits = None

    def crop(self, length: int) -> None:
        del self._token_ids[checked_length(length, len(self._token_ids), least=self._least) :]
        self._logits = None


def _checked(logits: ArrayLike, width: int) -> NDArray[np.float32]:
    if type(logits).__module__ == "torch":  # on a device, with a gradient, or bfloat16, which NumPy has not
        tensor: Any = logits.detach().cpu()  # type: ignore[union-attr]
        logits = tensor.float() if str(tensor.dtype) == "torch.bfloat16" else tensor
    try:
        array = np.asarray(logits)
    except (
        TypeError,
        ValueError,
        RuntimeError,
    ) as error:  # ragged lists
        raise ModelError(f"The model's function must return numbers of shape ({width},): {error}") from error
    if array.dtype.kind not in "fiu":
        raise ModelError(f"The model's function must return real numbers, got dtype {array.dtype}")
    if array.shape != (width,):
        raise ModelError(
            f"The model's function must return one logit for each of the vocabulary's {width} ids, got shape "
            f"{array.shape}; if the logits are padded, pass size= to the Vocabulary"
        )
    with np.errstate(over="ignore"):  # beyond float32 is infinite, which the sampler refuses
        return array.astype(np.float32)

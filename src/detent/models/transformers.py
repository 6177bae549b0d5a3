"""Transformers: a decoder of the transformers library and its tokenizer, as a model with a KV cache.

A session keeps the ids and a cache of the first `cached` of them. Appending and cropping only move these two; the
forward pass runs when logits are next read, over all ids that are not cached yet, so several appended tokens cost
one pass.

Cropping cuts the cache only where every layer keeps every position (`DynamicLayer` itself). Sliding-window and
recurrent layers have thrown away what a shorter sequence would need, so there the session starts afresh: slower,
and exact.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from detent.errors import ArgumentError, ModelError
from detent.models.base import Session
from detent.vocabulary import Vocabulary

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

__all__ = ["Transformers"]


class Transformers:
    """A causal language model of transformers 5 and its tokenizer.

    >>> from detent.models import Transformers
    >>> from transformers import AutoModelForCausalLM, AutoTokenizer        # doctest: +SKIP
    >>> name = "path/to/a/model"
    >>> model = Transformers(                                               # doctest: +SKIP
    ...     AutoModelForCausalLM.from_pretrained(name), AutoTokenizer.from_pretrained(name)
    ... )

    The model runs where it is (CPU or GPU) and in its dtype; logits come back as float32 on the CPU.

    Parameters
    ----------
    model : transformers.PreTrainedModel
        A decoder, in evaluation mode.
    tokenizer : transformers.PreTrainedTokenizerBase
        Its tokenizer, fast or slow.
    vocabulary : Vocabulary or None
        The bytes of each id. None reads them from the tokenizer, as wide as the model's logits, with every
        end-of-text id that the tokenizer and the model's generation config name.
    chat : bool
        Whether a prompt is a user's message, to be wrapped in the tokenizer's chat template, rather than plain text.

    Raises
    ------
    ModelError
        The model is an encoder-decoder, is in training mode, or the tokenizer has no chat template although `chat`
        asks for it.
    VocabularyError
        The tokenizer's ids cannot be mapped to bytes exactly.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase,
        *,
        vocabulary: Vocabulary | None = None,
        chat: bool = False,
    ) -> None:
        if not hasattr(model, "config") or not hasattr(model, "forward"):
            raise ArgumentError(f"model must be a transformers model, got {type(model).__name__}")
        if not callable(tokenizer):
            raise ArgumentError(f"tokenizer must be a transformers tokenizer, got {type(tokenizer).__name__}")
        name = type(model).__name__
        if model.config.is_encoder_decoder:
            raise ModelError(
                f"{name} is an encoder-decoder, which detent.generate cannot drive; "
                "call its own generate with detent.integrations.transformers.LogitsProcessor"
            )
        if model.training:
            raise ModelError(
                f"{name} is in training mode, where dropout makes its logits random; call model.eval() first"
            )
        if chat and not getattr(tokenizer, "chat_template", None):
            raise ModelError("The tokenizer has no chat template; leave chat=False and write the turns into the prompt")
        self.model = model
        self.tokenizer = tokenizer
        self.chat = chat
        self.vocabulary = _vocabulary(model, tokenizer) if vocabulary is None else vocabulary

    def encode(self, prompt: str) -> list[int]:
        """Return the token ids of a prompt, with the special tokens that the tokenizer puts around a text."""
        encoding: Any
        if self.chat:
            turns = [{"role": "user", "content": prompt}]
            encoding = self.tokenizer.apply_chat_template(turns, add_generation_prompt=True, return_dict=True)
        else:
            encoding = self.tokenizer(prompt)
        return list(encoding["input_ids"])

    def start(self, token_ids: Sequence[int]) -> Session:
        """Begin a sequence with the ids of a prompt."""
        return _TransformersSession(self.model, token_ids)


class _TransformersSession:
    def __init__(self, model: PreTrainedModel, token_ids: Sequence[int]) -> None:
        if not token_ids:
            raise ArgumentError(
                "The prompt has no tokens; a transformers model needs at least one, such as the beginning-of-text id"
            )
        self._model = model
        # Without this, a long prompt costs its length times the vocabulary in memory.
        keeps = "logits_to_keep" in inspect.signature(model.forward).parameters
        self._last_only: dict[str, Any] = {"logits_to_keep": 1} if keeps else {}
        self._limit: int | None = getattr(model.config.get_text_config(), "max_position_embeddings", None)
        self._token_ids = list(token_ids)
        self._cache: Any = None
        self._cached = 0
        self._logits: NDArray[np.float32] | None = None

    @property
    def token_ids(self) -> list[int]:
        return list(self._token_ids)

    @property
    def logits(self) -> NDArray[np.float32]:
        if self._logits is None:
            self._logits = self._forward()
        return self._logits

    def append(self, token_ids: Sequence[int]) -> None:
        if len(token_ids):
            self._token_ids.extend(token_ids)
            self._logits = None

    def crop(self, length: int) -> None:
        if not 1 <= length <= len(self._token_ids):
            raise ArgumentError(f"Cannot crop a sequence of {len(self._token_ids)} tokens to {length}")
        if length == len(self._token_ids):
            return
        del self._token_ids[length:]
        self._logits = None
        surplus = self._cached - (length - 1)  # the last token is run again, for its logits
        if surplus > 0 and _keeps_every_position(self._cache):
            self._cache.crop(-surplus)
            self._cached -= surplus
        elif surplus > 0:
            self._cache, self._cached = None, 0

    def _forward(self) -> NDArray[np.float32]:
        import torch
        from transformers import DynamicCache

        if self._limit is not None and len(self._token_ids) > self._limit:
            raise ModelError(
                f"The sequence has {len(self._token_ids)} tokens, but the model was built for at most {self._limit}; "
                "shorten the prompt or lower max_tokens"
            )
        if self._cache is None:
            self._cache = DynamicCache(config=self._model.config)
        fresh = torch.tensor([self._token_ids[self._cached :]], dtype=torch.long, device=self._model.device)
        try:
            with torch.no_grad():
                outputs = self._model(input_ids=fresh, past_key_values=self._cache, use_cache=True, **self._last_only)
        except BaseException:  # out of memory or Ctrl-C between two layers leaves them at different lengths
            self._cache, self._cached = None, 0
            raise
        self._cached = len(self._token_ids)
        logits: NDArray[np.float32] = outputs.logits[0, -1].float().cpu().numpy()
        return logits


def _keeps_every_position(cache: Any) -> bool:
    from transformers.cache_utils import DynamicLayer

    return bool(cache.is_croppable) and all(type(layer) is DynamicLayer for layer in cache.layers)


def _vocabulary(model: Any, tokenizer: Any) -> Vocabulary:
    head = model.get_output_embeddings()
    width = model.config.get_text_config().vocab_size if head is None else head.weight.shape[0]
    return Vocabulary.from_transformers(tokenizer, size=width, eos_token_ids=_end_ids(model, tokenizer) or "auto")


def _end_ids(model: Any, tokenizer: Any) -> list[int]:
    """Return the end-of-text ids that the tokenizer and the generation config name: chat models have several."""
    named = getattr(model.generation_config, "eos_token_id", None)
    configured = set(named) if isinstance(named, (list, tuple)) else {named}
    ids = {int(token_id) for token_id in configured | {tokenizer.eos_token_id} if token_id is not None}
    special = {token_id for token_id, token in tokenizer.added_tokens_decoder.items() if token.special}
    if wrong := ids - special - {tokenizer.eos_token_id}:
        raise ModelError(
            f"The model's generation_config names id {min(wrong)} as end of text, which is not a special token of the "
            "tokenizer; correct generation_config.eos_token_id, or pass vocabulary="
        )
    return sorted(ids)

"""Transformers: a model from a decoder of the transformers library and its tokenizer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from detent.errors import ArgumentError, ModelError
from detent.models.base import Session
from detent.models.chat import Chat, Message
from detent.models.chat_template import ChatTemplate
from detent.models.kv_cache import CachedSession, read_sessions
from detent.models.template_tokens import tokenize_chat
from detent.suggestions import suggests_arguments
from detent.vocabulary import Vocabulary

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

__all__ = ["Transformers"]


@suggests_arguments
class Transformers:
    """A causal language model of transformers 5 and its tokenizer.

    >>> from detent.models import Transformers
    >>> from transformers import AutoModelForCausalLM, AutoTokenizer        # doctest: +SKIP
    >>> name = "path/to/a/model"
    >>> model = Transformers(                                               # doctest: +SKIP
    ...     AutoModelForCausalLM.from_pretrained(name), AutoTokenizer.from_pretrained(name)
    ... )

    The model keeps its device and dtype; logits are float32 on the CPU.

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
        Whether a prompt is the message of a user, for the tokenizer's chat template, instead of plain text.

    Raises
    ------
    ModelError
        The model is an encoder-decoder or in training mode, or the tokenizer has no chat template for `chat`.
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
            raise ArgumentError(
                f"model must be a transformers model, got {type(model).__name__}; load it with "
                "transformers.AutoModelForCausalLM.from_pretrained(name)"
            )
        if not callable(tokenizer):
            raise ArgumentError(
                f"tokenizer must be a transformers tokenizer, got {type(tokenizer).__name__}; load it with "
                "transformers.AutoTokenizer.from_pretrained(name)"
            )
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
        return self.encode_chat(Chat(prompt)) if self.chat else self._ids(prompt, add_special_tokens=True)

    def encode_chat(self, chat: Chat | Sequence[Message]) -> list[int]:
        """Return the token ids of a conversation in the tokenizer's chat template.

        Raises
        ------
        ArgumentError
            The tokenizer has no chat template, or its template cannot express the conversation.
        ModelError
            The template fails, or `jinja2` is not installed.
        """
        source = getattr(self.tokenizer, "chat_template", None)
        if not source:
            raise ArgumentError("the tokenizer has no chat template for a conversation; pass the prompt as a str")
        tokens = {name: str(text) for name, text in self.tokenizer.special_tokens_map.items() if isinstance(text, str)}
        template = ChatTemplate(source, special_tokens=tokens)
        return tokenize_chat(template, Chat.of(chat), self.vocabulary, self._ids)

    def _ids(self, text: str, *, add_special_tokens: bool = False) -> list[int]:
        encoding: Any = self.tokenizer(text, add_special_tokens=add_special_tokens)
        return list(encoding["input_ids"])

    @property
    def context(self) -> int | None:
        """The most tokens of a session, as the model's config has it."""
        limit = getattr(self.model.config.get_text_config(), "max_position_embeddings", None)
        return limit if isinstance(limit, int) and limit > 0 else None

    @property
    def temperature(self) -> float | None:
        """The temperature of the model's generation config; 0 where that config turns sampling off; else None."""
        config = getattr(self.model, "generation_config", None)
        temperature = getattr(config, "temperature", None)
        if getattr(config, "do_sample", None) is False:
            return 0.0
        return None if temperature is None else float(temperature)

    def start(self, token_ids: Sequence[int]) -> Session:
        """Start a session with the ids of a prompt."""
        return CachedSession(self.model, token_ids)

    def read(self, sessions: Sequence[Session]) -> None:
        """Compute the logits of several sessions in one pass, and in one more where some have not been read before."""
        read_sessions([_checked(session) for session in sessions])

    def fork(self, session: Session) -> Session:
        """Return an independent session with the same tokens, without reading them again."""
        return _checked(session).fork()


def _checked(session: Session) -> CachedSession:
    if not isinstance(session, CachedSession):
        raise ArgumentError(f"expected a session that this model started, got {type(session).__name__}")
    return session


def _vocabulary(model: Any, tokenizer: Any) -> Vocabulary:
    head = model.get_output_embeddings()
    width = model.config.get_text_config().vocab_size if head is None else head.weight.shape[0]
    return Vocabulary.from_transformers(tokenizer, size=width, eos_token_ids=_eos_ids(model, tokenizer) or "auto")


def _eos_ids(model: Any, tokenizer: Any) -> list[int]:
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

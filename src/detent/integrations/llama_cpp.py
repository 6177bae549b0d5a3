"""llama-cpp-python: a logits processor for its own loop, and a model for detent's.

The loop of `detent.generate` reads forced tokens together and rewinds where a ban asks for it, so prefer `LlamaCpp`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from detent.errors import ArgumentError, ModelError
from detent.integrations.context_model import ContextModel
from detent.integrations.history_processor import HistoryProcessor
from detent.mask import apply_mask
from detent.models.chat_template import ChatTemplate
from detent.vocabulary import Vocabulary

if TYPE_CHECKING:
    from llama_cpp import Llama

__all__ = ["LlamaCpp", "LogitsProcessor"]


class LogitsProcessor(HistoryProcessor):
    """Holds what llama-cpp-python writes to a rule.

    >>> from detent.integrations.llama_cpp import LlamaCpp, LogitsProcessor
    >>> llama = llama_cpp.Llama("model.gguf")                                                   # doctest: +SKIP
    >>> processor = LogitsProcessor(detent.regex("[a-z]+"), LlamaCpp(llama).vocabulary)          # doctest: +SKIP
    >>> out = llama("Q:", logits_processor=llama_cpp.LogitsProcessorList([processor]))          # doctest: +SKIP
    >>> processor.raise_failure()                                                               # doctest: +SKIP

    llama-cpp-python swallows what a processor raises and goes on with the logits as they were. So this one never
    raises: it allows end-of-text alone, and `raise_failure` raises after the call. Parameters are those of
    `HistoryProcessor`. Its `logit_bias` drops all processors, and its `draft_model` shows them wrong ids: leave both
    out.
    """

    def __call__(self, input_ids: NDArray[np.intc], scores: NDArray[np.single]) -> NDArray[np.single]:
        """Return a copy of the scores float32[V] with -inf where the rule does not allow the token."""
        masked = np.array(scores, dtype=np.float32)
        try:
            apply_mask(masked, self.mask(np.asarray(input_ids, dtype=np.int64)))
        except ArgumentError as error:  # logits of another model than the vocabulary's
            self._state.failure = self._state.failure or error
            ends = [token_id for token_id in self.guide.vocabulary.eos_token_ids if token_id < len(masked)]
            masked[:] = -np.inf
            masked[ends] = 0
        return masked


class LlamaCpp(ContextModel):
    """A model of llama-cpp-python, for `detent.generate` and all the others.

    >>> from detent.integrations.llama_cpp import LlamaCpp
    >>> model = LlamaCpp(llama_cpp.Llama("model.gguf", n_ctx=2048))                             # doctest: +SKIP
    >>> detent.generate(model, "Pick a number.", detent.regex("[0-9]{3}")).text                 # doctest: +SKIP

    Parameters
    ----------
    llama : llama_cpp.Llama
        Nobody else may use it meanwhile.
    vocabulary : Vocabulary, optional
        None reads it from the file of the model.
    """

    def __init__(self, llama: Llama, vocabulary: Vocabulary | None = None) -> None:
        if not hasattr(llama, "eval") or not hasattr(llama, "n_vocab"):
            raise ArgumentError(f"llama must be a llama_cpp.Llama, got {type(llama).__name__}")
        if getattr(llama, "draft_model", None) is not None:
            raise ArgumentError("llama has a draft_model, which changes the context too; leave it out")
        if vocabulary is None:
            vocabulary = Vocabulary.from_gguf(llama.model_path, size=llama.n_vocab())
        self.llama = llama
        template = (llama.metadata or {}).get("tokenizer.chat_template")
        super().__init__(
            _Context(llama),
            vocabulary,
            self._tokenize,
            size=llama.n_ctx(),
            chat_template=None if template is None else ChatTemplate(template),
        )

    def _tokenize(self, prompt: str) -> list[int]:
        adds = self.llama.metadata.get("tokenizer.ggml.add_bos_token", "true") == "true"
        ids: list[int] = self.llama.tokenize(prompt.encode(), add_bos=adds, special=True)
        return ids


class _Context:
    def __init__(self, llama: Any) -> None:
        self._llama = llama
        llama.reset()

    def read(self, token_ids: Sequence[int]) -> NDArray[np.float32]:
        llama = self._llama
        llama.eval(list(token_ids))
        logits: NDArray[np.float32] = np.ctypeslib.as_array(llama._ctx.get_logits_ith(-1), shape=(llama.n_vocab(),))
        return logits

    def has_read(self, token_ids: Sequence[int]) -> bool:
        known: list[int] = self._llama.input_ids[: self._llama.n_tokens].tolist()
        return known == list(token_ids)

    def truncate(self, length: int) -> None:
        llama = self._llama
        if not llama._ctx.kv_cache_seq_rm(-1, length, -1) and length:  # a recurrent model cannot forget a part
            raise ModelError("this model cannot return to an earlier token; use LogitsProcessor with its own loop")
        llama.n_tokens = length

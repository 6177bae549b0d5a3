"""Outlines: detent as a backend of its generators.

    generator = outlines.Generator(model, processor=DetentBackend(model).get_regex_logits_processor("[0-9]{3}"))

Outlines finds only its own backends by name. So a processor of this backend is passed to the generator.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from outlines.backends.base import BaseBackend
from outlines.models import LlamaCpp, Transformers
from outlines.processors.base_logits_processor import OutlinesLogitsProcessor

from detent.errors import ArgumentError, StateError
from detent.guide import Guide
from detent.integrations.engine import Constraint, ConstraintCompiler
from detent.integrations.engine_matcher import EngineMatcher
from detent.integrations.request_rule import RequestRule
from detent.mask import allocate_mask, apply_mask
from detent.vocabulary import Vocabulary

__all__ = ["DetentBackend", "DetentProcessor"]


class DetentBackend(BaseBackend):  # type: ignore[misc]
    """Makes logits processors for a model of Outlines: of transformers, or of llama-cpp-python.

    Parameters
    ----------
    model : outlines.models.Transformers or outlines.models.LlamaCpp
        The model.
    vocabulary : Vocabulary, optional
        None reads it from the model.
    """

    def __init__(self, model: Any, vocabulary: Vocabulary | None = None) -> None:
        if isinstance(model, Transformers):
            self._vocabulary = vocabulary or Vocabulary.from_transformers(
                model.hf_tokenizer, size=model.model.config.get_text_config().vocab_size
            )
        elif isinstance(model, LlamaCpp):
            self._vocabulary = vocabulary or Vocabulary.from_gguf(model.model.model_path, size=model.model.n_vocab())
        else:
            raise ArgumentError(f"expected a model of transformers or llama-cpp-python, got {type(model).__name__}")
        self._library = model.tensor_library_name
        self._compiler = ConstraintCompiler(self._vocabulary)

    def get_json_schema_logits_processor(
        self, json_schema: str, whitespace_pattern: str | None = None
    ) -> DetentProcessor:
        """Return the processor of a JSON Schema."""
        rule = RequestRule.of("json", json_schema, whitespace=whitespace_pattern)
        return self._processor(Constraint(rule))

    def get_regex_logits_processor(self, regex: str) -> DetentProcessor:
        """Return the processor of a regex."""
        return self._processor(Constraint(RequestRule.of("regex", regex)))

    def get_cfg_logits_processor(self, grammar: str) -> DetentProcessor:
        """Return the processor of a grammar, in Lark's notation or in GBNF."""
        return self._processor(Constraint(RequestRule.of("grammar", grammar)))

    def get_processor(self, constraint: Constraint) -> DetentProcessor:
        """Return the processor of any constraint: a turn, a ban, canonical tokens."""
        return self._processor(constraint)

    def _processor(self, constraint: Constraint) -> DetentProcessor:
        return DetentProcessor(self._compiler.compile(constraint), self._library)


class DetentProcessor(OutlinesLogitsProcessor):  # type: ignore[misc]
    """Holds the sequences of one call to a guide. The first call's ids are the prompt."""

    def __init__(self, guide: Guide, tensor_library_name: str) -> None:
        super().__init__(tensor_library_name)
        self._guide = guide
        self.reset()

    def reset(self) -> None:
        """Forget the sequences: the next call begins anew."""
        self._states: list[EngineMatcher] | None = None

    def process_logits(self, input_ids: Any, logits: Any) -> Any:
        """Return the logits [batch, L] with -inf where the guide does not allow the token.

        Raises `StateError` for a token that the guide did not allow, and what has failed.
        """
        if self._states is None:
            self._states = [EngineMatcher(self._guide) for _ in range(len(input_ids))]
        else:
            last = [int(row[-1]) for row in input_ids]
            for state, token_id in zip(self._states, last, strict=True):
                if not state.is_terminated and not state.accept([token_id]):
                    state.raise_failure()
                    raise StateError(f"token {token_id} was written, but the guide does not allow it")
        rows = allocate_mask(len(self._states), len(self._guide.vocabulary))
        for index, state in enumerate(self._states):
            state.fill(rows, index)
            state.raise_failure()
        if self.tensor_adapter.library_name == "torch":
            import torch

            scores = logits.to("cpu", torch.float32, copy=True)
            apply_mask(scores, rows)
            return scores.to(logits.device, logits.dtype)
        masked = np.array(logits, dtype=np.float32)
        apply_mask(masked, rows)
        return masked

"""vLLM: detent serves the structured outputs of an engine, as a plugin.

vLLM has no registry of backends. The plugin, an entry point of this package, puts `DetentBackend` in the place of
vLLM's backend "guidance" and checks requests before they reach the engine. It acts only where it is asked to::

    VLLM_PLUGINS=detent vllm serve MODEL --structured-outputs-config.backend guidance

Bans and budgets, of which vLLM's structured outputs know nothing, have `RuleProcessor` (`vllm_processor`).
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from vllm import envs
from vllm.exceptions import VLLMValidationError
from vllm.v1.structured_output.backend_types import (
    StructuredOutputBackend,
    StructuredOutputGrammar,
    StructuredOutputOptions,
)
from vllm.v1.structured_output.request import get_structured_output_key

from detent.compiler import compile
from detent.errors import DetentError
from detent.integrations.engine import Constraint, ConstraintCompiler
from detent.integrations.engine_matcher import EngineMatcher
from detent.integrations.request_rule import RequestRule
from detent.vocabulary import Vocabulary

__all__ = ["DetentBackend", "DetentGrammar", "register", "validate_request", "vocabulary_of"]

_logger = logging.getLogger("vllm.detent")

_KINDS = {
    StructuredOutputOptions.JSON: "json",
    StructuredOutputOptions.JSON_OBJECT: "json_object",
    StructuredOutputOptions.REGEX: "regex",
    StructuredOutputOptions.CHOICE: "choice",
    StructuredOutputOptions.GRAMMAR: "grammar",
    StructuredOutputOptions.STRUCTURAL_TAG: "structural_tag",
}


def register() -> None:
    """Serve structured outputs with detent in this process, if `VLLM_PLUGINS` names detent. vLLM calls this."""
    if "detent" not in (envs.VLLM_PLUGINS or ()):
        _logger.debug("detent is installed but VLLM_PLUGINS does not name it: structured outputs are vLLM's own")
        return
    from vllm.v1 import structured_output
    from vllm.v1.structured_output import backend_guidance

    for module, name in (
        (structured_output, "GuidanceBackend"),
        (backend_guidance, "GuidanceBackend"),
        (backend_guidance, "validate_guidance_grammar"),
    ):
        if not hasattr(module, name):  # the interface has moved: better no engine than one without the rules
            raise RuntimeError(f"detent's plugin does not know this version of vLLM: {module.__name__} has no {name}")
    replaced: Any = structured_output
    replaced.GuidanceBackend = backend_guidance.GuidanceBackend = DetentBackend
    backend_guidance.validate_guidance_grammar = validate_request
    _logger.info("detent serves structured outputs where the backend is 'guidance'")


def vocabulary_of(tokenizer: Any, vocab_size: int) -> Vocabulary:
    """Return the vocabulary of vLLM's tokenizer, as wide as the logits."""
    mistral = getattr(tokenizer, "mistral", None)
    if mistral is not None:
        return Vocabulary.from_mistral(mistral, size=vocab_size)
    return Vocabulary.from_transformers(tokenizer, size=vocab_size)


def validate_request(sampling_params: Any, tokenizer: object = None) -> None:
    """Refuse a request whose rule is malformed, unsupported or impossible, in the process that takes requests.

    Raises
    ------
    VLLMValidationError
        With the message of the error. The client gets the status 400.
    """
    outputs = sampling_params.structured_outputs
    if outputs is None:
        return
    for option in ("whitespace_pattern", "disable_any_whitespace", "disable_additional_properties"):
        if getattr(outputs, option, None):
            raise VLLMValidationError(
                f"structured_outputs.{option} is not supported by detent; write the rule so that it says this, or set "
                "disable_any_whitespace for the whole engine",
                parameter=option,
            )
    kind, spec = get_structured_output_key(outputs)
    try:
        _check(RequestRule.of(_KINDS[kind], spec))
    except DetentError as error:
        raise VLLMValidationError(f"structured_outputs.{_KINDS[kind]}: {error}", parameter=_KINDS[kind]) from error


@lru_cache(maxsize=1024)
def _check(rule: RequestRule) -> None:
    """Compile a rule for the 256 bytes: whether it has a text at all."""
    language = rule.language()
    if not language._node.has_special:  # a special token is the model's; the engine knows it
        compile(language, _byte_vocabulary())


@lru_cache(maxsize=1)
def _byte_vocabulary() -> Vocabulary:
    return Vocabulary([bytes([value]) for value in range(256)] + [b""], eos_token_ids=[256])


class DetentBackend(StructuredOutputBackend):  # type: ignore[misc]
    """The backend of an engine: compiles rules, on the threads that vLLM calls it from.

    Rules are held to canonical tokens where the tokenizer can be followed exactly.
    """

    @staticmethod
    def is_tokenizer_supported(tokenizer: object) -> bool:
        """Whether vLLM may hand over this tokenizer; which ones can be read exactly shows when it is read."""
        return True

    def __init__(self, vllm_config: Any, tokenizer: Any, vocab_size: int) -> None:
        super().__init__(vllm_config, tokenizer, vocab_size)
        config = vllm_config.structured_outputs_config
        if config.disable_additional_properties:
            raise ValueError(
                "detent holds JSON Schemas as they are: write additionalProperties in the schemas, and leave "
                "disable_additional_properties out"
            )
        self._whitespace = "compact" if config.disable_any_whitespace else None
        self._compiler = ConstraintCompiler(vocabulary_of(tokenizer, vocab_size))

    def compile_grammar(
        self, request_type: Any, grammar_spec: str, stop_token_ids: set[int] | None = None
    ) -> DetentGrammar:
        """Compile a rule. An error fails this request alone."""
        rule = RequestRule.of(_KINDS[request_type], grammar_spec, whitespace=self._whitespace)
        guide = self._compiler.compile(Constraint(rule))
        return DetentGrammar(EngineMatcher(guide, stop_token_ids=stop_token_ids or ()))

    def allocate_token_bitmask(self, max_num_seqs: int) -> Any:
        """Return int32[max_num_seqs, ceil(V / 32)]."""
        import torch

        pin = torch.cuda.is_available()
        return torch.full((max_num_seqs, -(-self.vocab_size // 32)), -1, dtype=torch.int32, pin_memory=pin)

    def destroy(self) -> None:
        """Stop the threads."""
        self._compiler.close()


class DetentGrammar(StructuredOutputGrammar):  # type: ignore[misc]
    """The state of one request. An error allows end-of-text alone, and ends the request with an error."""

    def __init__(self, state: EngineMatcher) -> None:
        self.state = state

    def accept_tokens(self, request_id: str, tokens: list[int]) -> bool:
        """Take tokens; False ends the request with an error."""
        accepted = self.state.accept(tokens)
        if self.state.failure is not None:
            _logger.error("The constraint of request %s has failed: %s", request_id, self.state.failure)
        return accepted

    def validate_tokens(self, tokens: Sequence[int]) -> list[int]:
        """Return the longest beginning of draft tokens that may follow; -1 pads drafts."""
        return self.state.validate(tokens)

    def rollback(self, num_tokens: int) -> None:
        """Take back tokens, an accepted end included."""
        self.state.rollback(num_tokens)

    def fill_bitmask(self, bitmask: Any, batch_index: int) -> None:
        """Write the mask of the next token to a row."""
        self.state.fill(bitmask, batch_index)

    def is_terminated(self) -> bool:
        """Whether an end-of-text id was accepted."""
        return self.state.is_terminated

    def reset(self) -> None:
        """Forget the tokens: the next one is the first of a text."""
        self.state.reset()

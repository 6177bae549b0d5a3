"""SGLang: detent as a registered grammar backend.

    sglang serve --model-path MODEL --grammar-backend detent

The plugin, an entry point of this package, adds the name; nothing changes for servers that do not choose it. SGLang
returns a registered backend as it is, without its own support of thinking, so `make_backend` adds that as well.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from typing import Any

import torch
from sglang.srt.constrained.base_grammar_backend import (
    BaseGrammarBackend,
    BaseGrammarObject,
    InvalidGrammarObject,
    register_grammar_backend,
    register_vocab_mask_buffer,
)
from sglang.srt.constrained.reasoner_grammar_backend import ReasonerGrammarBackend
from sglang.srt.constrained.torch_ops.token_filter_torch_ops import set_token_filter_torch
from sglang.srt.parser.reasoning_parser import ReasoningParser
from sglang.srt.runtime_context import get_serving

from detent.errors import DetentError
from detent.integrations.engine import Constraint, ConstraintCompiler
from detent.integrations.engine_matcher import EngineMatcher
from detent.integrations.request_rule import RequestRule
from detent.mask import apply_mask
from detent.vocabulary import Vocabulary

__all__ = ["DetentGrammar", "DetentGrammarBackend", "make_backend", "register"]

_logger = logging.getLogger("sglang.detent")

_GRAMMARS = 256


def register() -> None:
    """Add the grammar backend "detent". SGLang calls this."""
    from sglang.srt.server_args import GRAMMAR_BACKEND_CHOICES, add_grammar_backend_choices

    if "detent" not in GRAMMAR_BACKEND_CHOICES:
        add_grammar_backend_choices(["detent"])
    register_grammar_backend("detent", make_backend)


def make_backend(server_args: Any, tokenizer: Any, vocab_size: int, eos_token_ids: Iterable[int] | None = None) -> Any:
    """Return the backend of a server, which holds what follows thinking, if the server has a reasoning parser."""
    backend = DetentGrammarBackend(tokenizer, vocab_size, eos_token_ids)
    options = get_serving()  # SGLang's own factory reads these; the argument may lack what SGLang has found out since
    if not options.reasoning_parser:
        return backend
    parser = ReasoningParser(model_type=options.reasoning_parser, stream_reasoning=False, tokenizer=tokenizer)
    return _ThinkingBackend(backend, parser, tokenizer, enable_strict_thinking=options.enable_strict_thinking)


class _BoundedCache:
    """Keeps the grammars of the last rules; SGLang itself keeps all of them, and each holds a compiled rule."""

    cache: dict[tuple[str, str], Any]

    def set_cache(self, key: tuple[str, str], value: Any) -> None:
        super().set_cache(key, value)  # type: ignore[misc]
        while len(self.cache) > _GRAMMARS:
            self.cache.pop(next(iter(self.cache)), None)


class _ThinkingBackend(_BoundedCache, ReasonerGrammarBackend):  # type: ignore[misc]
    """SGLang's own support of thinking, with a bounded cache."""


class DetentGrammarBackend(_BoundedCache, BaseGrammarBackend):  # type: ignore[misc]
    """Compiles the rules of requests, on SGLang's threads.

    Parameters
    ----------
    tokenizer
        The tokenizer of transformers.
    vocab_size : int
        The width of the logits.
    eos_token_ids : iterable of int, optional
        The ids that end a text; None takes those of the tokenizer.
    """

    def __init__(self, tokenizer: Any, vocab_size: int, eos_token_ids: Iterable[int] | None = None) -> None:
        super().__init__()
        eos: Any = sorted(eos_token_ids) if eos_token_ids else "auto"
        vocabulary = Vocabulary.from_transformers(tokenizer, size=vocab_size, eos_token_ids=eos)
        self._compiler = ConstraintCompiler(vocabulary)

    @staticmethod
    def allocate_vocab_mask(vocab_size: int, batch_size: int, device: Any) -> Any:
        """Return the mask of a batch; SGLang's support of thinking asks the backend, not the grammar."""
        return _allocate(batch_size, vocab_size)

    @staticmethod
    def move_vocab_mask(vocab_mask: Any, device: Any) -> Any:
        """Return the mask on the device of the logits."""
        return DetentGrammar.move_vocab_mask(vocab_mask, device)

    @staticmethod
    def apply_vocab_mask(logits: Any, vocab_mask: Any) -> None:
        """Write -inf to what the mask does not allow, in place."""
        DetentGrammar.apply_vocab_mask(logits, vocab_mask)

    @property
    def is_support_token_filter(self) -> bool:
        """Whether thinking can be held to `--enable-strict-thinking`."""
        return True

    @staticmethod
    def set_token_filter(
        vocab_mask: Any,
        token_ids: Sequence[int],
        batch_idx: int,
        is_allowed: bool = True,
        reset_vocab_mask: bool = True,
    ) -> None:
        """Allow or exclude ids in a row, as SGLang asks while a model thinks."""
        set_token_filter_torch(vocab_mask, token_ids, batch_idx, is_allowed, reset_vocab_mask)

    def initialize_vocab_mask_buffer(self, name: str, vocab_size: int, max_rows: int, device: Any) -> Any:
        """Return a mask for all requests of a step, which SGLang keeps."""
        return register_vocab_mask_buffer(name, _allocate(max_rows, vocab_size), max_rows)

    def dispatch_json(self, key_string: str) -> Any:
        """Compile a JSON Schema; "$$ANY$$" is any JSON object."""
        return self._compile("json_object" if key_string == "$$ANY$$" else "json", key_string)

    def dispatch_regex(self, key_string: str) -> Any:
        """Compile a regex."""
        return self._compile("regex", key_string)

    def dispatch_ebnf(self, key_string: str) -> Any:
        """Compile a grammar, in GBNF or Lark's notation."""
        return self._compile("grammar", key_string)

    def dispatch_structural_tag(self, key_string: str) -> Any:
        """Compile a structural tag, in the older or the newer notation."""
        return self._compile("structural_tag", key_string)

    def _compile(self, kind: str, text: str) -> Any:
        try:
            guide = self._compiler.compile(Constraint(RequestRule.of(kind, text)))
        except DetentError as error:
            _logger.error("A %s is refused: %s", kind, error)
            return InvalidGrammarObject(f"{kind}: {error}")
        return DetentGrammar(EngineMatcher(guide))


class DetentGrammar(BaseGrammarObject):  # type: ignore[misc]
    """The state of one request."""

    def __init__(self, state: EngineMatcher) -> None:
        super().__init__()
        self._finished: bool = False
        self.state = state

    def accept_token(self, token: int) -> None:
        """Take a token; raise ValueError for one that may not follow, which ends the request."""
        if self.state.is_terminated:
            return
        if not self.state.accept([token]):
            raise ValueError(self.state.failure or f"token {token} may not follow here")
        self.current_token = token
        self._finished = self.state.is_terminated

    def rollback(self, k: int) -> None:
        """Take back tokens, an accepted end included."""
        if k > 0:
            self.state.rollback(k)
            self._finished = self.state.is_terminated

    def is_terminated(self) -> bool:
        """Whether an end-of-text id was accepted."""
        return self.state.is_terminated

    def allocate_vocab_mask(self, vocab_size: int, batch_size: int, device: Any) -> Any:
        """Return int32[batch_size, ceil(V / 32)] on the CPU; all ids are allowed."""
        return _allocate(batch_size, vocab_size)

    def fill_vocab_mask(self, vocab_mask: Any, idx: int) -> None:
        """Write the mask of the next token to a row."""
        self.state.fill(vocab_mask, idx)

    @staticmethod
    def reset_vocab_mask(vocab_mask: Any) -> None:
        """Allow all ids in all rows."""
        vocab_mask.fill_(-1)

    @staticmethod
    def move_vocab_mask(vocab_mask: Any, device: Any) -> Any:
        """Return the mask on the device of the logits."""
        return vocab_mask.to(device, non_blocking=True)

    @staticmethod
    def apply_vocab_mask(logits: Any, vocab_mask: Any) -> None:
        """Write -inf to what the mask does not allow, in place."""
        apply_mask(logits, vocab_mask)

    def copy(self) -> DetentGrammar:
        """Return a grammar for another request with the same rule, at its beginning."""
        copied = self.state.fork()
        copied.reset()
        return DetentGrammar(copied)

    def try_jump_forward(self, tokenizer: Any) -> tuple[Sequence[int], str] | None:
        """Return the forced tokens."""
        forced = self.state.forced()
        return (forced, "") if forced else None

    def jump_forward_str_state(self, helper: tuple[list[int], str]) -> tuple[str, int]:
        """Return nothing more: a jump is by tokens."""
        return "", -1

    def jump_and_retokenize(self, old_output_ids: list[int], new_output_ids: list[int], next_state: int) -> None:
        """Replace tokens, after a jump that was tokenized anew."""
        common = 0
        while common < min(len(old_output_ids), len(new_output_ids)):
            if old_output_ids[common] != new_output_ids[common]:
                break
            common += 1
        self.rollback(len(old_output_ids) - common)
        for token in new_output_ids[common:]:
            self.accept_token(token)


def _allocate(rows: int, vocab_size: int) -> Any:
    return torch.full((rows, -(-vocab_size // 32)), -1, dtype=torch.int32, pin_memory=torch.cuda.is_available())

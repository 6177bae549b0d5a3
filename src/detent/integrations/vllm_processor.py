"""RuleProcessor: logits processors of vLLM for what its structured outputs lack: bans, budgets, canonical tokens.

    vllm serve MODEL --logits-processors detent.integrations.vllm_processor:RuleProcessor

A request says what it wants in `SamplingParams.extra_args`, over HTTP in `vllm_xargs`, under the name "detent"::

    {"ban": ["word"], "regex": "...", "canonical": true, "budget": true}

vLLM has two interfaces: `RuleProcessor` is for the model runner V1, `RuleProcessorV2` for V2. Both read the rows of a
step, and write -inf to what the request's rule does not allow.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, get_args

import numpy as np
from vllm.exceptions import VLLMValidationError
from vllm.v1.sample.logits_processor import BatchUpdate, LogitsProcessor, MoveDirectionality
from vllm.v1.worker.gpu.sample.logits_processor.interface import LogitsProcessor as LogitsProcessorV2

from detent.errors import ArgumentError, DetentError, StateError
from detent.generation.bans import Ban
from detent.integrations.engine import Constraint, ConstraintCompiler
from detent.integrations.engine_matcher import EngineMatcher
from detent.integrations.masked_rows import mask_rows
from detent.integrations.request_rule import RequestRule, RuleKind
from detent.integrations.vllm import vocabulary_of
from detent.mask import allocate_mask
from detent.sources.nodes import short_repr
from detent.vocabulary import Vocabulary

__all__ = ["RuleProcessor", "RuleProcessorV2"]

_logger = logging.getLogger("vllm.detent")

_KINDS = get_args(RuleKind)
_ANY_TEXT = Constraint(None)
_OPTIONS = ("ban", "ignore_case", "whole_words", "canonical", "budget")


def read_arguments(sampling_params: Any) -> tuple[Constraint, bool] | None:
    """Return the constraint of a request and whether `max_tokens` is its budget; None if it asks for nothing.

    Raises
    ------
    ArgumentError
        The arguments are wrong, or the request has structured outputs too: two masks together may allow nothing.
    """
    given = (sampling_params.extra_args or {}).get("detent")
    if given is None:
        return None
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except (ValueError, RecursionError) as error:
            raise ArgumentError(f"detent: not a JSON text: {error}") from None
    if not isinstance(given, Mapping):
        raise ArgumentError(f"detent must be an object, got {short_repr(given)}")
    if unknown := sorted(set(given) - {*_KINDS, *_OPTIONS}):
        raise ArgumentError(f"detent.{unknown[0]} is unknown; there are {', '.join((*_KINDS, *_OPTIONS))}")
    if sampling_params.structured_outputs is not None:
        raise ArgumentError(
            "structured_outputs and detent exclude each other: write the rule into detent, as regex or json"
        )
    kinds = [kind for kind in _KINDS if given.get(kind) is not None]
    if len(kinds) > 1:
        raise ArgumentError(f"detent.{kinds[0]} and detent.{kinds[1]} each say what the text must be; send one of them")
    ban = given.get("ban", ())
    if isinstance(ban, str) or not all(isinstance(word, str) for word in ban):
        raise ArgumentError(f"detent.ban must be a list of texts, got {short_repr(ban)}")
    rule = RequestRule.of(kinds[0], given[kinds[0]]) if kinds else None
    bans = Ban(ban, "mask", ignore_case=bool(given.get("ignore_case")), whole_words=bool(given.get("whole_words")))
    return Constraint(rule, bans, given.get("canonical")), bool(given.get("budget"))


@lru_cache(maxsize=1)
def _byte_vocabulary() -> Vocabulary:
    return Vocabulary([bytes([value]) for value in range(256)] + [b""], eos_token_ids=[256])


def _validate(sampling_params: Any) -> None:
    try:
        found = read_arguments(sampling_params)
        if found is not None:
            constraint, _ = found
            Constraint(constraint.rule, constraint.ban, False).compile(_byte_vocabulary())
    except DetentError as error:
        raise VLLMValidationError(f"detent: {error}", parameter="detent") from error


class _States:
    """The states of the requests in a batch, by a number that the runner gives each."""

    def __init__(self, vllm_config: Any) -> None:
        from vllm.tokenizers import cached_tokenizer_from_config

        tokenizer = cached_tokenizer_from_config(model_config=vllm_config.model_config)
        self._compiler = ConstraintCompiler(vocabulary_of(tokenizer, vllm_config.model_config.get_vocab_size()))
        self.by_slot: dict[int, EngineMatcher] = {}
        self._row = allocate_mask(1, len(self._compiler.vocabulary))[0]

    def start(self, slot: int, sampling_params: Any) -> bool:
        """Begin a request; return whether it has a rule."""
        self.by_slot.pop(slot, None)
        found = read_arguments(sampling_params)
        if found is None:
            return False
        constraint, has_budget = found
        try:
            guide = self._compiler.compile(constraint)
            budget = sampling_params.max_tokens if has_budget else None
            stops = sampling_params.all_stop_token_ids
            state = EngineMatcher(guide, budget, count_eos=True, stop_token_ids=stops)
        except DetentError as error:  # the request was validated without the vocabulary and the budget
            _logger.error("A request gets an empty text, because its rule cannot be held: %s", error)
            state = EngineMatcher(self._compiler.compile(_ANY_TEXT))
            state.failure = error
        self.by_slot[slot] = state
        return True

    def follow(self, state: EngineMatcher, token_ids: Sequence[int]) -> None:
        """Bring a state to these tokens, the request's output so far."""
        taken = state.matcher.token_ids
        common = 0
        while common < min(len(taken), len(token_ids)) and taken[common] == token_ids[common]:
            common += 1
        if common < len(taken):
            state.rollback(len(taken) - common)
        if common < len(token_ids) and not state.is_terminated and not state.accept(token_ids[common:]):
            state.failure = state.failure or StateError(
                f"the engine wrote a token that the rule refused: {token_ids[-1]}"
            )

    def mask(self, logits: Any, rows: Iterable[tuple[int, EngineMatcher]]) -> None:
        """Write -inf to what the states of rows do not allow; a state is read before the next one is asked for."""
        masks = {}
        for row, state in rows:
            state.fill(self._row)
            masks[row] = self._row.copy()
        if masks:
            mask_rows(logits, list(masks), np.stack(list(masks.values())))


class RuleProcessor(LogitsProcessor):  # type: ignore[misc]
    """Holds requests with `extra_args["detent"]` to their rules, in vLLM's model runner V1."""

    @classmethod
    def validate_params(cls, sampling_params: Any) -> None:
        """Refuse a request with wrong arguments."""
        _validate(sampling_params)

    def __init__(self, vllm_config: Any, device: Any, is_pin_memory: bool) -> None:
        self._states = _States(vllm_config)
        self._outputs: dict[int, list[int]] = {}

    def is_argmax_invariant(self) -> bool:
        """Return False: masks change the likeliest token."""
        return False

    def update_state(self, batch_update: BatchUpdate | None) -> None:
        """Follow the requests of the batch: removed, added, moved, in this order."""
        if batch_update is None:
            return
        states, outputs = self._states.by_slot, self._outputs
        for index in batch_update.removed:
            states.pop(index, None)
            outputs.pop(index, None)
        for index, sampling_params, _, output in batch_update.added:
            outputs.pop(index, None)
            if self._states.start(index, sampling_params):
                outputs[index] = output
        for source, target, direction in batch_update.moved:
            for table in (states, outputs):
                moved: dict[int, Any] = table
                first, second = moved.pop(source, None), moved.pop(target, None)
                if first is not None:
                    moved[target] = first
                if second is not None and direction == MoveDirectionality.SWAP:
                    moved[source] = second

    def apply(self, logits: Any) -> Any:
        """Mask the rows of the requests with a rule, in place."""
        for index, state in self._states.by_slot.items():
            self._states.follow(state, self._outputs[index])
        self._states.mask(logits, self._states.by_slot.items())
        return logits


class RuleProcessorV2(LogitsProcessorV2):  # type: ignore[misc]
    """Holds requests with `extra_args["detent"]` to their rules, in vLLM's model runner V2, with drafts too.

    Reads the output of each such request from the device, once a step.
    """

    @classmethod
    def validate_params(cls, sampling_params: Any) -> None:
        """Refuse a request with wrong arguments."""
        _validate(sampling_params)

    def __init__(self, vllm_config: Any, req_states: Any) -> None:
        self._states = _States(vllm_config)
        self._requests = req_states

    def add_request(self, req_idx: int, sampling_params: Any) -> bool:
        """Begin a request in a slot; return whether it has a rule."""
        return self._states.start(req_idx, sampling_params)

    def apply(self, logits: Any, ctx: Any) -> Any:
        """Mask the rows of the requests with a rule, in place: one row for each draft token, and one more."""
        slots = ctx.expanded_idx_mapping.cpu().numpy()
        rows = np.flatnonzero(np.isin(slots, list(self._states.by_slot)))
        if not len(rows):
            return logits
        self._states.mask(logits, self._states_of_rows(rows, slots, ctx))
        return logits

    def _states_of_rows(self, rows: Any, slots: Any, ctx: Any) -> Iterator[tuple[int, EngineMatcher]]:
        """Yield the rows of the requests with a rule, and their states, which the next row of a request changes."""
        offsets, drafts = ctx.expanded_local_pos.cpu().numpy(), ctx.input_ids.cpu().numpy()
        for slot in np.unique(slots[rows]).tolist():
            state = self._states.by_slot[slot]
            start, end = int(self._requests.prompt_len.np[slot]), int(self._requests.total_len.gpu[slot])
            self._states.follow(state, self._requests.all_token_ids.gpu[slot, start:end].tolist())
            yield from self._drafted([row for row in rows.tolist() if slots[row] == slot], offsets, drafts, state)

    def _drafted(
        self, rows: list[int], offsets: Any, drafts: Any, state: EngineMatcher
    ) -> Iterator[tuple[int, EngineMatcher]]:
        """Yield the rows of one request: row k is after k draft tokens. After a refused draft, only the end follows."""
        ahead = state
        for row in sorted(rows, key=lambda each: int(offsets[each])):
            if offsets[row] > 0:
                if ahead is state:
                    ahead = state.fork()
                if not ahead.accept([int(drafts[row])]):
                    ahead.failure = ahead.failure or StateError("the draft is not allowed")
            yield row, ahead

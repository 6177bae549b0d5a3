"""ContinuousProcessor: holds the requests of transformers' continuous batching to guides, each to its own.

Continuous batching shows an ordinary logits processor only the last id of each row. Its own kind of processor is shown
the requests of the next pass before the pass runs, with all ids that they have written. So the masks are filled then,
a row each, and applied to the scores afterwards.

This needs the last id of a request before the next pass: asynchronous batching, which starts a pass earlier, and CUDA
graphs, which replay a pass without Python, are refused.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, NamedTuple

import torch
from transformers.generation.continuous_batching.cb_logits_processors import ContinuousBatchingLogitsProcessor

from detent.errors import ArgumentError, DetentError, StateError
from detent.generation.request import compile_by_default
from detent.guide import Guide
from detent.integrations.engine_matcher import EngineMatcher
from detent.integrations.masked_rows import mask_rows
from detent.mask import allocate_mask
from detent.rule import AnyRule, read_rule
from detent.vocabulary import Vocabulary

__all__ = ["ContinuousProcessor"]

_KEPT = 64
"""How many requests have their states kept at least; that of a request which pauses longer is made again."""


class _Held(NamedTuple):
    """The state of a request, what it has asked for, and all that it had written."""

    state: EngineMatcher
    asked: tuple[Any, ...]
    text: list[int]


class ContinuousProcessor(ContinuousBatchingLogitsProcessor):
    """Holds requests of continuous batching to guides.

    >>> manager = model.init_continuous_batching(generation_config, config)                     # doctest: +SKIP
    >>> processor = ContinuousProcessor(vocabulary)                                             # doctest: +SKIP
    >>> processor.attach(manager)                                                               # doctest: +SKIP
    >>> manager.start()                                                                         # doctest: +SKIP
    >>> name = manager.add_request(ids, max_new_tokens=50, guide=guide)                         # doctest: +SKIP
    >>> text = vocabulary.decode(manager.get_result(name).generated_tokens)                     # doctest: +SKIP
    >>> processor.raise_failure(name)                                                           # doctest: +SKIP

    A request's text is complete within its `max_new_tokens`. An error ends one request, whose masks then allow
    end-of-text alone; the others go on.

    Parameters
    ----------
    vocabulary : Vocabulary
        The vocabulary of the model.
    rule : Guide, Language, type, dict, list or None
        The rule of requests without a guide of their own. None: they are free.

    Attributes
    ----------
    failures : dict
        What went wrong, by the id of the request.
    """

    supported_kwargs: dict[str, type] = {"guide": Guide}  # noqa: RUF012 - as the base class has it
    ignored_kwargs: tuple[str, ...] = ()

    def __init__(self, vocabulary: Vocabulary, rule: Guide | AnyRule | None = None) -> None:
        if not isinstance(vocabulary, Vocabulary):
            raise ArgumentError(f"vocabulary must be a detent.Vocabulary, got {type(vocabulary).__name__}")
        if rule is not None and not isinstance(rule, Guide):
            rule = compile_by_default(read_rule(rule, "ContinuousProcessor"), vocabulary)
        self.failures: dict[str, Exception] = {}
        self._vocabulary = vocabulary
        self._guide = rule
        self._states: OrderedDict[str, _Held] = OrderedDict()
        self._rows = allocate_mask(0, len(vocabulary))

    def attach(self, manager: Any) -> None:
        """Hold the requests of a manager, before it is started.

        Raises
        ------
        ArgumentError
            The manager has started, or its configuration asks for asynchronous batching, CUDA graphs or several
            processes.
        """
        if manager.is_running():
            raise ArgumentError("attach the processor before manager.start(), which prepares the passes")
        config = manager.continuous_batching_config
        graphs = config.use_cuda_graph
        for name, is_on in (
            ("use_async_batching", bool(config.use_async_batching)),
            ("use_cuda_graph", any(graphs) if isinstance(graphs, tuple) else bool(graphs)),
        ):
            if is_on:
                raise ArgumentError(
                    f"a rule needs each token before the next pass: set {name}=False in ContinuousBatchingConfig"
                )
        if getattr(manager.model, "_device_mesh", None) is not None:
            raise ArgumentError("ContinuousProcessor does not support tensor parallelism")
        processors = manager.logit_processor
        processors.logits_processor.insert(0, self)
        processors.tensors_required += 1
        processors.do_processing = True
        processors._retrieve_processors_kwargs()

    def raise_failure(self, request_id: str | None = None) -> None:
        """Raise what went wrong in a request, or in any."""
        for name, failure in self.failures.items():
            if request_id in (None, name):
                raise failure

    def fill_defaults(self, int32_tensor: torch.Tensor) -> None:
        """Write the argument of padding rows; transformers calls this."""
        int32_tensor.fill_(-1)

    def prepare_tensor_args(self, requests_with_new_token: list[Any]) -> torch.Tensor:
        """Fill the masks of a pass; return the numbers of their rows, int32[requests], -1 for a free request."""
        self._rows = allocate_mask(len(requests_with_new_token), len(self._vocabulary))
        numbers = []
        for number, request in enumerate(requests_with_new_token):
            state = self._state(request.state)
            if state is not None:
                state.fill(self._rows, number)
                if state.failure is not None:
                    self.failures.setdefault(request.state.request_id, state.failure)
            numbers.append(-1 if state is None else number)
        while len(self._states) > max(_KEPT, 2 * len(numbers)):
            self._states.popitem(last=False)
        return torch.tensor(numbers, dtype=torch.int32)

    def __call__(self, scores: torch.Tensor, tensor_arg: torch.Tensor) -> torch.Tensor:
        """Return scores[rows, V] with -inf where the row's rule does not allow the token; transformers calls this."""
        masked = scores.clone(memory_format=torch.contiguous_format)
        numbers = tensor_arg[: len(self._rows)].tolist()  # a pass without a new token has a row of scores even so
        rows = [row for row, number in enumerate(numbers) if number >= 0]
        if rows:
            mask_rows(masked, rows, self._rows[[numbers[row] for row in rows]])
        return masked

    def _state(self, request: Any) -> EngineMatcher | None:
        """Return the state after all that a request has written; None if it is free."""
        guide = request.logit_processor_kwargs.get("guide", self._guide)
        if guide is None:
            return None
        written = request.initial_tokens[request._true_initial_tokens :] if request._true_initial_tokens else []
        text = [*written, *request.generated_tokens]
        budget = None if request.max_new_tokens is None else request.max_new_tokens + len(written)
        asked = guide, budget, request.eos_token_id
        held = self._states.get(request.request_id)
        if held is not None and held.asked == asked and text[: len(held.text)] == held.text:
            state = held.state
        else:  # a request may have the id of an earlier one
            state = self._start(guide, request, budget)
            self.failures.pop(request.request_id, None)
        self._states[request.request_id] = _Held(state, asked, text)
        self._states.move_to_end(request.request_id)
        rest = text[len(state.matcher.token_ids) :]
        if rest and not state.accept(rest):
            state.failure = state.failure or StateError(
                f"token {rest[-1]} was written, but the rule refused it: another processor has changed the scores"
            )
        return state

    def _start(self, guide: Guide, request: Any, budget: int | None) -> EngineMatcher:
        """Return the state at the beginning of a request's text."""
        given = request.eos_token_id
        ends = {given} if isinstance(given, int) else set(given or ())
        try:
            if guide.vocabulary.fingerprint != self._vocabulary.fingerprint:
                raise ArgumentError(f"{guide!r} is for another vocabulary than that of the processor")
            if not ends & set(guide.vocabulary.eos_token_ids):
                raise ArgumentError(
                    f"the request ends at {sorted(ends)}, none of which ends a text of the guide's vocabulary: pass "
                    f"eos_token_id={list(guide.vocabulary.eos_token_ids)}"
                )
            return EngineMatcher(guide, budget, count_eos=True, stop_token_ids=ends)
        except DetentError as error:
            closed = EngineMatcher(compile_by_default(read_rule([""], "ContinuousProcessor"), self._vocabulary))
            closed.failure = error
            return closed

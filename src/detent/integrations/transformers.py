"""LogitsProcessor: holds the rows of transformers' own `generate` to guides.

A row's state is a function of its token ids (see `MatcherCache`), never of earlier calls. So rows may be permuted
(beams), taken back (assisted generation), padded or dropped between calls, and one processor serves any number of
calls, on any number of threads.

Scores are masked in a copy, because the host keeps and reuses the tensors that it hands out: prompt lookup shows
the same one again for its next candidate.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from detent.errors import ArgumentError, DetentError, LimitError, ModelError, StateError
from detent.generation.eos_mask import eos_mask
from detent.generation.request import compile_by_default
from detent.generation.sampler import whole_number
from detent.guide import Guide
from detent.integrations.matcher_cache import FinishedRow, MatcherCache, RowState, has_no_text
from detent.integrations.prompt import PromptTracker
from detent.mask import allocate_mask, apply_mask
from detent.matcher import BatchMatcher, Matcher
from detent.rule import AnyRule, read_rule
from detent.sources.nodes import short_repr
from detent.suggestions import suggests_arguments
from detent.vocabulary import Vocabulary

if TYPE_CHECKING:
    import torch
    from transformers import GenerationConfig

__all__ = ["LogitsProcessor"]

_DEFAULT_NEW_TOKENS = 20
"""The tokens that `generate` writes if neither the call nor the generation config gives a number."""

_MOST_PADDING = 1024
"""Models pad their logits by at most this many ids, or a sixteenth of them; wider logits are another vocabulary's."""


@suggests_arguments
class LogitsProcessor:
    """Holds what `model.generate` of transformers writes to a guide, row by row.

    >>> import detent, torch
    >>> vocabulary = detent.Vocabulary([b"a", b"b", b""], eos_token_ids=[2])
    >>> processor = LogitsProcessor(detent.compile(detent.regex("ab"), vocabulary))
    >>> processor(torch.tensor([[0, 1]]), torch.zeros(1, 3))  # as generate calls it, for a prompt of two ids
    tensor([[0., -inf, -inf]])
    >>> processor(torch.tensor([[0, 1, 0]]), torch.zeros(1, 3))  # and with the first id that it wrote
    tensor([[-inf, 0., -inf]])

    Pass it on: ``model.generate(**inputs, logits_processor=[processor])``.

    Works with greedy search, sampling, beams, assisted generation (prompt lookup, or a draft model with the same
    tokenizer), left padding and encoder-decoders. A call masks scores float[rows, V] for ids int64[rows, length];
    ids past the guide's vocabulary (padding of the logits) are banned too. A finished row allows end-of-text alone.

    A call costs one matcher step and one mask a row, a copy of the scores, and a comparison of the ids with those of
    the last call. Nothing that grows with the length is copied.

    Parameters
    ----------
    guides : Guide or rule, or sequence of them
        One guide for all rows, or one a prompt. With beams or `num_return_sequences`, each is for that prompt's rows. A
        rule is what `detent.generate` takes: a language, a type, a schema or a list of choices. It is compiled for
        canonical tokens, if these can be followed exactly; a guide is taken as it was compiled.
    vocabulary : Vocabulary or None
        The vocabulary of the model, for rules.
    prompt_length : int or None
        How many leading ids of a row are the prompt, padding included: ``inputs["input_ids"].shape[1]``, or 1 for most
        encoder-decoders. None: the processor infers it from the calls. That is wrong only where a prompt is the last
        call's ids and one more (see `PromptTracker`). Pass the number, or call `reset()` before such a call.
    max_new_tokens : int, GenerationConfig or None
        The budget of each row, as given to `generate`: the text is complete when this many tokens are written. Or the
        generation config that `generate` uses, such as ``model.generation_config``: its ``max_new_tokens``, else its
        ``max_length`` without the prompt, else the 20 tokens that `generate` writes by default. None: no budget; a row
        may be cut off.

    Raises
    ------
    ArgumentError
        There is no guide, the guides' vocabularies differ, or theirs has no end-of-text id for a row to end with.
    LimitError
        A guide has no text within the budget; with a ``max_length``, the first step raises this.
    """

    #: Continuous batching shows only the last id of each row, which does not tell the state.
    supports_continuous_batching: ClassVar[bool] = False

    def __init__(
        self,
        guides: Guide | AnyRule | Sequence[Guide | AnyRule],
        vocabulary: Vocabulary | None = None,
        *,
        prompt_length: int | None = None,
        max_new_tokens: int | GenerationConfig | None = None,
    ) -> None:
        self._guides = _read_guides(guides, vocabulary)
        vocabulary = vocabulary or self._guides[0].vocabulary
        if any(guide.vocabulary.fingerprint != vocabulary.fingerprint for guide in self._guides):
            raise ArgumentError("All guides of a LogitsProcessor must be compiled for the same vocabulary")
        if not vocabulary.eos_token_ids:
            raise ArgumentError("A row of generate ends with an end-of-text id, and the guide's vocabulary has none")
        if prompt_length is not None:
            prompt_length = whole_number("prompt_length", prompt_length, least=0)
        self._prompt_length = prompt_length
        self._max_length: int | None = None
        if hasattr(max_new_tokens, "max_new_tokens"):
            max_new_tokens, self._max_length = _configured_budget(max_new_tokens)
        if max_new_tokens is not None:
            max_new_tokens = whole_number("max_new_tokens, if it is no GenerationConfig,", max_new_tokens, least=0)
        self._max_new_tokens = max_new_tokens
        for guide in self._guides:
            try:
                guide.matcher(self._max_new_tokens)  # a budget that is too small is an error before anything is written
            except LimitError as error:
                raise error.prefixed("max_new_tokens") from None
        self._vocabulary = vocabulary
        self._width = _used_width(vocabulary)
        self._ends = eos_mask(vocabulary)
        self._local = _Local(self._start)

    def _start(self, guide: int, budget: int | None) -> Matcher:
        return self._guides[guide].matcher(budget)

    def reset(self) -> None:
        """Forget the calls so far (of this thread), so that the next one begins a prompt."""
        self._local.tracker = PromptTracker()

    def __call__(self, input_ids: torch.LongTensor, scores: torch.Tensor) -> torch.Tensor:
        """Return a copy of `scores` with everything at minus infinity that the guides do not allow after `input_ids`.

        Raises
        ------
        StateError
            The ids after the prompt are not the beginning of a text of the guide.
        ModelError
            All that the guide allows a row is at minus infinity already, or NaN.
        ArgumentError
            The shapes are not those of `generate`, or do not fit the guides.
        """
        self._check_shapes(tuple(input_ids.shape), tuple(scores.shape))
        ids = input_ids.detach().cpu().numpy()
        local = self._local
        drafted = local.shows_draft(input_ids)
        prompt_length = self._prompt_length
        if prompt_length is None:
            prompt_length = local.tracker.prompt_length(ids, same_tensor=drafted)
        elif prompt_length > ids.shape[1]:
            raise ArgumentError(f"prompt_length is {prompt_length}, but generate shows rows of {ids.shape[1]} ids")
        owners = np.arange(len(ids)) // (len(ids) // len(self._guides))
        budget = self._max_new_tokens if self._max_length is None else max(self._max_length - prompt_length, 0)
        rows = [local.matchers.get(*row, budget) for row in zip(owners.tolist(), ids[:, prompt_length:], strict=True)]
        local.matchers.evict(max(64, 2 * len(ids)))
        masked = _masked(scores, self._mask(rows, drafted))
        best = masked.amax(dim=1).float().cpu().numpy()
        if not np.isfinite(best).all():
            prompts = [row.tobytes() for row in np.column_stack([owners, ids[:, :prompt_length]])]
            try:
                _check_rows(best, rows, prompts)
            except DetentError:
                self.reset()  # it ends this call of generate
                raise
        return masked

    def _check_shapes(self, ids: tuple[int, ...], scores: tuple[int, ...]) -> None:
        if len(ids) != 2 or len(scores) != 2 or ids[0] != scores[0]:
            raise ArgumentError(
                f"Expected ids [rows, length] and scores [rows, V], got {list(ids)} and {list(scores)}; "
                "continuous batching, which shows one id a row, is not supported"
            )
        if ids[0] == 0 or ids[0] % len(self._guides):
            raise ArgumentError(f"{len(self._guides)} guides do not divide {ids[0]} rows; give one, or one a prompt")
        surplus = scores[1] - len(self._vocabulary)
        if scores[1] < self._width or surplus > max(_MOST_PADDING, scores[1] // 16):
            raise ArgumentError(
                f"The model has {scores[1]} logits, but the guide is for {len(self._vocabulary)} ids: another model's "
                "vocabulary. Compile it for detent.Vocabulary.from_transformers(tokenizer, "
                "size=model.config.vocab_size); an assistant model must share the tokenizer"
            )

    def _mask(self, rows: list[RowState], drafted: bool) -> NDArray[np.int32]:
        """Return int32[rows, ceil(V/32)]; rows with the same matcher are filled once.

        A row outside its guide gets nothing, unless it is a draft's: assisted generation shows a draft to its end
        before it takes the part that is allowed, and samples at each position, for which there must be something.
        """
        mask = allocate_mask(len(rows), len(self._vocabulary))
        matchers = {id(state): state for state in rows if isinstance(state, Matcher)}
        filled = allocate_mask(len(matchers), len(self._vocabulary))
        if matchers:
            BatchMatcher(list(matchers.values())).fill_mask(filled)
        sources = {identity: index for index, identity in enumerate(matchers)}
        for row, state in enumerate(rows):
            if isinstance(state, Matcher):
                mask[row] = filled[sources[id(state)]]
            elif state.error is None or drafted:
                mask[row] = self._ends
        return mask


class _Local(threading.local):
    """The state of the calls of one thread."""

    def __init__(self, start: Callable[[int, int | None], Matcher]) -> None:
        self.tracker = PromptTracker()
        self.matchers = MatcherCache(start)
        self._shown: torch.Tensor | None = None

    def shows_draft(self, input_ids: torch.Tensor) -> bool:
        """Whether the last call showed a view of the same tensor: so does assisted generation to verify a draft."""
        last, self._shown = self._shown, input_ids  # held, so that no other tensor can get its address
        return last is not None and last.untyped_storage().data_ptr() == input_ids.untyped_storage().data_ptr() != 0


def _configured_budget(config: Any) -> tuple[int | None, int | None]:
    """Return the `max_new_tokens` of a generation config, or its `max_length`, as `generate` reads them."""
    if config.max_new_tokens is None and config.max_length is not None:
        return None, int(config.max_length)
    return (_DEFAULT_NEW_TOKENS if config.max_new_tokens is None else int(config.max_new_tokens)), None


def _read_guides(given: Any, vocabulary: Vocabulary | None) -> tuple[Guide, ...]:
    """Return the guides, and the rules compiled; a list of texts is one rule, a choice."""
    is_list = isinstance(given, (list, tuple))
    is_choice = is_list and all(isinstance(each, (str, int, float)) for each in given)
    rules = tuple(given) if is_list and not is_choice else (given,)
    if is_list and not given:
        raise ArgumentError("guides must be a Guide, a rule, or a sequence of at least one of them")
    if vocabulary is None and not all(isinstance(rule, Guide) for rule in rules):
        raise ArgumentError(
            "a rule needs the vocabulary of the model, as in LogitsProcessor(rule, vocabulary); only a Guide, made by "
            f"detent.compile(rule, vocabulary), needs none, got {short_repr(given)}"
        )
    return tuple(rule if isinstance(rule, Guide) else _compiled(rule, vocabulary) for rule in rules)


def _compiled(rule: object, vocabulary: Vocabulary | None) -> Guide:
    if not isinstance(vocabulary, Vocabulary):
        raise ArgumentError(
            f"vocabulary must be a detent.Vocabulary, got {type(vocabulary).__name__}; for a tokenizer write "
            "detent.Vocabulary.from_transformers(tokenizer, size=model.config.vocab_size)"
        )
    return compile_by_default(read_rule(rule, "LogitsProcessor"), vocabulary)


def _used_width(vocabulary: Vocabulary) -> int:
    """Return one more than the last id that a guide may allow."""
    width, last_end = len(vocabulary), max(vocabulary.eos_token_ids)
    while width - 1 > last_end and has_no_text(vocabulary, width - 1):
        width -= 1
    return width


def _masked(scores: torch.Tensor, mask: NDArray[np.int32]) -> torch.Tensor:
    """Return a copy of scores[rows, V] with the bits of mask[rows, ceil(W/32)] applied, where V and W may differ."""
    import torch

    mask = np.ascontiguousarray(mask[:, : -(-scores.shape[1] // 32)])
    if scores.device.type == "cuda":
        masked = scores.clone(memory_format=torch.contiguous_format)
        apply_mask(masked, torch.from_numpy(mask).to(scores.device))
        return masked
    masked = scores.to("cpu", copy=True, memory_format=torch.contiguous_format)
    apply_mask(masked, mask)
    return masked.to(scores.device)


def _check_rows(best: NDArray[np.float32], rows: list[RowState], prompts: list[bytes]) -> None:
    """Raise for rows that cannot go on, unless they are beams that lost.

    Beam search drops a beam whose scores are all -inf. Beam sampling may want more tokens than are allowed: it then
    draws banned ones, for beams that it never returns. Such a row has a living one with the same prompt beside it.
    """
    living = {prompt for prompt, score in zip(prompts, best, strict=True) if np.isfinite(score)}
    for row, (prompt, state, score) in enumerate(zip(prompts, rows, best, strict=True)):
        if np.isfinite(score) or (prompt in living and score == -np.inf):
            continue
        if isinstance(state, FinishedRow) and state.error is not None:
            raise StateError(f"Row {row}: {state.error}")
        raise ModelError(
            f"Row {row} has no token left: the scores of what its guide allows are {score}, by the model or by another "
            "logits processor (min_new_tokens, bad_words_ids, forced tokens, ...)"
        )

"""LogitsProcessor: holds the rows of transformers' own `generate` to guides.

A row's state is a function of its token ids alone, never of what the processor was called with before: the ids behind the
prompt are looked up in a small cache of matchers by prefix, one id short, and one `fork` and `advance` bring it up to date; what
was evicted is walked again from the start. So rows may be permuted (beams), taken back (assisted generation), padded or handed
over between calls, and one processor serves any number of calls, on any number of threads.

Scores are masked in a copy, because the host keeps and reuses the tensors that it hands out (prompt lookup shows the same one
again for the next candidate).
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from detent.errors import ArgumentError, ModelError, StateError
from detent.generation.ends import end_of_text_row
from detent.guide import Guide
from detent.integrations.prompt import PromptTracker
from detent.mask import allocate_mask, apply_mask
from detent.matcher import BatchMatcher, Matcher
from detent.vocabulary import Vocabulary

if TYPE_CHECKING:
    import torch

__all__ = ["LogitsProcessor"]


class LogitsProcessor:
    """Holds what `model.generate` of transformers writes to a guide, row by row.

    >>> from detent.integrations.transformers import LogitsProcessor
    >>> processor = LogitsProcessor(guide)                                           # doctest: +SKIP
    >>> model.generate(**inputs, logits_processor=[processor])                       # doctest: +SKIP

    Works with greedy search, sampling, beams, assisted generation (a draft model with the same tokenizer, or prompt lookup),
    left padding and encoder-decoders. A call of the processor masks scores float[rows, V] for ids int64[rows, length]; ids past
    the guide's vocabulary (padding of the logits) are banned too. It costs one matcher step and one mask a row, plus a copy of
    the scores. A row that has ended is left end-of-text alone.

    Parameters
    ----------
    guides : Guide or sequence of Guide
        One guide for all rows, or one a prompt: with beams or `num_return_sequences`, each applies to that prompt's rows.
    prompt_length : int or None
        How many leading ids of a row are the prompt, padding included: ``inputs["input_ids"].shape[1]``, or for an
        encoder-decoder the number of decoder ids it starts from (1). None tells it from the calls, see `PromptTracker`, which
        is right except where a prompt is the previous call's ids with one more; give the number, or `reset()`, to rule that
        out.

    Raises
    ------
    ArgumentError
        There is no guide, the guides' vocabularies differ, or the vocabulary has no end-of-text id for a row to end with.
    """

    #: Continuous batching shows only the last id of each row, which does not tell the state.
    supports_continuous_batching: ClassVar[bool] = False

    def __init__(self, guides: Guide | Sequence[Guide], *, prompt_length: int | None = None) -> None:
        self._guides = (guides,) if isinstance(guides, Guide) else tuple(guides)
        if not self._guides or not all(isinstance(guide, Guide) for guide in self._guides):
            raise ArgumentError("guides must be a Guide (detent.compile(language, vocabulary)) or a sequence of at least one")
        vocabulary = self._guides[0].vocabulary
        if any(guide.vocabulary.fingerprint != vocabulary.fingerprint for guide in self._guides[1:]):
            raise ArgumentError("All guides of a LogitsProcessor must be compiled for the same vocabulary")
        if not vocabulary.eos_token_ids:
            raise ArgumentError("A row of generate can only end with an end-of-text id, and the guide's vocabulary has none")
        if prompt_length is not None and not (isinstance(prompt_length, int) and prompt_length >= 0):
            raise ArgumentError(f"prompt_length must be an integer of at least 0 or None, got {prompt_length!r}")
        self._vocabulary = vocabulary
        self._width = _used_width(vocabulary)
        self._ends = end_of_text_row(vocabulary)
        self._prompt_length = prompt_length
        self._local = _Local()

    def reset(self) -> None:
        """Forget the calls so far (of this thread), so that the next one begins a prompt."""
        self._local.tracker = PromptTracker()

    def __call__(self, input_ids: torch.LongTensor, scores: torch.Tensor) -> torch.Tensor:
        """Return a copy of `scores` with everything at minus infinity that the guides do not allow after `input_ids`.

        Raises
        ------
        StateError
            The ids behind the prompt are not the beginning of a text of the guide.
        ModelError
            All that the guide allows a row is at minus infinity already, or NaN.
        ArgumentError
            The shapes are not those of `generate`, or do not fit the guides.
        """
        import torch

        if input_ids.ndim != 2 or scores.ndim != 2 or len(input_ids) != len(scores):
            raise ArgumentError(
                f"Expected ids [rows, length] and scores [rows, V], got {tuple(input_ids.shape)} and {tuple(scores.shape)}; "
                "continuous batching, which shows one id a row, is not supported"
            )
        if len(input_ids) % len(self._guides):
            raise ArgumentError(f"{len(self._guides)} guides do not divide {len(input_ids)} rows; give one, or one a prompt")
        if scores.shape[1] < self._width:
            raise ArgumentError(
                f"The scores have {scores.shape[1]} ids but the guide's vocabulary uses {self._width}; is it another model's? "
                "An assistant model must share the tokenizer"
            )
        mask = self._mask(input_ids.detach().cpu().numpy())
        masked = self._masked(scores, np.ascontiguousarray(mask[:, : -(-scores.shape[1] // 32)]))
        best = masked.amax(dim=1)
        dead = torch.isnan(best) | (best == -torch.inf)
        if dead.any():
            row = int(dead.nonzero()[0])
            raise ModelError(
                f"Row {row} has no token left: the scores of all that the guide allows are -inf or NaN, by the model or by "
                "another logits processor (min_new_tokens, bad_words_ids, forced tokens, ...)"
            )
        return masked

    @staticmethod
    def _masked(scores: torch.Tensor, mask: NDArray[np.int32]) -> torch.Tensor:
        import torch

        if scores.device.type == "cuda":
            masked = scores.clone(memory_format=torch.contiguous_format)
            apply_mask(masked, torch.from_numpy(mask).to(scores.device))
            return masked
        masked = scores.to("cpu", copy=True, memory_format=torch.contiguous_format)
        apply_mask(masked, mask)
        return masked.to(scores.device)

    def _mask(self, ids: NDArray[np.int64]) -> NDArray[np.int32]:
        """Return int32[rows, ceil(V/32)]; rows with equal ids and guide are filled once."""
        prompt_length = self._local.tracker.prompt_length(ids) if self._prompt_length is None else self._prompt_length
        if prompt_length > ids.shape[1]:
            raise ArgumentError(f"prompt_length is {prompt_length}, but generate shows rows of {ids.shape[1]} ids")
        per_guide = len(ids) // len(self._guides)
        firsts: dict[_Key, int] = {}
        places: list[_Place] = []
        sources: list[int] = []
        for row, generated in enumerate(ids[:, prompt_length:]):
            key = (row // per_guide, generated.tobytes())
            if firsts.setdefault(key, len(places)) == len(places):
                places.append(self._place(key, generated))
            sources.append(firsts[key])
        self._local.evict(max(64, 2 * len(ids)))
        filled = np.tile(self._ends, (len(places), 1))
        running = {index: place for index, place in enumerate(places) if isinstance(place, Matcher)}
        if running:
            rows = allocate_mask(len(running), len(self._vocabulary))
            BatchMatcher(list(running.values())).fill_mask(rows)
            filled[list(running)] = rows
        return filled[sources]

    def _place(self, key: _Key, generated: NDArray[np.int64]) -> _Place:
        """Return where a row is in its guide: remembered, one step on from where it was remembered, or walked from the start."""
        places = self._local.places
        if key in places:
            places.move_to_end(key)
            return places[key]
        group, _ = key
        place = places.get((group, generated[:-1].tobytes())) if generated.size else None
        if place is None:
            place, steps = self._guides[group].matcher(), generated
        else:
            place, steps = place.fork() if isinstance(place, Matcher) else place, generated[-1:]
        for token_id in steps.tolist():
            place = self._step(place, token_id)
        places[key] = place
        return place

    def _step(self, place: _Place, token_id: int) -> _Place:
        if isinstance(place, Matcher):
            try:
                place.advance(token_id)
            except StateError as error:
                if _is_wordless(self._vocabulary, token_id):  # the host ended the row itself (stop strings) and pads it
                    return _Ended(padding=token_id)
                raise StateError(
                    f"Token {token_id} after the prompt is not allowed by the row's guide: {error}. If it belongs to the prompt, "
                    "pass prompt_length= or call reset() before generate"
                ) from error
            return _Ended(padding=None) if place.is_finished else place
        if place.padding in (None, token_id):
            return place
        raise StateError(f"Token {token_id} follows padding ({place.padding}) that the row's guide does not allow; is it the prompt's?")


@dataclass(frozen=True)
class _Ended:
    """A row after its end; only `padding` may follow, or anything if None (the row ended as its guide allows)."""

    padding: int | None


_Place: TypeAlias = "Matcher | _Ended"
_Key: TypeAlias = "tuple[int, bytes]"  # index of the guide, the generated ids


class _Local(threading.local):
    """What one thread remembers of its calls: where prompts end, and the places of recent prefixes."""

    def __init__(self) -> None:
        self.tracker = PromptTracker()
        self.places: OrderedDict[_Key, _Place] = OrderedDict()

    def evict(self, limit: int) -> None:
        while len(self.places) > limit:
            self.places.popitem(last=False)


def _is_wordless(vocabulary: Vocabulary, token_id: int) -> bool:
    """Whether an id is never text: end-of-text, special or padding."""
    return (
        token_id in vocabulary.eos_token_ids
        or token_id in vocabulary.special_token_ids
        or not vocabulary.token_bytes(token_id)
    )


def _used_width(vocabulary: Vocabulary) -> int:
    """Return one more than the last id that a guide may allow."""
    width = len(vocabulary)
    last_end = max(vocabulary.eos_token_ids)
    while width - 1 > last_end and _is_wordless(vocabulary, width - 1):
        width -= 1
    return width

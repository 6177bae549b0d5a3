"""HistoryProcessor: the mask of a sequence, for engines that show all its token ids at each step.

llama-cpp-python and mlx-lm call a function with the ids so far and the logits. An exception of the function is lost
there, or comes too late, so the function fails closed: see `EngineMatcher`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from detent.errors import ArgumentError, StateError
from detent.generation.bans import Ban, Words
from detent.guide import Canonical, Guide
from detent.integrations.engine import Constraint
from detent.integrations.engine_matcher import EngineMatcher
from detent.integrations.prompt import PromptTracker
from detent.mask import allocate_mask
from detent.rule import AnyRule
from detent.vocabulary import Vocabulary

__all__ = ["HistoryProcessor"]


class HistoryProcessor:
    """Follows the ids of one sequence; the adapters of engines derive from it.

    The first ids of a generation are the prompt. Ids that do not continue those of the last call begin a new
    generation; `reset` begins one in any case.

    Parameters
    ----------
    rule : Guide, Language, type, dict, list or None
        What the text must be, as in `detent.generate`. None: any text.
    vocabulary : Vocabulary
        The tokens of the engine's model.
    ban, canonical : optional
        As in `Constraint`.
    max_tokens : int, optional
        The budget, as the engine counts it: with end-of-text. The text is complete by then.
    prompt_length : int, optional
        How many of the first ids are the prompt. None: all ids of the first call.
    """

    def __init__(
        self,
        rule: Guide | AnyRule | None,
        vocabulary: Vocabulary,
        *,
        ban: Words | Ban = (),
        canonical: Canonical | None = None,
        max_tokens: int | None = None,
        prompt_length: int | None = None,
    ) -> None:
        self.guide = Constraint(rule, ban, canonical).compile(vocabulary)
        self._prompt_length = prompt_length
        self._rows = allocate_mask(1, len(vocabulary))
        self._state = EngineMatcher(self.guide, max_tokens, count_eos=True)
        self._tracker = PromptTracker()

    @property
    def failure(self) -> Exception | None:
        """What went wrong in this call of the engine, if anything has."""
        return self._state.failure

    def raise_failure(self) -> None:
        """Raise what went wrong. Call it after the engine's call: engines lose what their processors raise."""
        self._state.raise_failure()

    def reset(self) -> None:
        """Forget the ids so far: the next ones begin with a prompt."""
        self._state.reset()
        self._tracker = PromptTracker()

    def mask(self, token_ids: NDArray[np.int64]) -> NDArray[np.int32]:
        """Return int32[ceil(V / 32)], the mask after the ids, int64[n]; it is overwritten by the next call."""
        try:
            self._follow(token_ids)
        except Exception as error:  # closed, and raised after the engine's call
            self._state.failure = self._state.failure or error
        self._state.fill(self._rows, 0)
        row: NDArray[np.int32] = self._rows[0]
        return row

    def _follow(self, token_ids: NDArray[np.int64]) -> None:
        length = self._tracker.prompt_length(np.array(token_ids, dtype=np.int64)[None])
        if self._prompt_length is not None:
            length = self._prompt_length
            if length > len(token_ids):
                raise ArgumentError(f"prompt_length is {length}, but the engine shows {len(token_ids)} ids")
        text = token_ids[length:].tolist()
        taken = self._state.matcher.token_ids
        if not text:  # a new call
            self._state.reset()
        elif not taken or text[: len(taken)] != taken:
            self._state.rollback(len(taken))
            taken = []
        if self._state.is_terminated:
            return  # engines ask once more after the end
        rest = text[len(taken) :] if text else []
        if rest and not self._state.accept(rest):
            raise StateError(
                f"token {rest[-1]} was written, but the rule refused it; another processor, or a limit of the engine, "
                "has changed what the mask allowed"
            )

"""PromptCache: sessions of recent prompts, so that a prompt that begins alike is read from where it differs."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

from detent.generation.logits_cache import LogitsCache
from detent.models.base import Session

__all__ = ["PromptCache"]

_LEAST_SHARED = 16
"""Fewer common tokens are read again rather than copied."""


class PromptCache:
    """The sessions of the last prompts of a model; it does not hold the model itself.

    Cost: `open` compares a prompt with each session's, and `keep` forks a session; neither asks the model.

    Parameters
    ----------
    size : int
        How many sessions are kept; each needs the memory of its keys and values.
    """

    def __init__(self, size: int = 8) -> None:
        self._size = size
        self._sessions: OrderedDict[tuple[int, ...], Session] = OrderedDict()

    def open(self, cache: LogitsCache) -> None:
        """Give a text without a session the one that shares the longest beginning of its prompt, if any is long enough.

        A copy of that session is cropped to the shared beginning and reads the rest of the prompt.
        """
        prompt = cache.prompt_ids
        shared, known = max(
            ((_common_length(known, prompt), known) for known in self._sessions),
            default=(0, ()),
            key=lambda pair: pair[0],
        )
        if shared == 0 or shared < min(_LEAST_SHARED, len(prompt)):
            return
        self._sessions.move_to_end(known)
        session = cache.fork(self._sessions[known])
        if shared < len(known):
            session.crop(shared)
        if shared < len(prompt):
            session.append(prompt[shared:])
        cache.open(session)

    def keep(self, cache: LogitsCache) -> None:
        """Keep the prompt of a text whose session was read."""
        key = tuple(cache.prompt_ids)
        if key in self._sessions or len(key) < _LEAST_SHARED:
            return
        session = cache.fork(cache.session(()))
        session.crop(len(key))
        self._sessions[key] = session
        if len(self._sessions) > self._size:
            self._sessions.popitem(last=False)


def _common_length(first: Sequence[int], second: Sequence[int]) -> int:
    """Return how many tokens two sequences begin with alike."""
    for index, (one, other) in enumerate(zip(first, second, strict=False)):
        if one != other:
            return index
    return min(len(first), len(second))

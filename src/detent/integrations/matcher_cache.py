"""MatcherCache: the matcher of each row of a batch, found by the row's token ids alone.

A row that is asked for is usually one token longer than a row of the last call: then a `fork` and an `advance` of that
row's matcher give its own. Rows that were evicted are walked again from the start. So the answer never depends on
earlier calls, only its cost does.

The cache compares ids with the history of its matchers (`Matcher._has_taken`) and stores no ids: a step copies nothing
that grows with the row.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from detent.errors import StateError
from detent.matcher import Matcher
from detent.vocabulary import Vocabulary

__all__ = ["FinishedRow", "MatcherCache", "RowState", "has_no_text"]

Ids: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class FinishedRow:
    """A row that takes no more tokens.

    Attributes
    ----------
    matcher : Matcher
        At the end of the row's text.
    padding : int or None
        The only id that may follow; any id if it is None.
    padding_count : int
        With an `error`: how many padding ids follow the text before the wrong id.
    error : str or None
        The row is not a text of its guide: why.
    wrong_id : int or None
        With an `error`: the id that shows it.
    """

    matcher: Matcher
    padding: int | None = None
    padding_count: int = 0
    error: str | None = None
    wrong_id: int | None = None

    def has_ids(self, ids: Ids) -> bool:
        """Whether a row of these ids is in this state."""
        length = len(self.matcher)
        if len(ids) < length or not self.matcher._has_taken(ids[:length]):
            return False
        rest = ids[length:]
        if self.error is None:
            return self.padding is None or bool((rest == self.padding).all())
        count = self.padding_count
        return len(rest) > count and rest[count] == self.wrong_id and bool((rest[:count] == self.padding).all())


#: What may follow a row: ask the matcher, or nothing but padding.
RowState: TypeAlias = Matcher | FinishedRow

_Key: TypeAlias = tuple[int, int | None, int, int]


class MatcherCache:
    """The states of recent rows; the least recently asked for are evicted first.

    Parameters
    ----------
    start : callable
        Returns the matcher of an empty row, for the index of its guide and its budget.
    """

    def __init__(self, start: Callable[[int, int | None], Matcher]) -> None:
        self._start = start
        # By guide, budget, length and last id: nearly always one row. The rows themselves say if the ids are the same.
        self._rows: dict[_Key, list[RowState]] = {}
        # The least recently asked for first. A finished row may stand under several lengths, with more padding.
        self._recent: OrderedDict[tuple[_Key, RowState], None] = OrderedDict()

    def get(self, guide: int, ids: Ids, budget: int | None) -> RowState:
        """Return the state after `ids`, int64[n]; equal rows have the same one, and nobody moves it."""
        key = _key(guide, budget, ids)
        found = self._find(key, ids)
        if found is not None:
            return found
        parent = self._find(_key(guide, budget, ids[:-1]), ids[:-1]) if ids.size else None
        state: RowState
        if parent is None:
            state, steps = self._start(guide, budget), ids
        else:
            state, steps = parent.fork() if isinstance(parent, Matcher) else parent, ids[-1:]
        for position, token_id in enumerate(steps.tolist(), len(ids) - len(steps)):
            state = _step(state, token_id, position)
        self._rows.setdefault(key, []).append(state)
        self._recent[key, state] = None
        return state

    def evict(self, limit: int) -> None:
        """Forget all but the last `limit` rows."""
        while len(self._recent) > limit:
            (key, state), _ = self._recent.popitem(last=False)
            self._rows[key].remove(state)
            if not self._rows[key]:
                del self._rows[key]

    def _find(self, key: _Key, ids: Ids) -> RowState | None:
        for state in self._rows.get(key, ()):
            if state._has_taken(ids) if isinstance(state, Matcher) else state.has_ids(ids):
                self._recent.move_to_end((key, state))
                return state
        return None


def _key(guide: int, budget: int | None, ids: Ids) -> _Key:
    return guide, budget, len(ids), int(ids[-1]) if ids.size else -1


def _step(state: RowState, token_id: int, position: int) -> RowState:
    """Return the state after one more token, the `position`-th of the row; a matcher is moved."""
    if isinstance(state, Matcher):
        try:
            state.advance(token_id)
        except StateError as error:
            if has_no_text(state.guide.vocabulary, token_id):  # the host ended the row (stop strings) and pads it
                return FinishedRow(state, padding=token_id)
            return FinishedRow(
                state,
                wrong_id=token_id,
                error=f"token {token_id} after the prompt is not allowed by the row's guide ({error}). "
                "If it belongs to the prompt, pass prompt_length= or call reset() before generate",
            )
        return FinishedRow(state) if state.is_finished else state
    if state.error is not None or state.padding in (None, token_id):
        return state
    return FinishedRow(
        state.matcher,
        padding=state.padding,
        padding_count=position - len(state.matcher),
        wrong_id=token_id,
        error=f"token {token_id} follows padding ({state.padding}) that the row's guide does not allow. "
        "If they belong to the prompt, pass prompt_length= or call reset() before generate",
    )


def has_no_text(vocabulary: Vocabulary, token_id: int) -> bool:
    """Whether an id is never text: end-of-text, special or padding."""
    return token_id in vocabulary.special_token_ids or not vocabulary.token_bytes(token_id)

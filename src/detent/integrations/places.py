"""Places: where each row of a batch is in its guide, told from its token ids alone.

A small cache maps the ids behind the prompt to a matcher. A row that is asked for is there, or one token short of being
there, in which case a `fork` and an `advance` bring it up to date; what was evicted is walked again from the start. So
the answer never depends on what was asked before, only its cost does: one step a row while decoding goes on.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from detent.errors import StateError
from detent.guide import Guide
from detent.matcher import Matcher
from detent.vocabulary import Vocabulary

__all__ = ["Ended", "Place", "Places", "is_wordless"]


@dataclass(frozen=True)
class Ended:
    """A row that takes no more tokens.

    Only `padding` may follow, or anything if it is None. With an `error`, the row is not a text of its guide at all.
    """

    padding: int | None = None
    error: str | None = None


Place: TypeAlias = Matcher | Ended


class Places:
    """The places of recent rows, at most `limit` of them: the least recently asked for go first.

    Parameters
    ----------
    guides : sequence of Guide
        A row is asked for with the index of its guide.
    """

    def __init__(self, guides: Sequence[Guide]) -> None:
        self._guides = guides
        self._places: OrderedDict[tuple[int, bytes], Place] = OrderedDict()

    def of(self, guide: int, ids: NDArray[np.int64]) -> Place:
        """Return the place after `ids`, int64[n]; equal rows have the same one, which is not to be moved."""
        key = (guide, ids.tobytes())
        if key in self._places:
            self._places.move_to_end(key)
            return self._places[key]
        parent = self._places.get((guide, ids[:-1].tobytes())) if ids.size else None
        place: Place
        if parent is None:
            place, steps = self._guides[guide].matcher(), ids
        else:
            place, steps = parent.fork() if isinstance(parent, Matcher) else parent, ids[-1:]
        for token_id in steps.tolist():
            place = _step(place, token_id)
        self._places[key] = place
        return place

    def evict(self, limit: int) -> None:
        """Forget all but the last `limit` places."""
        while len(self._places) > limit:
            self._places.popitem(last=False)


def _step(place: Place, token_id: int) -> Place:
    """Return the place after one more token; a matcher is moved there."""
    if isinstance(place, Matcher):
        try:
            place.advance(token_id)
        except StateError as error:
            if is_wordless(
                place.guide.vocabulary, token_id
            ):  # the host ended the row itself (stop strings) and pads it
                return Ended(padding=token_id)
            return Ended(
                error=f"token {token_id} after the prompt is not allowed by the row's guide ({error}). "
                "If it belongs to the prompt, pass prompt_length= or call reset() before generate"
            )
        return Ended() if place.is_finished else place
    if place.error is not None or place.padding in (None, token_id):
        return place
    return Ended(
        error=f"token {token_id} follows padding ({place.padding}) that the row's guide does not allow. "
        "If they belong to the prompt, pass prompt_length= or call reset() before generate"
    )


def is_wordless(vocabulary: Vocabulary, token_id: int) -> bool:
    """Whether an id is never text: end-of-text, special or padding."""
    return token_id in vocabulary.special_token_ids or not vocabulary.token_bytes(token_id)

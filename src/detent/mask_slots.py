"""MaskSlots: mask rows that the sequences of a server share, so that a step writes the rows of new masks only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, final

import numpy as np

from detent import _core
from detent.errors import ArgumentError
from detent.matcher import Matcher, usable_cores

if TYPE_CHECKING:
    import numpy.typing as npt

    from detent.mask import MaskLike

__all__ = ["FilledSlots", "MaskSlots"]


class FilledSlots(NamedTuple):
    """The result of a step: which slot each sequence has, and which slots were written.

    Attributes
    ----------
    slots : int32[batch]
        The row of each sequence's mask.
    written : list of int
        The rows that the step has written: those to copy to the device.
    """

    slots: npt.NDArray[np.int32]
    written: list[int]


@final
class MaskSlots:
    """Rows that keep the masks of recent states, for a server with many sequences.

    Sequences with the same mask share a row, and a row keeps its mask for later steps. `BatchMatcher.fill_mask` writes
    a row for each sequence; a warm step of slots writes few rows or none. An engine copies only the written rows to its
    device. There the mask of sequence i is ``rows[slots[i]]``, for instance by `torch.index_select`. Row 0 allows
    nothing.

    >>> import detent
    >>> vocabulary = detent.Vocabulary([b"a", b"b", b""], eos_token_ids=[2])
    >>> guides = [detent.compile(detent.regex(pattern), vocabulary) for pattern in ("a+", "b+", "a+")]
    >>> matchers = [guide.matcher() for guide in guides]
    >>> slots = MaskSlots(detent.allocate_mask(64, len(vocabulary)))
    >>> slots.fill(matchers)
    FilledSlots(slots=array([1, 2, 1], dtype=int32), written=[1, 2])
    >>> slots.rows[[1, 2, 1]].tolist()
    [[1], [2], [1]]
    >>> slots.fill(matchers).written
    []

    Parameters
    ----------
    rows : int32[slots, ceil(V / 32)], CPU, C-contiguous
        NumPy array or torch tensor, which may be pinned. More slots than sequences, four times as many for servers:
        16 MB for each 1,024 slots of Llama 3. Nobody else may write to them, unless `forget` is called afterwards.

    Attributes
    ----------
    rows : as given
        The rows.

    Notes
    -----
    512 sequences in 128 schemas of MaskBench, Llama 3, 2,048 slots: some 0.1 ms a warm step on one core. Masks are
    those of `Matcher.fill_mask` exactly. One thread at a time may use the slots.
    """

    __slots__ = ("_slots", "rows")

    def __init__(self, rows: MaskLike) -> None:
        shape = tuple(getattr(rows, "shape", ()))
        if len(shape) != 2 or shape[0] < 2:
            raise ArgumentError(f"MaskSlots needs rows int32[slots, words] with two slots or more, got {list(shape)}")
        self.rows = rows
        self._slots = _core.MaskSlots(rows, *shape)

    def fill(
        self, matchers: Sequence[Matcher], *, threads: int | None = None, wait: float | None = None
    ) -> FilledSlots:
        """Write the masks that no slot has, and return the row of each sequence's mask.

        Parameters
        ----------
        matchers : sequence of Matcher
            The sequences of this step, in any order; fewer than the slots. They may belong to different guides, over
            vocabularies of equal size.
        threads : int, optional
            At most this many, for masks that take more than a look-up; the number of usable cores by default.
        wait : float, optional
            The seconds to wait for masks that take more than a look-up, on one thread of the slots. Without it, the
            call waits for all. A sequence whose mask is not computed in time gets row 0, which allows nothing. Leave it
            out of the step, without advancing its matcher, and ask again at the next one. So a new schema does not hold
            up the others. Near a token limit, masks are computed at once.

        Raises
        ------
        ArgumentError
            An object is no matcher, there are not more slots than sequences, or the rows do not fit the vocabulary.
        """
        if threads is not None and threads < 1:
            raise ArgumentError(f"MaskSlots needs threads >= 1, got {threads}")
        try:
            batch = tuple(matchers)  # another thread may change the list meanwhile
            slots = np.zeros(len(batch), dtype=np.int32)
            written = self._slots.fill(batch, slots, threads or usable_cores(), wait)
        except TypeError:
            found = {type(each).__name__ for each in (matchers if isinstance(matchers, Sequence) else [matchers])}
            raise ArgumentError(
                f"MaskSlots.fill needs a sequence of matchers (guide.matcher()), got {', '.join(sorted(found))}"
            ) from None
        return FilledSlots(slots, written)

    def forget(self) -> None:
        """Forget what the rows contain, after something else has written to them. The next steps write them again."""
        self._slots.forget()

"""PartialStream: a stream of the values of a growing text."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Protocol

from detent.generation.decode_loop import Stream
from detent.generation.output import Output

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["PartialStream", "PartialValue"]


class PartialValue(Protocol):
    """The value of a text that is fed in pieces."""

    @property
    def value(self) -> object:
        """The value so far."""

    def feed(self, piece: str) -> bool:
        """Append a piece; return whether `value` changed."""

    def finish(self) -> bool:
        """End the text; return whether `value` changed."""


class PartialStream(Iterator[object]):
    """The values of a growing text, made by `stream` with ``partial=True``; a context manager, as `Stream` is."""

    def __init__(self, pieces: Stream, partial: PartialValue) -> None:
        self._pieces = pieces
        self._partial = partial
        self._values = self._read()

    def __iter__(self) -> Iterator[object]:
        return self

    def __next__(self) -> object:
        return next(self._values)

    @property
    def output(self) -> Output:
        """The whole text and its report, after the last value; raises `StateError` before."""
        return self._pieces.output

    def close(self) -> None:
        """Stop the generation and release the session of the model. Further iteration yields nothing."""
        self._pieces.close()
        self._values.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _read(self) -> Generator[object, None, None]:
        for piece in self._pieces:
            if self._partial.feed(piece):
                yield self._partial.value
        if self._partial.finish():
            yield self._partial.value

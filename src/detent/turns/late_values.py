"""Values of a growing text that are computed when they are read.

Each piece of arguments has an event with the value so far. A value costs time linear in the text before it, so that the
values of all events of a long or deep text would cost its square. Most readers of events need the pieces alone.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Any, Protocol

__all__ = ["GrowingValue", "LateField", "LateValue", "PartialValue"]


class PartialValue(Protocol):
    """The value of a text that is fed in pieces."""

    @property
    def value(self) -> Any:
        """The value so far."""

    def feed(self, piece: str) -> bool:
        """Append a piece; return whether `value` changed."""


class GrowingValue:
    """A text in pieces, and its value after each of them.

    >>> from detent.partial_json import PartialJson
    >>> growing = GrowingValue(PartialJson)
    >>> values = [growing.add(piece) for piece in ('{"a": [1', ", 2", "]}")]
    >>> [value.compute() for value in values], values[0].compute()
    ([{'a': []}, {'a': [1]}, {'a': [1, 2]}], {'a': []})

    Values that are read in their order share one scan of the text; another one is computed from the beginning.
    """

    def __init__(self, make: Callable[[], PartialValue]) -> None:
        self._make = make
        self._lock = Lock()
        self._pieces: list[str] = []
        self._partial = make()
        self._read = 0  # pieces that `_partial` has read

    def add(self, piece: str) -> LateValue:
        """Append a piece; return the value after it."""
        self._pieces.append(piece)
        return LateValue(self, len(self._pieces))

    def after(self, count: int) -> Any:
        """Return the value after the first `count` pieces."""
        with self._lock:
            if count < self._read:
                self._partial, self._read = self._make(), 0
            if count > self._read:
                self._partial.feed("".join(self._pieces[self._read : count]))
                self._read = count
            return self._partial.value


class LateValue:
    """The value after some pieces of a text."""

    def __init__(self, growing: GrowingValue, count: int) -> None:
        self._growing = growing
        self._count = count

    def compute(self) -> Any:
        """Return the value."""
        return self._growing.after(self._count)


class LateField:
    """A field of a dataclass whose value may be a `LateValue`, which is computed when the field is first read."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            raise AttributeError(self._name)  # the field has no default
        value = instance.__dict__[self._name]
        if isinstance(value, LateValue):
            value = instance.__dict__[self._name] = value.compute()
        return value

    def __set__(self, instance: Any, value: Any) -> None:
        instance.__dict__[self._name] = value

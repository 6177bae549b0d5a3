"""Values: how the Python value of a text is made from the values of its parts.

A text of ``a + b`` must be cut into a text of `a` and one of `b`. Where several cuts are possible, a part that a single
text follows ends where that text occurs first; any other part is as long as possible. Both hold only as far as the rest
of the text is in the rest of the language.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from detent import _core
from detent.errors import ArgumentError
from detent.queries import ByteDfa

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from detent.language import Language

__all__ = ["Capture", "Concatenation", "Items", "Narrowed", "OptionalValue", "UnionValue", "capture_names", "captures"]


@dataclass(frozen=True)
class UnionValue:
    """The value of a union: that of the first operand that accepts the text. A union of unions is one flat list."""

    options: tuple[Language[Any], ...]

    def __call__(self, text: str) -> object:
        """Return the value of a text."""
        return next(option for option in self.options if option.accepts(text)).parse(text)


@dataclass(frozen=True)
class Narrowed:
    """The value of a union from which texts were removed: it is no longer merged with other unions."""

    union: Language[Any]

    def __call__(self, text: str) -> object:
        """Return the value of a text."""
        return self.union.parse(text)


@dataclass(frozen=True)
class OptionalValue:
    """The value of an optional part: None for the empty text."""

    inner: Language[Any]

    def __call__(self, text: str) -> object:
        """Return the value of a text."""
        return self.inner.parse(text) if text else None


@dataclass(frozen=True)
class Capture:
    """A named part: its value is a dict with that name."""

    name: str
    inner: Language[Any]

    def __call__(self, text: str) -> dict[str, Any]:
        """Return the value of a text."""
        return {self.name: self.inner.parse(text)}


@dataclass(frozen=True)
class Concatenation:
    """The value of parts in sequence.

    With captures anywhere in the parts: a dict of them. Otherwise a tuple with the values of the parts that have more
    than one text; or the value of the part, if it is the only one.

    Captures must have different names, since one would replace the other. A repeat with captures beside other captures
    must be captured itself: its value is a list, which has no name otherwise.
    """

    parts: tuple[Language[Any], ...]

    def __post_init__(self) -> None:
        names: set[str] = set()
        for part in self.parts:
            found = capture_names(part)
            if twice := names & found:
                raise ArgumentError(
                    f"two parts are captured as {min(twice)!r}, and a value has one of them; give each its own name, "
                    "or write join or repeat for a list"
                )
            names |= found
        for part in self.parts if names else ():
            if lost := _repeated_names(part):
                raise ArgumentError(
                    f"the capture {min(lost)!r} is in a repeat or list, whose value is a list without a name beside "
                    f"the capture {min(names)!r}; capture the list too: part.repeat().capture('items')"
                )

    def __call__(self, text: str) -> object:
        """Return the value of a text."""
        dfas = [part._dfa() for part in self.parts]
        rests = _Rests([part._node for part in self.parts])
        data = text.encode()
        pieces, start = [], 0
        for index, dfa in enumerate(dfas):
            following = dfas[index + 1].only_text() if index + 1 < len(dfas) else None
            end = _cut(dfa, data, start, following, rests[index + 1])
            pieces.append(data[start:end].decode())
            start = end
        named: dict[str, Any] = {}
        values = []
        has_captures = any(captures(part) for part in self.parts)
        for part, dfa, piece in zip(self.parts, dfas, pieces, strict=True):
            if captures(part):
                named.update(part.parse(piece) or {})  # None of an optional part that is not there
            elif not has_captures and (part.value is not None or dfa.only_text() is None):
                values.append(part.parse(piece))
        if has_captures:
            return named
        return values[0] if len(values) == 1 else tuple(values)


@dataclass(frozen=True)
class Items:
    """The value of repeated items: the list of their values."""

    item: Language[Any]
    separator: Language[Any] | None
    minimum: int
    maximum: int | None

    def __call__(self, text: str) -> list[Any]:
        """Return the value of a text."""
        data = text.encode()
        item, between = self.item._dfa(), self.separator._dfa() if self.separator is not None else None
        sign = between.only_text() if between is not None else None
        values: list[Any] = []
        start, count = 0, 0
        rests: dict[tuple[int, int | None, bool], ByteDfa] = {}
        while start < len(data) or count < self.minimum:
            if count and between is not None:
                start = _cut(between, data, start, None, self._rest(rests, count, needs_item=True))
            end = _cut(item, data, start, sign, self._rest(rests, count + 1, needs_item=False))
            values.append(self.item.parse(data[start:end].decode()))
            start, count = end, count + 1
        return values

    def _rest(self, rests: dict[tuple[int, int | None, bool], ByteDfa], count: int, *, needs_item: bool) -> ByteDfa:
        """Return the language after `count` items; with `needs_item`, one more item comes first."""
        done = count + needs_item
        low = max(self.minimum - done, 0)
        high = None if self.maximum is None else self.maximum - done
        key = (low, high, needs_item)
        if key not in rests:
            item = self.item._node
            unit = item if self.separator is None else _core.concat([self.separator._node, item])
            more = _core.repeat(unit, low, high)
            rests[key] = ByteDfa(_core.without_special(_core.concat([item, more]) if needs_item else more))
        return rests[key]


def captures(language: Language[Any]) -> bool:
    """Return whether the value of a language is a dict of captures."""
    return bool(capture_names(language))


def capture_names(language: Language[Any]) -> frozenset[str]:
    """Return the names in the value of a language, if that is a dict of captures."""
    value = language.value
    if isinstance(value, Capture):
        return frozenset([value.name])
    return frozenset().union(*(capture_names(part) for part in _parts_of(value)))


def _repeated_names(language: Language[Any]) -> frozenset[str]:
    """Return the captures in the items of a list that is not captured itself."""
    value = language.value
    if isinstance(value, Items):
        return capture_names(value.item) | _repeated_names(value.item)
    return frozenset().union(*(_repeated_names(part) for part in _parts_of(value)))


def _parts_of(value: object) -> tuple[Language[Any], ...]:
    """Return the languages whose values a value may be, or be made of."""
    if isinstance(value, Concatenation):
        return value.parts
    if isinstance(value, UnionValue):
        return value.options
    if isinstance(value, OptionalValue):
        return (value.inner,)
    return (value.union,) if isinstance(value, Narrowed) else ()


class _Rests:
    """The languages of the parts from each index on."""

    def __init__(self, nodes: Sequence[_core.Node]) -> None:
        self._nodes = nodes

    def __getitem__(self, index: int) -> ByteDfa:
        return ByteDfa(_core.without_special(_core.concat(list(self._nodes[index:]))))


def _cut(dfa: ByteDfa, data: bytes, start: int, following: bytes | None, rest: ByteDfa) -> int:
    """Return where a part that begins at `start` ends, such that `rest` accepts the bytes after it."""
    ends = dfa.ends(data, start)
    ordered: Iterator[int] = iter(ends) if following else reversed(ends)
    candidates = (end for end in ordered if not following or data.startswith(following, end) or end == len(data))
    for end in candidates:
        if (end == len(data) or data[end] & 0xC0 != 0x80) and rest.accepts(data[end:]):
            return end
    for end in reversed(ends):  # the text after the part is not the one that follows: an item may be the last
        if (end == len(data) or data[end] & 0xC0 != 0x80) and rest.accepts(data[end:]):
            return end
    raise ArgumentError("the text cannot be cut into characters and parts; its parts hold bytes of broken characters")

"""Sets of member names: those that a pattern finds, those that are not declared, those that propertyNames allows.

A set is symbolic: `names` and `patterns` are what it is *not* (additionalProperties), or one pattern, or the names
that are texts of a schema. Of a given name it is asked at once (`Keys.holds`); names that no schema mentions are
split into *cells*, by which of the patterns find them, and a set is then some of the cells.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from detent.sources.json_schema.place import Literal

__all__ = ["Cell", "KeySet"]


class KeySet:
    """Names of members; equal ones are one object within a compilation.

    `kind` is "found" (by the one pattern), "others" (neither in `names` nor found by one of `patterns`), "texts"
    (the names that are valid against `literal`) or "cell" (the names of one cell).
    """

    __slots__ = ("cell", "kind", "listed", "literal", "names", "patterns")

    def __init__(
        self,
        kind: str,
        names: tuple[str, ...],
        patterns: tuple[str, ...],
        literal: Literal | None = None,
        cell: Cell | None = None,
    ) -> None:
        self.cell = cell
        self.kind = kind
        self.listed = names
        self.names = frozenset(names)
        self.patterns = patterns
        self.literal = literal

    def splitters(self) -> tuple[object, ...]:
        """Give what decides membership of a name that is not in `names`: patterns, and literals of texts."""
        return (self.literal,) if self.kind == "texts" else self.patterns


@dataclass(frozen=True)
class Cell:
    """The names that no schema mentions and on which each of the splitters has one verdict."""

    verdicts: tuple[tuple[object, bool], ...]

    def within(self, keys: KeySet) -> bool:
        """Whether the cell is part of a set; a set holds all of a cell or nothing of it."""
        if keys.kind == "cell":
            return keys.cell == self
        found = [verdict for splitter, verdict in self.verdicts if splitter in keys.splitters()]
        return not any(found) if keys.kind == "others" else all(found)

"""The syntax tree of a grammar expression in any notation, and its builder.

A parser reads the text once and reports each item, bar, parenthesis and repeat to an `Expression`. Open groups are on a
list, so nesting needs no stack; `Limits.depth` bounds it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from detent.limits import Limits
from detent.sources.diagnostics import GrammarText

__all__ = [
    "MAX_COUNT",
    "Complement",
    "Difference",
    "Expression",
    "Intersection",
    "Parts",
    "Repeat",
    "RuleName",
    "Sequence",
    "TerminalNode",
    "Tree",
    "Union",
]

MAX_COUNT = (1 << 32) - 2
"""The largest count of a repeat."""


@dataclass(frozen=True)
class RuleName:
    """A rule that is called by its name."""

    name: str
    offset: int


@dataclass(frozen=True, eq=False)
class TerminalNode:
    """A terminal; the type of its value depends on the notation."""

    value: object
    offset: int


@dataclass(frozen=True, eq=False)
class Sequence:
    """The concatenation of parts."""

    parts: tuple[Tree, ...]


@dataclass(frozen=True, eq=False)
class Union:
    """Any one of the options."""

    options: tuple[Tree, ...]


@dataclass(frozen=True, eq=False)
class Repeat:
    """A part repeated between two bounds; no maximum means any number of times."""

    part: Tree
    minimum: int
    maximum: int | None


@dataclass(frozen=True, eq=False)
class Difference:
    """The texts of the left part that the right part does not have; neither part calls a recursive rule."""

    left: Tree
    right: Tree
    offset: int


@dataclass(frozen=True, eq=False)
class Intersection:
    """The texts that all parts have."""

    parts: tuple[Tree, ...]


@dataclass(frozen=True, eq=False)
class Complement:
    """Every text that the part does not have."""

    part: Tree


Tree: TypeAlias = RuleName | TerminalNode | Sequence | Union | Repeat | Difference | Intersection | Complement


class _Group:
    """An expression that is still being read."""

    __slots__ = ("closing", "met", "minuses", "negations", "offset", "options", "parts")

    def __init__(self, offset: int, closing: str) -> None:
        self.offset, self.closing = offset, closing
        self.options: list[Tree] = []
        self.parts: list[Tree] = []
        self.met: list[Tree] = []
        # The indices of parts with a sign before them, `-` or `~`, and the offsets of the signs.
        self.minuses: dict[int, int] = {}
        self.negations: dict[int, int] = {}

    def finish(self) -> Tree:
        self.bar()
        return self.options[0] if len(self.options) == 1 else Union(tuple(self.options))

    def bar(self) -> None:
        option = self.row()
        self.options.append(Intersection((*self.met, option)) if self.met else option)
        self.met = []

    def row(self) -> Tree:
        parts: list[Tree] = []
        for index, part in enumerate(self.parts):
            if index in self.negations:
                part = Complement(part)
            parts.append(Difference(parts.pop(), part, self.minuses[index]) if index in self.minuses else part)
        self.parts, self.minuses, self.negations = [], {}, {}
        return parts[0] if len(parts) == 1 else Sequence(tuple(parts))


class Parts:
    """Counts the parts of a whole grammar against `Limits.pattern_size`."""

    def __init__(self, source: GrammarText, limits: Limits) -> None:
        self.source, self.limits = source, limits
        self.count = 0

    def add(self, offset: int, number: int = 1) -> None:
        """Count some more; raises `LimitError` above the limit."""
        self.count += number
        if self.count > self.limits.pattern_size:
            remedy = "shorten the grammar or raise Limits(pattern_size=...)"
            limit = self.limits.pattern_size
            what = f"the grammar has more than {limit} parts"
            self.source.excessive(what, offset, remedy, subject="pattern_size", limit=limit)


class Expression:
    """The right side of a rule, as far as it has been read."""

    def __init__(self, parts: Parts, offset: int) -> None:
        self._parts = parts
        self._groups = [_Group(offset, "")]

    @property
    def nesting(self) -> int:
        """How many groups are open."""
        return len(self._groups) - 1

    def open(self, offset: int, closing: str = ")") -> None:
        """Begin a group that `closing` will end."""
        limit = self._parts.limits.depth
        if self.nesting >= limit:
            what, remedy = f"groups are nested more than {limit} deep", "flatten them or raise Limits(depth=...)"
            self._parts.source.excessive(what, offset, remedy, subject="depth", limit=limit)
        self._parts.add(offset)
        self._groups.append(_Group(offset, closing))

    def close(self, offset: int, closing: str = ")") -> None:
        """End the innermost group, which becomes an item."""
        group = self._groups[-1]
        if self.nesting == 0 or group.closing != closing:
            self._parts.source.malformed(f"{closing!r} closes nothing", offset, "open the group, or take this away")
        self._check_signs()
        self._groups.pop()
        self._groups[-1].parts.append(group.finish())

    def item(self, tree: Tree, offset: int) -> None:
        """Add a part to the option that is being read."""
        self._parts.add(offset)
        self._groups[-1].parts.append(tree)

    def bar(self, offset: int) -> None:
        """Begin the next option."""
        self._parts.add(offset)
        self._check_signs()
        self._groups[-1].bar()

    def repeat(self, offset: int, minimum: int, maximum: int | None) -> None:
        """Repeat the part that was added last."""
        source, parts = self._parts.source, self._groups[-1].parts
        if not parts:
            source.malformed("nothing stands here to be repeated", offset, "put what is to repeat before it")
        if max(minimum, maximum or 0) > MAX_COUNT:
            what, remedy = f"a repeat count above {MAX_COUNT}", "use a smaller count, or no upper bound"
            source.excessive(what, offset, remedy, subject="repeat_count", limit=MAX_COUNT)
        if maximum is not None and maximum < minimum:
            what = f"a repeat of at least {minimum} and at most {maximum} times is impossible"
            source.malformed(what, offset, "write the smaller count first")
        self._parts.add(offset)
        last = parts[-1]
        if isinstance(last, Repeat) and {last.maximum, maximum} <= {1, None} and max(last.minimum, minimum) <= 1:
            # Signs in a row, as in `a+?`, would nest without parentheses, and so without a bound.
            most = 1 if last.maximum == maximum == 1 else None
            parts[-1] = Repeat(last.part, last.minimum * minimum, most)
        else:
            parts[-1] = Repeat(last, minimum, maximum)

    def minus(self, offset: int) -> None:
        """Note a minus sign: the next part is taken away from the last one."""
        group = self._groups[-1]
        if not group.parts or len(group.parts) in group.minuses:
            self._parts.source.malformed("nothing stands before the minus", offset, "write A - B")
        group.minuses[len(group.parts)] = offset

    def meet(self, offset: int) -> None:
        """End a row that must match together with the next one."""
        self._check_signs()
        group = self._groups[-1]
        if not group.parts:
            self._parts.source.malformed("nothing stands before the &", offset, "write A & B")
        group.met.append(group.row())

    def negate(self, offset: int) -> None:
        """Take the complement of the part that comes next."""
        group = self._groups[-1]
        if len(group.parts) in group.negations:
            self._parts.source.malformed("a complement of a complement", offset, "take both ~ away")
        group.negations[len(group.parts)] = offset

    def finish(self) -> Tree:
        """Return the whole tree; every group must be closed."""
        if self.nesting:
            group = self._groups[-1]
            self._parts.source.malformed("a group is not closed", group.offset, f"close it with {group.closing}")
        self._check_signs()
        return self._groups[0].finish()

    def _check_signs(self) -> None:
        group = self._groups[-1]
        for signs in (group.minuses, group.negations):
            position = signs.get(len(group.parts))
            if position is not None:
                what = "nothing stands after the sign"
                self._parts.source.malformed(what, position, "put after it what it applies to")
        if group.met and not group.parts:
            self._parts.source.malformed("nothing stands after the &", group.offset, "write A & B")

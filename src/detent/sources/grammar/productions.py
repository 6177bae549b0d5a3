"""Productions, the common form of all notations, and the properties of rules.

A rule is a number with a list of productions; a production is a tuple of symbols. A symbol is the number of a rule, a
`Terminal` (a regular language), or a `RepeatedRule`. All passes are work lists, linear in the symbols, no recursion.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from detent import _core
from detent.errors import LimitError

__all__ = ["EPSILON", "Grammar", "Production", "RepeatedRule", "Symbol", "Terminal"]


@dataclass(frozen=True, eq=False)
class Terminal:
    """A language without rules: its node, whether it has the empty text, and its size in literals and classes.

    If `regular` is false, the node restricts the text after it, and may stand in concatenations only.
    """

    node: _core.Node
    nullable: bool
    size: int = 1
    regular: bool = True


@dataclass(frozen=True)
class RepeatedRule:
    """A rule repeated between two bounds; no maximum means any number of times."""

    rule: int
    minimum: int
    maximum: int | None


Symbol: TypeAlias = "int | Terminal | RepeatedRule"
Production: TypeAlias = tuple[Symbol, ...]

_Test: TypeAlias = "Callable[[Terminal], bool]"
_ManyTest: TypeAlias = "Callable[[RepeatedRule], bool]"

EPSILON = Terminal(_core.epsilon(), True, 0)


@dataclass
class Grammar:
    """Rules by number, and the start; `limit` bounds the symbols of all productions together."""

    rules: list[list[Production]] = field(default_factory=list)
    start: int = 0
    limit: int = 200_000
    size: int = 0

    def add(self, rows: Iterable[Production] = ()) -> int:
        """Add a rule and give its number."""
        self.rules.append([])
        self.extend(len(self.rules) - 1, rows)
        return len(self.rules) - 1

    def extend(self, rule: int, rows: Iterable[Production]) -> None:
        """Add alternatives to a rule; raises `LimitError` above the limit."""
        target = self.rules[rule]
        for row in rows:
            self.charge(len(row) + 1)
            target.append(row)

    def charge(self, symbols: int) -> None:
        """Count symbols; raise `LimitError` above the limit."""
        self.size += symbols
        if self.size > self.limit:
            raise LimitError(
                f"the grammar needs more than {self.limit} symbols once its shorthands and left recursion are "
                "written out; shorten it or raise Limits(pattern_size=...)",
                subject="pattern_size",
                limit=self.limit,
            )

    def nullable(self) -> set[int]:
        """Return the rules that have the empty text."""
        return self._least(lambda symbol: symbol.nullable, lambda repeated: repeated.minimum == 0)

    def productive(self) -> set[int]:
        """Return the rules that have a text, if every terminal has one."""
        return self._least(lambda symbol: True, lambda repeated: repeated.minimum == 0)

    def _least(self, terminal: _Test, repeated: _ManyTest) -> set[int]:
        """Return the least set of rules with a production inside the set; the functions judge terminals and repeats."""
        waiting: dict[int, list[list[int]]] = {}
        found: set[int] = set()
        ready: deque[int] = deque()
        for rule, rows in enumerate(self.rules):
            for row in rows:
                if all(terminal(symbol) for symbol in row if isinstance(symbol, Terminal)):
                    needs = {
                        symbol if isinstance(symbol, int) else symbol.rule
                        for symbol in row
                        if not isinstance(symbol, Terminal)
                        and not (isinstance(symbol, RepeatedRule) and repeated(symbol))
                    }
                    entry = [rule, len(needs)]
                    for need in needs:
                        waiting.setdefault(need, []).append(entry)
                    if not needs and rule not in found:
                        found.add(rule)
                        ready.append(rule)
        while ready:
            for entry in waiting.get(ready.popleft(), ()):
                entry[1] -= 1
                if entry[1] == 0 and entry[0] not in found:
                    found.add(entry[0])
                    ready.append(entry[0])
        return found

    def called(self, rule: int) -> Iterator[int]:
        """Yield the rules that a rule calls, as often as it does."""
        for row in self.rules[rule]:
            for symbol in row:
                if isinstance(symbol, int):
                    yield symbol
                elif isinstance(symbol, RepeatedRule):
                    yield symbol.rule

    def pruned(self) -> Grammar:
        """Return the grammar without unreachable rules and rules without a text; the start stays."""
        productive = self.productive()
        rules: list[list[Production]] = []
        for rows in self.rules:
            rules.append([row for row in map(lambda row: _without(row, productive), rows) if row is not None])
        whole = Grammar(rules, self.start, self.limit)
        numbers = {self.start: 0}
        order = [self.start]
        for rule in order:
            for called in whole.called(rule):
                if called not in numbers:
                    numbers[called] = len(order)
                    order.append(called)
        result = Grammar(limit=self.limit)
        for rule in order:
            rows = [tuple(_renumbered(symbol, numbers) for symbol in row) for row in rules[rule]]
            result.add(dict.fromkeys(rows))
        return result


def _without(row: Production, productive: set[int]) -> Production | None:
    """Return the production without optional repeats that have no text, or None if it has no text."""
    found: list[Symbol] = []
    for symbol in row:
        rule = symbol if isinstance(symbol, int) else symbol.rule if isinstance(symbol, RepeatedRule) else None
        if rule is None or rule in productive:
            found.append(symbol)
        elif isinstance(symbol, int) or (isinstance(symbol, RepeatedRule) and symbol.minimum > 0):
            return None
    return tuple(found)


def _renumbered(symbol: Symbol, numbers: dict[int, int]) -> Symbol:
    if isinstance(symbol, int):
        return numbers[symbol]
    return (
        RepeatedRule(numbers[symbol.rule], symbol.minimum, symbol.maximum)
        if isinstance(symbol, RepeatedRule)
        else symbol
    )

"""Translation of trees into productions: an expression without rules becomes one terminal.

A group that calls rules becomes a rule, so that productions are not multiplied out. Repeats stay repeats.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TypeAlias

from detent import _core
from detent.sources.grammar.productions import EPSILON, Grammar, Production, RepeatedRule, Symbol, Terminal
from detent.sources.grammar.tree import Difference, Repeat, RuleName, Sequence, TerminalNode, Tree, Union
from detent.sources.trampoline import trampoline

__all__ = ["Lowering", "alternatives", "concatenation", "repetition", "union"]

_Productions: TypeAlias = "list[Production]"
_Walk: TypeAlias = "Generator[Tree, _Productions, _Productions]"


class Lowering:
    """Translates the trees of one grammar; helper rules are added to the grammar.

    A difference becomes a rule without productions, listed in `differences` with its two sides and its source location,
    until all rules are known.
    """

    def __init__(
        self, grammar: Grammar, leaf: Callable[[TerminalNode], Symbol], rule: Callable[[RuleName], Symbol]
    ) -> None:
        self.grammar, self._leaf, self._rule = grammar, leaf, rule
        self.differences: dict[int, tuple[int, int, int]] = {}

    def rows(self, tree: Tree) -> _Productions:
        """Return the productions of a tree. Takes time linear in the tree."""
        return trampoline(self._walk, tree)

    def _walk(self, tree: Tree) -> _Walk:
        if isinstance(tree, TerminalNode):
            return [(self._leaf(tree),)]
        if isinstance(tree, RuleName):
            return [(self._rule(tree),)]
        if isinstance(tree, Repeat):
            return [self._repeat((yield tree.part), tree.minimum, tree.maximum)]
        if isinstance(tree, Difference):
            left = self.grammar.add((yield tree.left))
            right = self.grammar.add((yield tree.right))
            rule = self.grammar.add()
            self.differences[rule] = left, right, tree.offset
            return [(rule,)]
        if isinstance(tree, Union):
            rows: list[Production] = []
            for option in tree.options:
                rows += yield option
            return alternatives(rows)
        assert isinstance(tree, Sequence)  # noqa: S101 - the readers let & and ~ into terminals only
        symbols: list[Symbol] = []
        for part in tree.parts:
            rows = yield part
            if len(rows) == 1:
                symbols.extend(rows[0])
            else:
                symbols.append(self.grammar.add(rows))
        return [_merged(symbols)]

    def _repeat(self, rows: _Productions, minimum: int, maximum: int | None) -> Production:
        if maximum == 0 or rows == [()]:
            return ()
        if len(rows) == 1 and len(rows[0]) == 1:
            only = rows[0][0]
            if isinstance(only, Terminal) and only.regular:
                return (repetition(only, minimum, maximum),)
            if isinstance(only, int):
                return (RepeatedRule(only, minimum, maximum),)
        return (RepeatedRule(self.grammar.add(rows), minimum, maximum),)


def alternatives(rows: _Productions) -> _Productions:
    """Return the productions with those that are one regular terminal united."""
    plain = [row[0] for row in rows if len(row) == 1 and isinstance(row[0], Terminal) and row[0].regular]
    plain += [EPSILON for row in rows if not row]
    if len(plain) < 2:
        return rows
    others = [row for row in rows if row and not (len(row) == 1 and isinstance(row[0], Terminal) and row[0].regular)]
    return [(union(plain),), *others]


def _merged(symbols: list[Symbol]) -> Production:
    """Return the production with adjacent regular terminals concatenated."""
    row: list[Symbol] = []
    run: list[Terminal] = []
    for symbol in [*symbols, None]:
        if isinstance(symbol, Terminal) and symbol.regular:
            run.append(symbol)
            continue
        if run:
            row.append(concatenation(run))
            run = []
        if symbol is not None:
            row.append(symbol)
    return tuple(row)


def concatenation(parts: list[Terminal]) -> Terminal:
    """Return the concatenation of terminals."""
    if len(parts) == 1:
        return parts[0]
    nullable = all(part.nullable for part in parts)
    regular = all(part.regular for part in parts)
    return Terminal(_core.concat([part.node for part in parts]), nullable, sum(part.size for part in parts), regular)


def union(parts: list[Terminal]) -> Terminal:
    """Return the union of terminals."""
    if len(parts) == 1:
        return parts[0]
    nullable = any(part.nullable for part in parts)
    return Terminal(_core.union([part.node for part in parts]), nullable, sum(part.size for part in parts))


def repetition(part: Terminal, minimum: int, maximum: int | None) -> Terminal:
    """Return a terminal repeated between two bounds."""
    nullable = part.nullable or minimum == 0
    return Terminal(_core.repeat(part.node, minimum, maximum), nullable, part.size)

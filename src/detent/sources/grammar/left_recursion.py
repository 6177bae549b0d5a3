"""Left recursion taken out of productions, direct, indirect, and after a nullable symbol: the texts stay the same.

A rule reaches another *by its left edge* if one of its productions begins with that rule, up to nullable symbols. In a
strongly connected component A1 ... An of these edges, every production is first rewritten to begin with a symbol that
is not nullable (a variant of a rule without its empty text). It is then  Ai -> b  or  Ai -> Aj a , and a derivation
climbs from some b of Aj along the left edge:

    Ai = b W(j,i) for each b of Aj        W(j,i) = nothing, if i = j;  a W(k,i) for each  Ak -> Aj a

W calls itself on the right only. Where `a` may be empty, Aj stands for Ak as it is: such unit steps are closed
transitively first, and only the non-empty texts of `a` go into W. The size grows with the square of the set at most,
and `Grammar.limit` bounds it. (Rosenkrantz 1967 solves the same equations by matrices.)
"""

from __future__ import annotations

from collections.abc import Iterator

from detent import _core
from detent.sources.grammar.productions import Grammar, Production, RepeatedRule, Symbol, Terminal
from detent.sources.grammar.strongly_connected import strongly_connected_components

__all__ = ["left_edges", "without_left_recursion"]

_NOT_EMPTY = _core.repeat(_core.byte_set(bytes(range(256))), 1, None)

# Longer productions that several rules need become a rule.
_SHORT = 3


def without_left_recursion(grammar: Grammar) -> Grammar:
    """Return a grammar of the same texts in which no rule reaches itself by its left edge.

    >>> terminal = Terminal(_core.literal(b"a"), False)
    >>> grammar = Grammar()
    >>> grammar.add([(0, terminal), (terminal,)])
    0
    >>> any(rule in edges for rule, edges in enumerate(left_edges(without_left_recursion(grammar))))
    False
    """
    edges = left_edges(grammar)
    recursive = [
        members
        for members in strongly_connected_components(edges)
        if len(members) > 1 or members[0] in edges[members[0]]
    ]
    return _Removal(grammar, recursive).run() if recursive else grammar


def left_edges(grammar: Grammar) -> list[list[int]]:
    """Return for each rule the rules that a row of it may begin with."""
    nullable = grammar.nullable()
    edges: list[list[int]] = []
    for rows in grammar.rules:
        found: dict[int, None] = {}
        for row in rows:
            for symbol in row:
                if not isinstance(symbol, Terminal):
                    found[symbol if isinstance(symbol, int) else symbol.rule] = None
                if not _is_nullable(symbol, nullable):
                    break
        edges.append(list(found))
    return edges


def _is_nullable(symbol: Symbol, nullable: set[int]) -> bool:
    if isinstance(symbol, int):
        return symbol in nullable
    if isinstance(symbol, RepeatedRule):
        return symbol.minimum == 0 or symbol.rule in nullable
    return symbol.nullable


class _Removal:
    def __init__(self, grammar: Grammar, recursive: list[list[int]]) -> None:
        self.old = grammar
        self.new = Grammar([list(rows) for rows in grammar.rules], grammar.start, grammar.limit, grammar.size)
        self.nullable = grammar.nullable()
        self.recursive = recursive
        # The variants without the empty text, and those whose rows are still to be written.
        self.full: dict[int, int] = {}
        self.waiting: list[int] = []

    def run(self) -> Grammar:
        for members in self.recursive:
            for rule in members:
                self.full[rule] = self.new.add()
                self.new.rules[rule] = [(self.full[rule],), ()] if rule in self.nullable else [(self.full[rule],)]
        for members in self.recursive:
            self.solve(members)
        while self.waiting:
            rule = self.waiting.pop()
            for row in self.old.rules[rule]:
                self.new.extend(self.full[rule], (self.not_empty(head) + rest for head, rest in self.splits(row)))
        return self.new.pruned()

    def splits(self, row: Production) -> Iterator[tuple[Symbol, Production]]:
        """Yield what the non-empty texts of a row may begin with, a terminal or a rule, and what comes after it."""
        for index, symbol in enumerate(row):
            if isinstance(symbol, RepeatedRule):
                # Where the rule may be empty, fewer times than the minimum say the same.
                least = 0 if symbol.rule in self.nullable else max(symbol.minimum - 1, 0)
                most = None if symbol.maximum is None else symbol.maximum - 1
                again = () if most == 0 else (RepeatedRule(symbol.rule, least, most),)
                yield symbol.rule, again + row[index + 1 :]
            else:
                yield symbol, row[index + 1 :]
            if not _is_nullable(symbol, self.nullable):
                return

    def not_empty(self, head: Symbol) -> Production:
        """Return the symbol for the non-empty texts of a terminal or a rule."""
        if isinstance(head, Terminal):
            if not head.nullable:
                return (head,)
            return (Terminal(_core.intersection([head.node, _NOT_EMPTY]), False, head.size),)
        rule = head if isinstance(head, int) else head.rule
        if rule in self.nullable and rule not in self.full:
            self.full[rule] = self.new.add()
            self.waiting.append(rule)
        return (self.full.get(rule, rule),)

    def solve(self, members: list[int]) -> None:
        """Write the rows of a set whose left edges are cyclic."""
        inside = set(members)
        begins: dict[int, list[Production]] = {rule: [] for rule in members}
        steps: dict[int, list[tuple[int, Production]]] = {rule: [] for rule in members}
        units: dict[int, set[int]] = {rule: {rule} for rule in members}
        for rule in members:
            for row in self.old.rules[rule]:
                for head, rest in self.splits(row):
                    self.new.charge(len(rest) + 1)
                    if not isinstance(head, int) or head not in inside:
                        begins[rule].append(self.not_empty(head) + rest)
                        continue
                    if all(_is_nullable(symbol, self.nullable) for symbol in rest):
                        units[head].add(rule)
                    for first, last in self.splits(rest):
                        self.new.charge(len(last) + 1)
                        steps[head].append((rule, self.not_empty(first) + last))
        self.write(members, begins, steps, self.closure(units))

    def write(
        self,
        members: list[int],
        begins: dict[int, list[Production]],
        steps: dict[int, list[tuple[int, Production]]],
        units: dict[int, set[int]],
    ) -> None:
        """Write  Ai = b W(j,i)  and the W that these need."""
        if len(members) > 1:  # then each climb is written for several ends: once, and called
            for rule, climbs in steps.items():
                steps[rule] = [(above, row if len(row) <= _SHORT else (self.new.add([row]),)) for above, row in climbs]
        reached = {rule: {above for unit in units[rule] for above, _ in steps[unit]} | units[rule] for rule in members}
        rules = _ClimbRules(self.new, steps, units, self.closure(reached))
        for end in members:
            for start in members:
                if end in rules.ends[start]:
                    self.new.extend(self.full[end], ((*row, rules.number(start, end)) for row in begins[start]))
        rules.write()

    def closure(self, edges: dict[int, set[int]]) -> dict[int, set[int]]:
        """Return the reflexive, transitive closure."""
        closed: dict[int, set[int]] = {}
        for start in edges:
            found = {start}
            waiting = [start]
            while waiting:
                for target in edges[waiting.pop()] - found:
                    found.add(target)
                    waiting.append(target)
            self.new.charge(len(found) // 4)
            closed[start] = found
        return closed


class _ClimbRules:
    """The rules W(j,i) of a set, as far as they are called."""

    def __init__(
        self,
        grammar: Grammar,
        steps: dict[int, list[tuple[int, Production]]],
        units: dict[int, set[int]],
        ends: dict[int, set[int]],
    ) -> None:
        self.grammar, self.steps, self.units, self.ends = grammar, steps, units, ends
        self._numbers: dict[tuple[int, int], int] = {}
        self._waiting: list[tuple[int, int]] = []

    def number(self, start: int, end: int) -> int:
        """Return the number of W(start,end)."""
        key = (start, end)
        if key not in self._numbers:
            self._numbers[key] = self.grammar.add()
            self._waiting.append(key)
        return self._numbers[key]

    def write(self) -> None:
        """Write the rows of all that are called."""
        while self._waiting:
            start, end = self._waiting.pop()
            target = self._numbers[start, end]
            if end in self.units[start]:
                self.grammar.extend(target, [()])
            for unit in self.units[start]:
                for above, row in self.steps[unit]:
                    if end in self.ends[above]:
                        self.grammar.extend(target, [(*row, self.number(above, end))])

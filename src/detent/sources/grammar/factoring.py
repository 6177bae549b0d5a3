"""Productions with their common parts taken out, and loops for rules that call themselves: the texts stay the same.

Productions of a rule that begin alike take one stack each until they differ. There are many of them where a reader
writes shorthands out, as for Lark's LALR parser. Each rule is rewritten by itself:

1. `A -> s A | A t | A u A | b` becomes `C (t | u C)*` with `C -> s C | b`, the least solution of the equation: how the
   operands are grouped makes no difference to the texts.
2. `x y | x z` becomes `x (y | z)`, and then `y x | z x` becomes `(y | z) x`.
"""

from __future__ import annotations

from typing import Any

from detent.sources.grammar.lower import repetition
from detent.sources.grammar.productions import Grammar, Production, RepeatedRule, Symbol, Terminal

__all__ = ["factored"]

_END: Any = None
"""The key of a trie's node at which a production ends."""


def factored(grammar: Grammar) -> Grammar:
    """Return an equivalent grammar in which few productions of a rule begin alike. Takes linear time.

    >>> from detent import _core
    >>> a, b, c = (Terminal(_core.literal(text), False) for text in (b"a", b"b", b"c"))
    >>> factored(Grammar([[(a, 1, b), (a, 1, c)], [(b,), (c,)]])).rules[2] == [(b,), (c,)]
    True
    """
    return _Factoring(grammar).run()


class _Factoring:
    def __init__(self, grammar: Grammar) -> None:
        self.old = grammar
        self.rules: list[list[Production]] = [[] for _ in grammar.rules]
        self.helpers: dict[tuple[Production, ...], int] = {}
        self.same: dict[object, Terminal] = {}

    def run(self) -> Grammar:
        for rule, rows in enumerate(self.old.rules):
            shared = dict.fromkeys(tuple(map(self.shared, row)) for row in rows)
            self.rules[rule] = self.options(self.without_own_calls(rule, list(shared)))
        return Grammar(_with_repeats(self.rules), self.old.start, self.old.limit, self.old.size)

    def shared(self, symbol: Symbol) -> Symbol:
        """Return the first of all terminals with the same node."""
        if not isinstance(symbol, Terminal):
            return symbol
        return self.same.setdefault((symbol.node, symbol.regular), symbol)

    def without_own_calls(self, rule: int, rows: list[Production]) -> list[Production]:
        """Return the rows of a rule with loops instead of calls of itself at their ends."""
        before: list[Production] = []
        after: list[Production] = []
        between: list[Production] = []
        others: list[Production] = []
        for row in rows:
            first, last = row[:1] == (rule,), row[-1:] == (rule,)
            if row == (rule,):
                continue
            if first and last:
                between.append(row[1:-1])
            elif first or last:
                (after if first else before).append(row[1:] if first else row[:-1])
            else:
                others.append(row)
        if not others or not (after or between):
            return rows
        if not (before or between) and set(after) == set(others):
            return [(self.repeated(others, 1),)]
        operand = self.one(others)
        if before or (between and len(operand) > 1):
            number = len(self.rules)
            self.rules.append([])
            self.rules[number] = self.options([*((*row, number) for row in before), *others])
            operand = (number,)
        return [(*operand, self.repeated([*after, *((*row, *operand) for row in between)], 0))]

    def repeated(self, rows: list[Production], minimum: int) -> Symbol:
        """Return rows in any order, as often as one likes from a minimum on."""
        body = self.one(rows)
        if len(body) == 1 and isinstance(body[0], Terminal) and body[0].regular:
            return repetition(body[0], minimum, None)
        rule = body[0] if len(body) == 1 and isinstance(body[0], int) else self.helper([body])
        return RepeatedRule(rule, minimum, None)

    def one(self, rows: list[Production]) -> Production:
        """Return one production for some."""
        return self.joined(self.options(rows))

    def joined(self, options: list[Production]) -> Production:
        return options[0] if len(options) == 1 else (self.helper(options),)

    def options(self, rows: list[Production]) -> list[Production]:
        """Return rows with common beginnings and ends taken out."""
        return self.without_common_ends(self.without_common_beginnings(rows))

    def without_common_beginnings(self, rows: list[Production]) -> list[Production]:
        """Return rows of which no two begin alike."""
        if len({row[:1] for row in rows}) == len(rows):
            return rows
        branches = _branches(rows)
        made: dict[int, list[Production]] = {}
        for node, chains in reversed(branches):
            made[node] = [
                tuple(chain) if then is None else (*chain, *self.joined(self.without_common_ends(made[then])))
                for chain, then in chains
            ]
        return made[branches[0][0]]

    def without_common_ends(self, rows: list[Production]) -> list[Production]:
        """Return rows of which no two end alike."""
        if len({row[-1:] for row in rows}) == len(rows):
            return rows
        branches = _branches([row[::-1] for row in rows])
        made: dict[int, list[Production]] = {}
        for node, chains in reversed(branches):
            made[node] = [
                tuple(chain[::-1]) if then is None else (*self.joined(made[then]), *chain[::-1])
                for chain, then in chains
            ]
        return made[branches[0][0]]

    def helper(self, rows: list[Production]) -> int:
        """Return the rule with some rows."""
        key = tuple(rows)
        if key not in self.helpers:
            self.helpers[key] = len(self.rules)
            self.rules.append(rows)
        return self.helpers[key]


def _branches(rows: list[Production]) -> list[tuple[int, list[tuple[list[Symbol], int | None]]]]:
    """Return the nodes of a trie of rows at which they part, each with its chains of symbols and the node after them.

    A node comes after those that lead to it.
    """
    root: dict[Any, Any] = {}
    for row in rows:
        node = root
        for symbol in row:
            node = node.setdefault(symbol, {})
        node[_END] = {}
    found: list[tuple[int, list[tuple[list[Symbol], int | None]]]] = []
    waiting = [root]
    for node in waiting:
        chains: list[tuple[list[Symbol], int | None]] = []
        for symbol, child in node.items():
            chain: list[Symbol] = []
            while symbol is not _END:
                chain.append(symbol)
                if len(child) > 1:
                    break
                ((symbol, child),) = child.items()
            if symbol is not _END:
                waiting.append(child)
            chains.append((chain, None if symbol is _END else id(child)))
        found.append((id(node), chains))
    return found


def _with_repeats(rules: list[list[Production]]) -> list[list[Production]]:
    """Return rules in which rules that are a repeat, or a repeat or nothing, are replaced by it."""
    for _ in range(3):
        known: dict[int, Symbol] = {}
        for rule, rows in enumerate(rules):
            found = _as_repeat(rows)
            if found is not None and found.rule != rule:
                known[rule] = found
        replaced = [
            [tuple(known.get(symbol, symbol) if isinstance(symbol, int) else symbol for symbol in row) for row in rows]
            for rows in rules
        ]
        rules = [list(dict.fromkeys(rows)) for rows in replaced]
    return rules


def _as_repeat(rows: list[Production]) -> RepeatedRule | None:
    """Return the repeat that a rule is, or None."""
    calls = [row[0] for row in rows if len(row) == 1 and isinstance(row[0], RepeatedRule)]
    if len(calls) != 1 or len(rows) - 1 != rows.count(()):
        return None
    call = calls[0]
    if len(rows) == 1:
        return call
    return RepeatedRule(call.rule, 0, None) if call.minimum <= 1 and call.maximum is None else None

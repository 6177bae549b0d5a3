"""Emission of productions as a node of the core: regular rules become plain nodes, the others a grammar.

1. A rule that is only another rule is replaced by it.
2. A small rule without calls is inlined.
3. A rule that calls itself only at the end, or only at the start, becomes a repeat: `A -> x A | y` is `x* y`.
"""

from __future__ import annotations

from collections import Counter

from detent import _core
from detent.sources.grammar.factoring import factored
from detent.sources.grammar.left_recursion import without_left_recursion
from detent.sources.grammar.lower import alternatives, concatenation, repetition, union
from detent.sources.grammar.productions import EPSILON, Grammar, Production, RepeatedRule, Symbol, Terminal

__all__ = ["emit", "simplify"]

# The largest inlined rule, in literals and classes.
_INLINE = 1000


def emit(grammar: Grammar) -> _core.Node:
    """Return the node of the texts of the start; the grammar must be pruned and have a text."""
    grammar = simplify(without_left_recursion(simplify(factored(grammar))))
    only = _as_terminal(grammar.rules[grammar.start])
    if only is not None:
        return only.node
    return _core.grammar([_definition(rule, rows) for rule, rows in enumerate(grammar.rules)], grammar.start)


def _definition(rule: int, rows: list[Production]) -> _core.Node:
    return _core.union([_core.concat([_node(symbol) for symbol in row]) for row in rows])


def _node(symbol: Symbol) -> _core.Node:
    if isinstance(symbol, int):
        return _core.reference(symbol)
    if isinstance(symbol, RepeatedRule):
        return _core.repeat(_core.reference(symbol.rule), symbol.minimum, symbol.maximum)
    return symbol.node


def simplify(grammar: Grammar) -> Grammar:
    """Return an equivalent grammar with fewer rules and larger terminals. Takes linear time."""
    work = Grammar([list(rows) for rows in grammar.rules], grammar.start, grammar.limit, grammar.size)
    known: dict[int, Symbol] = {}
    callers: list[list[int]] = [[] for _ in work.rules]
    missing: list[int] = []
    for rule in range(len(work.rules)):
        called = Counter(work.called(rule))
        missing.append(len([other for other in called if other != rule]))
        for other in called:
            if other != rule:
                callers[other].append(rule)
    ready = [rule for rule, count in enumerate(missing) if count == 0]
    while ready:
        rule = ready.pop()
        rows = _recursion_to_loop(rule, [_inline_known(row, known) for row in work.rules[rule]])
        work.rules[rule] = rows
        terminal = _as_terminal(rows)
        if terminal is None or terminal.size > _INLINE:
            continue
        known[rule] = terminal
        for caller in callers[rule]:
            missing[caller] -= 1
            if missing[caller] == 0:
                ready.append(caller)
    for rule, rows in enumerate(work.rules):
        if rule not in known:
            work.rules[rule] = alternatives([_inline_known(row, known) for row in rows])
    return _without_aliases(work).pruned()


def _inline_known(row: Production, known: dict[int, Symbol]) -> Production:
    """Return the production with known rules inlined and adjacent terminals concatenated."""
    result: list[Symbol] = []
    for symbol in row:
        if isinstance(symbol, int):
            symbol = known.get(symbol, symbol)
        elif isinstance(symbol, RepeatedRule):
            inner = known.get(symbol.rule)
            if isinstance(inner, Terminal):
                symbol = repetition(inner, symbol.minimum, symbol.maximum)
        last = result[-1] if result else None
        if isinstance(symbol, Terminal) and isinstance(last, Terminal) and symbol.regular and last.regular:
            result[-1] = concatenation([last, symbol])
        else:
            result.append(symbol)
    return tuple(result)


def _as_terminal(rows: list[Production]) -> Terminal | None:
    """Return the terminal of productions without calls, or None."""
    options: list[Terminal] = []
    for row in rows:
        parts = [symbol for symbol in row if isinstance(symbol, Terminal) and symbol.regular]
        if len(parts) != len(row):
            return None
        options.append(concatenation(parts) if parts else EPSILON)
    return union(options) if options else None


def _recursion_to_loop(rule: int, rows: list[Production]) -> list[Production]:
    """Return the productions of a rule that calls no other rule, as a loop if it calls itself on one side only."""
    calling = [row for row in rows if rule in row and row != (rule,)]
    others = [row for row in rows if rule not in row]
    ends = _as_terminal(others)
    if ends is None or not (calling or len(others) < len(rows)):
        return rows
    if not calling:
        return others
    for edge, side in ((-1, slice(0, -1)), (0, slice(1, None))):
        loop = _as_terminal([row[side] for row in calling])
        if loop is not None and all(row[edge] == rule for row in calling):
            around = repetition(loop, 0, None)
            return [(concatenation([ends, around] if edge == 0 else [around, ends]),)]
    return rows


def _without_aliases(grammar: Grammar) -> Grammar:
    """Return the grammar without rules that are only another rule."""
    stands: dict[int, int] = {}
    for rule, rows in enumerate(grammar.rules):
        if len(rows) == 1 and len(rows[0]) == 1 and isinstance(rows[0][0], int) and rows[0][0] != rule:
            stands[rule] = rows[0][0]
    final: dict[int, int] = {}
    for rule in stands:
        path = []
        while rule in stands and rule not in final:
            path.append(rule)
            rule = stands[rule]
        final.update(dict.fromkeys(path, final.get(rule, rule)))
    rules = [[tuple(_renamed(symbol, final) for symbol in row) for row in rows] for rows in grammar.rules]
    return Grammar(rules, final.get(grammar.start, grammar.start), grammar.limit, grammar.size)


def _renamed(symbol: Symbol, names: dict[int, int]) -> Symbol:
    if isinstance(symbol, int):
        return names.get(symbol, symbol)
    if isinstance(symbol, RepeatedRule):
        return RepeatedRule(names.get(symbol.rule, symbol.rule), symbol.minimum, symbol.maximum)
    return symbol

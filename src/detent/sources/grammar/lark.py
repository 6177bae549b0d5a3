"""Lark's notation: from the text to a node, with the lexer that was asked for.

`dynamic_complete` takes every way to split a text into terminals, as Lark's Earley parser does with the lexer of that name:
a plain context-free grammar, in which what is ignored may stand before each terminal and at the end.
"""

from __future__ import annotations

from detent import _core
from detent.errors import UnsupportedError
from detent.limits import Limits
from detent.sources.grammar.assemble import finish
from detent.sources.grammar.contextual import annotated
from detent.sources.grammar.lalr import Lalr
from detent.sources.grammar.lark_bnf import write_out
from detent.sources.grammar.lark_definitions import Definitions
from detent.sources.grammar.lark_rules import LarkRules, Scope
from detent.sources.grammar.lark_syntax import Nested
from detent.sources.grammar.lower import Lowering
from detent.sources.grammar.place import Source
from detent.sources.grammar.productions import Grammar, Symbol, Terminal
from detent.sources.grammar.scanner import Terminals
from detent.sources.grammar.tree import Leaf, Name

__all__ = ["read_lark"]


def read_lark(text: str, start: str, lexer: str, limits: Limits) -> tuple[_core.Node, str]:
    """Give the node of a grammar's texts, and the lexer that it has."""
    source = Source(text)
    rules = LarkRules(Definitions(source, limits), source, limits)
    rules.start(start)
    if lexer == "dynamic_complete":
        return every_split(rules, start, limits), lexer
    bnf = write_out(rules, limits.positions)
    automaton = Lalr(bnf.rules) if bnf is not None else None
    conflicts = set() if automaton is None else automaton.conflicts
    if lexer == "contextual" and (automaton is None or conflicts):
        what = "%json is no terminal" if automaton is None else f"{' and '.join(sorted(conflicts))} conflicts"
        raise UnsupportedError(
            f"the grammar is not LALR(1), as lexer='contextual' needs it: {what}; take the ambiguity away, or pass "
            "lexer='auto' or lexer='dynamic_complete'"
        )
    if automaton is None or "reduce/reduce" in conflicts:
        return every_split(rules, start, limits), "dynamic_complete"
    grammar = annotated(automaton, Terminals(rules, limits), limits.positions)
    return finish(grammar, f"rule {start!r}"), "contextual"


def every_split(rules: LarkRules, start: str, limits: Limits) -> _core.Node:
    """Give the node in which every way to split a text counts."""
    grammar = Grammar(limit=limits.positions)
    numbers: dict[int, int] = {}
    ignored = _ignored(rules)
    terminals: dict[int, Terminal] = {}
    scope: Scope = {}

    def number(rule: int) -> int:
        if rule not in numbers:
            numbers[rule] = grammar.add()
        return numbers[rule]

    def symbol(tree: Name | Leaf) -> Symbol:
        found = rules.symbol(tree, scope)
        if isinstance(found, Nested):
            return _nested(found, ignored)
        if found >= 0:
            return number(found)
        if found not in terminals:
            terminals[found] = _before(ignored, _terminal(rules, ~found))
        return terminals[found]

    lowering = Lowering(grammar, symbol, symbol)
    index = 0
    while index < len(rules.trees):  # which grows on the way
        _, tree, scope = rules.trees[index]
        grammar.extend(number(index), lowering.rows(tree))
        index += 1
    whole = number(0)
    grammar.start = whole
    if ignored is not None:
        grammar.start = grammar.add([(whole, Terminal(_core.repeat(ignored, 0, None), True))])
    return finish(grammar, f"rule {start!r}")


def _terminal(rules: LarkRules, number: int) -> Terminal:
    terminal = rules.terminals[number]
    if terminal.pattern.widths[0] == 0:
        what = f"terminal {terminal.name} matches the empty text, which Lark refuses"
        rules.source.malformed(
            what, terminal.offset, "let it match a character at least, and what calls it be optional"
        )
    return Terminal(terminal.pattern.node, False, max(1, len(terminal.pattern.value) // 4))


def _ignored(rules: LarkRules) -> _core.Node | None:
    nodes = [_terminal(rules, number).node for number in rules.ignored]
    return _core.union(nodes) if nodes else None


def _before(ignored: _core.Node | None, terminal: Terminal) -> Terminal:
    if ignored is None:
        return terminal
    node = _core.concat([_core.repeat(ignored, 0, None), terminal.node])
    return Terminal(node, False, terminal.size + 1)


def _nested(nested: Nested, ignored: _core.Node | None) -> Terminal:
    from detent.sources.json_schema import json_schema

    schema = Terminal(json_schema(nested.schema)._node, False, 1, False)
    before = _before(ignored, schema)
    return Terminal(before.node, False, 1, False)

"""Lark's notation: from the text to a node, with the lexer that was asked for.

`dynamic_complete` takes every way to split a text into terminals, as Lark's Earley parser does with the lexer of that
name: a plain context-free grammar, in which what is ignored may stand before each terminal and at the end.
"""

from __future__ import annotations

from detent import _core
from detent.errors import UnsupportedError
from detent.limits import Limits
from detent.sources.diagnostics import GrammarText
from detent.sources.grammar.assemble import finish
from detent.sources.grammar.contextual_lexer import Terminals
from detent.sources.grammar.lalr import Lalr
from detent.sources.grammar.lalr_annotation import annotate_lexer_states
from detent.sources.grammar.lark_bnf import expand_ebnf
from detent.sources.grammar.lark_definitions import Definitions
from detent.sources.grammar.lark_rules import LarkRules, Scope
from detent.sources.grammar.lark_syntax import Nested
from detent.sources.grammar.lower import Lowering, concatenation
from detent.sources.grammar.productions import Grammar, Symbol, Terminal
from detent.sources.grammar.substrings import substrings
from detent.sources.grammar.tree import RuleName, TerminalNode

__all__ = ["read_lark"]

_UNREADABLE = (
    "none ever ends, or the contextual lexer reads other terminals where its own should stand; "
    "separate them, give them priorities, or pass lexer='dynamic_complete'"
)


def read_lark(text: str, start: str, lexer: str, limits: Limits) -> tuple[_core.Node, str]:
    """Return the node of a grammar's texts, and the lexer that it has."""
    source = GrammarText(text)
    rules = LarkRules(Definitions(source, limits), source, limits)
    rules.start(start)
    if lexer == "dynamic_complete":
        return every_tokenization(rules, start, limits), lexer
    bnf = expand_ebnf(rules, limits.pattern_size)
    automaton = Lalr(bnf.rules) if bnf is not None else None
    conflicts = set() if automaton is None else automaton.conflicts
    if lexer == "contextual" and (automaton is None or conflicts):
        what = (
            "%json and %regex are no terminals" if automaton is None else f"{' and '.join(sorted(conflicts))} conflicts"
        )
        raise UnsupportedError(
            f"the grammar is not LALR(1), as lexer='contextual' needs it: {what}; take the ambiguity away, or pass "
            "lexer='auto' or lexer='dynamic_complete'"
        )
    if automaton is None or "reduce/reduce" in conflicts:
        return every_tokenization(rules, start, limits), "dynamic_complete"
    grammar = annotate_lexer_states(automaton, Terminals(rules, limits), limits.pattern_size)
    return finish(grammar, start, _UNREADABLE), "contextual"


def every_tokenization(rules: LarkRules, start: str, limits: Limits) -> _core.Node:
    """Return the node in which every way to split a text counts."""
    grammar = Grammar(limit=limits.pattern_size)
    numbers: dict[int, int] = {}
    terminals = Terminals(rules, limits)
    ignored = _ignored(terminals)
    known: dict[int, Terminal] = {}
    scope: Scope = {}

    def number(rule: int) -> int:
        if rule not in numbers:
            numbers[rule] = grammar.add()
        return numbers[rule]

    def symbol(tree: RuleName | TerminalNode) -> Symbol:
        found = rules.symbol(tree, scope)
        if isinstance(found, Nested):
            return _nested(found, max(tree.offset, 0), ignored, rules.source, limits)
        if found >= 0:
            return number(found)
        if found not in known:
            known[found] = _before(ignored, _terminal(terminals, ~found))
        return known[found]

    lowering = Lowering(grammar, symbol, symbol)
    index = 0
    while index < len(rules.trees):  # which grows on the way
        _, tree, scope = rules.trees[index]
        grammar.extend(number(index), lowering.rows(tree))
        index += 1
    whole = number(0)
    grammar.start = whole
    if ignored is not None:
        grammar.start = grammar.add([(whole, ignored)])
    return finish(grammar, start)


def _terminal(terminals: Terminals, number: int) -> Terminal:
    match = terminals.match(number)
    size = max(1, len(terminals[number].pattern.value) // 4)
    if match.after is None:
        return Terminal(match.full, False, size)
    return Terminal(_core.concat([match.full, _core.not_followed_by(match.after)]), False, size, False)


def _ignored(terminals: Terminals) -> Terminal | None:
    """Return any of the ignored terminals, any number of times."""
    parts = [_terminal(terminals, number) for number in terminals.rules.ignored]
    if not parts:
        return None
    node = _core.repeat(_core.union([part.node for part in parts]), 0, None)
    return Terminal(node, True, 1, all(part.regular for part in parts))


def _before(ignored: Terminal | None, terminal: Terminal) -> Terminal:
    return terminal if ignored is None else concatenation([ignored, terminal])


def _nested(nested: Nested, offset: int, ignored: Terminal | None, source: GrammarText, limits: Limits) -> Terminal:
    if nested.kind == "%regex":
        return _before(ignored, Terminal(substrings(nested.text, source, offset), True, 1, False))
    # Loaded where a grammar holds a schema: it is the larger of the two sources.
    from detent.sources.json_schema import json_schema

    return _before(ignored, Terminal(json_schema(nested.text, limits=limits)._node, False, 1, False))

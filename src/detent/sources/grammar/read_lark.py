"""Lark's notation: from the text of a grammar to a node, with one of Lark's lexers."""

from __future__ import annotations

from contextlib import suppress

from detent import _core
from detent.errors import EmptyLanguageError, LimitError, UnsupportedError
from detent.limits import Limits
from detent.sources.diagnostics import GrammarText
from detent.sources.grammar.assemble import finish
from detent.sources.grammar.dynamic_lexer import dynamic_productions
from detent.sources.grammar.guards import Guards
from detent.sources.grammar.lalr import Lalr
from detent.sources.grammar.lalr_annotation import annotate_lexer_states
from detent.sources.grammar.lark_bnf import expand_ebnf
from detent.sources.grammar.lark_definitions import Definitions
from detent.sources.grammar.lark_rules import LarkRules
from detent.sources.grammar.terminals import Terminals

__all__ = ["read_lark"]

_UNREADABLE = (
    "the contextual lexer reads other terminals than the rules expect; "
    "separate them, give them priorities, or pass lexer='dynamic_complete'"
)


def read_lark(text: str, start: str, lexer: str, limits: Limits) -> tuple[_core.Node, str]:
    """Return the node of the texts of a grammar, and the name of its lexer."""
    source = GrammarText(text)
    rules = LarkRules(Definitions(source, limits), source, limits)
    rules.start(start)
    if lexer in ("dynamic", "dynamic_complete"):
        return finish(dynamic_productions(rules, limits, complete=lexer == "dynamic_complete"), start), lexer
    bnf = expand_ebnf(rules, limits.pattern_size)
    automaton = Lalr(bnf.rules) if bnf is not None else None
    conflicts = set() if automaton is None else automaton.conflicts
    if lexer == "contextual" and (automaton is None or conflicts):
        kinds = ["%json and %regex are not terminals"] if automaton is None else [*sorted(conflicts)]
        what = f"{' and '.join(kinds)}{'' if automaton is None else ' conflicts'}"
        raise UnsupportedError(
            f"the grammar is not LALR(1), as lexer='contextual' needs it: {what}; take the ambiguity away, or pass "
            "lexer='auto' or lexer='dynamic_complete'"
        )
    if automaton is None or "reduce/reduce" in conflicts:
        return finish(dynamic_productions(rules, limits, complete=True), start), "dynamic_complete"
    grammar = annotate_lexer_states(automaton, Guards(Terminals(rules)), limits.pattern_size)
    try:
        return finish(grammar, start, _UNREADABLE), "contextual"
    except EmptyLanguageError:
        with suppress(LimitError, UnsupportedError):
            finish(dynamic_productions(rules, limits, complete=True), start)  # raises where no derivation ends
        raise

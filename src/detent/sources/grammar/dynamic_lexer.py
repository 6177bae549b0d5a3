"""The texts that Lark's Earley parser accepts with a dynamic lexer, as productions.

That parser matches a terminal wherever a rule expects it (lark 1.3, `parsers/xearley.py`):

1. `re.match` gives the leftmost match of the terminal: its longest tentative text (`leftmost_match`). With the lexer
   "dynamic" the terminal is this text, by maximal munch. With "dynamic_complete" every tentative prefix of it counts
   too, so the terminal is the language of its tentative texts.
2. An ignored terminal may match before each terminal and at the end of the text, always by maximal munch.
3. There are no keywords and no priorities: terminals do not exclude each other.

`%json` and `%regex` are languages of their own, matched in full.
"""

from __future__ import annotations

from collections.abc import Callable

from detent import _core
from detent.errors import DetentError
from detent.limits import Limits
from detent.sources.grammar.guards import Guard, Guards
from detent.sources.grammar.ignored import solve_ignored, union_of_some
from detent.sources.grammar.lark_rules import LarkRules, Scope
from detent.sources.grammar.lark_syntax import Nested
from detent.sources.grammar.lower import Lowering
from detent.sources.grammar.productions import Grammar, Symbol, Terminal
from detent.sources.grammar.substrings import substrings
from detent.sources.grammar.terminals import Path, Terminals
from detent.sources.grammar.tree import Repeat, RuleName, Sequence, TerminalNode, Union

__all__ = ["DynamicLexer", "dynamic_productions"]

_EPSILON = _core.epsilon()
_SOME_BYTES = _core.repeat(_core.byte_set(bytes(range(256))), 1, None)


def dynamic_productions(rules: LarkRules, limits: Limits, *, complete: bool) -> Grammar:
    """Return the productions of the texts that a dynamic lexer accepts; `complete` is "dynamic_complete"."""
    guards = Guards(Terminals(rules))
    return guards.with_blanks(lambda: DynamicLexer(rules, limits, guards, complete).run())


class DynamicLexer:
    """The productions of one grammar, made rule by rule."""

    def __init__(self, rules: LarkRules, limits: Limits, guards: Guards, complete: bool) -> None:
        self.rules, self.limits, self.complete = rules, limits, complete
        self.guards, self.terminals = guards, guards.terminals
        self.grammar = Grammar(limit=limits.pattern_size)
        self.numbers: dict[int, int] = {}
        self.symbols: dict[int, Terminal] = {}
        self.scope: Scope = {}
        self.rule_name = ""
        following = self.all_terminals()
        self.following = frozenset() if complete else following

    def run(self) -> Grammar:
        """Return the productions of all rules that the start needs."""
        lowering = Lowering(self.grammar, self.symbol, self.symbol)
        index = 0
        while index < len(self.rules.trees):  # the list grows in the loop
            self.rule_name, tree, self.scope = self.rules.trees[index]
            self.grammar.extend(self.rule(index), lowering.rows(tree))
            index += 1
        start = self.grammar.start = self.rule(0)
        if self.rules.ignored:
            self.grammar.start = self.grammar.add([(start, self.after_ignored(lambda guard: _EPSILON, [], True, 1))])
        return self.grammar

    def rule(self, number: int) -> int:
        """Return the number of a rule in the productions."""
        if number not in self.numbers:
            self.numbers[number] = self.grammar.add()
        return self.numbers[number]

    def symbol(self, tree: RuleName | TerminalNode) -> Symbol:
        """Return the symbol for a leaf of a tree: a terminal with the ignored terminals before it, or a rule."""
        found = self.rules.symbol(tree, self.scope)
        if isinstance(found, Nested):
            return self.nested(found, max(tree.offset, 0))
        if found >= 0:
            return self.rule(found)
        if found not in self.symbols:
            self.symbols[found] = self.terminal(~found)
        return self.symbols[found]

    def terminal(self, number: int) -> Terminal:
        """Return a terminal with the ignored terminals before it."""
        guard: int = Guard.NONE
        path = Path(number, frozenset(), frozenset())
        if self.following is None or self.complete:
            self.check_lookahead(number)
        if not self.complete and (
            self.following is None or self.guards.narrowed(number, path, self.following) != (path, Guard.NONE)
        ):
            guard = Guard.MAXIMAL
        size = max(1, len(self.terminals[number].pattern.value) // 4)
        is_regular = guard == Guard.NONE and self.terminals.match(number).after is None

        def accept(pending: int) -> _core.Node | None:
            return self.guards.node(number, path, guard, pending)

        return self.after_ignored(accept, [number], is_regular, size)

    def after_ignored(
        self, accept: Callable[[int], _core.Node | None], first: list[int], is_regular: bool, size: int
    ) -> Terminal:
        """Return the terminal of some texts with the ignored terminals before them; `first` is their terminal."""
        ignored: list[tuple[int, Path, int]] = []
        for number in self.rules.ignored:
            # A second text of a repeatable terminal would be part of the first.
            alone = number if self.terminals.is_repeatable(number) else None
            following = frozenset(first) | frozenset(self.rules.ignored) - {alone}
            for path in self.terminals.ignored_paths(number, frozenset()):
                narrowed = self.guards.narrowed(number, path, following)
                if narrowed is not None:
                    ignored.append((number, *narrowed))
                    is_regular = is_regular and narrowed[1] >= Guard.NONE and self.terminals.match(number).after is None
        self.guards.check_blanks(ignored)
        node = solve_ignored(self.guards, ignored, accept, Guard.NONE)
        assert node is not None  # noqa: S101 - no guard is pending, so the texts themselves are among the result
        return Terminal(node, not first, size, is_regular)

    def check_lookahead(self, number: int) -> None:
        """Raise `UnsupportedError` if a lookahead at the end of a terminal selects among its prefixes.

        Or if anything may follow, as a nested language may, and a lookahead at the start assumes that some does not.
        """
        match, terminal = self.terminals.match(number), self.terminals[number]
        if match.assumed is not None and self.following is None:
            problem = f"the lookahead at the start of terminal {terminal.name} looks beyond it"
            self.rules.source.unsupported(problem, terminal.offset, "take it away, or the %json or %regex")
        longer = _core.intersection([match.full, _core.concat([match.full, _SOME_BYTES])])
        if self.complete and match.after is not None and not self.terminals.languages.is_empty(longer):
            problem = f"the lookahead at the end of terminal {terminal.name} decides which of its prefixes count"
            remedy = "take it away, or pass lexer='contextual' or 'dynamic'"
            self.rules.source.unsupported(problem, terminal.offset, remedy)

    def nested(self, nested: Nested, offset: int) -> Terminal:
        """Return the terminal of a nested language, which is matched in full."""
        if nested.kind == "%regex":
            node = substrings(nested.text, self.rules.source, offset)
        else:
            # Imported here, since few grammars nest a schema.
            from detent.sources.json_schema import json_schema

            try:
                node = json_schema(nested.text, limits=self.limits)._node
            except DetentError as error:
                raise self.rules.source.within(error, nested.kind, offset) from None
        self.guards.check_blanks([])
        # The language may be empty or recursive, so the ignored terminals use the general form of maximal munch.
        paths = [(number, Path(number, frozenset(), frozenset())) for number in self.rules.ignored]
        ignored = union_of_some([self.guards.node(number, path, Guard.MAXIMAL) for number, path in paths])
        if ignored is not None:
            node = _core.concat([_core.repeat(ignored, 0, None), node])
        return Terminal(node, nested.kind == "%regex", 1, False)

    def all_terminals(self) -> frozenset[int] | None:
        """Return the terminals of the grammar; None if a nested language may follow a terminal."""
        index = 0
        while index < len(self.rules.trees):  # the list grows in the loop
            _, tree, scope = self.rules.trees[index]
            index += 1
            parts = [tree]
            while parts:
                part = parts.pop()
                if isinstance(part, Repeat):
                    parts.append(part.part)
                elif isinstance(part, (Union, Sequence)):
                    parts.extend(part.options if isinstance(part, Union) else part.parts)
                elif isinstance(part, (RuleName, TerminalNode)) and isinstance(self.rules.symbol(part, scope), Nested):
                    return None
        return frozenset(range(len(self.rules.terminals)))

"""From named trees to a node: names resolved, rules without a text dropped, the rest emitted."""

from __future__ import annotations

from typing import NoReturn

from detent import _core
from detent.errors import EmptyLanguageError, LimitError, PatternSyntaxError
from detent.limits import Limits
from detent.sources.diagnostics import GrammarText
from detent.sources.grammar.emit import emit
from detent.sources.grammar.lower import Lowering, concatenation, repetition, union
from detent.sources.grammar.productions import EPSILON, Grammar, Symbol, Terminal
from detent.sources.grammar.tree import RuleName, TerminalNode, Tree
from detent.sources.nodes import short_repr
from detent.suggestions import did_you_mean

__all__ = ["assemble", "check_text", "finish"]

_ENDLESS = "every way to write it calls rules that call themselves, so that none ends; add an alternative that does"


def assemble(rules: dict[str, tuple[Tree, int]], start: str, source: GrammarText, limits: Limits) -> _core.Node:
    """Return the node of the texts of a rule. The leaves of the trees hold terminals.

    Raises
    ------
    PatternSyntaxError
        A rule that is called, or the start, is not defined.
    EmptyLanguageError
        No derivation from the start ever ends.
    UnsupportedError
        A side of a minus calls a rule that calls itself.
    LimitError
        The grammar is too large.
    """
    if start not in rules:
        if not rules:
            raise PatternSyntaxError(f"the grammar has no rules; write {start} ::= ...", position=0)
        raise PatternSyntaxError(
            f"the grammar has no rule {start!r} to begin with, only {short_repr(list(rules))}; define it",
            position=0,
        )
    grammar = Grammar(limit=limits.pattern_size)
    numbers = {name: grammar.add() for name in rules}
    grammar.start = numbers[start]

    def rule(name: RuleName) -> Symbol:
        if name.name not in numbers:
            remedy = f"define it, or correct the name{did_you_mean(name.name, rules)}"
            source.malformed(f"rule {name.name!r} is not defined", name.offset, remedy)
        return numbers[name.name]

    lowering = Lowering(grammar, _terminal, rule)
    for name, (tree, _) in rules.items():
        grammar.extend(numbers[name], lowering.rows(tree))
    _Differences(grammar, lowering.differences, source).resolve_all()
    return finish(grammar, start)


def finish(grammar: Grammar, start: str, reason: str = _ENDLESS) -> _core.Node:
    """Return the node of a grammar; `reason` says why the start may have no text, and what to do."""
    if grammar.start not in grammar.productive():
        raise EmptyLanguageError(f"rule {start!r} has no text: {reason}")
    return emit(grammar.pruned())


def check_text(text: str, asker: str, limits: Limits) -> None:
    """Raise `LimitError` where the text of a grammar is too long."""
    size = len(text.encode("utf-8", "surrogatepass"))
    if size > limits.source_bytes:
        raise LimitError(
            f"{asker} got a grammar of {size} bytes, above the limit of {limits.source_bytes}; "
            "shorten it or raise Limits(source_bytes=...)",
            subject="source_bytes",
            limit=limits.source_bytes,
            given=size,
        )


def _terminal(leaf: TerminalNode) -> Symbol:
    assert isinstance(leaf.value, Terminal)  # noqa: S101 - the readers put nothing else there
    return leaf.value


class _Differences:
    """The rules of differences, which get their rows once both sides are known as terminals."""

    def __init__(self, grammar: Grammar, differences: dict[int, tuple[int, int, int]], source: GrammarText) -> None:
        self.grammar, self.differences, self.source = grammar, differences, source
        self.known: dict[int, Terminal] = {}

    def resolve_all(self) -> None:
        for rule, (_, _, offset) in self.differences.items():
            self.resolve(rule, offset)
            self.grammar.extend(rule, [(self.known[rule],)])

    def resolve(self, rule: int, offset: int) -> None:
        path = [(rule, iter(self.needs(rule)))]
        on_path = {rule}
        while path:
            current, needs = path[-1]
            for need in needs:
                if need in on_path:
                    self.recursive(offset)
                if need not in self.known:
                    path.append((need, iter(self.needs(need))))
                    on_path.add(need)
                    break
            else:
                path.pop()
                on_path.discard(current)
                self.known[current] = self.terminal(current)

    def needs(self, rule: int) -> list[int]:
        if rule in self.differences:
            return list(self.differences[rule][:2])
        return list(dict.fromkeys(self.grammar.called(rule)))

    def terminal(self, rule: int) -> Terminal:
        if rule in self.differences:
            left, right, _ = (self.known.get(side, EPSILON) for side in self.differences[rule])
            node = _core.intersection([left.node, _core.complement(right.node)])
            return Terminal(node, left.nullable and not right.nullable, left.size + right.size)
        options = [concatenation([EPSILON, *map(self.part, row)]) for row in self.grammar.rules[rule]]
        return union(options)

    def part(self, symbol: Symbol) -> Terminal:
        if isinstance(symbol, Terminal):
            return symbol
        if isinstance(symbol, int):
            return self.known[symbol]
        return repetition(self.known[symbol.rule], symbol.minimum, symbol.maximum)

    def recursive(self, offset: int) -> NoReturn:
        what = "a side of this minus calls a rule that calls itself"
        self.source.unsupported(what, offset, "take away from classes and plain rules; write the difference out")

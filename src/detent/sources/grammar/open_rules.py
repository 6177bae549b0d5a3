"""Open rules: which terminals in which rules of a grammar could be read next.

Each terminal in a rule gets a mark (`detent.reason.Marks`). A terminal is *open* if the text can be cut in two parts:
its mark may follow the first part, and the second part begins a longer text of the terminal. For example, the last
NUMBER of `sum: NUMBER "+" NUMBER` is open after `1+2`. Lexers and differences are left out, so that rules alone decide.
If an open terminal reads the refused byte, the lexer takes another terminal, or a difference excludes the text.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from detent import _core
from detent.errors import DetentError
from detent.limits import Limits
from detent.queries import ByteDfa
from detent.reason import Continuation, Marks, Reason, ReasonKind, smallest
from detent.sources.diagnostics import GrammarText
from detent.sources.grammar.assemble import assemble, finish
from detent.sources.grammar.dynamic_lexer import DynamicLexer
from detent.sources.grammar.guards import Guards
from detent.sources.grammar.lark_definitions import Definitions
from detent.sources.grammar.lark_rules import LarkRules
from detent.sources.grammar.lark_syntax import TerminalName, Usage
from detent.sources.grammar.productions import Symbol, Terminal
from detent.sources.grammar.read_ebnf import read_ebnf
from detent.sources.grammar.read_gbnf import read_gbnf
from detent.sources.grammar.read_lark import read_lark
from detent.sources.grammar.terminals import Terminals
from detent.sources.grammar.tree import Difference, Repeat, RuleName, Sequence, TerminalNode, Tree, Union
from detent.sources.trampoline import trampoline

__all__ = ["GrammarSource"]

_MOST_TERMINALS = 20_000
"""Terminals of a grammar that is searched."""

_MOST_BYTES = 20_000
"""Bytes of a text whose beginnings are searched."""

_Read = Callable[[GrammarText, Limits], dict[str, tuple[Tree, int]]]
_READERS: dict[str, _Read] = {"gbnf": read_gbnf, "ebnf": read_ebnf}

_WRITTEN = re.compile(
    r"""%?[A-Za-z_][\w.-]*(?:\{[^}\n]*\})? | "(?:\\.|[^"\\\n])*" i? | '(?:\\.|[^'\\\n])*' | \[(?:\\.|[^\]\\\n])*\]
    | /(?:\\.|[^/\\\n])+/[a-z]* | \#x[0-9A-Fa-f]+ | \. | <[^>\n]*>""",
    re.VERBOSE,
)
"""A terminal as it is written in one of the notations."""


class _Occurrence(NamedTuple):
    """A terminal in a rule, or a difference."""

    rule: str
    offset: int
    node: _core.Node
    name: str = ""


@dataclass(frozen=True)
class GrammarSource:
    """A grammar with the options of its language.

    Parameters
    ----------
    text : str
        The grammar.
    notation : "lark", "gbnf" or "ebnf"
        How it is written.
    start : str
        The rule that a text is.
    limits : Limits
        Bounds within which the grammar was read.
    lexer : str
        The lexer of a grammar in Lark's notation.
    """

    text: str
    notation: Literal["lark", "gbnf", "ebnf"]
    start: str
    limits: Limits
    lexer: str = ""

    def expected(self, dfa: ByteDfa, text: bytes, position: int) -> None:
        """Return None: the bytes that are expected say enough."""

    def hint(self, text: bytes) -> str | None:
        """Return the lexer with which the same rules have the text, if there is one."""
        if self.lexer in ("", "dynamic_complete") or max(len(self.text), len(text)) > _MOST_BYTES:
            return None
        try:
            node, _ = read_lark(self.text, self.start, "dynamic_complete", self.limits)
            has_text = ByteDfa(_core.without_special(node)).accepts(text)
        except DetentError:  # it cannot be read with this lexer, or reaches a limit
            return None
        return 'grammar(..., lexer="dynamic_complete") has this text' if has_text else None

    def conflict(self) -> None:
        """Return None: a grammar without texts is an error of its own."""

    def reasons(self, refused: Continuation) -> tuple[Reason, ...]:
        """Return the open terminals; if one of them reads the byte, the differences or the lexer that refuse it."""
        if len(refused.text) > _MOST_BYTES or refused.beside or refused.is_excluded:
            return ()
        try:
            search = _LarkSearch(self) if self.notation == "lark" else _PlainSearch(self)
            if len(search.found) > _MOST_TERMINALS:
                return ()
            kind, found = search.reasons(refused)
        except DetentError:  # the rules without their lexer may reach a limit
            return ()
        return tuple(dict.fromkeys(self._reason(kind, each) for each in found))

    def _reason(self, kind: ReasonKind, occurrence: _Occurrence) -> Reason:
        offset = occurrence.offset
        written = _WRITTEN.match(self.text, offset) if offset >= 0 else None
        name = written[0] if written else occurrence.name
        line = self.text.count("\n", 0, offset) + 1 if offset >= 0 else None
        return Reason(kind, occurrence.rule, name, line)


_Found = tuple[ReasonKind, list[_Occurrence]]


class _Search(ABC):
    """The terminals of a grammar, and the automaton of its rules with a mark before each."""

    def __init__(self) -> None:
        self.found: list[_Occurrence] = []
        self.marks = Marks(_MOST_TERMINALS)

    @abstractmethod
    def marked(self) -> _core.Node:
        """Return the node of the rules with marks; fills `found`."""

    @abstractmethod
    def taken_away(self, refused: Continuation, reading: list[_Occurrence]) -> _Found:
        """Return the reason why the byte is refused although the `reading` terminals would read it."""

    def mark(self, rule: str, terminal: Terminal, offset: int, name: str = "") -> Terminal:
        """Return a terminal that may be marked; those without a first byte need no mark."""
        if terminal.node.has_special:
            return terminal
        self.found.append(_Occurrence(rule, offset, terminal.node, name))
        return replace(terminal, node=_core.union([terminal.node, self.marks.node(len(self.found) - 1)]))

    def reasons(self, refused: Continuation) -> _Found:
        """Return the open terminals; if one of them reads the byte, the differences or the lexer that refuse it."""
        dfa = ByteDfa(_core.without_special(self.marked()))  # a special token is written with the first byte of marks
        opened: dict[int, ByteDfa] = {}
        reading: dict[int, None] = {}
        dfas: dict[int, ByteDfa] = {}
        state = dfa.start
        for start in range(len(refused.text) + 1):
            for number in self.marks.found(dfa, state):
                own = dfas.get(number) or ByteDfa(self.found[number].node)
                dfas[number] = own
                rest = refused.within(start)
                at = own.after(rest.text)
                if at and own.expected(at):
                    opened[number] = own
                    if refused.following and not rest.is_refused(own):
                        reading[number] = None
            if start < len(refused.text):
                state = dfa.step(state, refused.text[start])
        if not refused.is_refused(dfa):
            return self.taken_away(refused, [self.found[number] for number in sorted(reading or opened)])
        return "rule", [self.found[number] for number in sorted(opened)]


class _PlainSearch(_Search):
    """The search in a grammar in a notation without a lexer."""

    def __init__(self, source: GrammarSource) -> None:
        super().__init__()
        self._text = GrammarText(source.text)
        self._rules = _READERS[source.notation](self._text, source.limits)
        self._start = source.start
        # A mark counts as a symbol.
        self._limits = replace(source.limits, pattern_size=2 * source.limits.pattern_size)
        self._rule = ""
        self._kept: frozenset[int] | None = None
        self._differences: list[_Occurrence] = []

    def marked(self) -> _core.Node:
        return self._node(None)

    def taken_away(self, refused: Continuation, reading: list[_Occurrence]) -> _Found:
        self._node(frozenset())
        every = list(self._differences)
        kept = smallest(range(len(every)), lambda some: refused.is_refused_by(self._node(frozenset(some))))
        return "difference", [every[number] for number in kept or ()]

    def _node(self, kept: frozenset[int] | None) -> _core.Node:
        """Return the node of the rules with marks; or, with `kept`, with the differences of these numbers alone."""
        self._kept, self._differences = kept, []
        rules: dict[str, tuple[Tree, int]] = {}
        for name, (tree, offset) in self._rules.items():
            self._rule = name
            rules[name] = trampoline(self._rewritten, tree), offset
        return assemble(rules, self._start, self._text, self._limits)

    def _rewritten(self, tree: Tree) -> Generator[Tree, Tree, Tree]:
        if isinstance(tree, TerminalNode):
            if self._kept is not None or not isinstance(tree.value, Terminal):
                return tree
            return TerminalNode(self.mark(self._rule, tree.value, tree.offset), tree.offset)
        if isinstance(tree, Sequence):
            parts = []
            for part in tree.parts:
                parts.append((yield part))
            return Sequence(tuple(parts))
        if isinstance(tree, Union):
            options = []
            for option in tree.options:
                options.append((yield option))
            return Union(tuple(options))
        if isinstance(tree, Repeat):
            return Repeat((yield tree.part), tree.minimum, tree.maximum)
        if isinstance(tree, Difference):
            number = len(self._differences)
            self._differences.append(_Occurrence(self._rule, tree.offset, _core.epsilon(), "-"))
            left = yield tree.left
            if self._kept is None or number not in self._kept:
                return left
            return Difference(left, (yield tree.right), tree.offset)
        return tree


class _LarkSearch(_Search):
    """The search in a grammar in Lark's notation."""

    def __init__(self, source: GrammarSource) -> None:
        super().__init__()
        self._start = source.start
        self._limits = replace(source.limits, pattern_size=2 * source.limits.pattern_size)
        text = GrammarText(source.text)
        self._rules = LarkRules(Definitions(text, self._limits), text, self._limits)
        self._rules.start(source.start)

    def marked(self) -> _core.Node:
        guards = Guards(Terminals(self._rules))
        grammar = guards.with_blanks(lambda: _MarkedLexer(self, self._rules, self._limits, guards).run())
        return finish(grammar, self._start)

    def taken_away(self, refused: Continuation, reading: list[_Occurrence]) -> _Found:
        return "lexer", reading


class _MarkedLexer(DynamicLexer):
    """The productions of a grammar with a mark before each terminal of its rules."""

    def __init__(self, search: _LarkSearch, rules: LarkRules, limits: Limits, guards: Guards) -> None:
        super().__init__(rules, limits, guards, complete=True)
        search.found.clear()  # terminals of an earlier attempt
        self._search = search

    def symbol(self, tree: RuleName | TerminalNode) -> Symbol:
        """Return the symbol for a leaf of a tree, marked if it is a terminal."""
        symbol = super().symbol(tree)
        if not isinstance(symbol, Terminal):
            return symbol
        value = tree.value if isinstance(tree, TerminalNode) else None
        name = value.name if isinstance(value, (TerminalName, Usage)) else ""
        return self._search.mark(self.rule_name, symbol, tree.offset, name)

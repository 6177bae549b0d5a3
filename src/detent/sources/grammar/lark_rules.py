"""The rules and terminals that a start needs: templates written out, literals in rules made terminals.

A literal in a rule is the terminal that is defined alike, if there is one; otherwise it gets a name as Lark gives it,
since names decide between terminals that are alike in all else.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from detent.errors import PatternSyntaxError
from detent.limits import Limits
from detent.sources.diagnostics import GrammarText
from detent.sources.grammar.lark_definitions import Definitions
from detent.sources.grammar.lark_pattern import Pattern, literal_pattern, terminal_pattern
from detent.sources.grammar.lark_syntax import MAX_TEMPLATE_DEPTH, Nested, TerminalName, Usage
from detent.sources.grammar.tree import Parts, RuleName, TerminalNode, Tree
from detent.sources.nodes import short_repr

__all__ = ["LarkRules", "LarkTerminal", "Scope"]

# Lark's names of literals of one sign.
_SIGN_NAMES = {
    **{".": "DOT", ",": "COMMA", ":": "COLON", ";": "SEMICOLON", "+": "PLUS", "-": "MINUS", "*": "STAR", "/": "SLASH"},
    **{"\\": "BACKSLASH", "|": "VBAR", "?": "QMARK", "!": "BANG", "@": "AT", "#": "HASH", "$": "DOLLAR"},
    **{"%": "PERCENT", "^": "CIRCUMFLEX", "&": "AMPERSAND", "_": "UNDERSCORE", "<": "LESSTHAN", ">": "MORETHAN"},
    **{"=": "EQUAL", '"': "DBLQUOTE", "'": "QUOTE", "`": "BACKQUOTE", "~": "TILDE", "(": "LPAR", ")": "RPAR"},
    **{
        "{": "LBRACE",
        "}": "RBRACE",
        "[": "LSQB",
        "]": "RSQB",
        "\n": "NEWLINE",
        "\r\n": "CRLF",
        "\t": "TAB",
        " ": "SPACE",
    },
}


@dataclass(frozen=True, eq=False)
class LarkTerminal:
    """A terminal: its name, what it matches, how it is preferred, and where it stands."""

    name: str
    pattern: Pattern
    priority: int
    offset: int


Scope = dict[str, "RuleName | TerminalNode"]
"""What the parameters of a template stand for: names and leaves that are closed."""


@dataclass
class LarkRules:
    """The rules and terminals that the start needs, by number. Reading one of `trees` may append uses of templates."""

    definitions: Definitions
    source: GrammarText
    limits: Limits
    trees: list[tuple[str, Tree, Scope]] = field(default_factory=list)
    terminals: list[LarkTerminal] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._rules: dict[str, int] = {}
        self._terminals: dict[str, int] = {}
        self._by_pattern: dict[tuple[bool, bool, str, frozenset[str]], str] = {}
        self._patterns: dict[str, Pattern] = {}
        self._literals: dict[object, Pattern] = {}
        self._parts = Parts(self.source, self.limits)
        self._anonymous = 0
        for name, definition in self.definitions.all.items():
            if definition.is_terminal:
                self._by_pattern[self.pattern(name).key] = name  # of several definitions, the last one, as in Lark
        self.ignored = [self.terminal(name) for name in dict.fromkeys(self.definitions.ignored)]

    def start(self, name: str) -> int:
        """Return the number of the rule that texts begin with."""
        found = self.definitions.all.get(name)
        if found is None or found.is_terminal:
            rules = [each for each, definition in self.definitions.all.items() if not definition.is_terminal]
            if not rules:
                raise PatternSyntaxError("the grammar has no rules; write start: ...", position=0)
            raise PatternSyntaxError(
                f"the grammar has no rule {name!r} to begin with, only {short_repr(rules)}; "
                "define it, or pass start=...",
                position=0,
            )
        if found.parameters:
            self.source.malformed(f"the start {name!r} has parameters", found.offset, "begin with a plain rule")
        return self.rule(RuleName(name, found.offset), {})

    def rule(self, name: RuleName, scope: Scope) -> int:
        """Return the number of a rule without parameters."""
        return self._number(name.name, self.definitions.all[name.name].tree, {}, name.offset)

    def _number(self, key: str, tree: Tree, scope: Scope, offset: int) -> int:
        if key not in self._rules:
            self._parts.add(max(offset, 0))
            self._rules[key] = len(self.trees)
            self.trees.append((key, tree, scope))
        return self._rules[key]

    def symbol(self, tree: RuleName | TerminalNode, scope: Scope) -> int | Nested:
        """Return the number of a rule, the complement of the number of a terminal, or a nested schema."""
        tree = self._closed(tree, scope)
        if isinstance(tree, RuleName):
            if self.definitions.all[tree.name].parameters:
                what = f"template {tree.name!r} needs its arguments"
                self.source.malformed(what, max(tree.offset, 0), f"write {tree.name}{{...}}")
            return self.rule(tree, scope)
        value = tree.value
        if isinstance(value, Nested):
            return value
        if isinstance(value, TerminalName):
            return ~self.terminal(value.name)
        if isinstance(value, Usage):
            definition = self.definitions.all[value.name]
            arguments = [argument for argument in value.arguments if isinstance(argument, (RuleName, TerminalNode))]
            if len(arguments) != len(definition.parameters):
                what = f"template {value.name!r} takes {len(definition.parameters)} arguments, got {len(arguments)}"
                self.source.malformed(what, max(tree.offset, 0), "give it as many as it has parameters")
            inner = dict(zip(definition.parameters, arguments, strict=True))
            return self._number(_written(tree), definition.tree, inner, tree.offset)
        return ~self._anonymous_terminal(tree)

    def _closed(self, tree: RuleName | TerminalNode, scope: Scope) -> RuleName | TerminalNode:
        """Return a leaf with the parameters in it replaced; arguments nest at most `MAX_TEMPLATE_DEPTH` deep."""
        if not scope:
            return tree
        if isinstance(tree, RuleName):
            return scope.get(tree.name, tree)
        if not isinstance(tree.value, Usage):
            return tree
        name = tree.value.name
        target = scope.get(name)
        if isinstance(target, RuleName):
            name = target.name
        arguments = tuple(
            self._closed(argument, scope)
            for argument in tree.value.arguments
            if isinstance(argument, (RuleName, TerminalNode))
        )
        closed = TerminalNode(Usage(name, arguments), tree.offset)
        text = _written(closed)
        self._parts.add(max(tree.offset, 0), len(text) // 8)
        if text.count("{") > MAX_TEMPLATE_DEPTH:
            what = f"templates grow more than {MAX_TEMPLATE_DEPTH} deep into each other"
            remedy = "do not pass a template on to itself"
            self.source.excessive(what, max(tree.offset, 0), remedy, subject="template_depth", limit=MAX_TEMPLATE_DEPTH)
        return closed

    def terminal(self, name: str) -> int:
        """Return the number of a terminal that is defined."""
        if name not in self._terminals:
            definition = self.definitions.all[name]
            self._terminals[name] = len(self.terminals)
            self.terminals.append(
                LarkTerminal(name, self.pattern(name), definition.priority, max(definition.offset, 0))
            )
        return self._terminals[name]

    def pattern(self, name: str) -> Pattern:
        """Return the pattern of a terminal that is defined, with those of the terminals that it calls."""
        path = [name]
        while path:
            current = path[-1]
            if current in self._patterns:
                path.pop()
                continue
            missing: list[tuple[str, int]] = []

            def called(terminal: TerminalName, offset: int, missing: list[tuple[str, int]] = missing) -> Pattern:
                if terminal.name not in self._patterns:
                    missing.append((terminal.name, offset))
                    return Pattern("x")
                return self._patterns[terminal.name]

            definition = self.definitions.all[current]
            pattern = terminal_pattern(definition.tree, called, self._literal)
            if not missing:
                self._patterns[current] = pattern
                if pattern.is_plain and not pattern.value:
                    what = f"terminal {current!r} is empty"
                    self.source.malformed(what, max(definition.offset, 0), "give it a text or a /regex/")
                path.pop()
                continue
            for called_name, offset in missing:
                if called_name in path:
                    what = f"terminal {called_name!r} calls itself"
                    self.source.malformed(what, max(offset, 0), "only rules may; write it in small letters")
            path.append(missing[0][0])
        return self._patterns[name]

    def _literal(self, leaf: TerminalNode) -> Pattern:
        key = leaf.value
        if key not in self._literals:
            self._literals[key] = literal_pattern(leaf.value, max(leaf.offset, 0), self.source, self.limits)
        return self._literals[key]

    def _anonymous_terminal(self, leaf: TerminalNode) -> int:
        pattern = self._literal(leaf)
        name = self._by_pattern.get(pattern.key)
        if name is not None and name in self.definitions.all:
            return self.terminal(name)
        if name is None:
            name = self._new_name(pattern)
            self._by_pattern[pattern.key] = name
        if name not in self._terminals:
            self._terminals[name] = len(self.terminals)
            self.terminals.append(LarkTerminal(name, pattern, 0, max(leaf.offset, 0)))
        return self._terminals[name]

    def _new_name(self, pattern: Pattern) -> str:
        value = pattern.value
        if pattern.is_text:
            name = _SIGN_NAMES.get(value)
            if name is None and value.isidentifier():
                name = value.upper()
            if name is not None and name not in self.definitions.all and name not in self._terminals:
                return name
        self._anonymous += 1
        return f"__ANON_{self._anonymous - 1}"


def _written(tree: RuleName | TerminalNode) -> str:
    """Return one text for equal arguments; they nest at most `MAX_TEMPLATE_DEPTH` deep."""
    if isinstance(tree, RuleName):
        return tree.name
    value = tree.value
    if isinstance(value, Usage):
        inner = ",".join(_written(part) for part in value.arguments if isinstance(part, (RuleName, TerminalNode)))
        return f"{value.name}{{{inner}}}"
    return value.name if isinstance(value, TerminalName) else repr(value)

"""The syntax of Lark's grammars: statements, and the trees of their right sides.

The tokens are those of Lark's own grammar of grammars (lark 1.3, `lark/load_grammar.py`). Beyond it: `&` and `~` in
terminals, repeats `{m,n}`, `%json {...}`, `%regex {...}`. `lark_definitions` finds the meaning of the statements.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NoReturn, TypeAlias

from detent.limits import Limits
from detent.sources.diagnostics import GrammarText
from detent.sources.grammar.tree import MAX_COUNT, Expression, Parts, RuleName, TerminalNode, Tree

__all__ = [
    "MAX_TEMPLATE_DEPTH",
    "Declaration",
    "Definition",
    "Ignored",
    "Import",
    "Literal",
    "Nested",
    "Range",
    "Statement",
    "TerminalName",
    "Usage",
    "read_statements",
]


@dataclass(frozen=True)
class Literal:
    """A text or a regex as it is written: without its quotes, and its flags."""

    text: str
    flags: str
    is_regex: bool


@dataclass(frozen=True)
class Special:
    """A special token, by its name."""

    name: str


@dataclass(frozen=True)
class Range:
    """A range of characters as it is written."""

    first: str
    last: str


@dataclass(frozen=True)
class TerminalName:
    """A terminal that is called by its name."""

    name: str


@dataclass(frozen=True)
class Usage:
    """A template and its arguments."""

    name: str
    arguments: tuple[Tree, ...]


@dataclass(frozen=True)
class Nested:
    """What stands in braces after %json or %regex, which is `kind`."""

    kind: str
    text: str


@dataclass(frozen=True)
class Definition:
    """A rule or a terminal; `mode` is "define", "override" or "extend"."""

    name: str
    tree: Tree
    offset: int
    is_terminal: bool
    parameters: tuple[str, ...] = ()
    priority: int = 0
    mode: str = "define"


@dataclass(frozen=True)
class Ignored:
    """An %ignore."""

    tree: Tree
    offset: int


@dataclass(frozen=True)
class Import:
    """An %import: the grammar's path, and the names with what they are called here."""

    path: tuple[str, ...]
    names: dict[str, str]
    offset: int
    is_relative: bool


@dataclass(frozen=True)
class Declaration:
    """A %declare."""

    names: tuple[str, ...]
    offset: int


Statement: TypeAlias = Definition | Ignored | Import | Declaration

_TOKEN = re.compile(
    r"""
      (?P<blank>[ \t\f]+|\\[ ]*\r?\n|\s*//[^\n]*|\s*\#[^\n]*)
    | (?P<newline_bar>(?:\r?\n)+\s*\|)
    | (?P<newline>(?:\r?\n)+\s*)
    | (?P<keyword>%[a-z_]*)
    | (?P<string>"(?:\\"|\\\\|[^"\n])*?"i?)
    | (?P<regexp>/(?!/)(?:\\/|\\\\|[^/])*?/[imslux]*)
    | (?P<rule>_?[a-z][_a-z0-9]*)
    | (?P<terminal>_?[A-Z][_A-Z0-9]*)
    | (?P<counts>\{\s*(?=[0-9,])(?P<least>[0-9]*)\s*(?P<comma>,?)\s*(?P<most>[0-9]*)\s*\})
    | (?P<special><[^<>\n]*>)
    | (?P<dots>\.\.)
    | (?P<arrow>->)
    | (?P<number>[+-]?[0-9]+)
    | (?P<sign>[()\[\]{}|:,.+*?~!&])
    """,
    re.VERBOSE,
)
_SIGNS: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}
_BRACKETS = {"(": ")", "[": "]"}
MAX_TEMPLATE_DEPTH = 32
"""How deep templates may stand in the arguments of templates."""

_JSON_END = re.compile(r'[{}]|"(?:[^"\\]|\\.)*"')


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    offset: int
    least: int = 0
    most: int | None = None


def read_statements(source: GrammarText, limits: Limits) -> Iterator[Statement]:
    """Yield the statements of a text. Linear in the text."""
    return _LarkParser(source, limits).statements()


class _LarkParser:
    def __init__(self, source: GrammarText, limits: Limits) -> None:
        self.source, self.text = source, source.text
        self.parts = Parts(source, limits)
        self.position = 0
        self.token = self.scan()
        self.in_terminal = False
        self.commands: dict[str, Callable[[int], Statement]] = {
            "%ignore": self.ignored,
            "%import": self.imported,
            "%declare": self.declared,
            "%override": lambda offset: self.definition("override"),
            "%extend": lambda offset: self.definition("extend"),
        }

    def scan(self) -> _Token:
        """Read the next token that has a meaning."""
        while self.position < len(self.text):
            start = self.position
            found = _TOKEN.match(self.text, start)
            if not found:
                self.unknown(start)
            self.position = found.end()
            kind = found.lastgroup or ""
            if kind in ("least", "comma", "most"):
                kind = "counts"
            if kind == "counts":
                return self.counts(found, start)
            if kind != "blank":
                return _Token(kind, found[0], start)
        return _Token("end", "", len(self.text))

    def counts(self, found: re.Match[str], start: int) -> _Token:
        if not found["least"] and not found["most"]:
            self.source.malformed("a repeat count is malformed", start, "write {n}, {n,}, {,m} or {n,m}")
        least, most = (_number(found[name]) for name in ("least", "most"))
        limit = least if not found["comma"] else most if found["most"] else None
        return _Token("counts", found[0], start, least, limit)

    def unknown(self, start: int) -> NoReturn:
        character = self.text[start]
        if character == '"':
            self.source.malformed("a text is not closed", start, 'close it with " on the same line')
        if character == "/":
            self.source.malformed("a regex is not closed", start, "close it with /")
        what = f"{character!r} has no meaning here"
        if self.text.startswith("::=", start - 2):
            self.source.malformed(what, start, "detent.gbnf and detent.ebnf read rules with ::=; Lark writes name: ...")
        if character == "=":
            self.source.malformed(what, start, 'write name: ..., with texts in "..."')
        self.source.malformed(what, start, 'texts stand in "...", regexes in /.../')

    def advance(self) -> _Token:
        taken = self.token
        self.token = self.scan()
        return taken

    def expect(self, kind: str, text: str | None, what: str, remedy: str) -> _Token:
        if self.token.kind != kind or (text is not None and self.token.text != text):
            self.source.malformed(what, self.token.offset, remedy)
        return self.advance()

    def is_sign(self, text: str) -> bool:
        return self.token.kind == "sign" and self.token.text == text

    def end_statement(self) -> None:
        if self.token.kind not in ("newline", "end"):
            what = "the statement should end here"
            self.source.malformed(what, self.token.offset, "begin the next one on a new line")

    def statements(self) -> Iterator[Statement]:
        while True:
            while self.token.kind == "newline":
                self.advance()
            if self.token.kind == "end":
                return
            if self.token.kind == "keyword":
                word = self.advance()
                command = self.commands.get(word.text)
                if command is None:
                    remedy = "there are %ignore, %import, %declare, %override and %extend"
                    self.source.malformed(f"{word.text} is no statement", word.offset, remedy)
                yield command(word.offset)
            else:
                yield self.definition("define")
            self.end_statement()

    def definition(self, mode: str) -> Definition:
        offset = self.token.offset
        is_modified = False
        while self.token.kind == "sign" and self.token.text in "!?":
            self.advance()
            is_modified = True
        if self.token.kind not in ("rule", "terminal") or (is_modified and self.token.kind == "terminal"):
            self.source.malformed("a rule or a terminal must begin here", offset, "write name: ... or NAME: ...")
        name = self.advance()
        parameters: list[str] = []
        if name.kind == "rule" and self.is_sign("{"):
            self.advance()
            while True:
                remedy = "write name{a, b}: ..."
                parameters.append(self.expect("rule", None, "a parameter's name is missing", remedy).text)
                if not self.is_sign(","):
                    break
                self.advance()
            self.expect("sign", "}", "the parameters are not closed", "close them with }")
        priority = 0
        if self.is_sign("."):
            self.advance()
            number = self.expect("number", None, "a priority is missing after the dot", "write NAME.2: ...")
            priority = _number(number.text.lstrip("+-")) * (-1 if number.text.startswith("-") else 1)
        if self.token.kind in ("rule", "terminal") and self.token.offset == name.offset + len(name.text):
            what = "a name has small letters and capitals"
            self.source.malformed(what, name.offset, "write rules in small letters, terminals in capitals")
        self.expect("sign", ":", "a colon is missing after the name", "write name: ...")
        tree = self.expression(name.kind == "terminal")
        return Definition(name.text, tree, name.offset, name.kind == "terminal", tuple(parameters), priority, mode)

    def ignored(self, offset: int) -> Ignored:
        if self.token.kind in ("newline", "end"):
            self.source.malformed("%ignore names nothing", offset, "write a terminal, a text or a /regex/ after it")
        return Ignored(self.expression(True), offset)

    def declared(self, offset: int) -> Declaration:
        names: list[str] = []
        while self.token.kind in ("rule", "terminal"):
            names.append(self.advance().text)
        if not names:
            self.source.malformed("%declare names nothing", offset, "take it away")
        return Declaration(tuple(names), offset)

    def imported(self, offset: int) -> Import:
        is_relative = self.is_sign(".")
        if is_relative:
            self.advance()
        path = [self.name("%import needs a name")]
        while self.is_sign("."):
            self.advance()
            path.append(self.name("a name is missing after the dot"))
        if self.is_sign("("):
            names: dict[str, str] = {}
            while not self.is_sign(")"):
                self.advance()
                name = self.name("a name is missing in the list")
                names[name] = name
                if not self.is_sign(",") and not self.is_sign(")"):
                    self.source.malformed("the list is not closed", self.token.offset, "close it with )")
            self.advance()
            return Import(tuple(path), names, offset, is_relative)
        target = path[-1]
        if self.token.kind == "arrow":
            self.advance()
            target = self.name("a name is missing after ->")
        return Import(tuple(path[:-1]), {path[-1]: target}, offset, is_relative)

    def name(self, what: str) -> str:
        if self.token.kind not in ("rule", "terminal"):
            self.source.malformed(what, self.token.offset, "write %import common.NAME or %import common (A, B)")
        return self.advance().text

    def expression(self, in_terminal: bool) -> Tree:
        """Read a right side, up to the end of its statement."""
        self.in_terminal = in_terminal
        tree = Expression(self.parts, self.token.offset)
        while self.token.kind not in ("newline", "end"):
            token = self.advance()
            handler = getattr(self, f"on_{token.kind}", None)
            if handler is None:
                self.source.malformed(f"{token.text!r} has no meaning here", token.offset, "write an item or |")
            handler(tree, token)
        return tree.finish()

    def on_newline_bar(self, tree: Expression, token: _Token) -> None:
        tree.bar(token.offset + len(token.text) - 1)

    def on_string(self, tree: Expression, token: _Token) -> None:
        self.parts.add(token.offset, len(token.text) // 8)
        tree.item(self.value(token), token.offset)

    on_regexp = on_terminal = on_string

    def on_rule(self, tree: Expression, token: _Token) -> None:
        if self.in_terminal:
            remedy = f"make it a terminal: {token.text.upper()}"
            self.source.malformed("a terminal calls a rule", token.offset, remedy)
        tree.item(self.value(token), token.offset)

    def on_counts(self, tree: Expression, token: _Token) -> None:
        tree.repeat(token.offset, token.least, token.most)

    def on_arrow(self, tree: Expression, token: _Token) -> None:
        if self.in_terminal:
            self.source.malformed("a terminal's option has no alias", token.offset, "take it away")
        self.expect("rule", None, "an alias is a name in small letters", "write -> name")
        if not (self.is_sign("|") or self.is_sign(")") or self.is_sign("]")) and self.token.kind not in (
            "newline",
            "newline_bar",
            "end",
        ):
            self.source.malformed("an alias ends its option", self.token.offset, "write | or a new line after it")

    def on_keyword(self, tree: Expression, token: _Token) -> None:
        if token.text not in ("%json", "%regex"):
            what = f"{token.text} has no meaning inside a rule"
            self.source.malformed(what, token.offset, "write %json {...}, a text, a /regex/ or a name")
        if self.in_terminal:
            self.source.unsupported(f"{token.text} inside a terminal", token.offset, "write it in a rule")
        start = self.token.offset
        depth = 0
        for found in _JSON_END.finditer(self.text, start):
            if depth == 0 and found.start() != start:
                break
            depth += {"{": 1, "}": -1}.get(found[0], 0)
            if depth == 0 and found[0] == "}":
                self.position = found.end()
                self.token = self.scan()
                nested = Nested(token.text, self.text[start : found.end()])
                tree.item(TerminalNode(nested, token.offset), token.offset)
                return
        what, remedy = f"{token.text} needs JSON in braces", 'as in %json {"type": "integer"}'
        self.source.malformed(what, token.offset, remedy)

    def on_special(self, tree: Expression, token: _Token) -> None:
        if self.in_terminal:
            self.source.unsupported("a special token inside a terminal", token.offset, "write it in a rule")
        if token.text.startswith("<["):
            self.source.unsupported("a token by its id", token.offset, "name it, as in <|eot_id|>")
        self.parts.add(token.offset)
        tree.item(TerminalNode(Special(token.text), token.offset), token.offset)

    def on_sign(self, tree: Expression, token: _Token) -> None:
        text, offset = token.text, token.offset
        if text in _BRACKETS:
            tree.open(offset, _BRACKETS[text])
        elif text in ")]":
            tree.close(offset, text)
            if text == "]":
                tree.repeat(offset, 0, 1)
        elif text == "|":
            tree.bar(offset)
        elif text in _SIGNS:
            tree.repeat(offset, *_SIGNS[text])
        elif text == "~" and self.token.kind == "number":
            self.tilde(tree, offset)
        elif text in "&~" and self.in_terminal:
            (tree.meet if text == "&" else tree.negate)(offset)
        elif text in "&~":
            what = f"{text} combines languages, which a rule cannot"
            self.source.unsupported(what, offset, "define a terminal with it, and call that; repeats are ~2 or ~2..5")
        else:
            self.source.malformed(f"{text!r} has no meaning here", offset, "write an item, | or a new line")

    def tilde(self, tree: Expression, offset: int) -> None:
        numbers = [self.advance()]
        if self.token.kind == "dots":
            self.advance()
            numbers.append(self.expect("number", None, "a number is missing after the dots", "write ~2..5"))
        if any(number.text.startswith("-") for number in numbers):
            self.source.malformed("a repeat count below 0", numbers[0].offset, "write ~0 or more")
        least, most = (_number(number.text.lstrip("+")) for number in (numbers[0], numbers[-1]))
        tree.repeat(offset, least, most)

    def value(self, token: _Token) -> Tree:
        """Make a leaf of a token: a literal, a range, a name, a template with its arguments."""
        if token.kind == "terminal":
            return TerminalNode(TerminalName(token.text), token.offset)
        if token.kind == "regexp":
            end = token.text.rindex("/")
            return TerminalNode(Literal(token.text[1:end], token.text[end + 1 :], True), token.offset)
        if token.kind == "string":
            end = token.text.rindex('"')
            literal = Literal(token.text[1:end], token.text[end + 1 :], False)
            if self.token.kind != "dots":
                return TerminalNode(literal, token.offset)
            self.advance()
            last = self.expect("string", None, "a range ends with a text", 'write "a".."z"')
            if literal.flags or last.text.endswith("i"):
                self.source.malformed("a range has no flags", token.offset, 'write "a".."z" | "A".."Z"')
            return TerminalNode(Range(literal.text, last.text[1:-1]), token.offset)
        if not self.is_sign("{"):
            return RuleName(token.text, token.offset)
        return self.usage(token)

    def usage(self, token: _Token) -> Tree:
        """Read the arguments of a template, which may be templates with arguments."""
        open_usages: list[tuple[_Token, list[Tree]]] = [(token, [])]
        self.advance()
        while True:
            argument = self.token
            if argument.kind not in ("string", "regexp", "rule", "terminal"):
                what = "a template's argument is missing"
                self.source.malformed(what, argument.offset, "give a name, a text or a regex")
            self.parts.add(argument.offset)
            self.advance()
            if argument.kind == "rule" and self.is_sign("{"):
                if len(open_usages) >= MAX_TEMPLATE_DEPTH:
                    what = f"templates are nested more than {MAX_TEMPLATE_DEPTH} deep"
                    self.source.excessive(
                        what,
                        argument.offset,
                        "name the inner ones",
                        subject="template_depth",
                        limit=MAX_TEMPLATE_DEPTH,
                    )
                open_usages.append((argument, []))
                self.advance()
                continue
            open_usages[-1][1].append(self.value(argument))
            while self.is_sign("}"):
                self.advance()
                template, arguments = open_usages.pop()
                leaf = TerminalNode(Usage(template.text, tuple(arguments)), template.offset)
                if not open_usages:
                    return leaf
                open_usages[-1][1].append(leaf)
            self.expect("sign", ",", "the arguments are not closed", "write name{a, b}")


def _number(digits: str) -> int:
    """Return a count; longer digits, which would take quadratic time to read, are above every limit."""
    return MAX_COUNT + 1 if len(digits) > 12 else int(digits or 0)

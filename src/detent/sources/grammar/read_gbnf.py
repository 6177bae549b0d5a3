r"""GBNF, the grammars of llama.cpp, read as llama.cpp reads them.

A rule is a name, `::=` and alternatives, over several lines only after `::=`, after a bar and inside parentheses. Items
are "text", [classes], `.` (any character), names and groups, with * + ? {n} {n,} {m,n} after them; `#` begins a
comment. Texts and classes share their escapes: \n \r \t \\ \" \[ \] \- \xHH \uHHHH \UHHHHHHHH. There is no lexer: every
tokenization counts.

Constructs that llama.cpp misinterprets are refused (a class without characters, a range that goes down, a rule defined
twice). Counts above 2,000, which llama.cpp takes as unbounded, are exact.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NoReturn

from detent import _core
from detent.limits import Limits
from detent.sources.diagnostics import GrammarText
from detent.sources.grammar.characters import class_terminal, code_point, text_terminal
from detent.sources.grammar.productions import Terminal
from detent.sources.grammar.tree import MAX_COUNT, Expression, Parts, RuleName, TerminalNode, Tree

__all__ = ["read_gbnf"]

_SPACE = re.compile(r"(?:[ \t]|#[^\r\n]*)*")
_SPACE_AND_LINES = re.compile(r"(?:[ \t\r\n]|#[^\r\n]*)*")
_NAME = re.compile(r"[A-Za-z0-9_-]+")
_SPECIAL = re.compile(r"<(?!\[)[^<>\r\n]+>")
_COUNTS = re.compile(r"\{[ \t]*([0-9]*)[ \t]*(?:(,)[ \t]*([0-9]*)[ \t]*)?\}")
_SIGNS: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "\\": "\\", '"': '"', "[": "[", "]": "]", "-": "-"}
_HEX = {"x": 2, "u": 4, "U": 8}
_ANY = Terminal(_core.chars([(0, 0x10FFFF)]), False)


def read_gbnf(source: GrammarText, limits: Limits) -> dict[str, tuple[Tree, int]]:
    """Return the rules of a text by name, each with its tree and position. Takes time linear in the text."""
    return _GbnfParser(source, limits).run()


class _GbnfParser:
    def __init__(self, source: GrammarText, limits: Limits) -> None:
        self.source, self.text = source, source.text
        self.position = 0
        self.parts = Parts(source, limits)
        self.readers: dict[str, Callable[[Expression, int], None]] = {
            '"': self.quoted,
            "[": self.character_class,
            ".": self.any_character,
            "{": self.count,
            "(": lambda tree, start: tree.open(start),
            ")": lambda tree, start: tree.close(start),
            "|": lambda tree, start: tree.bar(start),
        }

    def run(self) -> dict[str, tuple[Tree, int]]:
        rules: dict[str, tuple[Tree, int]] = {}
        self.skip(_SPACE_AND_LINES)
        while self.position < len(self.text):
            start = self.position
            name = _NAME.match(self.text, start)
            if not name:
                self.not_a_rule()
            self.position = name.end()
            self.skip(_SPACE)
            if not self.text.startswith("::=", self.position):
                is_lark = self.text.startswith(":", self.position)
                remedy = "write name ::= ..." + ("; detent.grammar reads rules with a colon" if is_lark else "")
                self.source.malformed("::= is missing after the rule's name", self.position, remedy)
            if name[0] in rules:
                remedy = "put the alternatives into one rule, with | between them"
                self.source.malformed(f"rule {name[0]!r} is defined twice", start, remedy)
            self.position += 3
            self.skip(_SPACE_AND_LINES)
            rules[name[0]] = self.expression(), start
            if self.position < len(self.text) and self.text[self.position] not in "\r\n":
                self.unexpected()
            self.skip(_SPACE_AND_LINES)
        return rules

    def skip(self, pattern: re.Pattern[str]) -> None:
        found = pattern.match(self.text, self.position)
        self.position = found.end() if found else self.position

    def not_a_rule(self) -> NoReturn:
        if self.text[self.position] == "|":
            what, remedy = "a rule ends with its line", "write | at the end of the line before, or use parentheses"
            self.source.malformed(what, self.position, remedy)
        self.source.malformed("a rule must begin here", self.position, "write name ::= ..., each rule on its own line")

    def unexpected(self) -> NoReturn:
        character = self.text[self.position]
        if character in "<!":
            what = "a token by its id, or any but one, cannot be held"
            self.source.unsupported(what, self.position, "name the token, as in <|eot_id|>")
        what = f"{character!r} has no meaning here"
        self.source.malformed(what, self.position, "write an item, | or a new line; texts stand in double quotes")

    def expression(self) -> Tree:
        tree = Expression(self.parts, self.position)
        while self.position < len(self.text):
            start, character = self.position, self.text[self.position]
            self.position += 1
            if character in self.readers:
                self.readers[character](tree, start)
            elif character in _SIGNS:
                tree.repeat(start, *_SIGNS[character])
            elif special := _SPECIAL.match(self.text, start):
                node = _core.special(special[0].encode())
                tree.item(TerminalNode(Terminal(node, False), start), start)
                self.position = special.end()
            elif name := _NAME.match(self.text, start):
                tree.item(RuleName(name[0], start), start)
                self.position = name.end()
            else:
                self.position = start
                break
            self.skip(_SPACE_AND_LINES if tree.nesting or character == "|" else _SPACE)
        if self.position < len(self.text) and self.text[self.position] not in "\r\n":
            self.unexpected()
        return tree.finish()

    def count(self, tree: Expression, start: int) -> None:
        tree.repeat(start, *self.counts(start))

    def any_character(self, tree: Expression, start: int) -> None:
        tree.item(TerminalNode(_ANY, start), start)

    def counts(self, start: int) -> tuple[int, int | None]:
        found = _COUNTS.match(self.text, start)
        if not found or not found[1]:
            self.source.malformed("a repeat count is malformed", start, "write {n}, {n,} or {m,n}")
        self.position = found.end()
        # Longer digits would take quadratic time to read.
        least, most = (MAX_COUNT + 1 if len(digits or "") > 12 else int(digits or 0) for digits in found.group(1, 3))
        if not found[2]:
            return least, least
        return least, most if found[3] else None

    def quoted(self, tree: Expression, start: int) -> None:
        characters: list[str] = []
        while True:
            if self.position >= len(self.text):
                self.source.malformed("a text is not closed", start, 'close it with "')
            if self.text[self.position] == '"':
                self.position += 1
                self.parts.add(start, len(characters) // 8)
                tree.item(TerminalNode(text_terminal("".join(characters)), start), start)
                return
            characters.append(chr(self.character()))

    def character(self) -> int:
        """Read a character of a text or a class, which may be an escape."""
        start = self.position
        character = self.text[start]
        self.position += 1
        if character != "\\":
            return code_point(self.source, ord(character), start)
        letter = self.text[self.position : self.position + 1]
        self.position += 1
        if letter in _HEX:
            digits = self.text[self.position : self.position + _HEX[letter]]
            if len(digits) < _HEX[letter] or not re.fullmatch("[0-9A-Fa-f]*", digits):
                self.source.malformed(f"\\{letter} needs {_HEX[letter]} hex digits", start, r"as in \x41 or \u00e9")
            self.position += len(digits)
            return code_point(self.source, int(digits, 16), start)
        if letter not in _ESCAPES or not letter:
            remedy = r"write \n \r \t \\ \" \[ \] \- \xHH \uHHHH or \UHHHHHHHH"
            self.source.malformed("an unknown escape", start, remedy)
        return ord(_ESCAPES[letter])

    def character_class(self, tree: Expression, start: int) -> None:
        negated = self.text.startswith("^", self.position)
        self.position += negated
        ranges: list[tuple[int, int]] = []
        while True:
            first = self.position
            if first >= len(self.text):
                self.source.malformed("a class is not closed", start, "close it with ]")
            if self.text[first] == "]":
                self.position += 1
                break
            low = high = self.character()
            if self.text.startswith("-", self.position) and not self.text.startswith("-]", self.position):
                self.position += 1
                if self.position >= len(self.text):
                    self.source.malformed("a class is not closed", start, "close it with ]")
                high = self.character()
            if high < low:
                self.source.malformed("a range goes down", first, "write the smaller character first")
            ranges.append((low, high))
        if not ranges:
            self.source.malformed("a class without characters", start, 'list some, or write "" for nothing')
        self.parts.add(start, len(ranges) // 5)
        tree.item(TerminalNode(class_terminal(ranges, negated), start), start)

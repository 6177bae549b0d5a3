r"""EBNF as the specifications of the W3C write it: XML 1.0, section 6.

    [1] document ::= prolog element Misc*        the number in brackets may be left out
    [2] Char     ::= #x9 | #xA | [#x20-#xD7FF]   #xN is a character, [...] a class, [^...] its complement
    [3] Comment  ::= '<!--' ((Char - '-') | ('-' (Char - '-')))* '-->'

Texts stand in single or double quotes and have no escapes. `A?`, `A+`, `A*` repeat, `A - B` matches A but not B, and
`/* ... */` is a comment. `-` binds tighter than a sequence and looser than a repeat; its sides must not call recursive
rules. The constraints of the specification, `[wfc: ...]` (well-formedness) and `[VC: ...]` (validity), are comments:
they are not part of the language. Line ends have no meaning: a rule begins where a name is followed by `::=`. There is
no lexer: every tokenization counts.

ISO/IEC 14977 is another notation, with `=` and `;`. It is recognised and refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from detent.limits import Limits
from detent.sources.diagnostics import GrammarText
from detent.sources.grammar.characters import class_terminal, code_point, text_terminal
from detent.sources.grammar.tree import Expression, Parts, RuleName, TerminalNode, Tree

__all__ = ["read_ebnf"]

_BLANK = re.compile(r"(?:[ \t\r\n]+|/\*(?:[^*]|\*(?!/))*\*/|\[[ \t]*(?:[Ww][Ff][Cc]|[Vv][Cc])[ \t]*:[^\]]*\])*")
_ISO_RULE = re.compile(r"(?:\(\*(?:[^*]|\*(?!\)))*\*\)|\s)*[A-Za-z][A-Za-z0-9 _-]*=(?!=)")
_RULE = re.compile(r"(?:\[[0-9]+[a-z]?\]\s*)?([A-Za-z_][A-Za-z0-9_.-]*)\s*::=")
_NAME = re.compile(r"[A-Za-z_](?:[A-Za-z0-9_.]|-(?=[A-Za-z0-9_]))*")
_HEX = re.compile(r"#x([0-9A-Fa-f]+)")
_SIGNS: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}


def read_ebnf(source: GrammarText, limits: Limits) -> dict[str, tuple[Tree, int]]:
    """Return the rules of a text by name, each with its tree and position. Takes time linear in the text."""
    return _EbnfParser(source, limits).run()


class _EbnfParser:
    def __init__(self, source: GrammarText, limits: Limits) -> None:
        self.source, self.text = source, source.text
        self.position = 0
        self.parts = Parts(source, limits)
        self.readers: dict[str, Callable[[Expression, int], None]] = {
            '"': self.quoted,
            "'": self.quoted,
            "[": self.character_class,
            "#": self.code,
        }

    def run(self) -> dict[str, tuple[Tree, int]]:
        rules: dict[str, tuple[Tree, int]] = {}
        self.skip()
        while self.position < len(self.text):
            start = self.position
            head = _RULE.match(self.text, start)
            if not head:
                if _ISO_RULE.match(self.text, start):
                    problem = "this is EBNF of ISO/IEC 14977 (name = ... ;), and EBNF of the W3C is read"
                    remedy = "write name ::= ..., a b for a, b, x? for [x], x* for {x}, and no semicolons"
                    self.source.unsupported(problem, start, remedy)
                self.source.malformed("a rule must begin here", start, "write name ::= ...")
            if head[1] in rules:
                remedy = "put the alternatives into one rule, with | between them"
                self.source.malformed(f"rule {head[1]!r} is defined twice", start, remedy)
            self.position = head.end()
            self.skip()
            rules[head[1]] = self.expression(), start
        return rules

    def skip(self) -> None:
        found = _BLANK.match(self.text, self.position)
        self.position = found.end() if found else self.position
        if self.text.startswith("/*", self.position):
            self.source.malformed("a comment is not closed", self.position, "close it with */")

    def expression(self) -> Tree:
        tree = Expression(self.parts, self.position)
        while self.position < len(self.text) and not _RULE.match(self.text, self.position):
            start, character = self.position, self.text[self.position]
            self.position += 1
            if character in self.readers:
                self.readers[character](tree, start)
            elif character in _SIGNS:
                tree.repeat(start, *_SIGNS[character])
            elif character == "(":
                tree.open(start)
            elif character == ")":
                tree.close(start)
            elif character == "|":
                tree.bar(start)
            elif character == "-":
                tree.minus(start)
            elif name := _NAME.match(self.text, start):
                tree.item(RuleName(name[0], start), start)
                self.position = name.end()
            else:
                what = f"{character!r} has no meaning here"
                self.source.malformed(what, start, "write a name, 'text', [class], #xN, a group, | or a sign")
            self.skip()
        return tree.finish()

    def quoted(self, tree: Expression, start: int) -> None:
        end = self.text.find(self.text[start], start + 1)
        if end < 0:
            self.source.malformed("a text is not closed", start, f"close it with {self.text[start]}")
        for offset in range(start + 1, end):
            code_point(self.source, ord(self.text[offset]), offset)
        self.parts.add(start, (end - start) // 8)
        tree.item(TerminalNode(text_terminal(self.text[start + 1 : end]), start), start)
        self.position = end + 1

    def code(self, tree: Expression, start: int) -> None:
        value = self.hex(start)
        tree.item(TerminalNode(class_terminal([(value, value)], False), start), start)

    def hex(self, start: int) -> int:
        found = _HEX.match(self.text, start)
        if not found:
            self.source.malformed("# must begin a character's number", start, "write #xN, as in #x20")
        self.position = found.end()
        return code_point(self.source, int(found[1].lstrip("0")[:9] or "0", 16), start)

    def character_class(self, tree: Expression, start: int) -> None:
        negated = self.text.startswith("^", self.position)
        self.position += negated
        ranges: list[tuple[int, int]] = []
        while not self.text.startswith("]", self.position):
            first = self.position
            low = high = self.member(start)
            if self.text.startswith("-", self.position) and not self.text.startswith("-]", self.position):
                self.position += 1
                high = self.member(start)
            if high < low:
                self.source.malformed("a range goes down", first, "write the smaller character first")
            ranges.append((low, high))
        if not ranges:
            self.source.malformed("a class without characters", start, "list some, or write '' for nothing")
        self.position += 1
        self.parts.add(start, len(ranges) // 5)
        tree.item(TerminalNode(class_terminal(ranges, negated), start), start)

    def member(self, start: int) -> int:
        if self.position >= len(self.text):
            self.source.malformed("a class is not closed", start, "close it with ]")
        if self.text.startswith("#x", self.position):
            return self.hex(self.position)
        self.position += 1
        return code_point(self.source, ord(self.text[self.position - 1]), self.position - 1)

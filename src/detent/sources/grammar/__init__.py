"""Grammars: context-free languages, in Lark's notation, GBNF and W3C-style EBNF.

A reader turns a text into trees (`tree`, through `lark`, `gbnf`, `ebnf`), the trees become productions (`lower`,
`productions`), left recursion is removed (`left_recursion`), and a node of the core comes out (`emit`).
"""

from __future__ import annotations

from detent.errors import ArgumentError
from detent.language import Language
from detent.limits import Limits
from detent.sources.grammar.assemble import assemble, check_text
from detent.sources.grammar.ebnf import read_ebnf
from detent.sources.grammar.gbnf import read_gbnf
from detent.sources.grammar.lark import read_lark
from detent.sources.grammar.place import Source
from detent.sources.nodes import shown

__all__ = ["ebnf", "gbnf", "grammar"]

_DEFAULT_LIMITS = Limits()


_LEXERS = ("auto", "contextual", "dynamic_complete")


def grammar(text: str, *, start: str = "start", lexer: str = "auto", limits: Limits | None = None) -> Language:
    bounds = _check(text, "grammar", limits)
    if lexer not in _LEXERS:
        raise ArgumentError(f"lexer is one of {', '.join(map(repr, _LEXERS))}, got {shown(lexer)}")
    node, used = read_lark(text, start, lexer, bounds)
    return Language(node, f"grammar {shown(text)}, lexer {used}")


def gbnf(text: str, *, limits: Limits | None = None) -> Language:
    bounds = _check(text, "gbnf", limits)
    source = Source(text)
    node = assemble(read_gbnf(source, bounds), "root", source, bounds)
    return Language(node, f"gbnf {shown(text)}")


def ebnf(text: str, *, start: str | None = None, limits: Limits | None = None) -> Language:
    bounds = _check(text, "ebnf", limits)
    source = Source(text)
    rules = read_ebnf(source, bounds)
    node = assemble(rules, next(iter(rules), "start") if start is None else start, source, bounds)
    return Language(node, f"ebnf {shown(text)}")


def _check(text: str, asker: str, limits: Limits | None) -> Limits:
    if not isinstance(text, str):
        raise ArgumentError(f"{asker} needs a grammar of type str, got {type(text).__name__}")
    bounds = limits or _DEFAULT_LIMITS
    check_text(text, asker, bounds)
    return bounds

"""Grammars: context-free languages, in Lark's notation, GBNF and W3C-style EBNF.

1. A reader turns a text into trees (`tree`; `read_lark`, `read_gbnf`, `read_ebnf`).
2. The trees become productions (`lower`, `productions`).
3. Their common parts are taken out (`factoring`), and left recursion is removed (`left_recursion`).
4. The productions become a node of the core (`emit`).
"""

from __future__ import annotations

import re

from detent.errors import ArgumentError
from detent.language import Language
from detent.limits import Limits, read_limits
from detent.origin import Origin
from detent.sources.diagnostics import GrammarText
from detent.sources.grammar.assemble import assemble, check_text
from detent.sources.grammar.open_rules import GrammarSource
from detent.sources.grammar.read_ebnf import read_ebnf
from detent.sources.grammar.read_gbnf import read_gbnf
from detent.sources.grammar.read_lark import read_lark
from detent.sources.nodes import short_repr
from detent.suggestions import read_the_file, suggests_names

__all__ = ["ebnf", "gbnf", "grammar"]

_FILE_NAME = re.compile(r"[^\s:=|\"']+\.(lark|gbnf|ebnf|bnf|txt)")


_LEXERS = ("auto", "contextual", "dynamic", "dynamic_complete")


@suggests_names
def grammar(text: str, *, start: str = "start", lexer: str = "auto", limits: Limits | None = None) -> Language[str]:
    r"""Make the language of all texts that a grammar in Lark's notation derives.

    >>> import detent
    >>> sums = detent.grammar('''
    ... start: start "+" NUMBER | NUMBER
    ... NUMBER: /[0-9]+/
    ... %ignore " "
    ... ''')
    >>> sums.accepts("1 + 22"), sums.accepts("1 +")
    (True, False)

    Parameters
    ----------
    text : str
        Rules, terminals, templates, `%import` (of the grammars that come with lark), `%ignore`, `%override` and
        `%extend`. Beyond Lark: ``&`` and ``~`` in terminals, repeats ``{m,n}``, ``%json {...}``, ``%regex {...}``.
    start : str
        The rule that a text is.
    lexer : str
        The lexer of Lark whose texts the language has, exactly. "contextual": that of ``Lark(parser="lalr")``; the
        grammar must be LALR(1). "dynamic" and "dynamic_complete": those of ``Lark(parser="earley")``, which match a
        terminal where a rule expects it: its longest match, or each prefix of that too. "auto": contextual if the
        grammar has no reduce/reduce conflict (with shift/reduce conflicts the language has all texts of the grammar,
        where Lark follows one choice), otherwise dynamic_complete; the language's `repr` names the lexer.
    limits : Limits, optional
        Bounds on the source text (`source_bytes`), the nesting of groups (`depth`) and the size (`pattern_size`).

    Returns
    -------
    Language
        A parse of its text gives the text itself. Costs time linear in the grammar, and for a contextual lexer what
        Lark's own tables cost: some 0.1 s for a hundred rules.

    Raises
    ------
    PatternSyntaxError
        The grammar is malformed, or a name is not defined; the message shows line and column.
    UnsupportedError
        What no language holds: `%declare`, tokens by their id, files to import, a regex that looks beyond its terminal,
        "contextual" for a grammar that is not LALR(1).
    EmptyLanguageError
        No derivation from the start ever ends.
    LimitError
        A limit was reached.
    ArgumentError
        The grammar is not a str, or there is no such lexer.
    """
    bounds = _check(text, start, "grammar", limits)
    if lexer not in _LEXERS:
        raise ArgumentError(f"lexer is one of {', '.join(map(repr, _LEXERS))}, got {short_repr(lexer)}")
    node, used = read_lark(text, start, lexer, bounds)
    origin = Origin(source=GrammarSource(text, "lark", start, bounds, used))
    return Language(node, f"grammar {short_repr(text)}, lexer {used}", _origin=origin)


@suggests_names
def gbnf(text: str, *, limits: Limits | None = None) -> Language[str]:
    r"""Make the language of all texts that a grammar of llama.cpp derives from its rule ``root``.

    >>> import detent
    >>> nested = detent.gbnf('root ::= "(" root ")" | [a-z]{1,3}')
    >>> nested.accepts("((ab))"), nested.accepts("((ab)")
    (True, False)

    Parameters
    ----------
    text : str
        Rules as llama.cpp reads them; left recursion, which it refuses, is allowed.
    limits : Limits, optional
        Bounds on the source text (`source_bytes`), the nesting of groups (`depth`) and the size (`pattern_size`).

    Returns
    -------
    Language
        Costs time linear in the grammar, about 10 us a rule.

    Raises
    ------
    PatternSyntaxError
        The grammar is malformed, or a rule is not defined; the message shows line and column.
    UnsupportedError
        References to tokens.
    EmptyLanguageError
        No derivation from the root ever ends.
    LimitError
        A limit was reached.
    ArgumentError
        The grammar is not a str.
    """
    bounds = _check(text, "root", "gbnf", limits)
    source = GrammarText(text)
    node = assemble(read_gbnf(source, bounds), "root", source, bounds)
    origin = Origin(source=GrammarSource(text, "gbnf", "root", bounds))
    return Language(node, f"gbnf {short_repr(text)}", _origin=origin)


@suggests_names
def ebnf(text: str, *, start: str | None = None, limits: Limits | None = None) -> Language[str]:
    r"""Make the language of all texts that a grammar in the EBNF of the W3C derives.

    >>> import detent
    >>> name = detent.ebnf("Name ::= [A-Z] (Char - 'x')*  Char ::= [a-z] | #x2D")
    >>> name.accepts("Ab-c"), name.accepts("Ax")
    (True, False)

    Parameters
    ----------
    text : str
        Rules as in section 6 of the specification of XML 1.0, whose constraints (``[VC: ...]``) are comments.
    start : str, optional
        The rule that a text is; without it the first.
    limits : Limits, optional
        Bounds on the source text (`source_bytes`), the nesting of groups (`depth`) and the size (`pattern_size`).

    Returns
    -------
    Language
        Costs time linear in the grammar, about 10 us a rule.

    Raises
    ------
    PatternSyntaxError
        The grammar is malformed, or a rule is not defined; the message shows line and column.
    UnsupportedError
        A difference of recursive rules, or the EBNF of ISO/IEC 14977.
    EmptyLanguageError
        No derivation from the start ever ends.
    LimitError
        A limit was reached.
    ArgumentError
        The grammar is not a str.
    """
    bounds = _check(text, start, "ebnf", limits)
    source = GrammarText(text)
    rules = read_ebnf(source, bounds)
    first = next(iter(rules), "start") if start is None else start
    node = assemble(rules, first, source, bounds)
    origin = Origin(source=GrammarSource(text, "ebnf", first, bounds))
    return Language(node, f"ebnf {short_repr(text)}", _origin=origin)


def _check(text: str, start: object, asker: str, limits: Limits | None) -> Limits:
    if start is not None and not isinstance(start, str):
        raise ArgumentError(f"{asker} needs the name of a rule as start, got {short_repr(start)}")
    if not isinstance(text, str):
        raise ArgumentError(f"{asker} needs a grammar of type str, got {type(text).__name__}{read_the_file(text)}")
    if _FILE_NAME.fullmatch(text):
        raise ArgumentError(
            f"{asker} takes the text of a grammar, got the file name {short_repr(text)}; write "
            "pathlib.Path(name).read_text()"
        )
    bounds = read_limits(limits)
    check_text(text, asker, bounds)
    return bounds

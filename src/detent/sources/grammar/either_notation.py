"""The grammar of a request, whose field takes two notations: GBNF, or Lark's."""

from __future__ import annotations

import re
from copy import copy

from detent.errors import PatternSyntaxError, clip
from detent.language import Language
from detent.sources.grammar import gbnf, grammar

__all__ = ["either_notation"]

_RULE_OF_GBNF = re.compile(r"^[ \t]*[A-Za-z0-9_-]+\s*::=", re.MULTILINE)
_START_OF_LARK = re.compile(r"^[ \t]*[?!]{0,2}start\b[^=\n]*:", re.MULTILINE)
_ROOT = re.compile(r"^[ \t]*<?root\b", re.MULTILINE)


def either_notation(text: str) -> Language[str]:
    """Return the language of a grammar in GBNF or in Lark's notation, whichever is meant.

    A text is GBNF if a rule is written with ``::=``, and Lark's notation if there is a rule ``start:``. A text with
    neither has a mistake, or begins elsewhere: it is read as GBNF if it has a rule ``root``, and the error says so.

    >>> either_notation('root ::= "a"'), either_notation('start: "a"')
    (Language(gbnf 'root ::= "a"'), Language(grammar 'start: "a"', lexer contextual))
    >>> either_notation('root = "a"')
    Traceback (most recent call last):
        ...
    detent.errors.PatternSyntaxError: ::= is missing after the rule's name, at line 1, column 6:
      root = "a"
           ^
    write name ::= ...; this was read as GBNF; Lark's notation has a rule start: ...

    Raises
    ------
    DetentError
        As `gbnf` or `grammar` raises it.
    """
    if _RULE_OF_GBNF.search(text):
        return gbnf(text)
    if _START_OF_LARK.search(text):
        return grammar(text)
    try:
        return (gbnf if _ROOT.search(text) else grammar)(text)
    except PatternSyntaxError as error:
        raise _with_both_notations(error, is_gbnf=bool(_ROOT.search(text))) from None


def _with_both_notations(error: PatternSyntaxError, *, is_gbnf: bool) -> PatternSyntaxError:
    read = "as GBNF; Lark's notation has a rule start: ..." if is_gbnf else "in Lark's notation; GBNF has root ::= ..."
    changed = copy(error)
    changed.args = (clip(f"{error}; this was read {read}"),)
    return changed

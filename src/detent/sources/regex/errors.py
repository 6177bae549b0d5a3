"""The errors of the standard library's parser as detent errors: its sentence, the position, and a remedy."""

from __future__ import annotations

import re

from detent.errors import DetentError, PatternSyntaxError, UnsupportedError
from detent.sources.diagnostics import pattern_error

__all__ = ["syntax_error"]

# The first words of the parser's sentences, each with its remedy.
_REMEDIES = (
    ("unknown extension ?<", "a named group is written (?P<name>...)"),
    ("unknown extension ?'", "a named group is written (?P<name>...)"),
    ("unknown extension ?|", "write (?:...): groups have no numbers here"),
    *(
        (f"unknown extension ?{call}", "a pattern cannot call itself; write a grammar, such as detent.grammar")
        for call in ("R", "&", "P>", *"0123456789")
    ),
    ("unknown extension", "Python's re has no such group; write it another way"),
    ("bad escape (end", r"write \\ for a backslash"),
    (r"bad escape \z", r"write \Z for the end of the text"),
    (r"bad escape \h", r"write [ \t] for a blank"),
    (r"bad escape \R", r"write (?:\r\n|\n|\r) for a line break"),
    (r"bad escape \e", r"write \x1b for the escape character"),
    (r"bad escape \c", r"write the control character as \xHH"),
    (r"bad escape \Q", "put a backslash before each character that is no letter, as re.escape does"),
    (r"bad escape \X", r"write \P{M}\p{M}* for a character and its marks"),
    (r"bad escape \U", r"write \UXXXXXXXX with a code point up to 0010ffff"),
    ("incomplete escape", r"write \xHH, \uXXXX or \UXXXXXXXX, with all of the digits and without braces"),
    (r"bad escape \g", "a pattern cannot call a group; write the group out"),
    ("bad escape", r"write \\ for a backslash, or leave it out"),
    ("global flags not at the start", "move the flags to the front, or write (?i:...) around the part"),
    ("Flags not at the start", "move the flags to the front, or write (?i:...) around the part"),
    ("nothing to repeat", "put what is to repeat before it, or a backslash for the character itself"),
    ("multiple repeat", "put the first repeat in a group, as in (?:a*)*"),
    ("unbalanced parenthesis", r"write \) for the character itself"),
    ("missing ), unterminated subpattern", r"close the group, or write \( for the character itself"),
    ("unterminated character set", r"close the class with ], or write \[ for the character itself"),
    ("bad character range", r"a range goes up from one character to another; write \- for the character itself"),
    ("unknown property", r"names are as in the package regex, such as \p{L}, \p{Lu}, \p{Greek}"),
    ("min repeat greater", "the first count is the smaller one, as in {2,5}"),
    ("missing :", "write (?i:...) or (?-i:...) around the part whose flags change"),
    ("missing {", r"write \N{NAME}, with the name of a character; [^\n] is any but a line end"),
    ("invalid group reference", "there is no group of that number; write \\x and two hex digits for a character"),
    ("redefinition of group name", "give each group a name of its own, or leave the names out: (?:...)"),
    ("bad character in group name", "a name consists of letters, digits and underscores, and begins with no digit"),
    ("missing ), unterminated comment", "close the comment with )"),
    ("Possible", "put a backslash before the character to mean the character itself"),
)


_POSIX_CLASS = re.compile(r"\[:\^?(alpha|digit|alnum|upper|lower|punct|space|xdigit):\]")


def syntax_error(what: str, pattern: str, offset: int) -> DetentError:
    """Return the error for a sentence of the parser; its warnings ("Possible nested set") are errors here."""
    if what.startswith("Possible nested set") and (posix := _POSIX_CLASS.match(pattern, offset)):
        message = f"{posix[0]} is a class of POSIX, which re does not have"
        escape = r"\P" if "^" in posix[0] else r"\p"
        return pattern_error(UnsupportedError, message, pattern, offset, f"write {escape}{{{posix[1].capitalize()}}}")
    remedy = next((remedy for start, remedy in _REMEDIES if what.startswith(start)), "correct the pattern there")
    if what.startswith("Possible"):
        message = f"{what[0].lower()}{what[1:]}: re takes it for characters but may come to change that"
        return pattern_error(UnsupportedError, message, pattern, offset, remedy)
    return pattern_error(PatternSyntaxError, what, pattern, offset, remedy)

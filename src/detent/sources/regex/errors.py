"""The errors of the standard library's parser as detent errors: its sentence, the position, and a remedy."""

from __future__ import annotations

from detent.errors import DetentError, PatternSyntaxError, UnsupportedError
from detent.sources.diagnostics import pattern_error

__all__ = ["syntax_error"]

# The first words of the parser's sentences, each with its remedy.
_REMEDIES = (
    ("unknown extension ?<", "a named group is written (?P<name>...)"),
    ("unknown extension", "Python's re has no such group; write it another way"),
    ("bad escape (end", r"write \\ for a backslash"),
    (r"bad escape \z", r"write \Z for the end of the text"),
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
    ("Possible", "put a backslash before the character to mean the character itself"),
)


def syntax_error(what: str, pattern: str, offset: int) -> DetentError:
    """Return the error for a sentence of the parser; its warnings ("Possible nested set") are errors here."""
    remedy = next((remedy for start, remedy in _REMEDIES if what.startswith(start)), "correct the pattern there")
    if what.startswith("Possible"):
        message = f"{what[0].lower()}{what[1:]}: re takes it for characters but may come to change that"
        return pattern_error(UnsupportedError, message, pattern, offset, remedy)
    return pattern_error(PatternSyntaxError, what, pattern, offset, remedy)

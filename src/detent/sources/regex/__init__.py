r"""Regex: Python's `re` syntax as a language.

The standard library's parser reads the pattern (`parser`). `translate` makes a node of the core from the parser's tree:
classes become sets of code points (`classes`, `characters`, `case_folding`), and anchors become lookarounds
(`assertions`). `re.fullmatch` is the oracle: the language is the UTF-8 of every text that it accepts.
"""

from __future__ import annotations

import re
from functools import cache

from detent.errors import ArgumentError, LimitError, UnsupportedError
from detent.language import Language
from detent.limits import Limits, read_limits
from detent.origin import Origin
from detent.sources.diagnostics import pattern_error
from detent.sources.nodes import short_repr
from detent.sources.regex.locations import RegexSource
from detent.sources.regex.parser import parse
from detent.sources.regex.translate import translate
from detent.suggestions import read_the_file, suggests_names

__all__ = ["regex"]

# Plain integers: arithmetic on re.RegexFlag takes microseconds.
_REFUSED_FLAGS = ~int(re.IGNORECASE | re.MULTILINE | re.DOTALL | re.VERBOSE | re.ASCII | re.UNICODE)
_BOTH_ALPHABETS = int(re.ASCII | re.UNICODE)
_SURROGATE = re.compile("[\ud800-\udfff]")


@suggests_names
def regex(pattern: str, flags: int | re.RegexFlag = 0, *, limits: Limits | None = None) -> Language[str]:
    r"""Make the language of all texts that a pattern matches from end to end.

    >>> import re
    >>> import detent
    >>> detent.regex(r"\d{4}-\d{2}-\d{2}", re.ASCII)
    Language(regex '\\d{4}-\\d{2}-\\d{2}', re.ASCII)

    The syntax is that of `re`, and so is the meaning: a text is in the language exactly when
    ``re.fullmatch(pattern, text, flags)`` matches. Beyond `re` there are Unicode properties (``\p{L}``, ``\P{Greek}``,
    named as in the package regex) and lookbehinds of any width.

    Parameters
    ----------
    pattern : str
        A pattern; unlike in `re`, never bytes.
    flags : int or re.RegexFlag
        Any of IGNORECASE, MULTILINE, DOTALL, VERBOSE, ASCII, UNICODE.
    limits : Limits, optional
        Bounds on the source text (`source_bytes`), its nesting (`depth`) and its size (`pattern_size`).

    Returns
    -------
    Language
        Costs time linear in the pattern, about 2 us a character; the first use of a Unicode class in a process, 10 ms.

    Raises
    ------
    PatternSyntaxError
        `re` refuses the pattern; the message shows where, `offset` is the character.
    UnsupportedError
        What is not regular (backreferences, conditional groups) or has no exact form here (atomic groups with choices,
        possessive repeats of groups), what UTF-8 text cannot hold (surrogates), and classes of which `re` warns that
        their meaning may change.
    LimitError
        A limit was reached, or a repeat count is above 2**32 - 2.
    ArgumentError
        The pattern is not a str, or a flag has no meaning here.
    """
    if not isinstance(pattern, str):
        raise ArgumentError(f"regex needs a pattern of type str, got {type(pattern).__name__}{_advice(pattern)}")
    if not isinstance(flags, int) or int(flags) & _REFUSED_FLAGS:
        raise ArgumentError(
            "regex takes the flags IGNORECASE, MULTILINE, DOTALL, VERBOSE, ASCII and UNICODE of re, "
            f"got {short_repr(flags)}"
        )
    flags = int(flags)
    if flags & _BOTH_ALPHABETS == _BOTH_ALPHABETS:
        raise ArgumentError("the flags ASCII and UNICODE exclude each other; pass one of them")
    bounds = read_limits(limits)
    _check_text(pattern, bounds)
    tree, all_flags = parse(pattern, flags, bounds)
    node = translate(tree, all_flags, bounds.pattern_size)
    return Language(node, _describe(pattern, flags), _origin=Origin(source=RegexSource(pattern, flags)))


def _check_text(pattern: str, bounds: Limits) -> None:
    size = len(pattern)
    if not pattern.isascii():
        found = _SURROGATE.search(pattern)
        if found:
            offset = found.start()
            what, remedy = "half of a surrogate pair, which UTF-8 text never holds", "decode the pattern's text first"
            raise pattern_error(UnsupportedError, what, pattern, offset, remedy)
        size = len(pattern.encode())
    if size > bounds.source_bytes:
        raise LimitError(
            f"the pattern has {size} bytes, above the limit of {bounds.source_bytes}; "
            "shorten it or raise Limits(source_bytes=...)",
            subject="source_bytes",
            limit=bounds.source_bytes,
            given=size,
        )


def _advice(pattern: object) -> str:
    if isinstance(pattern, re.Pattern):
        return "; pass its .pattern and .flags"
    if isinstance(pattern, (bytes, bytearray)):
        return "; decode it"
    return read_the_file(pattern)


def _describe(pattern: str, flags: int) -> str:
    shown = repr(pattern if len(pattern) <= 200 else pattern[:199] + "…")
    return f"regex {shown}, {_flag_names(flags)}" if flags else f"regex {shown}"


@cache
def _flag_names(flags: int) -> str:
    return repr(re.RegexFlag(flags))

r"""Formats that are small languages: JSON pointers, UUIDs, and regular expressions.

Regular expressions nest, and compare distant parts (the bounds of a range, the counts of a repeat, names of groups).
`regular_expression` returns the patterns of `pattern_node` that a regular language can prove valid. Groups nest up to
`_DEPTH` deep. Ranges are within ASCII, or from ASCII to above. Both counts of a repeat have at most two digits, or the
second has more digits than the first. There are no back-references.
"""

from __future__ import annotations

import re

from detent import _core
from detent.sources.nodes import concat, optional, repeat, union
from detent.sources.regex import regex

__all__ = ["json_pointer", "regular_expression", "relative_json_pointer", "uuid"]

_DEPTH = 8
_POINTER = "(?:/(?:[^~/]|~[01])*)*"


def uuid() -> _core.Node:
    """Return the UUIDs of RFC 9562, in letters of either case."""
    return _node("[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")


def json_pointer() -> _core.Node:
    """Return the pointers of RFC 6901."""
    return _node(_POINTER)


def relative_json_pointer() -> _core.Node:
    """Return the relative pointers of draft-bhutton-relative-json-pointer-00, which may move among the items."""
    return _node(f"(?:0|[1-9][0-9]*)(?:[+-][1-9][0-9]*)?(?:#|{_POINTER})")


def regular_expression() -> _core.Node:
    """Return the patterns that `pattern_node` takes, as far as a regular language can describe them."""
    atom = union(_node(rf"[^\\^$.*+?()\[\]{{}}|]|[.\]}}]|{_ESCAPE}"), _character_class())
    quantifier = concat(union(_node("[*+?]"), _counts()), optional("?"))
    anchor = _node(r"[\^$]|\\[bB]")
    # From the inside out: patterns with groups up to n deep contain, shared, those up to n - 1 deep.
    pattern = _alternatives(union(concat(atom, optional(quantifier)), anchor))
    for _ in range(_DEPTH):
        group = concat(_node(r"\((?:\?(?::|<[A-Za-z_][A-Za-z0-9_]*>|[=!]))?"), pattern, ")")
        lookbehind = concat(_node(r"\(\?<[=!]"), pattern, ")")
        pattern = _alternatives(union(concat(union(atom, group), optional(quantifier)), lookbehind, anchor))
    return pattern


_ESCAPE = (
    r"\\(?:[dDwWsStnvfr]|[^A-Za-z0-9]|c[A-Za-z]|x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|u\{0*[0-9A-Fa-f]{1,5}\})"
    r"|\\[pP]\{(?:L[ultmo]?|M[nce]?|N[dlo]?|P[cdseifo]?|S[mcko]?|Z[slp]?|C[cfo]?)\}"
)


def _alternatives(term: _core.Node) -> _core.Node:
    terms = repeat(term, 0, None)
    return concat(terms, repeat(concat("|", terms), 0, None))


def _character_class() -> _core.Node:
    single = rf"[^\\\]\-]|{_ESCAPE}|\\b"
    # The upper bound of a range from an ASCII character is at least that character.
    lows = [chr(code) for code in range(0x20, 0x7F) if chr(code) not in "\\]-"]
    ranges = "|".join(f"{re.escape(low)}-[{_class_from(low)}]" for low in lows)
    # A hyphen that is not part of a range is first or last.
    return _node(rf"\[\^?-?(?:{ranges}|{single})*-?\]")


def _class_from(low: str) -> str:
    return (
        "".join(re.escape(chr(code)) for code in range(ord(low), 0x7F) if chr(code) not in "\\]-") + "\x80-\U0010ffff"
    )


def _counts() -> _core.Node:
    digits = range(10)
    ones = "|".join(f"{low},[{low}-9]" for low in digits)
    tens = "|".join(f"{low}\\d,[{low + 1}-9]\\d" for low in range(1, 9))
    same = "|".join(f"{ten}(?:{'|'.join(f'{low},{ten}[{low}-9]' for low in digits)})" for ten in range(1, 10))
    longer = "|".join(rf"[1-9]\d{{{size - 1}}},[1-9]\d{{{size},7}}" for size in range(1, 5))
    return _node(rf"\{{(?:\d{{1,8}},?|{ones}|0,[1-9]\d{{1,7}}|{tens}|{same}|{longer})\}}")


def _node(pattern: str) -> _core.Node:
    return regex(pattern, re.ASCII | re.DOTALL)._node

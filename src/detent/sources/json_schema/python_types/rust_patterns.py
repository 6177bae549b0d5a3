r"""Patterns of pydantic, which compiles them with Rust's `regex`, in the notation of ECMA-262.

Both read most patterns alike. In Rust ``\d``, ``\w``, ``\s`` and ``\b`` are Unicode's, the dot matches every character
but a line feed, and classes have operations.
"""

from __future__ import annotations

import re

from detent.errors import UnsupportedError
from detent.sources.nodes import short_repr

__all__ = ["as_ecma_pattern"]

_ESCAPES = {
    "d": r"\p{Nd}",
    "w": r"\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\u200c\u200d",
    "s": r"\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000",
}
_WORD = f"[{_ESCAPES['w']}]"
_BOUNDARY = f"(?:(?<={_WORD})(?!{_WORD})|(?<!{_WORD})(?={_WORD}))"
_NO_BOUNDARY = f"(?:(?<={_WORD})(?={_WORD})|(?<!{_WORD})(?!{_WORD}))"
_OUTSIDE = {
    **{name: f"[{characters}]" for name, characters in _ESCAPES.items()},
    **{name.upper(): f"[^{characters}]" for name, characters in _ESCAPES.items()},
    "b": _BOUNDARY,
    "B": _NO_BOUNDARY,
    "A": "^",
    "z": "$",
}
# An escape, the start of a class, the start of a named group, a repeat, or one character.
_ESCAPE = r"\\(?:[pP](?:\{[^}]*\}|.)|[xuU]\{[^}]*\}|U[0-9A-Fa-f]{8}|b\{[a-z-]+\}|.)"
_PART = re.compile(rf"{_ESCAPE}|\[\^?\]?|\(\?P<|\{{[\d\s,]*\}}|.", re.DOTALL)
_OTHERS = {".": r"[^\n]", "(?P<": "(?<"}
_OPERATION = re.compile(r"&&|--|~~")
# Flags that Rust reads otherwise than ECMA-262, or does not share with it.
_OTHER_FLAGS = re.compile(r"\(\?(?=[a-zA-Z-]+[:)])(?!-?i[:)])")


def as_ecma_pattern(pattern: str) -> str:
    r"""Return the pattern of ECMA-262 that means what Rust's `regex` reads.

    >>> as_ecma_pattern(r"^\d[\d_]?.$")
    '^[\\p{Nd}][\\p{Nd}_]?[^\\n]$'

    Raises
    ------
    UnsupportedError
        A class contains a class or an operation, such as ``[[:alpha:]]`` or ``[a-z&&[^b]]``; or there are flags other
        than ``i``, or ``i`` beside ``\P``, which Rust negates after the case is ignored.
    """
    if _OTHER_FLAGS.search(pattern) or ("(?i" in pattern and r"\P" in pattern):
        raise UnsupportedError(
            rf"the pattern {short_repr(pattern)} has flags of Rust's other than i, or i beside \P, "
            "which ECMA-262 reads otherwise; write the characters out"
        )
    out = []
    parts = [match[0] for match in _PART.finditer(pattern)]
    position = 0
    while position < len(parts):
        part = parts[position]
        position += 1
        if part.startswith("["):
            end = position
            while end < len(parts) and parts[end] != "]":  # no end: in a comment under (?x), which is refused later
                end += 1
            out.append(_class(part, parts[position:end]))
            position = end + 1
        elif part.startswith("\\"):
            out.append(_escape(part))
        else:
            out.append(_OTHERS.get(part) or (re.sub(r"\s", "", part) if part.startswith("{") else part))
    return "".join(out)


def _escape(part: str) -> str:
    if part in (r"\<", r"\>") or part.startswith(r"\b{"):
        raise UnsupportedError(rf"{part} in a pattern is Rust's and cannot be held; write \b")
    if part == r"\a":
        return r"\x07"
    name, rest = part[1], part[2:]
    if name in "pP" and len(rest) == 1:
        return rf"\{name}{{{rest}}}"
    if name in "xU" and rest:
        return rf"\u{{{rest.strip('{}').lstrip('0') or '0'}}}"
    return _OUTSIDE.get(part[1:], part)


def _class(start: str, parts: list[str]) -> str:
    """Return a class; one with the negation of a class inside becomes an alternative."""
    negation = "^" if start.startswith("[^") else ""
    # Rust reads a bracket at the start, or hyphens there, as themselves; after the bracket, two hyphens are operations.
    has_bracket = start.endswith("]")
    inside = [r"\]"] if has_bracket else []
    excluded = []
    while parts[:1] == ["-"] and not (has_bracket and parts[1:2] == ["-"]):
        inside, parts = [*inside, r"\-"], parts[1:]
    characters_alone = "".join("x" if part.startswith("\\") else part for part in parts)
    if any(part.startswith("[") for part in parts) or _OPERATION.search(characters_alone):
        raise UnsupportedError(
            f"the class {short_repr(start + ''.join(parts) + ']')} in a pattern contains a class or an operation of "
            "Rust's (&&, --, ~~), which ECMA-262 does not have; write one class of characters and ranges"
        )
    for part in parts:
        name = part[1:]
        if part.startswith("\\") and name in ("D", "W", "S"):
            excluded.append(_ESCAPES[name.lower()])
        elif part.startswith("\\") and name in _ESCAPES:
            inside.append(_ESCAPES[name])
        else:
            inside.append(_escape(part) if part.startswith("\\") else part)
    own = "".join(inside)
    if not excluded:
        return f"[{negation}{own}]"
    if negation:
        within = "".join(f"(?=[{characters}])" for characters in excluded)
        return f"(?:{within}[^{own}])"
    return f"(?:{'|'.join([*([f'[{own}]'] if own else []), *(f'[^{each}]' for each in excluded)])})"

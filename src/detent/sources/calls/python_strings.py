r"""Python's string literals as nodes, in single and double quotes.

A character is itself, or an escape: ``\\ \' \" \a \b \f \n \r \t \v \xHH \uXXXX \UXXXXXXXX``. Left out are octal
escapes, ``\N{...}``, line continuations, raw control characters, prefixes and triple quotes; no text needs them.
"""

from __future__ import annotations

from detent import _core
from detent.sources.nodes import ANY_BYTES, concat, repeat, union

__all__ = ["any_string", "constant_string", "string_matching"]

_HEX = _core.byte_set(b"0123456789abcdefABCDEF")
_SURROGATE = concat(_core.byte_set(b"dD"), _core.byte_set(b"89abcdefABCDEF"), _HEX, _HEX)
_FOUR = _core.intersection([repeat(_HEX, 4, 4), _core.complement(_SURROGATE)])
_PLANE = union(concat("000", _core.byte_set(b"123456789abcdefABCDEF")), "0010")
_ESCAPE = concat(
    "\\",
    union(
        _core.byte_set(b"\\'\"abfnrtv"),
        concat("x", _HEX, _HEX),
        concat("u", _FOUR),
        concat("U", union(concat("0000", _FOUR), concat(_PLANE, repeat(_HEX, 4, 4)))),
    ),
)
_RAW = {
    "'": _core.chars([(0x20, 0x26), (0x28, 0x5B), (0x5D, 0x10FFFF)]),
    '"': _core.chars([(0x20, 0x21), (0x23, 0x5B), (0x5D, 0x10FFFF)]),
}
_NAMED = {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}

# Of the escapes of JSON, those that Python reads alike: not `\/`, and surrogates only of characters in no pair.
_ALIKE = repeat(
    union(
        _core.chars([(0x20, 0x5B), (0x5D, 0x10FFFF)]),
        concat("\\", union(_core.byte_set(b'"\\bfnrt'), concat("u", _FOUR))),
    ),
    0,
    None,
)
_NO_APOSTROPHE = _core.complement(concat(ANY_BYTES, "'", ANY_BYTES))


def any_string(low: int, high: int | None) -> _core.Node:
    r"""Return all literals of `low` to `high` characters, in every spelling.

    >>> from detent.language import Language
    >>> two = Language(any_string(2, 2), "two")
    >>> [two.accepts(text) for text in ("'é!'", '"a\\x41"', "'it'", "'abc'", "'a\"")]
    [True, True, True, False, False]
    """
    return union(*[concat(q, repeat(union(raw, _ESCAPE), low, high), q) for q, raw in _RAW.items()])


def constant_string(text: str) -> _core.Node:
    r"""Return the two literals of one text, spelled as `repr` would: with escapes only where they are needed.

    >>> from detent.language import Language
    >>> sorted(Language(constant_string("it's"), "it's").enumerate())
    [b'"it\'s"', b"'it\\'s'"]
    """
    return union(*[f"{q}{''.join(_spelled(character, q) for character in text)}{q}" for q in _RAW])


def string_matching(texts: _core.Node) -> _core.Node:
    r"""Return the literals of the texts of a node, which is within UTF-8.

    Spelled with the escapes that JSON and Python share, quotation marks too; or, in single quotes, without an escape.
    So a text with an apostrophe is in double quotes.

    >>> from detent.language import Language
    >>> from detent.sources.nodes import concat
    >>> tab = Language(string_matching(concat("\t")), "tab")
    >>> [tab.accepts(text) for text in ("'\\t'", '"\\u0009"', "'\\x09'", "'t'")]
    [True, True, False, False]
    >>> said = Language(string_matching(concat('"Hi"')), "said")
    >>> [said.accepts(text) for text in ("'\"Hi\"'", r"'\"Hi\"'", r'"\"Hi\""', '""Hi""')]
    [True, True, True, False]
    """
    double = concat('"', _core.intersection([_core.json_string(texts), _ALIKE]), '"')
    inside = _core.json_string(_core.intersection([texts, _NO_APOSTROPHE]))
    raw = _core.intersection([texts, repeat(_RAW["'"], 0, None)])
    return union(double, concat("'", union(_core.intersection([inside, _ALIKE]), raw), "'"))


def _spelled(character: str, quote: str) -> str:
    if character == quote:
        return f"\\{quote}"
    if character in _NAMED:
        return _NAMED[character]
    return f"\\x{ord(character):02x}" if ord(character) < 0x20 else character

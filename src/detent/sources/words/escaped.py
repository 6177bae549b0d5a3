r"""Words in texts with escapes: a string of JSON or of Python, `"li\u0073ten"`, decodes to the word "listen".

A character of a word is itself or one of its escapes. An escape starts at a backslash that is not itself escaped: the
text before it is a sequence of other bytes and of backslashes with the byte after each. So the language is regular over
the bytes of the text, without a parse of quotation marks.

A pattern with assertions looks at the whole string, so there the quotation marks count. Its strings are decoded by the
operator of the core for JSON strings. The escapes that Python has and JSON has not are excluded with it: each character
that they stand for has another form.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache, lru_cache
from itertools import product

from detent import _core
from detent.code_points import Ranges
from detent.origin import Quotes
from detent.sources.nodes import ANY_BYTES, concat, optional, repeat, union
from detent.sources.regex.characters import category_ranges
from detent.sources.words.caseless import CaselessAlphabet
from detent.sources.words.trie import prefix_free, trie

__all__ = ["BEFORE", "containing_escaped", "strings_of"]

_LETTERS = {'"': '"', "'": "'", "\\": "\\", "/": "/", "\b": "b", "\f": "f", "\n": "n", "\r": "r", "\t": "t"}
_LETTERS |= {"\a": "a", "\v": "v"}
_NO_BACKSLASH = _core.byte_set(bytes(byte for byte in range(256) if byte != 0x5C))
_BYTE = _core.byte_set(bytes(range(256)))
_NO_QUOTE = _core.byte_set(bytes({*range(256)} - {*b"\"'"}))
_IN_QUOTES = [
    concat(q, repeat(union(concat("\\", _BYTE), _core.byte_set(bytes({*range(256)} - {ord(q), 0x5C}))), 0, None), q)
    for q in "\"'"
]
_BALANCED = repeat(union(_NO_QUOTE, *_IN_QUOTES), 0, None)
"""The texts after which a quote begins a string."""

BEFORE = repeat(union(_NO_BACKSLASH, concat("\\", _BYTE)), 0, None)
"""The texts after which a backslash is not escaped."""


def containing_escaped(words: Iterable[bytes], ignore_case: bool, whole_words: bool) -> _core.Node:
    r"""Return the texts in which a word stands whose characters may be escaped as in JSON or Python.

    >>> from detent.language import Language
    >>> hidden = Language(containing_escaped([b"listen"], False, False), "hidden")
    >>> [hidden.accepts(text) for text in (r'"li\u0073ten"', r"'\x6cisten'", r'"li\\u0073ten"', '"lis"')]
    [True, True, False, False]

    Words that are no UTF-8 are left out, since no string decodes to them.
    """
    texts = [text for text in map(_decoded, words) if text]
    if not texts:
        return _core.empty()
    alphabet = _EscapedAlphabet(CaselessAlphabet(texts) if ignore_case else None)
    folded = sorted({alphabet.fold(text) for text in texts})
    before, after = BEFORE, ANY_BYTES
    if whole_words:
        edge = _no_word_character()
        before, after = optional(concat(BEFORE, edge)), optional(concat(edge, ANY_BYTES))
    return concat(before, trie(folded if whole_words else prefix_free(folded), alphabet), after)


def strings_of(texts: _core.Node, quotes: Quotes) -> _core.Node:
    r"""Return the texts with a string in quotes that decodes to one of some texts, or has an escape of Python alone.

    >>> from detent.language import Language
    >>> from detent.sources.regex import regex
    >>> found = Language(strings_of(regex("l.sten")._node, Quotes.BALANCED), "found")
    >>> [found.accepts(text) for text in (r'["li\u0073ten"]', r"f(a='\x41')", r'["lis\\x"]', '["lost"]')]
    [True, True, False, False]

    Between mixed quotes each text from one quote to another one counts as a string.
    """
    before = ANY_BYTES if quotes is Quotes.MIXED else _BALANCED
    inside = _core.json_string(texts)
    single = _core.intersection([inside, _core.complement(concat(ANY_BYTES, "'", ANY_BYTES))])
    strings = concat(before, union(concat('"', inside, '"'), concat("'", single, "'")), ANY_BYTES)
    return union(strings, concat(BEFORE, "\\", _core.byte_set(b"avxU'"), ANY_BYTES))


def _decoded(word: bytes) -> str:
    try:
        return word.decode()
    except UnicodeDecodeError:
        return ""


class _EscapedAlphabet:
    """Characters, or those of a caseless alphabet, each itself or escaped."""

    def __init__(self, caseless: CaselessAlphabet | None) -> None:
        self._caseless = caseless
        self._nodes: dict[str, _core.Node] = {}

    def fold(self, word: str) -> str:
        return word if self._caseless is None else self._caseless.fold(word)

    def sequence(self, symbols: str) -> _core.Node:
        """Return the node of a sequence of symbols."""
        return _core.concat([self._node(symbol) for symbol in symbols])

    def _node(self, symbol: str) -> _core.Node:
        found = self._nodes.get(symbol)
        if found is None:
            found = self._nodes[symbol] = _core.union([_core.literal(one) for one in self.encodings(symbol)])
        return found

    def encodings(self, symbol: str) -> tuple[bytes, ...]:
        """Return the bytes of each form of each character that a symbol stands for."""
        characters = [symbol]
        if self._caseless is not None:
            characters = [encoding.decode() for encoding in self._caseless.encodings(symbol)]
        return tuple(form for character in characters for form in _forms(character))


@lru_cache(maxsize=4096)
def _forms(character: str) -> tuple[bytes, ...]:
    """Return the character itself, which a backslash cannot be, and its escapes."""
    code = ord(character)
    escapes = [_LETTERS[character]] if character in _LETTERS else []
    if code < 0x100:
        escapes += _in_any_case("x", f"{code:02x}")
    units = character.encode("utf-16-be").hex()
    escapes += [
        "\\".join(pair) for pair in product(*(_in_any_case("u", units[i : i + 4]) for i in range(0, len(units), 4)))
    ]
    escapes += _in_any_case("U", f"{code:08x}")
    return (*([] if character == "\\" else [character.encode()]), *(f"\\{escape}".encode() for escape in escapes))


def _in_any_case(letter: str, digits: str) -> list[str]:
    """Return an escape's letter and digits, these in both cases."""
    return [letter + "".join(case) for case in product(*(sorted({digit, digit.upper()}) for digit in digits))]


@cache
def _no_word_character() -> _core.Node:
    r"""Return the node of one character that `\w` does not match, itself or escaped."""
    ranges = category_ranges("w", True, False)
    letters = _core.byte_set("".join(_LETTERS.values()).encode())
    raw = _core.chars([(low, high) for low, high in _without(ranges, ord("\\"))])
    return union(raw, concat("\\", letters), concat("\\u", _hex_digits(ranges)))


def _without(ranges: Ranges, code: int) -> Iterable[tuple[int, int]]:
    for low, high in ranges:
        if low <= code <= high:
            yield from ((a, b) for a, b in ((low, code - 1), (code + 1, high)) if a <= b)
        else:
            yield low, high


def _hex_digits(ranges: Ranges) -> _core.Node:
    """Return the four hexadecimal digits of the code points below U+10000 in ranges; surrogates count as one."""
    lows: dict[int, set[int]] = {}
    for first, last in ranges:
        for code in range(first, min(last, 0xFFFF) + 1):
            lows.setdefault(code >> 8, set()).add(code & 0xFF)
    by_low: dict[frozenset[int], list[int]] = {}
    for high, found in lows.items():
        by_low.setdefault(frozenset(found), []).append(high)
    return union(*(concat(_pairs(highs), _pairs(low)) for low, highs in by_low.items()))


def _pairs(values: Iterable[int]) -> _core.Node:
    """Return two hexadecimal digits of values below 256."""
    return union(*(text for value in values for text in sorted({f"{value:02x}", f"{value:02X}"})))

"""Strings in quotes: the texts of which a decoded string is in a language, for words that escapes must not hide."""

from __future__ import annotations

from detent import _core
from detent.sources.nodes import ANY_BYTES, UTF8, concat, repeat, union

__all__ = ["in_strings"]


def in_strings(decoded: _core.Node) -> _core.Node:
    r"""Return the texts with a string in quotes whose escapes decode to a text of `decoded`.

    >>> from detent.language import Language
    >>> from detent.sources.words.containing import containing_node
    >>> hidden = Language(in_strings(containing_node(["listen"], "words", False, False)), "hidden")
    >>> [hidden.accepts(text) for text in (r'["a", "li\u0073ten"]', r'["li\\u0073ten"]', '["a"]')]
    [True, False, False]

    Outside of the strings of JSON and of Python literals, a quotation mark begins a string, so the parse of these is
    exact. The escapes are those of JSON.
    """
    strings = []
    for quote in ('"', "'"):
        character = union(_bytes_except(quote + "\\"), concat("\\", _bytes_except("")))
        strings.append(concat(quote, repeat(character, 0, None), quote))
    before = repeat(union(_bytes_except("\"'"), *strings), 0, None)
    content = _core.json_string(_core.intersection([UTF8, decoded]))
    return concat(before, union(concat('"', content, '"'), concat("'", content, "'")), ANY_BYTES)


def _bytes_except(characters: str) -> _core.Node:
    return _core.byte_set(bytes(byte for byte in range(256) if chr(byte) not in characters))

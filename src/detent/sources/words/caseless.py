"""Words whose case is ignored: each character is replaced by the least one that it matches.

Characters match as in Python's `re.IGNORECASE`, one character for one: "k", "K" and the Kelvin sign; "ß" and "ẞ", but
never "ss"; "i", "I", "İ" and "ı".
"""

from __future__ import annotations

from collections.abc import Iterable

from detent import _core
from detent.sources.regex.case_folding import case_variants

__all__ = ["CaselessAlphabet"]


class CaselessAlphabet:
    """The characters of some words, each with all that it matches."""

    def __init__(self, words: Iterable[str]) -> None:
        self._least: dict[int, int] = {}
        self._alike: dict[str, tuple[str, ...]] = {}
        for character in set().union(*words):
            code = ord(character)
            codes = {code}.union(*(range(low, high + 1) for low, high in case_variants([(code, code)], False)))
            alike = tuple(map(chr, sorted(codes)))
            self._least.update((ord(variant), ord(alike[0])) for variant in alike)
            self._alike[alike[0]] = alike
        self._nodes = {
            least: _core.chars([(ord(character), ord(character)) for character in alike])
            for least, alike in self._alike.items()
        }

    def fold(self, word: str) -> str:
        """Return the word with each character replaced by the least that it matches."""
        return word.translate(self._least)

    def sequence(self, symbols: str) -> _core.Node:
        """Return the node of a sequence of folded characters."""
        return _core.concat([self._nodes[symbol] for symbol in symbols])

    def encodings(self, symbol: str) -> tuple[bytes, ...]:
        """Return the UTF-8 of every character that a folded character matches."""
        return tuple(character.encode() for character in self._alike[symbol])

r"""Aho-Corasick search for banned words and stop strings in a text that is still being generated.

`AhoCorasick` is the automaton: a trie of the words with failure links (Aho & Corasick 1975). `MatchState` is the state
of one text in it. It answers two questions: which word is complete, and from which byte on the text may become a word.

The alphabet is bytes. With `ignore_case` or `whole_words` it is characters, folded to the least equivalent one; a byte
that is not UTF-8 is then a symbol that no word contains. A state can be restored from a checkpoint.

The words found are those of `detent.containing`, byte for byte.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from detent.sources.words.caseless import CaselessAlphabet
from detent.sources.words.containing import read_words

__all__ = ["AhoCorasick", "Checkpoint", "Match", "MatchState"]


class Match(NamedTuple):
    """The bytes of a word: offsets from the start of the text, negative in the bytes before the text."""

    start: int
    end: int


class Checkpoint(NamedTuple):
    """A snapshot of a `MatchState`."""

    node: int
    partial_character: bytes
    symbol_count: int
    length: int


class AhoCorasick:
    """The automaton of a list of words; immutable, shared by any number of `MatchState`.

    >>> state = AhoCorasick(["listen"], "example").start()
    >>> state.feed(b"He li"), state.pending()
    (None, 3)
    >>> state.feed(b"stens")
    Match(start=3, end=9)

    Parameters
    ----------
    words : sequence of str or bytes
        At least one; see `detent.containing`.
    argument : str
        The name of the argument in error messages.
    ignore_case, whole_words : bool
        As `detent.containing` has them.

    Cost: linear in the words; 10,000 of them take 0.2 s.
    """

    def __init__(
        self, words: Sequence[str | bytes], argument: str, *, ignore_case: bool = False, whole_words: bool = False
    ) -> None:
        self.uses_characters = ignore_case or whole_words
        self.whole_words = whole_words
        encoded = read_words(words, argument, as_text=self.uses_characters)
        symbols = [word.decode("utf-8" if self.uses_characters else "latin-1") for word in encoded]
        self.fold: dict[str, str] = {}
        self._variants: dict[str, tuple[bytes, ...]] = {}
        if ignore_case:
            alphabet = CaselessAlphabet(symbols)
            symbols = [alphabet.fold(word) for word in symbols]
            for symbol in set().union(*symbols):
                self._variants[symbol] = alphabet.encodings(symbol)
                self.fold.update({variant.decode(): symbol for variant in self._variants[symbol]})
        self.words: tuple[str, ...] = tuple(sorted(set(symbols)))
        self.longest = max(map(len, self.words))
        self.children: list[dict[str, int]] = [{}]
        self.depth = [0]
        self._is_word = [False]
        for word in self.words:
            self._add(word)
        self.fail = [0] * len(self.depth)
        self.longest_word = [0] * len(self.depth)
        self._link()

    def _add(self, word: str) -> None:
        node = 0
        for symbol in word:
            if symbol not in self.children[node]:
                self.children[node][symbol] = len(self.depth)
                self.children.append({})
                self.depth.append(self.depth[node] + 1)
                self._is_word.append(False)
            node = self.children[node][symbol]
        self._is_word[node] = True

    def _link(self) -> None:
        """Compute for each node its longest proper suffix in the trie, and its longest suffix that is a word."""
        level = [0]
        while level:
            deeper = []
            for node in level:
                self.longest_word[node] = node if self._is_word[node] else self.longest_word[self.fail[node]]
                for symbol, child in self.children[node].items():
                    self.fail[child] = self.step(self.fail[node], symbol) if node else 0
                    deeper.append(child)
            level = deeper

    def step(self, node: int, symbol: str) -> int:
        """Return the node of the longest suffix of the text after one more symbol."""
        while node and symbol not in self.children[node]:
            node = self.fail[node]
        return self.children[node].get(symbol, 0)

    def suffix_nodes(self, node: int) -> Iterator[int]:
        """Yield the node and the nodes on its chain of failure links, without the root."""
        while node:
            yield node
            node = self.fail[node]

    def is_word(self, node: int) -> bool:
        """Return whether the node is a complete word."""
        return self._is_word[node]

    def may_follow(self, node: int, prefix: bytes) -> bool:
        """Return whether the node has a child by a character whose UTF-8 begins with `prefix`."""
        return any(
            variant.startswith(prefix)
            for symbol in self.children[node]
            for variant in self._variants.get(symbol) or (symbol.encode(),)
        )

    def suffixes(self, node: int) -> Iterator[str]:
        """Yield the folded remainder of each longer word that begins with the node's symbols."""
        stack = [(child, symbol) for symbol, child in self.children[node].items()]
        while stack:
            descendant, suffix = stack.pop()
            if self._is_word[descendant]:
                yield suffix
            stack += [(child, suffix + symbol) for symbol, child in self.children[descendant].items()]

    def start(self, before: bytes = b"") -> MatchState:
        """Return the state of an empty text; words may begin in the bytes `before` it."""
        return MatchState(self, before)


class MatchState:
    """The state of one text in an `AhoCorasick` automaton.

    It stores the offset of each symbol, so memory is linear in the text. Feeding is linear in the bytes.
    """

    def __init__(self, automaton: AhoCorasick, before: bytes) -> None:
        self._automaton = automaton
        self._node = 0
        self._partial_character = b""
        self._starts: list[int] = []
        self._boundaries: list[bool] = []
        tail = before[-4 * (automaton.longest + 1) :]
        self._length = -len(tail)
        self.feed(tail)
        if self._partial_character:  # the text does not continue a character of the prompt
            self._take("\udc80", len(self._partial_character))
            self._partial_character = b""

    def feed(self, data: bytes) -> Match | None:
        """Advance by bytes and stop at the first complete word, the longest of several; return it.

        After a match the state is only good for `restore`.
        """
        for symbol, size in self._symbols(data):
            if (word := self._take(symbol, size)) is not None:
                return word
        return None

    def finish(self) -> Match | None:
        """Return the word that the end of the text completes: with `whole_words`, the end is a word boundary."""
        return self._word() if self._automaton.whole_words else None

    def pending(self) -> int | None:
        """Return the offset from which on the text may become a word; None if no suffix may."""
        automaton, partial = self._automaton, self._partial_character
        for node in automaton.suffix_nodes(self._node):
            symbol = len(self._starts) - automaton.depth[node]
            grows = automaton.may_follow(node, partial) if partial else bool(automaton.children[node])
            if (grows or (automaton.whole_words and automaton.is_word(node))) and self._begins_at(symbol):
                return self._starts[symbol]
        if partial and automaton.may_follow(0, partial) and self._begins_at(len(self._starts)):
            return self._length
        return None

    @property
    def candidate(self) -> Match | None:
        """None: words have no assertions."""
        return None

    @property
    def whole_words_only(self) -> bool:
        """Whether words match between word boundaries only."""
        return self._automaton.whole_words

    def partial_matches(self) -> Iterator[tuple[int, int]]:
        """Yield the offset and node of each partial match, the longest first."""
        for node in self._automaton.suffix_nodes(self._node):
            symbol = len(self._starts) - self._automaton.depth[node]
            if self._begins_at(symbol):
                yield self._starts[symbol], node

    def checkpoint(self) -> Checkpoint:
        """Return a snapshot for `restore`."""
        return Checkpoint(self._node, self._partial_character, len(self._starts), self._length)

    def restore(self, checkpoint: Checkpoint) -> None:
        """Return to an earlier state."""
        self._node, self._partial_character, count, self._length = checkpoint
        del self._starts[count:], self._boundaries[count:]

    def _symbols(self, data: bytes) -> Iterable[tuple[str, int]]:
        if not self._automaton.uses_characters:
            return ((symbol, 1) for symbol in data.decode("latin-1"))
        data = self._partial_character + data
        text, used = codecs.utf_8_decode(data, "surrogateescape", False)
        self._partial_character = data[used:]
        return ((symbol, _size(symbol)) for symbol in text)

    def _take(self, symbol: str, size: int) -> Match | None:
        automaton = self._automaton
        boundary = automaton.whole_words and _is_boundary(symbol)
        word = self._word() if boundary else None
        self._node = automaton.step(self._node, automaton.fold.get(symbol, symbol))
        self._starts.append(self._length)
        self._boundaries.append(boundary)
        self._length += size
        return word if automaton.whole_words else self._word()

    def _word(self) -> Match | None:
        """Return the longest word that ends at the last symbol, if that symbol is in the text."""
        automaton = self._automaton
        node = automaton.longest_word[self._node]
        while node and self._length > 0:
            symbol = len(self._starts) - automaton.depth[node]
            if self._begins_at(symbol):
                return Match(self._starts[symbol], self._length)
            node = automaton.longest_word[automaton.fail[node]]
        return None

    def _begins_at(self, symbol: int) -> bool:
        """Return whether a word may begin at a symbol: always, or with `whole_words` at a word boundary."""
        if not self._automaton.whole_words or symbol == 0:
            return True
        start = self._starts[symbol] if symbol < len(self._starts) else self._length
        return start == 0 or self._boundaries[symbol - 1]


def _size(symbol: str) -> int:
    return 1 if "\udc80" <= symbol <= "\udcff" else len(symbol.encode())


def _is_boundary(symbol: str) -> bool:
    r"""Return whether a symbol is a character that `\w` does not match."""
    return not (symbol.isalnum() or symbol == "_" or "\udc80" <= symbol <= "\udcff")

r"""AhoCorasick: words in a text that is still being written, as early as they can be told and wherever they begin.

The words are one trie with failure links (Aho & Corasick 1975), walked symbol by symbol. A symbol is a byte; where case
or word ends matter it is a character, folded to the least that it matches, and a byte that is no UTF-8 is one of its
own, which no word has. A `MatchState` is one text's place in the trie. It answers the two questions of decoding: which
word is complete, and from which byte on the text may still become one. It goes back by marks, one for each token.

What is found is what `detent.containing` has, byte for byte.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from detent.sources.words.case import CaselessAlphabet
from detent.sources.words.containing import read_words

__all__ = ["AhoCorasick", "Checkpoint", "Match", "MatchState"]


class Match(NamedTuple):
    """Where a word stands: bytes from the start of the text; negative where it begins in what came before."""

    start: int
    end: int


class Checkpoint(NamedTuple):
    """A place in a scan to come back to."""

    node: int
    rest: bytes
    symbols: int
    length: int


class AhoCorasick:
    """Words to be found; immutable, shared by scans.

    >>> scan = AhoCorasick(["listen"], "example").scan()
    >>> scan.feed(b"He li"), scan.pending()
    (None, 3)
    >>> scan.feed(b"stens")
    Match(start=3, end=9)

    Parameters
    ----------
    words : sequence of str or bytes
        At least one; see `detent.containing`.
    asker : str
        The argument that messages name.
    ignore_case, whole_words : bool
        As `detent.containing` has them.

    Cost: linear in the words; 10,000 of them take 0.2 s.
    """

    def __init__(
        self, words: Sequence[str | bytes], asker: str, *, ignore_case: bool = False, whole_words: bool = False
    ) -> None:
        self.in_characters = ignore_case or whole_words
        self.whole_words = whole_words
        encoded = read_words(words, asker, as_text=self.in_characters)
        symbols = [word.decode("utf-8" if self.in_characters else "latin-1") for word in encoded]
        self.fold: dict[str, str] = {}
        self._spellings: dict[str, tuple[bytes, ...]] = {}
        if ignore_case:
            alphabet = CaselessAlphabet(symbols)
            symbols = [alphabet.fold(word) for word in symbols]
            for symbol in set().union(*symbols):
                self._spellings[symbol] = alphabet.spellings(symbol)
                self.fold.update({spelling.decode(): symbol for spelling in self._spellings[symbol]})
        self.words: tuple[str, ...] = tuple(sorted(set(symbols)))
        self.longest = max(map(len, self.words))
        self.children: list[dict[str, int]] = [{}]
        self.depth = [0]
        self._ends = [False]
        for word in self.words:
            self._add(word)
        self.fail = [0] * len(self.depth)
        self.found = [0] * len(self.depth)
        self._link()

    def _add(self, word: str) -> None:
        node = 0
        for symbol in word:
            if symbol not in self.children[node]:
                self.children[node][symbol] = len(self.depth)
                self.children.append({})
                self.depth.append(self.depth[node] + 1)
                self._ends.append(False)
            node = self.children[node][symbol]
        self._ends[node] = True

    def _link(self) -> None:
        """Find, for each node, the longest suffix that is a node too, and the longest that is a whole word."""
        level = [0]
        while level:
            deeper = []
            for node in level:
                self.found[node] = node if self._ends[node] else self.found[self.fail[node]]
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
        """Yield the node and those of its shorter suffixes, the root left out."""
        while node:
            yield node
            node = self.fail[node]

    def is_word(self, node: int) -> bool:
        """Whether a word ends at the node."""
        return self._ends[node]

    def may_follow(self, node: int, rest: bytes) -> bool:
        """Whether the first bytes of a character begin a symbol that leads on from the node."""
        return any(
            spelling.startswith(rest)
            for symbol in self.children[node]
            for spelling in self._spellings.get(symbol) or (symbol.encode(),)
        )

    def suffixes(self, node: int) -> Iterator[str]:
        """Yield what is left of each longer word that begins with the node's symbols, folded."""
        stack = [(child, symbol) for symbol, child in self.children[node].items()]
        while stack:
            place, tail = stack.pop()
            if self._ends[place]:
                yield tail
            stack += [(child, tail + symbol) for symbol, child in self.children[place].items()]

    def scan(self, before: bytes = b"") -> MatchState:
        """Start a text; words that began in the bytes `before` it are found when they end in it."""
        return MatchState(self, before)


class MatchState:
    """One text's place in a `AhoCorasick`. Feeding is linear in the bytes; it remembers where each symbol began."""

    def __init__(self, finder: AhoCorasick, before: bytes) -> None:
        self._finder = finder
        self._node = 0
        self._rest = b""
        self._starts: list[int] = []
        self._edges: list[bool] = []
        tail = before[-4 * (finder.longest + 1) :]
        self._length = -len(tail)
        self.feed(tail)
        if self._rest:  # half a character, which the text does not continue
            self._take("\udc80", len(self._rest))
            self._rest = b""

    def feed(self, data: bytes) -> Match | None:
        """Read on. Return the first word to be complete, the longest of several; then go back to a mark."""
        for symbol, size in self._symbols(data):
            if (word := self._take(symbol, size)) is not None:
                return word
        return None

    def finish(self) -> Match | None:
        """Return the word that the end of the text completes: where whole words count, it is a word's edge."""
        return self._word() if self._finder.whole_words else None

    def pending(self) -> int | None:
        """Return the byte from which on the text may still become a word; None if nothing may."""
        finder, rest = self._finder, self._rest
        for node in finder.suffix_nodes(self._node):
            symbol = len(self._starts) - finder.depth[node]
            grows = finder.may_follow(node, rest) if rest else bool(finder.children[node])
            if (grows or (finder.whole_words and finder.is_word(node))) and self._begins_at(symbol):
                return self._starts[symbol]
        if rest and finder.may_follow(0, rest) and self._begins_at(len(self._starts)):
            return self._length
        return None

    @property
    def whole_words_only(self) -> bool:
        """Whether only whole words count."""
        return self._finder.whole_words

    def partial_matches(self) -> Iterator[tuple[int, int]]:
        """Yield, for each word that may be under way, where it began and its node, the longest first."""
        for node in self._finder.suffix_nodes(self._node):
            symbol = len(self._starts) - self._finder.depth[node]
            if self._begins_at(symbol):
                yield self._starts[symbol], node

    def checkpoint(self) -> Checkpoint:
        """Return a place to come back to."""
        return Checkpoint(self._node, self._rest, len(self._starts), self._length)

    def crop(self, mark: Checkpoint) -> None:
        """Go back to an earlier place."""
        self._node, self._rest, count, self._length = mark
        del self._starts[count:], self._edges[count:]

    def _symbols(self, data: bytes) -> Iterable[tuple[str, int]]:
        if not self._finder.in_characters:
            return ((symbol, 1) for symbol in data.decode("latin-1"))
        data = self._rest + data
        text, used = codecs.utf_8_decode(data, "surrogateescape", False)
        self._rest = data[used:]
        return ((symbol, _size(symbol)) for symbol in text)

    def _take(self, symbol: str, size: int) -> Match | None:
        finder = self._finder
        edge = finder.whole_words and _is_edge(symbol)
        word = self._word() if edge else None
        self._node = finder.step(self._node, finder.fold.get(symbol, symbol))
        self._starts.append(self._length)
        self._edges.append(edge)
        self._length += size
        return word if finder.whole_words else self._word()

    def _word(self) -> Match | None:
        """Return the longest word that ends at the symbol read last, if that is in the text."""
        finder = self._finder
        node = finder.found[self._node]
        while node and self._length > 0:
            symbol = len(self._starts) - finder.depth[node]
            if self._begins_at(symbol):
                return Match(self._starts[symbol], self._length)
            node = finder.found[finder.fail[node]]
        return None

    def _begins_at(self, symbol: int) -> bool:
        """Whether a word may begin at a symbol: anywhere, or after no letter where whole words count."""
        if not self._finder.whole_words or symbol == 0:
            return True
        start = self._starts[symbol] if symbol < len(self._starts) else self._length
        return start == 0 or self._edges[symbol - 1]


def _size(symbol: str) -> int:
    return 1 if "\udc80" <= symbol <= "\udcff" else len(symbol.encode())


def _is_edge(symbol: str) -> bool:
    r"""Whether it is a character that `\w` does not match."""
    return not (symbol.isalnum() or symbol == "_" or "\udc80" <= symbol <= "\udcff")

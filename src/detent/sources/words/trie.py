"""A finite set of words as one node: a radix tree with shared suffixes.

A word is a sequence of symbols: bytes, or characters with several encodings each. The words are sorted, so the tree is
built from left to right with the path to the last word on a stack, without recursion. A branch separates the encodings
of the next symbol byte by byte; the bytes that lead to equal nodes become one byte set. So an expression has at most
256 alternatives for any number of words. Its derivatives are the states of the automaton of Aho & Corasick 1975.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Generic, Protocol, TypeVar

from detent import _core

__all__ = ["Alphabet", "bytes_trie", "prefix_free", "trie"]

Word = TypeVar("Word", bytes, str)
_Word = TypeVar("_Word", bytes, str, contravariant=True)

EPSILON: _core.Node = _core.epsilon()


class Alphabet(Protocol[_Word]):
    """The encodings of the symbols of words."""

    def sequence(self, symbols: _Word) -> _core.Node:
        """Return the node of a sequence of symbols."""

    def encodings(self, symbol: _Word) -> Iterable[bytes]:
        """Return the UTF-8 of every character that a symbol stands for; no result is a prefix of another."""


class _Bytes:
    def sequence(self, symbols: bytes) -> _core.Node:
        return _core.literal(symbols)

    def encodings(self, symbol: bytes) -> Iterable[bytes]:
        return (symbol,)


def bytes_trie(words: Sequence[bytes]) -> _core.Node:
    """Return the node of strings of bytes that are sorted and distinct; there is at least one."""
    return trie(words, _Bytes())


def trie(words: Sequence[Word], alphabet: Alphabet[Word]) -> _core.Node:
    """Return the node of words that are sorted and distinct; there is at least one. Takes 5 us a word."""
    return _Builder(alphabet).build(words)


def prefix_free(words: Sequence[Word]) -> list[Word]:
    """Leave out, of sorted words, those that begin with another one: where that one is found, they need not be."""
    found: list[Word] = []
    for word in words:
        if not found or not word.startswith(found[-1]):
            found.append(word)
    return found


class _TrieNode(Generic[Word]):
    """A trie node on the path to the last word, with its finished branches."""

    __slots__ = ("branches", "depth", "ends")

    def __init__(self, depth: int) -> None:
        self.depth = depth
        self.branches: list[tuple[Word, _core.Node]] = []
        self.ends = False


class _Builder(Generic[Word]):
    def __init__(self, alphabet: Alphabet[Word]) -> None:
        self._alphabet: Alphabet[Word] = alphabet
        self._path: list[_TrieNode[Word]] = [_TrieNode(0)]

    def build(self, words: Sequence[Word]) -> _core.Node:
        previous = words[0][:0]
        for word in words:
            self._leave(previous, _common(previous, word))
            if len(word) > self._path[-1].depth:
                self._path.append(_TrieNode(len(word)))
            self._path[-1].ends = True
            previous = word
        self._leave(previous, 0)
        return self._close(self._path[0])

    def _leave(self, last: Word, depth: int) -> None:
        """Finish the trie nodes deeper than `depth`: no further word passes through them."""
        path = self._path
        while path[-1].depth > depth:
            top = path.pop()
            if path[-1].depth < depth:
                path.append(_TrieNode(depth))
            path[-1].branches.append((last[path[-1].depth : top.depth], self._close(top)))

    def _close(self, top: _TrieNode[Word]) -> _core.Node:
        if not top.branches:
            return EPSILON
        if len(top.branches) == 1:
            symbols, rest = top.branches[0]
            node = _core.concat([self._alphabet.sequence(symbols), rest])
        else:
            node = _branch_on_bytes(self._branches(top))
        return _core.union([EPSILON, node]) if top.ends else node

    def _branches(self, top: _TrieNode[Word]) -> Iterator[tuple[bytes, _core.Node]]:
        """Yield each encoding of the first symbol of each branch, with the node of the rest."""
        for symbols, rest in top.branches:
            tail = _core.concat([self._alphabet.sequence(symbols[1:]), rest]) if len(symbols) > 1 else rest
            for encoding in self._alphabet.encodings(symbols[:1]):
                yield encoding, tail


def _common(first: Word, second: Word) -> int:
    """Return the length of the common prefix; bisection, as slices compare a kilobyte at once."""
    low, high = 0, min(len(first), len(second))
    while low < high:
        middle = (low + high + 1) // 2
        if first[low:middle] == second[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _branch_on_bytes(branches: Iterable[tuple[bytes, _core.Node]]) -> _core.Node:
    """Return the node of a prefix-free set of strings of 1 to 4 bytes, each followed by its tail."""
    by_byte: dict[int, list[tuple[bytes, _core.Node]]] = {}
    for encoding, tail in branches:
        by_byte.setdefault(encoding[0], []).append((encoding[1:], tail))
    by_tail: dict[_core.Node, list[int]] = {}
    for byte, rests in by_byte.items():
        tail = rests[0][1] if not rests[0][0] else _branch_on_bytes(rests)
        by_tail.setdefault(tail, []).append(byte)
    return _core.union([_core.concat([_core.byte_set(bytes(heads)), tail]) for tail, heads in by_tail.items()])

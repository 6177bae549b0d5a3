"""A finite set of words as one node: a radix tree in which equal ends are shared.

A word is a sequence of symbols: bytes, or characters of which each may be written in several ways. The words arrive
sorted, so the tree grows from left to right on a stack that holds the path to the last word: nothing recurses, and only
branches cost a step. At a branch the ways to write the next symbol are told apart byte by byte, and the bytes that lead
to equal nodes become one byte set. So a place has at most 256 alternatives, however many words there are; that is what
keeps the rows of the automaton cheap (Aho & Corasick 1975 arises from it by derivatives).
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
    """How the symbols of words are written."""

    def sequence(self, symbols: _Word) -> _core.Node:
        """Give the node of some symbols in a row."""

    def encodings(self, symbol: _Word) -> Iterable[bytes]:
        """Give every way to write one symbol; none begins another."""


class _Bytes:
    def sequence(self, symbols: bytes) -> _core.Node:
        return _core.literal(symbols)

    def encodings(self, symbol: bytes) -> Iterable[bytes]:
        return (symbol,)


def bytes_trie(words: Sequence[bytes]) -> _core.Node:
    """Give the node of strings of bytes that are sorted and distinct; there is at least one."""
    return trie(words, _Bytes())


def trie(words: Sequence[Word], alphabet: Alphabet[Word]) -> _core.Node:
    """Give the node of words that are sorted and distinct; there is at least one. Takes 5 us a word."""
    return _Builder(alphabet).build(words)


def prefix_free(words: Sequence[Word]) -> list[Word]:
    """Leave out, of sorted words, those that begin with another one: where that one is found, they need not be."""
    kept: list[Word] = []
    for word in words:
        if not kept or not word.startswith(kept[-1]):
            kept.append(word)
    return kept


class _Place(Generic[Word]):
    """A place on the path to the last word, and what was found to follow it."""

    __slots__ = ("branches", "depth", "ends")

    def __init__(self, depth: int) -> None:
        self.depth = depth
        self.branches: list[tuple[Word, _core.Node]] = []
        self.ends = False


class _Builder(Generic[Word]):
    def __init__(self, alphabet: Alphabet[Word]) -> None:
        self._alphabet: Alphabet[Word] = alphabet
        self._path: list[_Place[Word]] = [_Place(0)]

    def build(self, words: Sequence[Word]) -> _core.Node:
        previous = words[0][:0]
        for word in words:
            self._leave(previous, _common(previous, word))
            if len(word) > self._path[-1].depth:
                self._path.append(_Place(len(word)))
            self._path[-1].ends = True
            previous = word
        self._leave(previous, 0)
        return self._close(self._path[0])

    def _leave(self, last: Word, depth: int) -> None:
        """Close the places deeper than `depth`: no further word passes them."""
        path = self._path
        while path[-1].depth > depth:
            place = path.pop()
            if path[-1].depth < depth:
                path.append(_Place(depth))
            path[-1].branches.append((last[path[-1].depth : place.depth], self._close(place)))

    def _close(self, place: _Place[Word]) -> _core.Node:
        if not place.branches:
            return EPSILON
        if len(place.branches) == 1:
            symbols, rest = place.branches[0]
            node = _core.concat([self._alphabet.sequence(symbols), rest])
        else:
            node = _branch_on_bytes(self._branches(place))
        return _core.union([EPSILON, node]) if place.ends else node

    def _branches(self, place: _Place[Word]) -> Iterator[tuple[bytes, _core.Node]]:
        """Yield each way to write the first symbol of each branch, with what follows it."""
        for symbols, rest in place.branches:
            tail = _core.concat([self._alphabet.sequence(symbols[1:]), rest]) if len(symbols) > 1 else rest
            for spelling in self._alphabet.encodings(symbols[:1]):
                yield spelling, tail


def _common(first: Word, second: Word) -> int:
    """Give the length of the common prefix; bisection, as slices compare a kilobyte at once."""
    low, high = 0, min(len(first), len(second))
    while low < high:
        middle = (low + high + 1) // 2
        if first[low:middle] == second[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _branch_on_bytes(ways: Iterable[tuple[bytes, _core.Node]]) -> _core.Node:
    """Give the node of strings of 1 to 4 bytes, none of which begins another, with what follows each."""
    by_byte: dict[int, list[tuple[bytes, _core.Node]]] = {}
    for spelling, tail in ways:
        by_byte.setdefault(spelling[0], []).append((spelling[1:], tail))
    by_tail: dict[_core.Node, list[int]] = {}
    for byte, rests in by_byte.items():
        tail = rests[0][1] if not rests[0][0] else _branch_on_bytes(rests)
        by_tail.setdefault(tail, []).append(byte)
    return _core.union([_core.concat([_core.byte_set(bytes(heads)), tail]) for tail, heads in by_tail.items()])

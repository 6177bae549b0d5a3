"""Languages in the plainest Python: expression trees, with two accounts of what they mean.

- `strings` computes the set of all strings up to a length, bottom up, by the definitions of the operators.
- `Machine` takes derivatives of a tree (Brzozowski 1964), for what no set of short strings can tell: whether, and in
  how many tokens, a text can still be completed.

Neither knows anything of detent; `language` builds the same language with its public names.

A tree is a tuple: ("set", bytes) for one of some bytes, ("text", bytes), ("cat", x, y), ("or", x, y), ("and", x, y),
("not", x), and ("rep", x, minimum, maximum or None).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import product
from random import Random
from typing import Any, TypeAlias

from hypothesis import strategies as st

import detent

Tree: TypeAlias = tuple[Any, ...]

ALPHABET = b"ab"
NOTHING: Tree = ("set", b"")
EMPTY: Tree = ("text", b"")


# What a tree means: the strings up to a length.


def universe(alphabet: bytes, longest: int) -> frozenset[bytes]:
    """Return all strings over an alphabet, up to a length."""
    return frozenset(bytes(text) for size in range(longest + 1) for text in product(alphabet, repeat=size))


@lru_cache(maxsize=100_000)
def strings(tree: Tree, alphabet: bytes, longest: int) -> frozenset[bytes]:
    """Return the strings of a language that are over an alphabet and at most so long."""
    kind, *parts = tree
    if kind == "set":
        return frozenset(bytes([byte]) for byte in parts[0] if byte in alphabet) if longest else frozenset()
    if kind == "text":
        is_one = len(parts[0]) <= longest and set(parts[0]) <= set(alphabet)
        return frozenset([parts[0]]) if is_one else frozenset()
    inner = strings(parts[0], alphabet, longest)
    if kind == "not":
        return universe(alphabet, longest) - inner
    if kind == "rep":
        return _repeated(inner, parts[1], parts[2], longest)
    other = strings(parts[1], alphabet, longest)
    if kind == "cat":
        return _joined(inner, other, longest)
    return inner | other if kind == "or" else inner & other


def _joined(left: frozenset[bytes], right: frozenset[bytes], longest: int) -> frozenset[bytes]:
    return frozenset(x + y for x in left for y in right if len(x) + len(y) <= longest)


def _repeated(inner: frozenset[bytes], minimum: int, maximum: int | None, longest: int) -> frozenset[bytes]:
    row = frozenset([b""])
    for _ in range(minimum):
        row = _joined(row, inner, longest)
    found = row
    for _ in range(longest if maximum is None else maximum - minimum):
        row = _joined(row, inner, longest)
        if row <= found:
            break
        found |= row
    return found


# Derivatives.


@lru_cache(maxsize=200_000)
def _nullable(tree: Tree) -> bool:
    kind, *parts = tree
    if kind in ("set", "text"):
        return kind == "text" and not parts[0]
    if kind == "not":
        return not _nullable(parts[0])
    if kind == "rep":
        return parts[1] == 0 or _nullable(parts[0])
    both = [_nullable(part) for part in parts]
    return any(both) if kind == "or" else all(both)


@lru_cache(maxsize=400_000)
def _derive(tree: Tree, byte: int) -> Tree:
    kind, *parts = tree
    if kind == "set":
        return EMPTY if byte in parts[0] else NOTHING
    if kind == "text":
        return ("text", parts[0][1:]) if parts[0][:1] == bytes([byte]) else NOTHING
    if kind == "not":
        return _negated(_derive(parts[0], byte))
    if kind == "rep":
        inner, minimum, maximum = parts
        more = EMPTY if maximum == 1 else ("rep", inner, max(minimum - 1, 0), maximum and maximum - 1)
        # Where the part may be empty, fewer of them are enough.
        return NOTHING if maximum == 0 else _cat(_derive(inner, byte), more)
    left, right = parts
    if kind == "cat":
        first = _cat(_derive(left, byte), right)
        return _either(first, _derive(right, byte)) if _nullable(left) else first
    combine = _either if kind == "or" else _both
    return combine(_derive(left, byte), _derive(right, byte))


def _cat(left: Tree, right: Tree) -> Tree:
    if NOTHING in (left, right):
        return NOTHING
    if left == EMPTY or right == EMPTY:
        return right if left == EMPTY else left
    return ("cat", left[1], _cat(left[2], right)) if left[0] == "cat" else ("cat", left, right)


_ALL: Tree = ("not", NOTHING)


def _negated(tree: Tree) -> Tree:
    return tree[1] if tree[0] == "not" else ("not", tree)


def _either(left: Tree, right: Tree) -> Tree:
    return _gathered("or", left, right, NOTHING, _ALL)


def _both(left: Tree, right: Tree) -> Tree:
    return _gathered("and", left, right, _ALL, NOTHING)


def _gathered(kind: str, left: Tree, right: Tree, unit: Tree, zero: Tree) -> Tree:
    """Join two operands as a sorted chain without repeats, so that there are finitely many derivatives."""
    operands, pending = set(), [left, right]
    while pending:
        tree = pending.pop()
        if tree[0] == kind:
            pending += tree[1:]
        elif tree != unit:
            operands.add(tree)
    if zero in operands:
        return zero
    chain = unit
    for tree in sorted(operands, key=repr):
        chain = tree if chain == unit else (kind, tree, chain)
    return chain


class TooManyStates(Exception):  # noqa: N818 - a verdict on a random tree
    """The tree is not worth a test's time."""


class Machine:
    """The automaton of a tree over all bytes; state 0 is the start."""

    def __init__(self, tree: Tree, most: int = 10_000) -> None:
        kinds: dict[tuple[bool, ...], int] = {}  # what tells bytes apart, and one byte of each kind
        sets = _sets(tree)
        kind_of = [tuple(byte in values for values in sets) for byte in range(256)]
        for byte in range(256):
            kinds.setdefault(kind_of[byte], byte)
        columns = list(kinds)
        self._column = [columns.index(kind_of[byte]) for byte in range(256)]
        numbers: dict[Tree, int] = {tree: 0}
        order = [tree]
        self._rows: list[list[int]] = []
        for state in order:
            row = []
            for byte in kinds.values():
                after = _derive(state, byte)
                if after not in numbers:
                    if len(numbers) == most:
                        raise TooManyStates
                    numbers[after] = len(order)
                    order.append(after)
                row.append(numbers[after])
            self._rows.append(row)
        self.accepting = [_nullable(state) for state in order]

    def after(self, state: int, text: bytes) -> int:
        """Return the state that a text leads to."""
        for byte in text:
            state = self._rows[state][self._column[byte]]
        return state

    def accepts(self, text: bytes) -> bool:
        return self.accepting[self.after(0, text)]

    def __len__(self) -> int:
        return len(self._rows)


def _sets(tree: Tree) -> list[bytes]:
    """Return what the tree can ask of one byte: whether it is one of these."""
    found: set[bytes] = set()
    pending = [tree]
    while pending:
        kind, *parts = pending.pop()
        if kind == "set":
            found.add(parts[0])
        elif kind == "text":
            found.update(bytes([byte]) for byte in parts[0])
        pending += [part for part in parts if isinstance(part, tuple)]
    return sorted(found)


class Tokens:
    """What tokens can do in a machine, by trying them all.

    `alphabet` are the bytes of the tokens: no text has another. `need[state]` is the least number of tokens that lead
    to acceptance, None if none do. `steps[state]` maps each id whose token leaves a way there to the state that it
    leads to.
    """

    def __init__(self, machine: Machine, tokens: Sequence[bytes]) -> None:
        self.machine = machine
        self.alphabet = bytes(sorted(set(b"".join(tokens))))
        every = range(len(machine))
        lead = [[(i, machine.after(state, token)) for i, token in enumerate(tokens) if token] for state in every]
        self.need: list[int | None] = [0 if accepting else None for accepting in machine.accepting]
        count = 0
        while True:
            count += 1
            reached = [
                state
                for state in every
                if self.need[state] is None and any(self.need[after] == count - 1 for _, after in lead[state])
            ]
            if not reached:
                break
            for state in reached:
                self.need[state] = count
        self.steps = [{i: after for i, after in lead[state] if self.need[after] is not None} for state in every]

    def within(self, state: int, tokens_left: int) -> set[int]:
        """Return the ids after which the text can be completed in time."""
        return {i for i, after in self.steps[state].items() if (self.need[after] or 0) < tokens_left}

    def longest(self) -> int | None:
        """Return the largest number of tokens that write a text, or None if there is no such bound."""
        # A way of more steps than there are states goes round in a circle, and may go round again.
        reached = {0}
        longest = None
        for count in range(len(self.need) + 1):
            if not reached:
                return longest
            if any(self.machine.accepting[state] for state in reached):
                longest = count
            reached = {after for state in reached for after in self.steps[state].values()}
        return None


# The same language in detent.


def language(tree: Tree) -> detent.Language:
    """Build the language of a tree: patterns where `re` has the words, operators elsewhere."""
    pattern = _pattern(tree)
    if pattern is not None:
        return detent.regex(pattern)
    kind, *parts = tree
    if kind in ("set", "text"):
        return detent.byte_class(parts[0]) if kind == "set" and parts[0] else _literal(parts[0], kind)
    inner = language(parts[0])
    if kind == "not":
        return ~inner
    if kind == "rep":
        return inner.repeat(parts[1], parts[2])
    other = language(parts[1])
    if kind == "cat":
        return inner + other
    return inner | other if kind == "or" else inner & other


def _literal(text: bytes, kind: str) -> detent.Language:
    whole = detent.literal(text)
    return whole & ~whole if kind == "set" else whole


def _pattern(tree: Tree) -> str | None:
    kind, *parts = tree
    try:
        if kind == "text":
            return parts[0].decode()
        if kind == "set":
            return f"[{parts[0].decode('ascii')}]" if parts[0] else None
    except UnicodeDecodeError:
        return None
    if kind in ("not", "and"):
        return None
    inner = _pattern(parts[0])
    if inner is None:
        return None
    if kind == "rep":
        most = "" if parts[2] is None else parts[2]
        return f"(?:{inner}){{{parts[1]},{most}}}"
    other = _pattern(parts[1])
    if other is None:
        return None
    return f"{inner}{other}" if kind == "cat" else f"(?:{inner}|{other})"


# Trees to try: all small ones, random ones, and Hypothesis's.


def all_trees(size: int) -> Iterator[Tree]:
    """Yield every tree of so many nodes over `ALPHABET`."""
    if size == 1:
        yield from (("text", b"a"), ("text", b"b"), EMPTY)
        return
    for inner in all_trees(size - 1):
        yield ("not", inner)
        yield ("rep", inner, 0, None)
        yield ("rep", inner, 2, 2)
    for left_size in range(1, size - 1):
        for left in all_trees(left_size):
            for right in all_trees(size - 1 - left_size):
                yield from ((kind, left, right) for kind in ("cat", "or", "and"))


_COUNTS = ((0, None), (1, None), (0, 1), (2, 2), (1, 3), (0, 4), (2, None))


def random_tree(rng: Random, leaves: int, texts: Sequence[bytes] = (b"a", b"b", b"ab", b"ba", b"aab", b"")) -> Tree:
    """Draw a tree with so many leaves; half of them are patterns of concatenations, alternatives and repeats only."""
    kinds = ("cat", "cat", "or") if rng.random() < 0.5 else ("cat", "cat", "or", "and", "not")

    def draw(left: int) -> Tree:
        if left == 1:
            leaf: Tree = ("set", rng.choice((b"ab", b"a", b"b"))) if rng.random() < 0.3 else ("text", rng.choice(texts))
        else:
            kind, cut = rng.choice(kinds), rng.randrange(1, left)
            first, second = draw(cut), draw(left - cut)
            leaf = ("and", first, ("not", second)) if kind == "not" else (kind, first, second)
        return ("rep", leaf, *rng.choice(_COUNTS)) if rng.random() < 0.35 else leaf

    return draw(leaves)


def trees(most_leaves: int = 6) -> st.SearchStrategy[Tree]:
    """Trees for Hypothesis."""
    leaves = st.one_of(
        st.sampled_from([b"", b"a", b"b", b"ab", b"aab"]).map(lambda text: ("text", text)),
        st.sampled_from([b"", b"a", b"ab", bytes(range(256))]).map(lambda values: ("set", values)),
    )
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.tuples(st.sampled_from(["cat", "or", "and"]), inner, inner),
            st.tuples(st.just("not"), inner),
            st.tuples(inner, st.sampled_from(_COUNTS)).map(lambda pair: ("rep", pair[0], *pair[1])),
        ),
        max_leaves=most_leaves,
    )

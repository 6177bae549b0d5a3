"""The tokenizer's own rows of tokens as an explicit automaton: DirectMerge, CartesianMerge, and what a guide visits.

`detent.compile(..., canonical=True)` needs none of this: it never builds the automaton. These transformations are for
small automata that are to be looked at, drawn or proved about, and for merge tables that are no file's.

*DirectMerge* applies each merge to the automaton in turn. A merge of a and b to ab takes each row of tokens to another;
as an automaton: behind an a that stays by itself no b may follow (and, where a = b, no aa either). So each state splits
in two, behind such an a and behind anything else, and what is not reached goes. This is right for proper tables only,
in which each token is made by one merge and its parts are made before.

*CartesianMerge* keeps the language and the tokenizer apart: the language's automaton over tokens, and DirectMerge of
the automaton of all texts, which is made once. The rows that both take are wanted: their product, without dead ends.

Source: Vivien Tran-Thien 2024, Fast, High-Fidelity LLM Decoding with Regex Constraints,
https://vivien000.github.io/blog/journal/llm-decoding-with-regex-constraints.html.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from detent.errors import ArgumentError, EmptyLanguageError, LimitError
from detent.tables import TransitionTable, token_table

if TYPE_CHECKING:
    from detent.guide import Guide

__all__ = ["TokenAutomaton", "cartesian_merge", "direct_merge", "explore", "lift"]

Merge = tuple[int, int, int]
"""Left token, right token, the token that they are merged to."""
_Rows = dict[Hashable, dict[int, Hashable]]


@dataclass(frozen=True)
class TokenAutomaton:
    """A deterministic automaton over token ids, as it came about: nothing is merged or renamed.

    >>> TokenAutomaton(0, frozenset({1}), {0: {7: 1}}).accepts([7])
    True

    Parameters
    ----------
    start : hashable
        The state before the first token.
    accepting : frozenset
        The states where a row of tokens may end.
    rows : mapping
        For each state, the next state by token; a state without a row has none.
    """

    start: Hashable
    accepting: frozenset[Hashable]
    rows: Mapping[Hashable, Mapping[int, Hashable]]

    @property
    def state_count(self) -> int:
        """How many states there are."""
        return len({self.start, *self.rows, *(state for row in self.rows.values() for state in row.values())})

    @property
    def transition_count(self) -> int:
        """How many transitions there are."""
        return sum(map(len, self.rows.values()))

    def accepts(self, tokens: Iterable[int]) -> bool:
        """Whether a row of tokens leads to an accepting state."""
        state = self.start
        for token in tokens:
            row = self.rows.get(state, {})
            if token not in row:
                return False
            state = row[token]
        return state in self.accepting

    def table(self) -> TransitionTable:
        """Return it as a `token_table`, minimised, which compiles to a constraint."""
        moves = [(state, token, to) for state, row in self.rows.items() for token, to in row.items()]
        return token_table(moves, self.start, self.accepting)


def direct_merge(automaton: TokenAutomaton, merges: Sequence[Merge]) -> TokenAutomaton:
    """Apply merges to an automaton over the first tokens, in their order.

    In ``a*b*`` with the merges ab, aa, only one of the a's goes together with a b:

    >>> texts = TokenAutomaton("a", frozenset({"a", "b"}), {"a": {0: "a", 1: "b"}, "b": {1: "b"}})
    >>> merged = direct_merge(texts, [(0, 1, 2), (0, 0, 3)])
    >>> merged.accepts([3, 2, 1]), merged.accepts([0, 0, 2, 1]), merged.accepts([3, 0, 1])
    (True, False, False)

    Parameters
    ----------
    automaton : TokenAutomaton
        Its tokens are those that no merge makes.
    merges : sequence of (int, int, int)
        Left, right and merged token of each, the first to be applied first; each token is made by one merge, before it
        is a part of another.

    Raises
    ------
    ArgumentError
        The table is improper: a token is made twice, or made after it was a part, or the automaton has it already.
    EmptyLanguageError
        The automaton takes nothing.

    Notes
    -----
    Each merge at most doubles the states behind its left token.
    """
    _check_proper(automaton, merges)
    start, accepting, rows = automaton.start, automaton.accepting, {s: dict(row) for s, row in automaton.rows.items()}
    for left, right, merged in merges:
        if any(left in row for row in rows.values()) and any(right in row for row in rows.values()):
            start, accepting, rows = _apply(start, accepting, rows, (left, right, merged))
    return _relevant(start, accepting, rows)


def lift(automaton: TokenAutomaton, merges: Sequence[Merge]) -> TokenAutomaton:
    """Add a transition for each merged token where its parts lead: all rows of tokens that spell the same texts.

    >>> texts = TokenAutomaton(0, frozenset({2}), {0: {0: 1}, 1: {1: 2}})
    >>> lift(texts, [(0, 1, 2)]).transition_count
    3

    Parameters
    ----------
    automaton, merges
        As in `direct_merge`.

    Raises
    ------
    ArgumentError
        As in `direct_merge`.
    """
    _check_proper(automaton, merges)
    rows = {state: dict(row) for state, row in automaton.rows.items()}
    for left, right, merged in merges:
        for row in rows.values():
            between = row.get(left)
            behind = rows.get(between, {}).get(right) if left in row else None
            if left in row and right in rows.get(between, {}):
                row[merged] = behind
    return TokenAutomaton(automaton.start, automaton.accepting, rows)


def cartesian_merge(automaton: TokenAutomaton, merges: Sequence[Merge]) -> TokenAutomaton:
    """Give the same rows of tokens as `direct_merge`, as a product.

    >>> texts = TokenAutomaton("a", frozenset({"a", "b"}), {"a": {0: "a", 1: "b"}, "b": {1: "b"}})
    >>> merges = [(0, 1, 2), (0, 0, 3)]
    >>> cartesian_merge(texts, merges) == direct_merge(texts, merges)
    True

    Parameters
    ----------
    automaton, merges
        As in `direct_merge`.

    Raises
    ------
    ArgumentError, EmptyLanguageError
        As in `direct_merge`.
    """
    lifted = lift(automaton, merges)
    alphabet = {token for row in automaton.rows.values() for token in row}
    proper = direct_merge(TokenAutomaton(0, frozenset({0}), {0: dict.fromkeys(alphabet, 0)}), merges)
    start = (lifted.start, proper.start)
    rows: _Rows = {}
    pending = [start]
    while pending:
        state, own = pair = pending.pop()
        if pair in rows:
            continue
        ways = proper.rows.get(own, {})
        both = {token: (to, ways[token]) for token, to in lifted.rows.get(state, {}).items() if token in ways}
        rows[pair] = dict(both)
        pending.extend(both.values())
    accepting = frozenset(
        pair for pair in rows if isinstance(pair, tuple) and pair[0] in lifted.accepting and pair[1] in proper.accepting
    )
    return _relevant(start, accepting, rows)


def explore(guide: Guide, *, max_states: int = 10_000) -> TokenAutomaton:
    """Return the automaton that a canonical guide's matchers walk in, all of it.

    >>> import detent
    >>> vocabulary = detent.load_model().vocabulary
    >>> guide = detent.compile(detent.regex(" (there|thing)"), vocabulary, canonical=True)
    >>> explore(guide).state_count, explore(guide).transition_count
    (4, 3)

    Parameters
    ----------
    guide : Guide
        Compiled with ``canonical=True``. Its states are those of the text together with the last token.
    max_states : int
        Bound on the states.

    Raises
    ------
    ArgumentError
        The guide is not canonical.
    LimitError
        There are more states than `max_states`.

    Notes
    -----
    A mask for each state.
    """
    if not guide.canonical:
        raise ArgumentError("explore needs a guide that was compiled with canonical=True")
    ends = set(guide.vocabulary.eos_token_ids)
    matcher = guide.matcher()
    start = matcher.place
    rows: _Rows = {}
    accepting = set()
    pending = [matcher]
    while pending:
        matcher = pending.pop()
        if matcher.place in rows:
            continue
        if len(rows) == max_states:
            raise LimitError(f"more than {max_states} states; raise max_states, or walk with a matcher instead")
        row: dict[int, Hashable] = {}
        rows[matcher.place] = row
        if matcher.is_accepting:
            accepting.add(matcher.place)
        for token in matcher.allowed().tolist():
            if token in ends:
                continue
            ahead = matcher.fork()
            ahead.advance(token)
            row[token] = ahead.place
            if ahead.place not in rows:
                pending.append(ahead)
    return TokenAutomaton(start, frozenset(accepting), rows)


def _check_proper(automaton: TokenAutomaton, merges: Sequence[Merge]) -> None:
    made = {token for row in automaton.rows.values() for token in row}
    parts: set[int] = set()
    for left, right, merged in merges:
        parts |= {left, right}
        if merged in made or merged in parts:
            raise ArgumentError(
                f"token {merged} is made by a merge after it was there or was a part of another: the merge table is "
                "improper, and applying its merges one by one is not what a tokenizer does"
            )
        made.add(merged)


def _apply(
    start: Hashable, accepting: frozenset[Hashable], rows: _Rows, merge: Merge
) -> tuple[Hashable, frozenset[Hashable], _Rows]:
    """Split the states in those behind a left token that stays by itself, (state, True), and the others."""
    left, right, merged = merge
    split: _Rows = {}
    first = (start, False)
    pending = [first]
    while pending:
        place = pending.pop()
        if place in split:
            continue
        state, alone = place
        row = rows.get(state, {})
        ways: dict[int, Hashable] = {}
        for token, to in row.items():
            if not (alone and token == right):
                ways[token] = (to, token == left)
        between = row.get(left)
        # Of three in a row the first two are merged: behind one that stays alone there is no pair of the same.
        if left in row and right in rows.get(between, {}) and not (alone and left == right):
            ways[merged] = (rows[between][right], False)
        split[place] = ways
        pending.extend(to for to in ways.values() if isinstance(to, tuple))
    return first, frozenset(place for place in split if isinstance(place, tuple) and place[0] in accepting), split


def _relevant(start: Hashable, accepting: frozenset[Hashable], rows: _Rows) -> TokenAutomaton:
    """Keep the states from the start to an accepting one, numbered in the order in which they are met."""
    into: dict[Hashable, list[Hashable]] = {}
    for state, row in rows.items():
        for to in row.values():
            into.setdefault(to, []).append(state)
    live, pending = set(accepting), list(accepting)
    while pending:
        for state in into.get(pending.pop(), ()):
            if state not in live:
                live.add(state)
                pending.append(state)
    if start not in live:
        raise EmptyLanguageError("the automaton takes no row of tokens: no accepting state can be reached")
    numbers = {start: 0}
    order = [start]
    found: _Rows = {}
    for state in order:  # grows while it is read
        row = {token: to for token, to in rows.get(state, {}).items() if to in live}
        for to in row.values():
            if to not in numbers:
                numbers[to] = len(order)
                order.append(to)
        found[numbers[state]] = {token: numbers[to] for token, to in row.items()}
    return TokenAutomaton(0, frozenset(numbers[state] for state in order if state in accepting), found)

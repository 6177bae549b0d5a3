"""The tokenizer's own rows of tokens as an explicit automaton: DirectMerge, CartesianMerge, and what a guide visits.

`detent.compile(..., canonical=True)` needs none of this: it never builds the automaton. These transformations are for
small automata that are to be looked at, drawn or proved about, and for merge tables that are no file's. All that they
build is counted, and bounded.

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

import operator
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from detent.errors import ArgumentError, EmptyLanguageError, LimitError
from detent.guide import Guide
from detent.tables import UserDfa, token_table

__all__ = ["TokenAutomaton", "cartesian_merge", "direct_merge", "explore", "lift"]

Merge = tuple[int, int, int]
"""Left token, right token, the token that they are merged to."""
MAX_TRANSITIONS = 1_000_000
_State = TypeVar("_State", bound=Hashable)
_Pair = tuple[Hashable, Hashable]


@dataclass(frozen=True, repr=False)
class TokenAutomaton:
    """A deterministic automaton over token ids, as it came about: states are not merged.

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

    def table(self) -> UserDfa:
        """Return it as a `token_table`, minimised, which compiles to a constraint and draws itself (`dot`)."""
        moves = [(state, token, to) for state, row in self.rows.items() for token, to in row.items()]
        return token_table(moves, self.start, self.accepting)

    def __repr__(self) -> str:
        return f"TokenAutomaton({self.state_count} states, {self.transition_count} transitions)"


def direct_merge(
    automaton: TokenAutomaton, merges: Sequence[Merge], *, max_transitions: int = MAX_TRANSITIONS
) -> TokenAutomaton:
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
    max_transitions : int
        Bound on the transitions that are made, those of each automaton in between included.

    Raises
    ------
    ArgumentError
        A merge is no three ids; or the table is improper: a token is made twice, or made after it was a part, or the
        automaton has it already.
    EmptyLanguageError
        The automaton takes nothing.
    LimitError
        There are more than `max_transitions`.

    Notes
    -----
    Linear in the merges; and for each merge of two tokens that are there, in the automaton, of which it at most doubles
    the states behind its left token.
    """
    meter, table = _Meter(max_transitions), _checked(automaton, merges)
    merged = _relevant(automaton.start, automaton.accepting, automaton.rows)
    present = _tokens(merged)
    for left, right, token in table:
        if left in present and right in present:
            merged = _apply(merged, (left, right, token), meter)
            present = _tokens(merged)
    return merged


def lift(
    automaton: TokenAutomaton, merges: Sequence[Merge], *, max_transitions: int = MAX_TRANSITIONS
) -> TokenAutomaton:
    """Add a transition for each merged token where its parts lead: all rows of tokens that spell the same texts.

    >>> texts = TokenAutomaton(0, frozenset({2}), {0: {0: 1}, 1: {1: 2}})
    >>> lift(texts, [(0, 1, 2)]).transition_count
    3

    Parameters
    ----------
    automaton, merges, max_transitions
        As in `direct_merge`.

    Raises
    ------
    ArgumentError, LimitError
        As in `direct_merge`.

    Notes
    -----
    Linear in the merges; and for each merge of two tokens that are there, in the states.
    """
    meter, table = _Meter(max_transitions), _checked(automaton, merges)
    rows = {state: dict(row) for state, row in automaton.rows.items()}
    present = _tokens(automaton)
    for left, right, token in table:
        if left not in present or right not in present:
            continue
        for row in rows.values():
            if left in row and right in rows.get(row[left], ()):
                row[token] = rows[row[left]][right]
                present.add(token)
                meter.add(1)
    return TokenAutomaton(automaton.start, automaton.accepting, rows)


def cartesian_merge(
    automaton: TokenAutomaton, merges: Sequence[Merge], *, max_transitions: int = MAX_TRANSITIONS
) -> TokenAutomaton:
    """Give the same rows of tokens as `direct_merge`, as a product.

    >>> texts = TokenAutomaton("a", frozenset({"a", "b"}), {"a": {0: "a", 1: "b"}, "b": {1: "b"}})
    >>> merges = [(0, 1, 2), (0, 0, 3)]
    >>> cartesian_merge(texts, merges) == direct_merge(texts, merges)
    True

    Parameters
    ----------
    automaton, merges, max_transitions
        As in `direct_merge`.

    Raises
    ------
    ArgumentError, EmptyLanguageError, LimitError
        As in `direct_merge`.

    Notes
    -----
    The automaton of all texts is made with the merges that the automaton's own texts can have: others change nothing in
    the product.
    """
    lifted = lift(automaton, merges, max_transitions=max_transitions)
    spelled = _tokens(lifted)
    texts = TokenAutomaton(0, frozenset({0}), {0: dict.fromkeys(_tokens(automaton), 0)})
    needed = [merge for merge in merges if merge[2] in spelled]
    proper = direct_merge(texts, needed, max_transitions=max_transitions)
    meter = _Meter(max_transitions)
    start: _Pair = (lifted.start, proper.start)
    rows: dict[_Pair, dict[int, _Pair]] = {}
    pending = [start]
    while pending:
        state, own = pair = pending.pop()
        if pair in rows:
            continue
        ways = proper.rows.get(own, {})
        following = lifted.rows.get(state, {})
        both: dict[int, _Pair] = {token: (to, ways[token]) for token, to in following.items() if token in ways}
        rows[pair] = both
        meter.add(len(both))
        pending.extend(both.values())
    accepting = frozenset(pair for pair in rows if pair[0] in lifted.accepting and pair[1] in proper.accepting)
    return _relevant(start, accepting, rows)


def explore(guide: Guide, *, max_transitions: int = MAX_TRANSITIONS) -> TokenAutomaton:
    """Return the automaton that a guide's matchers walk in, all of it.

    >>> import detent
    >>> vocabulary = detent.load_model().vocabulary
    >>> explore(detent.compile(detent.regex(" (there|thing)"), vocabulary))
    TokenAutomaton(9 states, 23 transitions)
    >>> explore(detent.compile(detent.regex(" (there|thing)"), vocabulary, canonical=True))
    TokenAutomaton(4 states, 3 transitions)

    Parameters
    ----------
    guide : Guide
        The states are those of the text, with ``canonical=True`` together with the last token, numbered in the order in
        which they are met.
    max_transitions : int
        Bound on the transitions.

    Raises
    ------
    ArgumentError
        It is no guide.
    LimitError
        There are more than `max_transitions`.

    Notes
    -----
    A mask for each state, a step for each transition.
    """
    if not isinstance(guide, Guide):
        raise ArgumentError(f"explore needs a Guide, got {type(guide).__name__}; compile the language for a vocabulary")
    meter = _Meter(max_transitions)
    ends = set(guide.vocabulary.eos_token_ids)
    matcher = guide.matcher()
    start = matcher.state_key
    rows: dict[Hashable, dict[int, Hashable]] = {}
    accepting = set()
    # Depth first with one matcher; open_rows has the tokens that are left at each place on the way to its own.
    open_rows: list[Iterator[int]] = []

    def enter() -> None:
        rows[matcher.state_key] = {}
        allowed = matcher.allowed().tolist()
        if matcher.is_accepting or not ends.isdisjoint(allowed):  # the language may ask for the end
            accepting.add(matcher.state_key)
        following = [token for token in allowed if token not in ends]
        meter.add(len(following))
        open_rows.append(iter(following))

    enter()
    while open_rows:
        token = next(open_rows[-1], None)
        if token is None:
            open_rows.pop()
            matcher.rollback(min(1, len(matcher)))
            continue
        row = rows[matcher.state_key]
        matcher.advance(token)
        row[token] = matcher.state_key
        if matcher.state_key in rows:
            matcher.rollback()
        else:
            enter()
    return _relevant(start, frozenset(accepting), rows)


class _Meter:
    def __init__(self, limit: int) -> None:
        if not isinstance(limit, int) or isinstance(limit, bool) or limit < 0:
            raise ArgumentError(f"max_transitions must be an integer from 0 on, got {limit!r}")
        self._limit = self._left = limit

    def add(self, count: int) -> None:
        self._left -= count
        if self._left < 0:
            raise LimitError(
                f"the automaton, with those on the way to it, has over {self._limit} transitions; raise "
                "max_transitions, or walk with the matchers of a guide, which build no automaton",
                subject="max_transitions",
                limit=self._limit,
            )


def _tokens(automaton: TokenAutomaton) -> set[int]:
    return {token for row in automaton.rows.values() for token in row}


def _checked(automaton: TokenAutomaton, merges: Sequence[Merge]) -> list[Merge]:
    """Return the merges if they are proper."""
    if not isinstance(automaton, TokenAutomaton):
        raise ArgumentError(f"expected a TokenAutomaton, got {type(automaton).__name__}")
    made = _tokens(automaton)
    parts: set[int] = set()
    found: list[Merge] = []
    for number, merge in enumerate(merges):
        try:
            left, right, token = map(operator.index, merge)
        except (TypeError, ValueError):
            raise ArgumentError(
                f"merge {number} must be three token ids (left, right, merged), got {str(merge)[:80]}"
            ) from None
        parts |= {left, right}
        if token in made or token in parts:
            raise ArgumentError(
                f"merge {number} makes token {token} after it was there or was a part of another: the table is "
                "improper, and applying its merges one by one is not what a tokenizer does; of several ways to make a "
                "token, keep the one that the tokenizer takes for the token's own text"
            )
        made.add(token)
        found.append((left, right, token))
    return found


def _apply(automaton: TokenAutomaton, merge: Merge, meter: _Meter) -> TokenAutomaton:
    """Split the states in those behind a left token that stays by itself, (state, True), and the others."""
    left, right, merged = merge
    rows = automaton.rows
    split: dict[_Pair, dict[int, _Pair]] = {}
    pending: list[_Pair] = [(automaton.start, False)]
    while pending:
        place = pending.pop()
        if place in split:
            continue
        state, alone = place
        row = rows.get(state, {})
        ways: dict[int, _Pair] = {
            token: (to, token == left) for token, to in row.items() if not (alone and token == right)
        }
        # Of three in a row the first two are merged: behind one that stays alone there is no pair of the same.
        if left in row and right in rows.get(row[left], ()) and not (alone and left == right):
            ways[merged] = (rows[row[left]][right], False)
        split[place] = ways
        meter.add(len(ways))
        pending.extend(ways.values())
    return _relevant((automaton.start, False), frozenset(at for at in split if at[0] in automaton.accepting), split)


def _relevant(
    start: _State, accepting: frozenset[_State], rows: Mapping[_State, Mapping[int, _State]]
) -> TokenAutomaton:
    """Keep the states from the start to an accepting one, numbered in the order in which they are met."""
    into: dict[_State, list[_State]] = {}
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
    found: dict[Hashable, dict[int, Hashable]] = {}
    for state in order:  # grows while it is read
        row = {token: to for token, to in rows.get(state, {}).items() if to in live}
        for to in row.values():
            if to not in numbers:
                numbers[to] = len(order)
                order.append(to)
        found[numbers[state]] = {token: numbers[to] for token, to in row.items()}
    return TokenAutomaton(0, frozenset(numbers[state] for state in order if state in accepting), found)

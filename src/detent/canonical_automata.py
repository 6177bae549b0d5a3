"""Automata over tokens, built explicitly: DirectMerge, CartesianMerge, and the states that a guide visits.

`detent.compile(..., canonical=True)` uses none of this: it never builds the automaton. These functions serve small
automata that are inspected, drawn or used in proofs, and merge tables that come from no file. They count the
transitions that they build, up to a limit.

*DirectMerge* applies the merges to the automaton one by one. A merge of a and b to ab maps token sequences to token
sequences. As an automaton: after an a that is not merged, no b may follow (and, if a = b, no aa). So each state is
split in two, after such an a and after anything else, and unreachable states are removed. This is correct for proper
tables only: each token is made by one merge, after its parts.

*CartesianMerge* separates the language from the tokenizer. It applies DirectMerge to the automaton of all texts, once,
and intersects the result with the language's automaton over tokens.

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

__all__ = ["TokenAutomaton", "add_merged_edges", "cartesian_merge", "direct_merge", "explore"]

Merge = tuple[int, int, int]
"""Left token, right token, merged token."""
MAX_TRANSITIONS = 1_000_000
_State = TypeVar("_State", bound=Hashable)
_Pair = tuple[Hashable, Hashable]


@dataclass(frozen=True, repr=False)
class TokenAutomaton:
    """Hold a deterministic automaton over token ids; it is not minimised.

    >>> TokenAutomaton(0, frozenset({1}), {0: {7: 1}}).accepts([7])
    True

    Parameters
    ----------
    start : hashable
        The state before the first token.
    accepting : frozenset
        The states in which a token sequence may end.
    rows : mapping
        The transition row of each state: the next state by token. A state without a row has no transitions.
    """

    start: Hashable
    accepting: frozenset[Hashable]
    rows: Mapping[Hashable, Mapping[int, Hashable]]

    @property
    def state_count(self) -> int:
        """The number of states."""
        return len({self.start, *self.rows, *(state for row in self.rows.values() for state in row.values())})

    @property
    def transition_count(self) -> int:
        """The number of transitions."""
        return sum(map(len, self.rows.values()))

    def accepts(self, tokens: Iterable[int]) -> bool:
        """Return whether a token sequence leads to an accepting state."""
        state = self.start
        for token in tokens:
            row = self.rows.get(state, {})
            if token not in row:
                return False
            state = row[token]
        return state in self.accepting

    def table(self) -> UserDfa:
        """Return the minimised automaton as a `token_table`, which compiles to a constraint and can be drawn."""
        transitions = [(state, token, to) for state, row in self.rows.items() for token, to in row.items()]
        return token_table(transitions, self.start, self.accepting)

    def __repr__(self) -> str:
        return f"TokenAutomaton({self.state_count} states, {self.transition_count} transitions)"


def direct_merge(
    automaton: TokenAutomaton, merges: Sequence[Merge], *, max_transitions: int = MAX_TRANSITIONS
) -> TokenAutomaton:
    """Apply merges, in their order, to an automaton over unmerged tokens.

    In ``a*b*`` with the merges ab, aa, one a merges with a b before two a's merge:

    >>> texts = TokenAutomaton("a", frozenset({"a", "b"}), {"a": {0: "a", 1: "b"}, "b": {1: "b"}})
    >>> merged = direct_merge(texts, [(0, 1, 2), (0, 0, 3)])
    >>> merged.accepts([3, 2, 1]), merged.accepts([0, 0, 2, 1]), merged.accepts([3, 0, 1])
    (True, False, False)

    Parameters
    ----------
    automaton : TokenAutomaton
        An automaton over the tokens that no merge makes.
    merges : sequence of (int, int, int)
        Left, right and merged token of each merge, in the order of application. Each token is made by one merge, before
        it is a part of another.
    max_transitions : int
        Limit on the transitions that are built, those of intermediate automata included.

    Raises
    ------
    ArgumentError
        A merge is not three ids, or the table is improper: a token is made twice, or after it was a part, or is in the
        automaton already.
    EmptyLanguageError
        The automaton accepts nothing.
    LimitError
        There are more than `max_transitions` transitions.

    Notes
    -----
    Time: linear in the merges and, for each merge whose parts both occur, in the automaton. Such a merge at most
    doubles the states after its left token.
    """
    meter, table = _Meter(max_transitions), _checked(automaton, merges)
    merged = trim(automaton.start, automaton.accepting, automaton.rows)
    present = _tokens(merged)
    for left, right, token in table:
        if left in present and right in present:
            merged = apply_merge(merged, (left, right, token), meter)
            present = _tokens(merged)
    return merged


def add_merged_edges(
    automaton: TokenAutomaton, merges: Sequence[Merge], *, max_transitions: int = MAX_TRANSITIONS
) -> TokenAutomaton:
    """Add a transition for each merged token: the automaton of all token sequences with the same texts.

    >>> texts = TokenAutomaton(0, frozenset({2}), {0: {0: 1}, 1: {1: 2}})
    >>> add_merged_edges(texts, [(0, 1, 2)]).transition_count
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
    Time: linear in the merges and, for each merge whose parts both occur, in the states.
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
    """Build the same automaton as `direct_merge`, as a product.

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
    The automaton of all texts is built with those merges only that occur in texts of the given automaton. Others do not
    change the product.
    """
    lifted = add_merged_edges(automaton, merges, max_transitions=max_transitions)
    occurring = _tokens(lifted)
    texts = TokenAutomaton(0, frozenset({0}), {0: dict.fromkeys(_tokens(automaton), 0)})
    needed = [merge for merge in merges if merge[2] in occurring]
    proper = direct_merge(texts, needed, max_transitions=max_transitions)
    meter = _Meter(max_transitions)
    start: _Pair = (lifted.start, proper.start)
    rows: dict[_Pair, dict[int, _Pair]] = {}
    pending = [start]
    while pending:
        state, proper_state = pair = pending.pop()
        if pair in rows:
            continue
        proper_row = proper.rows.get(proper_state, {})
        following = lifted.rows.get(state, {})
        both: dict[int, _Pair] = {
            token: (to, proper_row[token]) for token, to in following.items() if token in proper_row
        }
        rows[pair] = both
        meter.add(len(both))
        pending.extend(both.values())
    accepting = frozenset(pair for pair in rows if pair[0] in lifted.accepting and pair[1] in proper.accepting)
    return trim(start, accepting, rows)


def explore(guide: Guide, *, max_transitions: int = MAX_TRANSITIONS) -> TokenAutomaton:
    """Return the automaton of all states that a guide's matchers can reach.

    >>> import detent
    >>> vocabulary = detent.load_model().vocabulary
    >>> explore(detent.compile(detent.regex(" (there|thing)"), vocabulary))
    TokenAutomaton(9 states, 23 transitions)
    >>> explore(detent.compile(detent.regex(" (there|thing)"), vocabulary, canonical=True))
    TokenAutomaton(4 states, 3 transitions)

    Parameters
    ----------
    guide : Guide
        States of the result are states of the text, together with the last token if the guide is canonical. They are
        numbered in the order of the visit.
    max_transitions : int
        Limit on the transitions.

    Raises
    ------
    ArgumentError
        The argument is not a guide.
    LimitError
        There are more than `max_transitions` transitions.

    Notes
    -----
    Time: a mask for each state and a step for each transition.
    """
    if not isinstance(guide, Guide):
        raise ArgumentError(f"explore needs a Guide, got {type(guide).__name__}; compile the language for a vocabulary")
    meter = _Meter(max_transitions)
    eos = set(guide.vocabulary.eos_token_ids)
    matcher = guide.matcher()
    start = matcher._state_key
    rows: dict[Hashable, dict[int, Hashable]] = {}
    accepting = set()
    # Depth first with one matcher; for each state on its path, the tokens that are still to be tried.
    untried: list[Iterator[int]] = []

    def enter() -> None:
        rows[matcher._state_key] = {}
        allowed = matcher.allowed().tolist()
        if matcher.is_accepting or not eos.isdisjoint(allowed):  # a language may contain eos itself
            accepting.add(matcher._state_key)
        following = [token for token in allowed if token not in eos]
        meter.add(len(following))
        untried.append(iter(following))

    enter()
    while untried:
        token = next(untried[-1], None)
        if token is None:
            untried.pop()
            matcher.rollback(min(1, len(matcher)))
            continue
        row = rows[matcher._state_key]
        matcher.advance(token)
        row[token] = matcher._state_key
        if matcher._state_key in rows:
            matcher.rollback()
        else:
            enter()
    return trim(start, frozenset(accepting), rows)


class _Meter:
    def __init__(self, limit: int) -> None:
        if not isinstance(limit, int) or isinstance(limit, bool) or limit < 0:
            raise ArgumentError(f"max_transitions must be an integer from 0 on, got {limit!r}")
        self._limit = self._left = limit

    def add(self, count: int) -> None:
        self._left -= count
        if self._left < 0:
            raise LimitError(
                f"the automaton, with intermediate ones, has over {self._limit} transitions; raise "
                "max_transitions, or use the matchers of a guide, which build no automaton",
                subject="max_transitions",
                limit=self._limit,
            )


def _tokens(automaton: TokenAutomaton) -> set[int]:
    return {token for row in automaton.rows.values() for token in row}


def _checked(automaton: TokenAutomaton, merges: Sequence[Merge]) -> list[Merge]:
    """Return the merges; refuse an improper table."""
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
                f"merge {number} makes token {token}, which already occurred: the table is improper, and applying its "
                "merges one by one differs from what a tokenizer does; of several merges that make a token, keep the "
                "last one that the tokenizer applies to the token's text"
            )
        made.add(token)
        found.append((left, right, token))
    return found


def apply_merge(automaton: TokenAutomaton, merge: Merge, meter: _Meter) -> TokenAutomaton:
    """Split each state: (state, True) after a left token that was not merged, (state, False) otherwise."""
    left, right, merged = merge
    rows = automaton.rows
    split: dict[_Pair, dict[int, _Pair]] = {}
    pending: list[_Pair] = [(automaton.start, False)]
    while pending:
        pair = pending.pop()
        if pair in split:
            continue
        state, unmerged = pair
        row = rows.get(state, {})
        transitions: dict[int, _Pair] = {
            token: (to, token == left) for token, to in row.items() if not (unmerged and token == right)
        }
        # Of three equal tokens the first two merge: after an unmerged one there is no pair of them.
        if left in row and right in rows.get(row[left], ()) and not (unmerged and left == right):
            transitions[merged] = (rows[row[left]][right], False)
        split[pair] = transitions
        meter.add(len(transitions))
        pending.extend(transitions.values())
    return trim((automaton.start, False), frozenset(at for at in split if at[0] in automaton.accepting), split)


def trim(start: _State, accepting: frozenset[_State], rows: Mapping[_State, Mapping[int, _State]]) -> TokenAutomaton:
    """Remove the states that are not on a path from the start to an accepting one; number the others as visited."""
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
        raise EmptyLanguageError("the automaton accepts no token sequence: no accepting state can be reached")
    numbers = {start: 0}
    order = [start]
    found: dict[Hashable, dict[int, Hashable]] = {}
    for state in order:  # the list grows in the loop
        row = {token: to for token, to in rows.get(state, {}).items() if to in live}
        for to in row.values():
            if to not in numbers:
                numbers[to] = len(order)
                order.append(to)
        found[numbers[state]] = {token: numbers[to] for token, to in row.items()}
    return TokenAutomaton(0, frozenset(numbers[state] for state in order if state in accepting), found)

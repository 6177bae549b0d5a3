"""UserDfa: a user's own automaton, over tokens or over text, checked and minimised; `token_table` makes one."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING, Any, final

import numpy as np

from detent import _core
from detent.errors import ArgumentError, EmptyLanguageError, LimitError
from detent.language import Language
from detent.limits import Limits, read_limits
from detent.sources.nodes import ANY_BYTES, short_repr
from detent.suggestions import suggests_names
from detent.tables.minimize import FINISHED, START, UNREACHABLE, Dfa, Ints, compress, distances
from detent.tables.read_transitions import Longs, Over, Transitions, read_transitions, shown_name
from detent.tables.token_constraint import TokenConstraint
from detent.tables.token_dfa import MAX_BYTES, TokenDfa

if TYPE_CHECKING:
    from detent.vocabulary import Vocabulary

__all__ = ["UserDfa", "token_table"]


@final
class UserDfa:
    """An automaton over tokens or text, deterministic and as small as can be; made by `detent.token_table`.

    ``detent.compile(automaton, vocabulary)`` makes it a constraint: a `TokenDfa` over tokens, a `Guide` over text. Over
    text it is a `Language` too, with all its operators; over tokens, ``&`` with languages and automata narrows it.

    Attributes
    ----------
    over : str
        What its symbols are: "tokens", "characters" or "bytes".
    names : tuple
        For each state, the state of the user's that it is, the first of those that were merged. The first one is the
        initial state.
    """

    __slots__ = ("_bounds", "_dfa", "names", "over")

    over: Over
    names: tuple[Hashable, ...]

    def __init__(self, over: Over, names: tuple[Hashable, ...], dfa: Dfa, bounds: Longs) -> None:
        self.over = over
        self.names = names
        # The classes of the k-th interval of symbols, from bounds[k] to bounds[k + 1] - 1. The last one is eos.
        self._dfa = dfa
        self._bounds = bounds

    @property
    def accepting(self) -> tuple[Hashable, ...]:
        """The names of the states where the text may end."""
        return tuple(name for name, far in zip(self.names, self._dfa.distance[START:], strict=True) if far == 0)

    @property
    def transitions(self) -> list[tuple[Hashable, tuple[int, int], Hashable]]:
        """The transitions, as (state, (lowest symbol, highest symbol), next state), sorted."""
        return [(self.names[source], (low, high), self.names[target]) for source, low, high, target in self._edges()]

    def language(self) -> Language:
        """Return the texts of an automaton over characters or bytes, as a language.

        >>> import detent
        >>> even = detent.token_table([("even", "a", "odd"), ("odd", "a", "even")], "even", ["even"], over="characters")
        >>> (even.language() & detent.regex("a{3,5}")).shortest()
        b'aaaa'

        Raises
        ------
        ArgumentError
            The automaton is over tokens, whose texts are a vocabulary's: compile it.
        """
        if self.over == "tokens":
            raise ArgumentError("an automaton over tokens has no texts of its own; use detent.compile(it, vocabulary)")
        targets: list[dict[int, list[tuple[int, int]]]] = [{} for _ in self.names]
        for source, low, high, target in self._edges():
            targets[source].setdefault(target, []).append((low, high))
        definitions = []
        for row, far in zip(targets, self._dfa.distance[START:].tolist(), strict=True):
            alternatives = [
                _core.concat([self._symbols(ranges), _core.reference(target)]) for target, ranges in row.items()
            ]
            definitions.append(_core.union(alternatives + [_core.epsilon()] * (far == 0)))
        return Language(_core.grammar(definitions, 0), repr(self))

    def table(self, vocabulary: Vocabulary, *, max_bytes: int = MAX_BYTES) -> TokenDfa:
        """Return the table of an automaton over tokens; `detent.compile` calls this.

        Raises
        ------
        ArgumentError
            A transition is by an id that the vocabulary does not have, or by one that ends a text.
        LimitError
            The arrays would take more than `max_bytes`.
        """
        if self.over != "tokens":
            raise ArgumentError(f"an automaton over {self.over} is a language; use detent.compile(it, vocabulary)")
        eos_ids = np.array(vocabulary.eos_token_ids, np.int64)
        token_class = np.zeros(len(vocabulary), np.int32)
        spans = zip(
            self._bounds[:-1].tolist(), self._bounds[1:].tolist(), self._dfa.symbol_class.tolist(), strict=False
        )
        for low, high, part in spans:
            if part == 0:
                continue
            at = eos_ids[(low <= eos_ids) & (eos_ids < high)]
            if at.size or high > len(vocabulary):
                wrong = int(at[0]) if at.size else high - 1
                reason = "ends a text, which `accepting` says" if at.size else f"is not among its {len(vocabulary)} ids"
                state = self.names[int(np.flatnonzero(self._dfa.next[START:, part])[0])]
                raise ArgumentError(
                    f"state {shown_name(state)} has a transition by token {wrong}, "
                    f"but in the vocabulary that id {reason}"
                )
            token_class[low:high] = part
        token_class[eos_ids] = self._dfa.symbol_class[-1]
        texts = Language(ANY_BYTES, repr(self))
        return TokenDfa(self._dfa._replace(symbol_class=token_class), vocabulary, [texts], max_bytes=max_bytes)

    def __and__(self, other: Language | str | bytes | UserDfa | TokenConstraint) -> Language | TokenConstraint:
        """The intersection: a `Language` if both are over text, a `TokenConstraint` if one is over tokens."""
        both: Language | TokenConstraint = self._rule() & (other._rule() if isinstance(other, UserDfa) else other)
        return both

    def __rand__(self, other: Language | str | bytes | TokenConstraint) -> Language | TokenConstraint:
        both: Language | TokenConstraint = other & self._rule()
        return both

    def __repr__(self) -> str:
        return f"token_table({len(self.names)} states over {self.over})"

    def _rule(self) -> Any:
        return TokenConstraint((self,), None) if self.over == "tokens" else self.language()

    def _edges(self) -> list[tuple[int, int, int, int]]:
        """(source, low, high, target) by numbers of `names`, sorted; neighbouring symbols are joined."""
        edges: list[tuple[int, int, int, int]] = []
        by_symbol = self._dfa.next[START:, self._dfa.symbol_class[:-1]]
        for source, interval in np.argwhere(by_symbol >= START).tolist():
            low, high = int(self._bounds[interval]), int(self._bounds[interval + 1]) - 1
            target = int(by_symbol[source, interval]) - START
            if edges and edges[-1][0] == source and edges[-1][2] == low - 1 and edges[-1][3] == target:
                low = edges.pop()[1]
            edges.append((source, low, high, target))
        return edges

    def _symbols(self, ranges: list[tuple[int, int]]) -> _core.Node:
        if self.over == "characters":
            return _core.chars(ranges)
        return _core.byte_set(bytes(byte for low, high in ranges for byte in range(low, high + 1)))


@suggests_names
def token_table(
    transitions: Any,
    initial: Hashable,
    accepting: Iterable[Hashable],
    *,
    over: Over = "tokens",
    states: int | None = None,
    trim: bool = False,
    limits: Limits | None = None,
) -> UserDfa:
    """Make a constraint of your own automaton.

    The numbers 1, 2, 3, in this order, again and again:

    >>> import detent
    >>> automaton = detent.token_table([(1, 1, 2), (2, 2, 3), (3, 3, 1)], initial=1, accepting=[1])
    >>> vocabulary = detent.Vocabulary([b"0", b"1", b"2", b"3", b""], eos_token_ids=[4])
    >>> matcher = detent.compile(automaton, vocabulary).matcher()
    >>> for token_id in (1, 2, 3):
    ...     matcher.advance(token_id)
    >>> matcher.allowed()
    array([1, 4], dtype=int32)

    Parameters
    ----------
    transitions : iterable of tuples, or integers [states, symbols]
        Tuples (state, symbol, next state). States are any hashable values. A symbol is a token id, a character or a
        byte value, or a pair of them: the first and last of a range. Or an array, with -1 where nothing leads on; or a
        sparse matrix of scipy, each stored entry of which (zeros too) is a next state: states are then row numbers.
    initial : hashable
        The state before the first symbol.
    accepting : iterable of hashable
        The states where the text may end: there, and only there, end-of-text is allowed.
    over : {"tokens", "characters", "bytes"}
        What a symbol is. Over tokens, the text of a token does not matter, and special ids may be used.
    states : int, optional
        How many states there are, if these are the numbers from 0 on; others are then errors.
    trim : bool
        Drop states that cannot be reached, or from which no accepting state can be: they are errors otherwise.
    limits : Limits, optional
        `states` bounds the automaton's, `memory_bytes` its array of states by classes of symbols.

    Raises
    ------
    ArgumentError
        A transition is malformed, contradicts another, or names an unknown symbol or state; a state is unreachable or
        dead.
    EmptyLanguageError
        No accepting state can be reached.
    LimitError
        A limit was reached.

    Notes
    -----
    Minimised by Hopcroft's method: O(edges x log states).
    """
    if not isinstance(over, str) or over not in ("tokens", "characters", "bytes"):
        raise ArgumentError(f'over must be "tokens", "characters" or "bytes", got {short_repr(over)}')
    bounds = read_limits(limits)
    given = read_transitions(transitions, over, states, bounds)
    numbers = {name: number for number, name in enumerate(given.names)}
    first = _number(initial, "the initial state", numbers, given, states)
    if isinstance(accepting, (str, bytes)) or not isinstance(accepting, Iterable):
        raise ArgumentError(f"accepting must be a collection of states, got {shown_name(accepting)}")
    last = sorted({_number(name, "accepting state", numbers, given, states) for name in accepting})
    return _minimal(given, first, last, over, trim=trim, max_bytes=bounds.memory_bytes)


def _number(name: Hashable, role: str, numbers: dict[Hashable, int], given: Transitions, states: int | None) -> int:
    try:
        known = name in numbers
    except TypeError:
        raise ArgumentError(f"{role} {shown_name(name)}: a state must be hashable") from None
    if not known:
        in_range = states is not None and isinstance(name, int) and 0 <= name < states
        if not in_range and (states is not None or role != "the initial state" or given.source.size):
            raise ArgumentError(
                f"{role} {shown_name(name)} is in no transition"
                if states is None
                else f"{role} {shown_name(name)} is none of the {states} states"
            )
        numbers[name] = len(given.names)
        given.names.append(name)
    return numbers[name]


def _minimal(given: Transitions, first: int, last: list[int], over: Over, *, trim: bool, max_bytes: int) -> UserDfa:
    # State numbers: the initial state becomes START, and the others follow in the order of their mention.
    order = np.array([first, *(state for state in range(len(given.names)) if state != first)])
    number_of = np.argsort(order) + START
    cuts = np.unique(np.concatenate([given.low, given.high + 1]))
    intervals = max(len(cuts) - 1, 0)
    size = 4 * (len(order) + START) * (intervals + 1)
    if size > max_bytes:
        raise LimitError(
            f"{len(order)} states by {intervals} classes of symbols need {size} bytes, above the limit of {max_bytes}; "
            "simplify the automaton or raise Limits(memory_bytes=...)",
            subject="memory_bytes",
            limit=max_bytes,
            given=size,
        )
    table = np.zeros((len(order) + START, intervals + 1), np.int32)  # the last column is that of end-of-text
    begin, end = np.searchsorted(cuts, given.low), np.searchsorted(cuts, given.high + 1)
    lengths = end - begin
    columns = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths - begin, lengths)
    table[np.repeat(number_of[given.source], lengths), columns] = np.repeat(number_of[given.target], lengths)
    accepting = number_of[np.array(last, np.int64)]
    table[accepting, -1] = table[FINISHED, -1] = FINISHED
    distance = distances(table, accepting)
    names = [given.names[state] for state in order.tolist()]
    table, distance, names = _reached(table, distance, names, trim=trim)
    dfa, number = compress(table, np.arange(intervals + 1, dtype=np.int32), distance)
    names = [name for name, new in zip(names, _firsts(number[START:]), strict=True) if new]
    return UserDfa(over, tuple(names), dfa, cuts)


def _reached(table: Ints, distance: Ints, names: list[Hashable], *, trim: bool) -> tuple[Ints, Ints, list[Hashable]]:
    """Drop the states that cannot be reached, or raise for the first; raise for dead ones unless they are trimmed."""
    if distance[START] == UNREACHABLE:
        raise EmptyLanguageError(f"no accepting state can be reached from the initial state {shown_name(names[0])}")
    seen = np.zeros(len(table), bool)
    seen[: START + 1] = True
    queue = [START]
    for state in queue:  # the list grows in the loop
        after = np.unique(table[state])
        new = after[~seen[after]]
        seen[new] = True
        queue += new.tolist()
    if not trim:
        for bad, problem in (
            (~seen, f"cannot be reached from the initial state {shown_name(names[0])}"),
            (distance == UNREACHABLE, "is dead: no accepting state can be reached from it"),
        ):
            bad[:START] = False
            if bad.any():
                name = names[int(np.flatnonzero(bad)[0]) - START]
                raise ArgumentError(f"state {shown_name(name)} {problem}; drop it or pass trim=True")
    number = np.cumsum(seen, dtype=np.int32) - 1
    names = [name for name, is_seen in zip(names, seen[START:].tolist(), strict=True) if is_seen]
    reached: Ints = np.where(seen[table], number[table], 0)[seen].astype(np.int32)
    return reached, distance[seen], names


def _firsts(numbers: Ints) -> list[bool]:
    """Whether each is the first of its number, and no dropped state's."""
    seen = {0}
    return [number not in seen and not seen.add(number) for number in numbers.tolist()]  # type: ignore[func-returns-value]

"""Automaton over the digits of decimal magnitudes: comparison with cuts and division by divisors at the same time.

The deterministic automaton is built state by state.

1. Integer part: a cut has more digits, fewer, or as many. So a state needs the number of digits so far, up to one above
   the longest cut, and the comparison of the digits so far with each cut.
2. Remainders are those of the number times a power of ten, so that all arithmetic is on integers.
3. Two remainders are one state if no further digits distinguish them. Multiples of 1,000 then have 4 states.

The result is an expression if the only loops are at single states. Otherwise it is a grammar of right-linear rules,
whose configurations are the states of the automaton.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from enum import Enum, auto
from functools import cache, lru_cache
from typing import NamedTuple, TypeAlias

from detent import _core
from detent.errors import LimitError
from detent.sources.json_schema.emit.intervals import HalfLine
from detent.sources.json_schema.emit.written_numbers import MAX_FRACTION_DIGITS

__all__ = ["MAX_STATES", "Divisors", "FractionPart", "magnitudes", "split"]

MAX_STATES = 5000
_DIGITS = b"0123456789"
_LESS, _EQUAL, _MORE = -1, 0, 1
_POINT = 10  # the label of the edge by a decimal point, after those of the digits

_Remainders: TypeAlias = tuple[int, ...]


class FractionPart(Enum):
    """The allowed fractions: any, those of at most 16 digits (more if divisors have more), or none."""

    ANY = auto()
    WRITTEN = auto()
    NONE = auto()


class Divisors(NamedTuple):
    """Divisors times 10**`decimal_places`: the number is a multiple of `of` (if not 0), and of none of `none_of`."""

    decimal_places: int = 0
    of: int = 0
    none_of: tuple[int, ...] = ()


class _State(NamedTuple):
    """The position in the number, and the results so far."""

    phase: int  # 0 start, 1 a single 0, 2 integer part, 3 after the point, 4 after a digit of the fraction
    count: int  # type: ignore[assignment]  # digits of the current part, as far as they matter
    order: tuple[int, ...]  # the comparison of the number so far with each cut
    remainders: _Remainders | None  # None: no continuation is a multiple


class _Transitions(NamedTuple):
    accepting: bool
    edges: list[int]  # by digit, then by the point; -1 is none


@lru_cache(maxsize=8)
def magnitudes(
    line: HalfLine,
    divisors: Divisors | None = None,
    *,
    one_digit: bool = False,
    fraction: FractionPart = FractionPart.ANY,
) -> _core.Node | None:
    """Return the decimals above zero, without exponent, that are members of a set; None if there are none.

    With `one_digit`, they are mantissas: one digit other than 0 before the point.

    Raises
    ------
    LimitError
        More than 5,000 states.
    """
    transitions = _trim(_Builder(line, divisors or Divisors(), one_digit, fraction).transitions())
    return _node(transitions) if transitions else None


def split(value: Decimal) -> tuple[str, str]:
    """Return the digits of a magnitude before the point, and those after it without trailing zeros."""
    whole, _, fraction = format(value, "f").partition(".")
    return whole, fraction.rstrip("0")


class _Builder:
    def __init__(self, line: HalfLine, divisors: Divisors, one_digit: bool, fraction: FractionPart) -> None:
        self.fraction = fraction
        # Zero is a cut that is not a member, since "0.00" is no magnitude.
        self.membership = (False, False, *line.membership)
        cuts = [("0", ""), *(split(value) for value in line.cuts)]
        self.wholes = [[int(digit) for digit in whole] for whole, _ in cuts]
        self.fractions = [[int(digit) for digit in fraction] for _, fraction in cuts]
        self.longest = max(map(len, self.wholes))
        self.deepest = max(map(len, self.fractions))
        self.one_digit = one_digit
        # A divisor of 1 has no remainders; it only limits the digits that may differ from 0.
        self.has_end = bool(divisors.of)
        self.of = (divisors.of,) if divisors.of > 1 else ()
        self.moduli = (*self.of, *divisors.none_of)
        self.scale = divisors.decimal_places if self.has_end or self.moduli else 0
        self.most = max(self.scale, MAX_FRACTION_DIGITS) if fraction is FractionPart.WRITTEN else None
        self.horizon = max(self.scale, max((len(str(modulus)) for modulus in self.moduli), default=0))
        self.ids: dict[object, int] = {}
        self._completions: dict[object, object] = {}
        self.states: list[_State] = []

    def transitions(self) -> list[_Transitions]:
        self.number(_State(0, 0, (_EQUAL,) * len(self.wholes), (0,) * len(self.moduli)))
        transitions: list[_Transitions] = []
        while len(transitions) < len(self.states):
            state = self.states[len(transitions)]
            edges: list[int] = []
            for first, last in self.digit_ranges(state):
                edges += [self.digit(state, first)] * (last - first + 1)
            edges.append(self.point(state))
            transitions.append(_Transitions(self.accepts(state), edges))
        return transitions

    def number(self, state: _State) -> int:
        """Return the id of a state; equivalent states have one id."""
        remainders = self.distinguishing(state) if self.moduli else state.remainders
        key = (state.phase, state.count, state.order, remainders)
        known = self.ids.get(key)
        if known is None:
            if len(self.states) == MAX_STATES:
                raise LimitError(
                    f"multipleOf together with the bounds needs over {MAX_STATES} states of remainders; "
                    "use a smaller or rounder divisor, or leave multipleOf out",
                    subject="remainders",
                    limit=MAX_STATES,
                )
            known = self.ids[key] = len(self.states)
            self.states.append(state)
        return known

    def distinguishing(self, state: _State) -> object:
        """Return, for each remainder and number of further digits, the digits that complete a multiple."""
        if state.remainders is None:
            return None
        left = -1 if state.phase < 3 else max(self.scale - state.count, 0)
        key = (left, state.remainders)
        known = self._completions.get(key)
        if known is None:
            lengths = range(self.scale, self.horizon + 1) if left < 0 else range(left, left + 1)
            completions = []
            for remainder, modulus in zip(state.remainders, self.moduli, strict=True):
                for length in lengths:
                    completion = -remainder * 10**length % modulus
                    completions.append(completion if completion < 10**length else -1)
            known = self._completions[key] = tuple(completions)
        return known

    def digit_ranges(self, state: _State) -> list[tuple[int, int]]:
        """Return the ranges of digits with one successor each."""
        if state.remainders and self.moduli:
            return [(digit, digit) for digit in range(10)]
        in_fraction, index = state.phase >= 3, state.count
        single = {0} if state.phase == 0 or in_fraction else set()
        for known, digits in zip(state.order, self.fractions if in_fraction else self.wholes, strict=True):
            if known == _EQUAL and index < len(digits):
                single.add(digits[index])
        starts = sorted({0, *single, *(digit + 1 for digit in single)} - {10})
        return [(first, last - 1) for first, last in zip(starts, [*starts[1:], 10], strict=True)]

    def digit(self, state: _State, digit: int) -> int:
        if state.phase >= 3:
            return self.fraction_digit(state, digit)
        if state.phase == 1 or (self.one_digit and (state.phase == 2 or digit == 0)):
            return -1
        index = state.count
        order = tuple(
            [
                _MORE if index >= len(digits) else known or (digit > digits[index]) - (digit < digits[index])
                for known, digits in zip(state.order, self.wholes, strict=True)
            ]
        )
        phase = 1 if state.phase == 0 and digit == 0 else 2
        count = min(index + 1, self.longest + 1)
        return self.number(_State(phase, count, order, self.divide(state.remainders, digit)))

    def point(self, state: _State) -> int:
        if state.phase not in (1, 2) or self.fraction is FractionPart.NONE:
            return -1
        return self.number(_State(3, 0, self.order_of_integer(state), state.remainders))

    def order_of_integer(self, state: _State) -> tuple[int, ...]:
        wholes = zip(state.order, self.wholes, strict=True)
        return tuple([_LESS if state.count < len(digits) else known for known, digits in wholes])

    def fraction_digit(self, state: _State, digit: int) -> int:
        index = state.count
        remainders = state.remainders
        if index == self.most:
            return -1
        if remainders is not None and index < self.scale:
            remainders = self.divide(remainders, digit)
        elif digit and self.has_end:
            return -1
        elif digit and self.moduli:
            remainders = None
        order = list(state.order)
        is_open = False
        for cut, known in enumerate(order):
            if known == _EQUAL:
                digits = self.fractions[cut]
                other = digits[index] if index < len(digits) else 0
                order[cut] = (digit > other) - (digit < other)
                is_open |= digit == other
        # The count matters until every comparison is decided, the digits of the divisors are read, and none may follow.
        enough = self.most or (0 if remainders is None else self.scale)
        if is_open:
            enough = max(enough, self.deepest)
        return self.number(_State(4, min(index + 1, enough), tuple(order), remainders))

    def divide(self, remainders: _Remainders | None, digit: int) -> _Remainders | None:
        if not remainders:
            return remainders
        return tuple([(value * 10 + digit) % modulus for value, modulus in zip(remainders, self.moduli, strict=True)])

    def accepts(self, state: _State) -> bool:
        if state.phase in (0, 3):
            return False
        order, read = (self.order_of_integer(state), 0) if state.phase < 3 else (state.order, state.count)
        below, exact = 0, False
        for known, fraction in zip(order, self.fractions, strict=True):
            below += known == _MORE
            # A cut with further digits is above.
            exact |= known == _EQUAL and read >= len(fraction)
        if not self.membership[2 * below + exact]:
            return False
        if not state.remainders:
            return True
        scale = 10 ** max(self.scale - read, 0)
        whole = [value * scale % modulus == 0 for value, modulus in zip(state.remainders, self.moduli, strict=True)]
        return all(whole[: len(self.of)]) and not any(whole[len(self.of) :])


def _trim(transitions: list[_Transitions]) -> list[_Transitions]:
    """Remove the states that accept nothing; the result is empty if the start is one of them."""
    into: list[list[int]] = [[] for _ in transitions]
    for index, row in enumerate(transitions):
        for target in row.edges:
            if target >= 0:
                into[target].append(index)
    live = {index for index, row in enumerate(transitions) if row.accepting}
    work = list(live)
    while work:
        for source in into[work.pop()]:
            if source not in live:
                live.add(source)
                work.append(source)
    if 0 not in live:
        return []
    left = sorted(live)
    ids = {old: new for new, old in enumerate(left)}
    kept = [transitions[old] for old in left]
    return [_Transitions(row.accepting, [ids.get(edge, -1) for edge in row.edges]) for row in kept]


def _node(transitions: list[_Transitions]) -> _core.Node:
    order = _reverse_topological(transitions)
    if order is None:
        references = [_core.reference(index) for index in range(len(transitions))]
        return _core.grammar([_rule(row, references) for row in transitions], 0)
    nodes: dict[int, _core.Node] = {}
    same: dict[object, _core.Node] = {}
    for index in order:
        row = transitions[index]
        staying = _label([label for label, target in enumerate(row.edges) if target == index])
        leaving = _Transitions(row.accepting, [-1 if target == index else target for target in row.edges])
        key = (staying, row.accepting, *(nodes[target] if target >= 0 else None for target in leaving.edges))
        if key not in same:
            rest = _rule(leaving, nodes)
            same[key] = _core.concat([_core.repeat(_byte_set(staying), 0, None), rest]) if staying else rest
        nodes[index] = same[key]
    return nodes[0]


def _rule(row: _Transitions, nodes: Sequence[_core.Node] | dict[int, _core.Node]) -> _core.Node:
    """Return the continuations of a state: none, or a label and the continuations of the next state."""
    labels: dict[int, list[int]] = {}
    for label, target in enumerate(row.edges):
        if target >= 0:
            labels.setdefault(target, []).append(label)
    alternatives = [_core.concat([_byte_set(_label(edge)), nodes[target]]) for target, edge in labels.items()]
    if row.accepting:
        alternatives.append(_core.epsilon())
    return _core.union(alternatives) if alternatives else _core.empty()


@cache
def _byte_set(label: bytes) -> _core.Node:
    return _core.byte_set(label)


def _label(edges: list[int]) -> bytes:
    return bytes(0x2E if edge == _POINT else _DIGITS[edge] for edge in edges)


def _reverse_topological(transitions: list[_Transitions]) -> list[int] | None:
    """Return the states in an order in which successors come first; None if a loop has two or more states."""
    successors = [set(row.edges) - {-1, index} for index, row in enumerate(transitions)]
    waiting = [len(targets) for targets in successors]
    into: list[set[int]] = [set() for _ in transitions]
    for index, targets in enumerate(successors):
        for target in targets:
            into[target].add(index)
    order = [index for index, count in enumerate(waiting) if not count]
    for index in order:
        for source in into[index]:
            waiting[source] -= 1
            if not waiting[source]:
                order.append(source)
    return order if len(order) == len(transitions) else None

"""Rules written out as Lark's LALR parser has them, since that decides which terminals it expects where.

Alternatives inside a row are multiplied out, `x+` is a rule `p: x | p x` that equal repeats share, `x*` is that rule or
nothing, small counts are written out and large ones built from factors (lark 1.3, `EBNF_to_BNF`,
`SimplifyRule_Visitor`). Where multiplying out would give over a thousand rows, with which Lark itself is too slow to
use, alternatives become rules instead.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from functools import partial
from itertools import product
from typing import TypeAlias

from detent.errors import LimitError
from detent.sources.grammar.lark_rules import LarkRules, Scope
from detent.sources.grammar.lark_syntax import Nested
from detent.sources.grammar.tree import Repeat, RuleName, Sequence, TerminalNode, Tree, Union
from detent.sources.trampoline import trampoline

__all__ = ["Bnf", "BnfRow", "expand_ebnf"]

BnfRow: TypeAlias = tuple[int, ...]
"""Numbers of rules, and complements of numbers of terminals."""

_MAX_ROWS = 1000

# Lark's thresholds: counts below are written out, factors are at most so large.
_SMALL_COUNT = 50
_SMALL_FACTOR = 5

_Rows: TypeAlias = "list[BnfRow]"
_Walk: TypeAlias = "Generator[Tree, _Rows, _Rows]"


class Bnf:
    """Rows by rule; rule 0 is the start."""

    def __init__(self, limit: int) -> None:
        self.rules: list[_Rows] = []
        self._limit, self._size = limit, 0
        self._plus: dict[tuple[BnfRow, ...], int] = {}
        self._counted: dict[tuple[int, int, int, int | None, bool], int] = {}

    def add(self, rows: _Rows) -> int:
        """Add a rule and give its number."""
        self.rules.append([])
        self.set(len(self.rules) - 1, rows)
        return len(self.rules) - 1

    def set(self, rule: int, rows: _Rows) -> None:
        """Return a rule its rows."""
        self._size += sum(map(len, rows)) + len(rows)
        if self._size > self._limit:
            raise LimitError(
                f"the grammar has more than {self._limit} symbols once it is written out; "
                "shorten it or raise Limits(pattern_size=...)",
                subject="pattern_size",
                limit=self._limit,
            )
        self.rules[rule] = list(dict.fromkeys(rows))

    def plus(self, rows: _Rows) -> int:
        """Return the rule for rows that are repeated."""
        key = tuple(rows)
        if key not in self._plus:
            self._plus[key] = rule = self.add([])
            self.set(rule, [*rows, *((rule, *row) for row in rows)])
        return self._plus[key]

    def one(self, rows: _Rows) -> int:
        """Return a symbol for rows, a rule if it must be."""
        return rows[0][0] if len(rows) == 1 and len(rows[0]) == 1 else self.add(rows)

    def multiplied(self, parts: list[_Rows]) -> _Rows:
        """Return the rows of parts in a row."""
        count = 1
        for part in parts:
            count *= len(part)
        if count > _MAX_ROWS:
            parts = [part if len(part) == 1 else [(self.add(part),)] for part in parts]
        rows = [tuple(symbol for piece in pieces for symbol in piece) for pieces in product(*parts)]
        return list(dict.fromkeys(rows))

    def counted(self, rows: _Rows, least: int, most: int) -> _Rows:
        """Return the rows for a count with an upper bound."""
        if most < _SMALL_COUNT and sum(len(rows) ** count for count in range(least, most + 1)) <= _MAX_ROWS:
            return list(dict.fromkeys(row for n in range(least, most + 1) for row in self.multiplied([rows] * n)))
        atom = self.one(rows)
        if most < _SMALL_COUNT:
            return [(atom,) * count for count in range(least, most + 1)]
        head: BnfRow = ()
        if least:
            target = atom
            for times, more in _factors(least):
                target = self._times(times, more, target, atom)
            head = (target,)
        if least == most:
            return [head]
        target, optional = atom, None
        factors = _factors(most - least + 1)
        for times, more in factors[:-1]:
            optional = self._up_to(times, more, target, optional, atom)
            target = self._times(times, more, target, atom)
        return [(*head, self._up_to(*factors[-1], target, optional, atom))]

    def _times(self, times: int, more: int, target: int, atom: int) -> int:
        key = (times, more, target, atom, False)
        if key not in self._counted:
            self._counted[key] = self.add([(target,) * times + (atom,) * more])
        return self._counted[key]

    def _up_to(self, times: int, more: int, target: int, optional: int | None, atom: int) -> int:
        key = (times, more, target, optional, True)
        if key not in self._counted:
            tail = () if optional is None else (optional,)
            rows = [(target,) * count + tail for count in range(times)]
            rows += [(target,) * times + (atom,) * count for count in range(more)]
            self._counted[key] = self.add(rows)
        return self._counted[key]


def expand_ebnf(rules: LarkRules, limit: int) -> Bnf | None:
    """Return the rows of all rules that the start needs; None if one holds what is no terminal."""
    bnf = Bnf(limit)
    numbers: dict[int, int] = {}
    index = 0

    def number(rule: int) -> int:
        if rule not in numbers:
            numbers[rule] = bnf.add([])
        return numbers[rule]

    number(0)
    while index < len(rules.trees):  # the list grows in the loop
        _, tree, scope = rules.trees[index]
        try:
            rows = trampoline(partial(_walk, scope=scope, rules=rules, bnf=bnf, number=number), tree)
        except _NestedSchema:
            return None
        bnf.set(number(index), rows)
        index += 1
    return bnf


class _NestedSchema(Exception):  # noqa: N818 - it never leaves this file
    """A part that is no terminal."""


def _walk(tree: Tree, scope: Scope, rules: LarkRules, bnf: Bnf, number: Callable[[int], int]) -> _Walk:
    if isinstance(tree, (RuleName, TerminalNode)):
        symbol = rules.symbol(tree, scope)
        if isinstance(symbol, Nested):
            raise _NestedSchema
        return [(number(symbol) if symbol >= 0 else symbol,)]
    if isinstance(tree, Union):
        found: _Rows = []
        for option in tree.options:
            found += yield option
        return list(dict.fromkeys(found))
    if isinstance(tree, Repeat):
        body = yield tree.part
        if tree.maximum is not None:
            return bnf.counted(body, tree.minimum, tree.maximum)
        if tree.minimum <= 1:
            plus = (bnf.plus(body),)
            return [plus] if tree.minimum else [plus, ()]
        return bnf.multiplied([bnf.counted(body, tree.minimum, tree.minimum), [(bnf.plus(body),), ()]])
    assert isinstance(tree, Sequence)  # noqa: S101 - the reader lets & and ~ into terminals only
    parts: list[_Rows] = []
    for part in tree.parts:
        parts.append((yield part))
    return bnf.multiplied(parts)


def _factors(count: int) -> list[tuple[int, int]]:
    """Return (a, b) pairs that make a count from 1 by x -> a x + b, as Lark's `small_factors` does."""
    pairs: list[tuple[int, int]] = []
    while count > _SMALL_FACTOR:
        for factor in range(_SMALL_FACTOR, 1, -1):
            rest, more = divmod(count, factor)
            if factor + more <= _SMALL_FACTOR:
                pairs.append((factor, more))
                count = rest
                break
    pairs.append((count, 0))
    return pairs[::-1]

"""The LALR(1) automaton of a grammar: its states, and which terminals each of them expects.

A state is a set of items (production, position in it). All transitions into a state read the same symbol. A state
expects a terminal that can be shifted, or that may follow a production that can be reduced. No recursion: the relations
are closed along strongly connected components. (DeRemer & Pennello 1982.)
"""

from __future__ import annotations

from detent.errors import LimitError
from detent.sources.grammar.lark_bnf import BnfRow
from detent.sources.grammar.strongly_connected import closed

__all__ = ["END", "Lalr"]

END = -(1 << 40)
"""The end of the text, as a terminal."""

_ROOT = END - 1  # the rule that is the start and the end, which none calls

_MAX_ITEMS = 2_000_000

_Item = tuple[int, int]


class Lalr:
    """The automaton of some rules, of which number 0 is the start.

    Attributes
    ----------
    goto : list of dict
        For each state, the state after each symbol; state 0 is the first.
    expected : list of set
        For each state, the complements of the numbers of terminals, or `END`.
    moves : dict
        Each state and rule that leads on from it, numbered.
    follow : list of set
        For each of `moves`, what may come after the rule: the complements of the numbers of terminals, or `END`.
    conflicts : set of str
        The kinds of conflicts met: "shift/reduce", "reduce/reduce".
    """

    def __init__(self, rules: list[list[BnfRow]]) -> None:
        self.rules = rules
        self.rows: list[tuple[int, BnfRow]] = [(_ROOT, (0,))]
        self.rows_of: list[list[int]] = []
        for rule, rows in enumerate(rules):
            self.rows_of.append(list(range(len(self.rows), len(self.rows) + len(rows))))
            self.rows.extend((rule, row) for row in rows)
        self.goto: list[dict[int, int]] = []
        self._closures: list[list[_Item]] = []
        self._build()
        moves = [(state, symbol) for state, targets in enumerate(self.goto) for symbol in targets if symbol >= 0]
        self.moves = {move: number for number, move in enumerate(moves)}
        self.nullable = self._find_nullable()
        self.expected: list[set[int]] = []
        self.conflicts: set[str] = set()
        self._look_ahead()

    def _build(self) -> None:
        first = frozenset([(0, 0)])
        numbers: dict[frozenset[_Item], int] = {first: 0}
        kernels = [first]
        total = 0
        for kernel in kernels:
            closure = self._closure(kernel)
            total += len(closure)
            if total > _MAX_ITEMS:
                raise LimitError(
                    f"the grammar's LALR automaton has over {_MAX_ITEMS} items; shorten the grammar, or pass "
                    "lexer='dynamic_complete', which needs no such automaton",
                    subject="lalr_items",
                    limit=_MAX_ITEMS,
                )
            moves: dict[int, list[_Item]] = {}
            for row, position in closure:
                symbols = self.rows[row][1]
                if position < len(symbols):
                    moves.setdefault(symbols[position], []).append((row, position + 1))
            targets: dict[int, int] = {}
            for symbol, items in moves.items():
                key = frozenset(items)
                if key not in numbers:
                    numbers[key] = len(kernels)
                    kernels.append(key)
                targets[symbol] = numbers[key]
            self._closures.append(closure)
            self.goto.append(targets)

    def _closure(self, kernel: frozenset[_Item]) -> list[_Item]:
        items = list(kernel)
        seen: set[int] = set()
        for row, position in items:
            symbols = self.rows[row][1]
            if position < len(symbols) and symbols[position] >= 0 and symbols[position] not in seen:
                seen.add(symbols[position])
                items.extend((number, 0) for number in self.rows_of[symbols[position]] if (number, 0) not in kernel)
        return items

    def _find_nullable(self) -> set[int]:
        callers: dict[int, list[int]] = {}
        missing = [len(set(symbols)) for _, symbols in self.rows]
        for number, (_, symbols) in enumerate(self.rows):
            for symbol in set(symbols):
                callers.setdefault(symbol, []).append(number)
        found: set[int] = set()
        ready = [rule for number, (rule, _) in enumerate(self.rows) if missing[number] == 0]
        while ready:
            rule = ready.pop()
            if rule in found:
                continue
            found.add(rule)
            for number in callers.get(rule, ()):
                missing[number] -= 1
                if missing[number] == 0:
                    ready.append(self.rows[number][0])
        return found

    def path(self, state: int, row: int) -> list[int]:
        """Return the states that a row leads through, from the one it begins in."""
        path = [state]
        for symbol in self.rows[row][1]:
            path.append(self.goto[path[-1]][symbol])
        return path

    def _look_ahead(self) -> None:
        """Find what may come after each reduction, along the relations of DeRemer and Pennello."""
        read: list[set[int]] = []
        reads: list[list[int]] = []
        for state, symbol in self.moves:
            target = self.goto[state][symbol]
            read.append({other for other in self.goto[target] if other < 0})
            reads.append([self.moves[target, other] for other in self.goto[target] if other in self.nullable])
        read[self.moves[0, 0]].add(END)
        includes: list[list[int]] = [[] for _ in self.moves]
        lookback: dict[tuple[int, int], list[int]] = {}
        for (state, symbol), number in self.moves.items():
            for row in self.rows_of[symbol]:
                path = self.path(state, row)
                lookback.setdefault((path[-1], row), []).append(number)
                for before, part in zip(path[-2::-1], self.rows[row][1][::-1], strict=True):
                    if part < 0:
                        break
                    includes[self.moves[before, part]].append(number)
                    if part not in self.nullable:
                        break
        self.follow = closed(closed(read, reads), includes)
        for state in range(len(self.goto)):
            self._expect(state, lookback)

    def _expect(self, state: int, lookback: dict[tuple[int, int], list[int]]) -> None:
        """Find what a state expects, and the conflicts in it."""
        shifts = {symbol for symbol in self.goto[state] if symbol < 0}
        reduced: set[int] = set()
        for row, position in self._closures[state]:
            if position < len(self.rows[row][1]):
                continue
            back = lookback.get((state, row), ())
            ahead: set[int] = {END} if row == 0 else set().union(*(self.follow[number] for number in back))
            if ahead & shifts:
                self.conflicts.add("shift/reduce")
            if ahead & reduced:
                self.conflicts.add("reduce/reduce")
            reduced |= ahead
        self.expected.append(shifts | reduced)

"""The LALR(1) automaton of a grammar: its states, and which terminals each of them expects. (DeRemer & Pennello 1982.)

A state is a set of items (row, place in it); all that lead into one read the same symbol. A state expects a terminal if
it can be shifted there, or may come after a row that can be reduced there. No recursion: the relations are closed along
strongly connected sets.
"""

from __future__ import annotations

from detent.errors import LimitError
from detent.sources.grammar.graph import components
from detent.sources.grammar.lark_bnf import BnfRow

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
    conflicts : list of str
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
        self.closures: list[list[_Item]] = []
        self.build()
        self.nullable = self.find_nullable()
        self.expected: list[set[int]] = []
        self.conflicts: list[str] = []
        self.look_ahead()

    def build(self) -> None:
        first = frozenset([(0, 0)])
        numbers: dict[frozenset[_Item], int] = {first: 0}
        kernels = [first]
        total = 0
        for kernel in kernels:
            closure = self.closure(kernel)
            total += len(closure)
            if total > _MAX_ITEMS:
                raise LimitError(
                    f"the grammar's LALR automaton has over {_MAX_ITEMS} items; shorten the grammar, or pass "
                    "lexer='dynamic_complete', which needs no such automaton"
                )
            moves: dict[int, list[_Item]] = {}
            for row, place in closure:
                symbols = self.rows[row][1]
                if place < len(symbols):
                    moves.setdefault(symbols[place], []).append((row, place + 1))
            targets: dict[int, int] = {}
            for symbol, items in moves.items():
                key = frozenset(items)
                if key not in numbers:
                    numbers[key] = len(kernels)
                    kernels.append(key)
                targets[symbol] = numbers[key]
            self.closures.append(closure)
            self.goto.append(targets)

    def closure(self, kernel: frozenset[_Item]) -> list[_Item]:
        items = list(kernel)
        seen: set[int] = set()
        for row, place in items:
            symbols = self.rows[row][1]
            if place < len(symbols) and symbols[place] >= 0 and symbols[place] not in seen:
                seen.add(symbols[place])
                items.extend((number, 0) for number in self.rows_of[symbols[place]] if (number, 0) not in kernel)
        return items

    def find_nullable(self) -> set[int]:
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

    def look_ahead(self) -> None:
        """Find what may come after each reduction, along the relations of DeRemer and Pennello."""
        moves = [(state, symbol) for state, targets in enumerate(self.goto) for symbol in targets if symbol >= 0]
        numbers = {move: index for index, move in enumerate(moves)}
        read: list[set[int]] = []
        reads: list[list[int]] = []
        for state, symbol in moves:
            target = self.goto[state][symbol]
            read.append({other for other in self.goto[target] if other < 0})
            reads.append([numbers[target, other] for other in self.goto[target] if other in self.nullable])
        read[numbers[0, 0]].add(END)
        read = _closed(read, reads)
        includes: list[list[int]] = [[] for _ in moves]
        lookback: dict[tuple[int, int], list[int]] = {}
        for index, (state, symbol) in enumerate(moves):
            for row in self.rows_of[symbol]:
                symbols = self.rows[row][1]
                path = [state]
                for part in symbols:
                    path.append(self.goto[path[-1]][part])
                lookback.setdefault((path[-1], row), []).append(index)
                for place in range(len(symbols) - 1, -1, -1):
                    part = symbols[place]
                    if part < 0:
                        break
                    includes[numbers[path[place], part]].append(index)
                    if part not in self.nullable:
                        break
        follow = _closed(read, includes)
        for state, targets in enumerate(self.goto):
            shifts = {symbol for symbol in targets if symbol < 0}
            expected = set(shifts)
            reduced: set[int] = set()
            for row, place in self.closures[state]:
                if place < len(self.rows[row][1]) or row == 0:
                    continue
                ahead: set[int] = set().union(*(follow[index] for index in lookback.get((state, row), ())))
                if ahead & shifts:
                    self.conflicts.append("shift/reduce")
                if ahead & reduced:
                    self.conflicts.append("reduce/reduce")
                reduced |= ahead
            if any(row == 0 and place == 1 for row, place in self.closures[state]):
                expected.add(END)
            self.expected.append(expected | reduced)


def _closed(sets: list[set[int]], edges: list[list[int]]) -> list[set[int]]:
    """Give for each node the union of the sets that it reaches; nodes of one component share one set."""
    closed: list[set[int]] = [set() for _ in sets]
    for members in components(edges):
        whole: set[int] = set()
        for member in members:
            whole |= sets[member]
            for target in edges[member]:
                whole |= closed[target]
        for member in members:
            closed[member] = whole
    return closed

"""The texts that Lark's LALR parser accepts with its contextual lexer, as productions.

That lexer tries only the terminals that the parser expects in its state after the last shift: its *context*. The
productions know the context, since their rules are annotated:

1. (A, p, k) is rule A, started in state p of the LALR automaton with the lexer in class k. (A, p, k, m) are its texts
   that leave the lexer in class m.
2. Contexts are in one class if each terminal that may follow is read alike in them. Most grammars have few classes.
3. A lexer state also holds the guard of the last token: a restriction of the text after it (`Guard`). The guard is
   applied to the next terminal, so that no production looks ahead.
4. Annotated rules with equal productions are merged at the end.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from detent import _core
from detent.sources.grammar.contextual_lexer import ContextualLexer
from detent.sources.grammar.guards import Guard, Guards
from detent.sources.grammar.ignored import solve_ignored, union_of_some
from detent.sources.grammar.lalr import END, Lalr
from detent.sources.grammar.productions import Grammar, Production, Symbol, Terminal
from detent.sources.grammar.strongly_connected import closed
from detent.sources.grammar.terminals import Path

__all__ = ["annotate_lexer_states"]

_EPSILON = _core.epsilon()
_ANY = -1  # every class of contexts

_Reading = frozenset[tuple[Path, int]]
"""The paths by which a terminal is read, each with its guard."""

_Token = tuple["frozenset[tuple[int, _Reading]]", _Reading]
"""The readings of the ignored terminals before a terminal, and of the terminal itself."""

_Lexer = tuple[int, int]
"""A class of contexts, and the guard of the last token."""

_Key = tuple[int, int, _Lexer]
_Rule = tuple[int, int, _Lexer, _Lexer]
_Body = list["list[_Rule | Terminal]"]


def annotate_lexer_states(automaton: Lalr, guards: Guards, limit: int) -> Grammar:
    """Return the productions of the texts that the automaton accepts with its contextual lexer."""
    return guards.with_blanks(lambda: _Annotation(automaton, guards, limit).run())


@dataclass
class _Node:
    """A node of the tree of a rule's rows: the nodes after each symbol, and whether a row ends here."""

    children: dict[int, int]
    is_end: bool = False


class _Annotation:
    def __init__(self, automaton: Lalr, guards: Guards, limit: int) -> None:
        self.automaton, self.guards, self.terminals = automaton, guards, guards.terminals
        self.ignored = self.terminals.rules.ignored
        self.budget = Grammar(limit=limit)
        self.symbols: dict[tuple[int, _Token, int, int], Terminal | None] = {}
        # For each state and terminal, how it is read in each class of contexts; under `_ANY` if it is always the same.
        self.tokens: dict[tuple[int, int], dict[int, _Token]] = {}
        # The terminals that the parser expects, by context, and the context of each state.
        numbers: dict[frozenset[int], int] = {}
        self.context_of = [numbers.setdefault(frozenset(symbols), len(numbers)) for symbols in automaton.expected]
        self.contexts = list(numbers)
        self.lexers = [
            ContextualLexer(
                self.terminals, frozenset(~symbol for symbol in symbols if symbol != END) | set(self.ignored)
            )
            for symbols in self.contexts
        ]
        self.following: dict[tuple[frozenset[int], int | None], frozenset[int]] = {}
        self.narrowed_readings: dict[tuple[int, int, bool, frozenset[int]], _Reading] = {}
        self.known_tokens: dict[tuple[int, int, int, frozenset[int]], _Token] = {}
        self.class_of = self.classify()
        for tokens in self.tokens.values():
            for before, _ in tokens.values():
                guards.check_blanks((number, path, left) for number, found in before for path, left in found)
        self.exits: dict[_Key, set[_Lexer]] = {}
        # The results of `decided`; and one class for all classes that read the terminals that may come next alike.
        self.known_decided: dict[tuple[int, _Lexer], _Lexer] = {}
        self.alike: dict[tuple[object, ...], int] = {}
        self.trees: dict[int, list[_Node]] = {}
        self.readings: dict[_Key, list[tuple[_Lexer, Terminal]]] = {}

    def classify(self) -> list[int]:
        """Find how terminals are read, and return the class of each state's context."""
        automaton = self.automaton
        views: list[list[tuple[int, int, _Token]]] = [[] for _ in self.contexts]
        split: list[tuple[int, int, dict[int, _Token]]] = []
        for state, lexed_in in enumerate(_contexts_before(automaton, self.context_of)):
            symbols = [symbol for symbol in automaton.goto[state] if symbol < 0]
            if state == automaton.goto[0].get(0):
                symbols.append(END)
            for symbol in symbols:
                contexts = frozenset(context for context in lexed_in if symbol in self.contexts[context])
                tokens = {context: self.token(symbol, state, context, contexts) for context in sorted(contexts)}
                if len(set(tokens.values())) <= 1:
                    self.tokens[state, symbol] = dict(zip([_ANY], tokens.values(), strict=False))
                    continue
                self.budget.charge(len(contexts))
                split.append((state, symbol, tokens))
                for context, token in tokens.items():
                    views[context].append((state, symbol, token))
        numbers: dict[tuple[tuple[int, int, _Token], ...], int] = {}
        classes = [numbers.setdefault(tuple(view), len(numbers)) for view in views]
        self.views = [dict[int, list[object]]() for _ in numbers]
        for view, number in numbers.items():
            for state, symbol, token in view:
                self.views[number].setdefault(symbol, []).append((state, token))
        for state, symbol, tokens in split:
            self.tokens[state, symbol] = {classes[context]: token for context, token in tokens.items()}
        return [classes[context] for context in self.context_of]

    def token(self, symbol: int, state: int, context: int, contexts: frozenset[int]) -> _Token:
        """Return how a terminal that `state` shifts is read in a context; `contexts` are all that read it there."""
        after = -1 if symbol == END else self.context_of[self.automaton.goto[state][symbol]]
        key = (symbol, after, context, contexts)
        if key not in self.known_tokens:
            before: list[tuple[int, _Reading]] = []
            for number in self.ignored:
                skip = number if self.terminals.is_repeatable(number) else None
                reading = self.narrowed(number, context, True, self.terminals_after(contexts, skip))
                if reading:
                    before.append((number, reading))
            reading = frozenset()
            if symbol != END:
                reading = self.narrowed(~symbol, context, False, self.terminals_after(frozenset([after]), None))
            self.known_tokens[key] = frozenset(before), reading
        return self.known_tokens[key]

    def narrowed(self, number: int, context: int, is_skipped: bool, following: frozenset[int]) -> _Reading:
        """Return the paths of a terminal that exist in a context, if these terminals may follow."""
        key = (number, context, is_skipped, following)
        if key not in self.narrowed_readings:
            lexer = self.lexers[context]
            paths = lexer.skipped[number] if is_skipped else lexer.paths[number]
            readings = [self.guards.narrowed(number, path, following) for path in paths]
            if not is_skipped:
                readings = [reading and self.guards.with_escape(number, *reading) for reading in readings]
            self.narrowed_readings[key] = frozenset(reading for reading in readings if reading is not None)
        return self.narrowed_readings[key]

    def read(self, symbol: int, state: int, lexer: _Lexer) -> list[tuple[_Lexer, Terminal]]:
        """Return the expressions by which a terminal is read in a state, each with the lexer's state after it."""
        key = (symbol, state, lexer)
        if key not in self.readings:
            self.readings[key] = self.find_readings(*key)
        return self.readings[key]

    def find_readings(self, symbol: int, state: int, lexer: _Lexer) -> list[tuple[_Lexer, Terminal]]:
        """See `read`, which caches the results."""
        tokens = self.tokens[state, symbol]
        token = tokens.get(_ANY) or tokens.get(lexer[0])
        if token is None:
            return []
        after = self.class_of[self.automaton.goto[state][symbol]] if symbol != END else 0
        found: list[tuple[_Lexer, Terminal]] = []
        for guard in sorted({guard for _, guard in token[1]}) if symbol != END else [Guard.NONE]:
            terminal = self.terminal(symbol, token, lexer[1], guard)
            if terminal is not None:
                found.append(((after, max(guard, Guard.NONE)), terminal))
        return found

    def run(self) -> Grammar:
        start = (0, 0, (self.class_of[0], Guard.NONE))
        _ExitSearch(self).run(start)
        waiting: list[_Rule] = [(*start, end) for end in sorted(self.exits[start])]
        numbers = {rule: index for index, rule in enumerate(waiting)}
        first = len(waiting)
        bodies: list[_Body] = []
        for rule in waiting:
            body: _Body = []
            for row in self.rows(rule):
                self.budget.charge(len(row) + 1)
                body.append(row)
                for symbol in row:
                    if not isinstance(symbol, Terminal) and symbol not in numbers:
                        numbers[symbol] = len(waiting)
                        waiting.append(symbol)
            bodies.append(body)
        classes = _alike([rule[0] for rule in waiting], bodies, numbers)
        result = Grammar(limit=self.budget.limit)
        for _ in range(max(classes, default=-1) + 1):
            result.add()
        for index, body in enumerate(bodies):
            if not result.rules[classes[index]]:
                result.extend(classes[index], (_renumbered(row, numbers, classes) for row in body))
        ends: list[Production] = []
        for index in range(first):
            for _, terminal in self.read(END, self.automaton.goto[0][0], waiting[index][3]):
                ends.append((classes[index], terminal))
        result.start = result.add(ends)
        return result

    def row_tree(self, rule: int) -> list[_Node]:
        """Return the rows of a rule as a tree, in which rows that begin alike share their beginning."""
        if rule not in self.trees:
            nodes = self.trees[rule] = [_Node({})]
            for index in self.automaton.rows_of[rule]:
                at = 0
                for symbol in self.automaton.rows[index][1]:
                    if symbol not in nodes[at].children:
                        nodes[at].children[symbol] = len(nodes)
                        nodes.append(_Node({}))
                    at = nodes[at].children[symbol]
                nodes[at].is_end = True
        return self.trees[rule]

    def rows(self, rule: _Rule) -> Iterator[list[_Rule | Terminal]]:
        """Yield the rows of an annotated rule: each row once for each sequence of lexer states along its symbols."""
        number, state, lexer, end = rule
        for index in self.automaton.rows_of[number]:
            alternatives: list[tuple[_Lexer, list[_Rule | Terminal]]] = [(lexer, [])]
            at = state
            for symbol in self.automaton.rows[index][1]:
                target = self.automaton.goto[at][symbol]
                longer: list[tuple[_Lexer, list[_Rule | Terminal]]] = []
                for current, row in alternatives:
                    if symbol < 0:
                        longer.extend((left, [*row, terminal]) for left, terminal in self.read(symbol, at, current))
                        continue
                    for after in sorted(self.exits[symbol, at, current]):
                        longer.append((after, [*row, (symbol, at, current, after)]))
                self.budget.charge(len(longer))
                at, alternatives = target, longer
            yield from (row for current, row in alternatives if self.decided(number, state, current) == end)

    def decided(self, rule: int, state: int, lexer: _Lexer) -> _Lexer:
        """Return the lexer's state after a rule, the same for all states that read alike what may come next.

        Classes that read all terminals of the lookahead alike become one, and a guard that none of them breaks is left
        out.
        """
        move = self.automaton.moves[state, rule]
        if (move, lexer) not in self.known_decided:
            number, guard = lexer
            follow = self.automaton.follow[move]
            view = tuple((symbol, tuple(self.views[number].get(symbol, ()))) for symbol in sorted(follow))
            nexts = frozenset(~symbol for symbol in follow if symbol != END)
            if guard != Guard.NONE:
                bytes_after = self.terminals.first_bytes_of(nexts.union(self.ignored))
                guard = Guard.NONE if self.guards.guard_bytes(guard).isdisjoint(bytes_after) else guard
            self.known_decided[move, lexer] = self.alike.setdefault(view, number), guard
        return self.known_decided[move, lexer]

    def terminal(self, symbol: int, token: _Token, pending: int, guard: int) -> Terminal | None:
        """Return the texts of a terminal that have a guard, with ignored texts before it, as a terminal of productions.

        `pending` is the guard of the token before. None if there are no such texts.
        """
        key = (symbol, token, pending, guard)
        if key not in self.symbols:
            before, reading = token
            self.symbols[key] = None
            paths = sorted((path for path, left in reading if left == guard), key=lambda path: path.entry)
            parts = [(path, left) for _, skipped in before for path, left in skipped] + [(p, guard) for p in paths]
            ignored = sorted(
                ((number, path, left) for number, readings in before for path, left in readings),
                key=lambda edge: (edge[0], edge[1].entry),
            )

            def accept(state: int) -> _core.Node | None:
                if symbol == END:
                    return _EPSILON
                return union_of_some([self.guards.node(~symbol, path, guard, state) for path in paths])

            node = solve_ignored(self.guards, ignored, accept, pending)
            if node is not None:
                size = 1 if symbol == END else max(1, len(self.terminals[~symbol].pattern.value) // 4)
                self.symbols[key] = Terminal(node, symbol == END, size, all(self.is_regular(*part) for part in parts))
        return self.symbols[key]

    def is_regular(self, path: Path, guard: int) -> bool:
        return guard >= Guard.NONE and not path.rivals and self.terminals.match(path.entry).after is None

    def terminals_after(self, contexts: frozenset[int], without: int | None) -> frozenset[int]:
        """Return the terminals that may come next in some contexts, one excepted."""
        key = (contexts, without)
        if key not in self.following:
            expected = (self.lexers[context].expected for context in contexts)
            self.following[key] = frozenset().union(*expected) - {without}
        return self.following[key]


class _ExitSearch:
    """The search for the states that the lexer may have after each annotated rule: the least sets, by a work list.

    A position in the rows of a rule is visited once with each state of the lexer there. A call waits for each state in
    which the called rule may leave the lexer.
    """

    def __init__(self, annotation: _Annotation) -> None:
        self.annotation, self.automaton = annotation, annotation.automaton
        self.callers: dict[_Key, list[tuple[_Key, int, int]]] = {}
        self.waiting: list[tuple[_Key, int, int, _Lexer]] = []
        self.seen: set[tuple[_Key, int, int, _Lexer]] = set()

    def run(self, start: _Key) -> None:
        self.enter(start)
        while self.waiting:
            key, number, state, lexer = self.waiting.pop()
            node = self.annotation.row_tree(key[0])[number]
            if node.is_end:
                self.leave(key, lexer)
            for symbol, child in node.children.items():
                target = self.automaton.goto[state][symbol]
                if symbol < 0:
                    for left, _ in self.annotation.read(symbol, state, lexer):
                        self.reach(key, child, target, left)
                else:
                    self.call((symbol, state, lexer), (key, child, target))

    def enter(self, key: _Key) -> None:
        self.annotation.exits[key] = set()
        self.callers[key] = []
        self.reach(key, 0, key[1], key[2])

    def reach(self, key: _Key, node: int, state: int, lexer: _Lexer) -> None:
        position = (key, node, state, lexer)
        if position not in self.seen:
            self.seen.add(position)
            self.waiting.append(position)

    def call(self, called: _Key, caller: tuple[_Key, int, int]) -> None:
        """Go on after a call with each state that it may leave the lexer in, those that are found later included."""
        if called not in self.callers:
            self.annotation.budget.charge(1)
            self.enter(called)
        self.callers[called].append(caller)
        for left in self.annotation.exits[called]:
            self.reach(*caller, left)

    def leave(self, key: _Key, lexer: _Lexer) -> None:
        left = self.annotation.decided(key[0], key[1], lexer)
        if left not in self.annotation.exits[key]:
            self.annotation.exits[key].add(left)
            for caller in self.callers[key]:
                self.reach(*caller, left)


def _contexts_before(automaton: Lalr, context_of: list[int]) -> list[set[int]]:
    """Return for each state the contexts of the last shift before it: its own, if a terminal leads to the state."""
    moves = automaton.moves
    offset = len(automaton.goto)
    sets: list[set[int]] = [set() for _ in range(offset + len(moves))]
    edges: list[list[int]] = [[] for _ in sets]
    sets[0].add(context_of[0])
    for state, targets in enumerate(automaton.goto):
        for symbol, target in targets.items():
            if symbol < 0:
                sets[target].add(context_of[target])
            else:
                edges[target].append(offset + moves[state, symbol])
    for (state, symbol), number in moves.items():
        for row in automaton.rows_of[symbol]:
            symbols = automaton.rows[row][1]
            path = automaton.path(state, row)
            if not symbols:
                edges[offset + number].append(state)
            elif symbols[-1] < 0:
                sets[offset + number].add(context_of[path[-1]])
            else:
                edges[offset + number].append(offset + moves[path[-2], symbols[-1]])
    return closed(sets, edges)[:offset]


def _alike(rules: list[int], bodies: list[_Body], numbers: dict[_Rule, int]) -> list[int]:
    """Return classes of annotated rules with the same texts: the coarsest whose rows are the same by class."""
    called: list[list[int]] = []
    shapes: dict[object, int] = {}
    classes: list[int] = []
    for rule, rows in zip(rules, bodies, strict=True):
        symbols = [symbol for row in rows for symbol in row]
        called.append([numbers[symbol] for symbol in symbols if not isinstance(symbol, Terminal)])
        terminals = tuple(id(symbol) if isinstance(symbol, Terminal) else None for symbol in symbols)
        shape = (rule, terminals, tuple(map(len, rows)))
        classes.append(shapes.setdefault(shape, len(shapes)))
    count = len(shapes)
    while True:
        known: dict[tuple[int, ...], int] = {}
        refined = [
            known.setdefault((own, *(classes[index] for index in indices)), len(known))
            for own, indices in zip(classes, called, strict=True)
        ]
        if len(known) == count:
            return refined
        classes, count = refined, len(known)


def _renumbered(row: list[_Rule | Terminal], numbers: dict[_Rule, int], classes: list[int]) -> Production:
    symbols: list[Symbol] = []
    for symbol in row:
        symbols.append(symbol if isinstance(symbol, Terminal) else classes[numbers[symbol]])
    return tuple(symbols)

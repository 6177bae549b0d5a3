"""Translation of the parser's tree into a node of the core, sequence by sequence on an explicit stack.

Only the set of matched texts counts: captures are dropped, and lazy repeats are repeats. An anchor that holds at every
position where it can be (`^` before everything, `$` after everything) is left out. A pattern with other assertions
becomes a text scope.
"""

from __future__ import annotations

from collections.abc import Callable

from detent import _core
from detent.errors import LimitError
from detent.sources.regex.assertions import STARTS, STOPS, anchor
from detent.sources.regex.classes import ANY, ANY_BUT_NEWLINE, CharacterClass, make_class
from detent.sources.regex.parser import ONE_CHARACTER, POSSESSIVE_REPEAT, Item, Operator, SubPattern, Tree, op

__all__ = ["Alphabet", "translate", "translate_part"]

# Operators and flags as module variables, since each item reads them.
_LITERAL, _IN, _ANY, _NOT_LITERAL, _NEGATE = op.LITERAL, op.IN, op.ANY, op.NOT_LITERAL, op.NEGATE
_AT, _BRANCH, _SUBPATTERN, _MAXREPEAT = op.AT, op.BRANCH, op.SUBPATTERN, op.MAXREPEAT
_ATOMIC = getattr(op, "ATOMIC_GROUP", None)
_REPEATS = frozenset({op.MAX_REPEAT, op.MIN_REPEAT, POSSESSIVE_REPEAT})
_ASSERTIONS = frozenset({op.ASSERT, op.ASSERT_NOT})
_IGNORECASE, _MULTILINE, _DOTALL, _ASCII = (
    op.SRE_FLAG_IGNORECASE,
    op.SRE_FLAG_MULTILINE,
    op.SRE_FLAG_DOTALL,
    op.SRE_FLAG_ASCII,
)

# Ranges of all distinct classes together, per allowed position. A range takes about 200 bytes and 1 us.
_RANGES_PER_POSITION = 5


def translate(tree: Tree, flags: int, positions: int) -> _core.Node:
    """Return the node of the texts that a pattern matches in full.

    Takes time linear in the tree, plus n log n in the ranges of each distinct class.

    Raises
    ------
    LimitError
        More than `pattern_size` literals and classes, or classes of more ranges than that allows.
    """
    return _Translation(positions, True, Alphabet()).run(tree, flags)


def translate_part(tree: Tree, flags: int, positions: int, alphabet: Alphabet) -> tuple[_core.Node, bool]:
    """Return the node of what a pattern matches inside texts, and whether it is exact: assertions are left out."""
    translation = _Translation(positions, False, alphabet)
    return translation.run(tree, flags), not translation.scoped


class Alphabet:
    """How characters are written: as themselves. A subclass writes them otherwise, with escapes for example."""

    def literal(self, text: str) -> _core.Node:
        """Return the node of some characters."""
        return _core.literal(text.encode())

    def any_character(self, newline: bool) -> _core.Node:
        """Return the node of any character, a newline perhaps."""
        return (ANY if newline else ANY_BUT_NEWLINE).node

    def make_class(self, items: tuple[Item, ...], ignore_case: bool, ascii_only: bool) -> CharacterClass:
        """Return the node of a class of characters."""
        return make_class(items, ignore_case, ascii_only)


# Receives a finished sequence: its node, and whether the node may consume characters.
_Finish = Callable[[_core.Node, bool], None]


class _Parts:
    """A list of nodes, and whether any of them may consume characters."""

    __slots__ = ("may_consume", "nodes")

    def __init__(self) -> None:
        self.nodes: list[_core.Node] = []
        self.may_consume = False

    def take(self, node: _core.Node, may_consume: bool) -> None:
        self.nodes.append(node)
        self.may_consume |= may_consume

    def concat(self) -> _core.Node:
        nodes = self.nodes
        return nodes[0] if len(nodes) == 1 else _core.concat(nodes) if nodes else _core.epsilon()


class _Sequence(_Parts):
    """One sequence: the nodes of the translated items, and the items that are left."""

    __slots__ = ("finish", "first", "flags", "index", "items", "starts", "stop", "stops")

    def __init__(self, items: Tree, flags: int, starts: bool, stops: bool, finish: _Finish) -> None:
        super().__init__()
        index, stop = 0, len(items)
        if starts:  # nothing precedes: anchors of the start hold
            while index < stop and items[index][0] is _AT and items[index][1] in STARTS:
                index += 1
        if stops:  # nothing follows: anchors of the end hold
            while index < stop and items[stop - 1][0] is _AT and items[stop - 1][1] in STOPS:
                stop -= 1
        self.items, self.first, self.index, self.stop = items, index, index, stop
        self.flags, self.starts, self.stops = flags, starts, stops
        self.finish = finish


class _Translation:
    def __init__(self, positions: int, is_whole: bool, alphabet: Alphabet) -> None:
        self.is_whole = is_whole
        self.alphabet = alphabet
        self.limit = positions
        self.positions = 0
        self.ranges = 0
        self.scoped = False
        self.stack: list[_Sequence] = []
        self.classes: dict[tuple[tuple[Item, ...], int], CharacterClass] = {}

    def run(self, tree: Tree, flags: int) -> _core.Node:
        whole = _Parts()
        stack = self.stack
        stack.append(_Sequence(tree, flags, self.is_whole, self.is_whole, whole.take))
        while stack:
            sequence = stack[-1]
            while sequence.index < sequence.stop and stack[-1] is sequence:
                self.step(sequence)
            if stack[-1] is sequence:
                stack.pop()
                sequence.finish(sequence.concat(), sequence.may_consume)
        return _core.text_scope(whole.nodes[0]) if self.scoped and self.is_whole else whole.nodes[0]

    def step(self, sequence: _Sequence) -> None:
        """Translate the next item, or push the sequences inside it."""
        items, index, flags = sequence.items, sequence.index, sequence.flags
        kind, value = items[index]
        sequence.index = index + 1
        if kind is _LITERAL and not flags & _IGNORECASE:
            self.literals(sequence, index)
        elif kind in ONE_CHARACTER:
            sequence.take(self.character(items[index], flags), True)
        elif kind in _REPEATS:
            self.repeat(sequence, kind, *value)
        elif kind is _SUBPATTERN or kind is _ATOMIC:
            self.group(sequence, value)
        elif kind is _BRANCH:
            self.alternatives(sequence, value[1])
        elif kind is _AT:
            self.scoped = True
            if self.is_whole:
                sequence.nodes.append(anchor(value, bool(flags & _MULTILINE), bool(flags & _ASCII)))
        elif kind in _ASSERTIONS:
            self.assertion(sequence, value[0], value[1].data, kind is op.ASSERT_NOT)
        elif kind is op.FAILURE:  # (?!), from Python 3.13 on
            sequence.nodes.append(_core.empty())
        else:
            raise AssertionError(f"the parser gave an unknown item: {kind}")

    def push(self, sequence: _Sequence, items: Tree, flags: int, finish: _Finish, edges: bool = True) -> None:
        """Enter a part of the current item; with `edges`, the part may be the whole item."""
        starts = edges and sequence.starts and sequence.index - 1 == sequence.first
        stops = edges and sequence.stops and sequence.index == sequence.stop
        self.stack.append(_Sequence(items, flags, starts, stops, finish))

    def group(self, sequence: _Sequence, value: tuple[int | None, int, int, SubPattern] | SubPattern) -> None:
        flags = sequence.flags
        if isinstance(value, tuple):
            _, added, removed, body = value
            if added & op.TYPE_FLAGS:
                flags &= ~op.TYPE_FLAGS
            flags = (flags | added) & ~removed
        else:
            body = value  # an atomic group; `parser` has removed its choices
        self.push(sequence, body.data, flags, sequence.take)

    def literals(self, sequence: _Sequence, index: int) -> None:
        """Translate a run of characters into one literal."""
        items, end = sequence.items, index + 1
        while end < sequence.stop and items[end][0] is _LITERAL:
            end += 1
        sequence.index = end
        sequence.take(self.text(items[index:end]), True)

    def text(self, items: Tree) -> _core.Node:
        self.count(len(items))
        return self.alphabet.literal("".join([chr(value) for _, value in items]))

    def character(self, item: Item, flags: int) -> _core.Node:
        self.count(1)
        kind, value = item
        if kind is _ANY:
            return self.alphabet.any_character(bool(flags & _DOTALL))
        if kind is _IN:
            items: tuple[Item, ...] = tuple(value)
        elif kind is _NOT_LITERAL:
            items = ((_NEGATE, None), (_LITERAL, value))
        else:
            items = ((_LITERAL, value),)
        key = (items, flags & (_IGNORECASE | _ASCII))
        known = self.classes.get(key)
        if known is None:
            known = self.classes[key] = self.alphabet.make_class(items, bool(flags & _IGNORECASE), bool(flags & _ASCII))
            self.ranges += known.cost
            if self.ranges > self.limit * _RANGES_PER_POSITION:
                raise LimitError(
                    f"the pattern's classes list more than {self.limit * _RANGES_PER_POSITION} ranges of characters; "
                    "simplify them or raise Limits(pattern_size=...)",
                    subject="pattern_size",
                    limit=self.limit,
                )
        return known.node

    def repeat(self, sequence: _Sequence, kind: Operator, least: int, most: int, body: SubPattern) -> None:
        maximum = None if most == _MAXREPEAT else int(most)
        items = body.data
        if len(items) != 1 or items[0][0] not in ONE_CHARACTER:

            def finish(node: _core.Node, may_consume: bool) -> None:
                if may_consume:
                    sequence.take(_core.repeat(node, least, maximum), True)
                elif least:  # repeating assertions changes nothing
                    sequence.take(node, False)

            self.push(sequence, items, sequence.flags, finish, edges=maximum == 1)
            return
        node = self.character(items[0], sequence.flags)
        at_end = sequence.stops and sequence.index == sequence.stop
        if kind is POSSESSIVE_REPEAT and not at_end and least != maximum:
            self.scoped = True
            sequence.take(
                _possessive(node, least, maximum) if self.is_whole else _core.repeat(node, least, maximum), True
            )
        else:
            sequence.take(_core.repeat(node, least, maximum), True)

    def alternatives(self, sequence: _Sequence, branches: list[SubPattern]) -> None:
        trees: list[Tree] = [branch.data for branch in branches]
        if all(len(tree) == 1 and (tree[0][0] is _LITERAL or _is_plain_class(tree[0])) for tree in trees):
            items = [item for tree in trees for item in (tree[0][1] if tree[0][0] is _IN else tree)]
            sequence.take(self.character((_IN, items), sequence.flags), True)
            return
        choice = _Parts()
        rest: list[Tree] = []
        for tree in trees:
            if not sequence.flags & _IGNORECASE and all(kind is _LITERAL for kind, _ in tree):
                choice.take(self.text(tree), bool(tree))
            else:
                rest.append(tree)

        def close(node: _core.Node, may_consume: bool) -> None:
            choice.take(node, may_consume)
            sequence.take(_core.union(choice.nodes), choice.may_consume)

        if not rest:
            sequence.take(_core.union(choice.nodes), choice.may_consume)
        for tree in rest:  # the first lies lowest on the stack and is finished last
            self.push(sequence, tree, sequence.flags, close if tree is rest[0] else choice.take)

    def assertion(self, sequence: _Sequence, direction: int, items: Tree, negative: bool) -> None:
        self.scoped = True
        make = _core.lookahead if direction > 0 else _core.lookbehind

        def finish(node: _core.Node, may_consume: bool) -> None:
            if self.is_whole:
                sequence.take(make(node, negative), False)

        self.push(sequence, items, sequence.flags, finish, edges=False)

    def count(self, positions: int) -> None:
        self.positions += positions
        if self.positions > self.limit:
            raise LimitError(
                f"the pattern has more than {self.limit} literals and classes; "
                "shorten it or raise Limits(pattern_size=...)",
                subject="pattern_size",
                limit=self.limit,
            )


def _is_plain_class(item: Item) -> bool:
    return item[0] is _IN and item[1][0][0] is not _NEGATE


def _possessive(node: _core.Node, least: int, maximum: int | None) -> _core.Node:
    """Repeat one character as often as possible: up to the maximum, or until another character follows."""
    other = _core.lookahead(node, True)
    if maximum is None:
        return _core.concat([_core.repeat(node, least, None), other])
    shorter = _core.concat([_core.repeat(node, least, maximum - 1), other])
    return _core.union([_core.repeat(node, maximum, maximum), shorter])

r"""The match of `re.match` as a language: the leftmost alternative first, not every text that fits a pattern.

`"a" | "ab"` matches `a` even before a `b`, and `/\*.*?\*/` matches the shortest comment. A text is *tentative* if
`re.match`, given this text and nothing after it, matches all of it. For a longer text, `re` returns the longest
tentative prefix: an alternative of lower priority never replaces a match of higher priority, and an alternative of
higher priority may still match with more text. So the matches of a terminal are its tentative texts by maximal munch.

1. The tentative texts are the pattern with a negative lookahead before each choice of lower priority.
2. `x|y` followed by K becomes `x | (?!x K) y`; `x*` leaves its loop where `(?!x x* K)` holds; `x*?` goes on where
   `(?!K)` holds. All lookaheads stay inside the terminal's text.
3. A lookahead is left out where the algebra proves that it always holds, which is the common case.
4. Alternatives that are literals need lookaheads only against literals of which one is a prefix of the other.
   A pattern that is a union of literals loses those that begin with an earlier one, and nothing else.
5. Where lookaheads are left, the automaton of `leftmost_first` gives the same texts with far fewer states, if it can.

Assertions of the pattern must stay inside the terminal. The exceptions are lookaheads at its very end, which become one
of the grammar, and at its start before a word (`outer_lookaheads`).
"""

from __future__ import annotations

import re
from collections.abc import Generator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

from detent import _core
from detent.errors import UnsupportedError
from detent.sources.grammar.language_set import LanguageSet
from detent.sources.grammar.leftmost_first import leftmost_first
from detent.sources.grammar.literal_alternatives import (
    any_of,
    comparable_literals,
    literals,
    without_later_extensions,
)
from detent.sources.grammar.outer_lookaheads import (
    Case,
    Excluded,
    final_lookahead,
    group_body,
    refuse,
    without_excluded,
)
from detent.sources.nodes import ANY_BYTES, CHARACTER
from detent.sources.regex.assertions import anchor
from detent.sources.regex.classes import ANY, ANY_BUT_NEWLINE, make_class
from detent.sources.regex.parser import ONE_CHARACTER, POSSESSIVE_REPEAT, Item, Operator, ParsedPattern, Tree, op
from detent.sources.trampoline import trampoline

__all__ = ["LeftmostMatch", "leftmost_match"]

_EPSILON = _core.epsilon()
_SOME_BYTES = _core.repeat(_core.byte_set(bytes(range(256))), 1, None)
_ATOMIC = getattr(op, "ATOMIC_GROUP", None)
_REPEATS = frozenset({op.MAX_REPEAT, op.MIN_REPEAT, POSSESSIVE_REPEAT})
_BOUNDARIES = frozenset({op.AT_BOUNDARY, op.AT_NON_BOUNDARY})

# A count whose choices depend on the order is unrolled up to this bound.
_MAX_STEPS = 64


class LeftmostMatch(NamedTuple):
    """The languages that describe the matches of a terminal.

    Attributes
    ----------
    full : Node
        All texts that the pattern matches.
    tentative : Node
        The texts that `re.match` matches in full if nothing follows.
    after : Node or None
        A text after the match must not begin with one of these, with `cases` only after some texts.
    loop : Node or None
        The character set that the pattern repeats without bound at its end.
    assumed : pair of Node or None
        Texts and characters: these must not follow those, in any text of the grammar.
    cases : tuple of Case
        With different lookaheads at the ends of alternatives: those of each, one of which must hold.
    """

    full: _core.Node
    tentative: _core.Node
    after: _core.Node | None = None
    loop: _core.Node | None = None
    assumed: tuple[_core.Node, _core.Node] | None = None
    cases: tuple[Case, ...] = ()


class _Texts(NamedTuple):
    """The texts of a part with its assertions (`full`), and a superset without assertions (`loose`)."""

    full: _core.Node
    loose: _core.Node


@dataclass(frozen=True)
class _Context:
    """The surroundings of a part: the rest of the terminal, and the least number of characters before the part."""

    rest: _Texts
    before: int
    flags: int
    at_end: bool = False


_NOTHING = _Texts(_EPSILON, _EPSILON)
_Walk: TypeAlias = "Generator[tuple[Tree, _Context], _core.Node, _core.Node]"
_PlainWalk: TypeAlias = "Generator[tuple[Tree, int], _Texts, _Texts]"


def leftmost_match(pattern: ParsedPattern, languages: LanguageSet) -> LeftmostMatch:
    """Return the texts that `re.match` takes by a pattern; `languages` answers questions about its parts.

    Raises
    ------
    UnsupportedError
        An assertion looks beyond the match, or the order of choices under a count is too much to hold.
    """
    tree, flags = pattern.tree, pattern.flags
    texts = literals(tree, flags)
    if texts is not None:
        return LeftmostMatch(any_of(texts), any_of(without_later_extensions(texts)))
    try:
        return _match(tree, flags, languages, 0 < pattern.widths[0] == pattern.widths[1])
    except UnsupportedError:
        word = _word_without_excluded(tree, flags, languages)
        if word is None:
            raise
        return word


def _match(tree: Tree, flags: int, languages: LanguageSet, has_one_width: bool = False) -> LeftmostMatch:
    search = _Search(tree, flags, languages)
    after, cases, is_absorbed = final_lookahead(tree, flags, search.loose, languages)
    search.has_one_width = has_one_width
    if after is not None and not (cases or is_absorbed) and languages.is_within(after, CHARACTER):
        search.longer = _core.intersection([_SOME_BYTES, _core.complement(_core.concat([after, ANY_BYTES]))])
    first = search.run(tree, _Context(_NOTHING, 0, flags, at_end=True))
    if search.is_ordered and after is not None:
        refuse("a lookahead ends a terminal in which the order of choices counts", "take the lookahead away")
    if search.has_assertion and (cases or is_absorbed):  # what the alternatives match depends on the other assertions
        what = "a lookahead ends one alternative of a terminal that has other assertions"
        refuse(what, "make each alternative a terminal of its own, or take the other assertions away")
    close = _core.text_scope if search.has_assertion else lambda node: node
    # `after` alone represents the lookahead at the end.
    full = close(first if after is not None else search.plain[id(tree)].full)
    tentative = full
    if search.is_ordered:
        tentative = leftmost_first(tree, flags) or close(first)
    return LeftmostMatch(full, tentative, after, search.last_loop(tree), cases=tuple(cases))


def _word_without_excluded(tree: Tree, flags: int, languages: LanguageSet) -> LeftmostMatch | None:
    r"""Return the match of a word after negative lookaheads, such as `(?!if\b)\w+`.

    None for other patterns, and if the lookaheads depend on the text after the word.
    """
    while len(tree) == 1 and tree[0][0] is op.SUBPATTERN:  # a group, such as `(?i:...)`
        tree, flags = group_body(*tree[0], flags)
    count = next((index for index, (kind, value) in enumerate(tree) if kind is not op.ASSERT_NOT or value[0] < 0), 0)
    word = _match(tree[count:], flags, languages) if count else None
    if word is None or word.loop is None or word.after is not None or word.full is not word.tentative:
        return None
    texts, characters = word.full, _core.empty()
    for _, (_, body) in tree[:count]:
        search = _Search(body.data, flags, languages)
        _check_no_assertion(body.data, at_end=True)
        after, cases, is_absorbed = final_lookahead(body.data, flags, search.loose, languages)
        excluded = Excluded(search.plain[id(body.data)].loose, after)
        found = without_excluded(word.full, word.loop, excluded, languages)
        if found is None or cases or is_absorbed:
            return None
        texts = _core.intersection([texts, found[0]])
        characters = _core.union([characters, found[1]])
    left_out = _core.intersection([word.full, _core.complement(texts)])
    assumed = None if languages.is_empty(characters) else (left_out, characters)
    return LeftmostMatch(texts, texts, word.loop, word.loop, assumed)


class _Search:
    """Two traversals of a pattern: one for the texts of each part, one for the tentative texts."""

    def __init__(self, tree: Tree, flags: int, languages: LanguageSet) -> None:
        self.tree, self.languages = tree, languages
        self.has_assertion = self.is_ordered = self.has_one_width = False
        self.longer = _SOME_BYTES  # the texts that may follow a match
        self.plain: dict[int, _Texts] = {}
        trampoline(self.plain_sequence, (tree, flags))

    @cached_property
    def has_one_match(self) -> bool:
        """Whether no match is a proper prefix of another: then the order of choices has no influence."""
        loose = self.plain[id(self.tree)].loose
        twice = _core.intersection([loose, _core.concat([loose, self.longer])])
        return self.has_one_width or self.languages.is_empty(twice)

    def last_loop(self, items: Tree) -> _core.Node | None:
        """Return the character set that a pattern repeats without bound at its end, or None."""
        while items:
            kind, value = items[-1]
            if kind is op.SUBPATTERN or kind is _ATOMIC:
                items, _ = group_body(kind, value, 0)
                continue
            if kind not in _REPEATS or value[1] != op.MAXREPEAT:
                return None
            items = value[2].data
            body = self.plain[id(items)].loose
            if len(items) == 1 and items[0][0] in ONE_CHARACTER:
                return body
            return body if self.languages.is_empty(_core.intersection([body, _core.complement(CHARACTER)])) else None
        return None

    def plain_sequence(self, task: tuple[Tree, int]) -> _PlainWalk:
        items, flags = task
        parts: list[_Texts] = []
        for item in items:
            parts.append((yield from self.plain_item(item, flags)))
        self.plain[id(items)] = texts = _sequence(parts)
        return texts

    def plain_item(self, item: Item, flags: int) -> _PlainWalk:
        kind, value = item
        if kind in ONE_CHARACTER:
            node = _character(kind, value, flags)
            return _Texts(node, node)
        if kind is op.SUBPATTERN or kind is _ATOMIC:
            body, flags = group_body(kind, value, flags)
            return (yield body, flags)
        if kind is op.BRANCH:
            options: list[_Texts] = []
            for body in value[1]:
                options.append((yield body.data, flags))
            return _union(options)
        if kind in _REPEATS:
            least, most, body = value
            inner = yield body.data, flags
            return _repeat(inner, least, None if most == op.MAXREPEAT else int(most))
        if kind is op.AT:
            node = anchor(value, bool(flags & re.MULTILINE), bool(flags & re.ASCII))
            return _Texts(node, _EPSILON)
        if kind in (op.ASSERT, op.ASSERT_NOT):
            inner = yield value[1].data, flags
            make = _core.lookahead if value[0] > 0 else _core.lookbehind
            return _Texts(make(inner.full, kind is op.ASSERT_NOT), _EPSILON)
        return _Texts(_core.empty(), _core.empty())  # (?!)

    def run(self, tree: Tree, context: _Context) -> _core.Node:
        return trampoline(self.sequence, (tree, context))

    def sequence(self, task: tuple[Tree, _Context]) -> _Walk:
        items, context = task
        before = context.before
        starts: list[int] = []
        for item in items:
            starts.append(before)
            before += _least(item)
        nodes: list[_core.Node] = []
        rest, at_end = context.rest, context.at_end
        for index in range(len(items) - 1, -1, -1):
            item = items[index]
            nodes.append((yield from self.item(item, _Context(rest, starts[index], context.flags, at_end))))
            at_end = at_end and item[0] in (op.AT, op.ASSERT_NOT)
            rest = _sequence([self.texts(item, context.flags), rest])
        return _core.concat(nodes[::-1])

    def texts(self, item: Item, flags: int) -> _Texts:
        """Return the texts of an item whose bodies are known."""
        walk = self.plain_item(item, flags)
        known: _Texts | None = None
        while True:
            try:
                items, _ = next(walk) if known is None else walk.send(known)
            except StopIteration as done:
                return done.value  # type: ignore[no-any-return]
            known = self.plain[id(items)]

    def loose(self, items: Tree, flags: int) -> _core.Node:
        """Return the texts of items whose bodies are known, without their assertions."""
        return _sequence([self.texts(item, flags) for item in items]).loose

    def item(self, item: Item, context: _Context) -> _Walk:
        kind, value = item
        if kind in ONE_CHARACTER:
            return _character(kind, value, context.flags)
        if kind is op.SUBPATTERN or kind is _ATOMIC:
            body, flags = group_body(kind, value, context.flags)
            return (yield body, _Context(context.rest, context.before, flags, context.at_end))
        if kind is op.BRANCH:
            return (yield from self.branch([body.data for body in value[1]], context))
        if kind in _REPEATS:
            least, most, body = value
            maximum = None if most == op.MAXREPEAT else int(most)
            if kind is POSSESSIVE_REPEAT:
                return self.possessive(self.plain[id(body.data)].full, least, maximum, context)
            make = self.lazy if kind is op.MIN_REPEAT else self.greedy
            return (yield from make(body.data, least, maximum, context))
        if kind is op.AT:
            return self.boundary(item, context)
        if kind in (op.ASSERT, op.ASSERT_NOT):
            return self.assertion(item, context)
        return _core.empty()

    def branch(self, bodies: list[Tree], context: _Context) -> _Walk:
        nodes: list[_core.Node] = []
        comparable = comparable_literals(bodies, context.flags)
        for index, body in enumerate(bodies):
            node = yield body, context
            rivals = range(index) if comparable is None else comparable[index]
            if rivals:
                rival = _sequence([_union([self.plain[id(bodies[other])] for other in rivals]), context.rest])
                node = self.unless(rival, node, _sequence([self.plain[id(body)], context.rest]).loose)
            nodes.append(node)
        return _core.union(nodes)

    def unless(self, rival: _Texts, node: _core.Node, texts: _core.Node) -> _core.Node:
        """Return the node with a negative lookahead at the rival, if the rival can match a proper prefix.

        `texts` are the texts of the node up to the end of the terminal. A rival that matches the same text has no
        influence.
        """
        if texts == _EPSILON:  # no proper prefix; asked of each loop at the end of a terminal
            return node
        longer = _core.concat([rival.loose, _SOME_BYTES])
        if self.languages.is_empty(_core.intersection([texts, longer])) or self.has_one_match:  # the cheaper one first
            return node
        self.is_ordered = self.has_assertion = True
        return _core.concat([_core.lookahead(rival.full, True), node])

    def greedy(self, body: Tree, least: int, maximum: int | None, context: _Context) -> _Walk:
        texts = self.plain[id(body)]
        more = None if maximum is None else max(maximum - 1, 0)
        loop = _sequence([_repeat(texts, 0, more), context.rest])
        step = yield body, _Context(loop, context.before, context.flags)
        leave = self.unless(_sequence([texts, loop]), _EPSILON, context.rest.loose)
        if leave is _EPSILON:
            return _core.repeat(step, least, maximum)
        if maximum is None:
            return _core.concat([_core.repeat(step, least, None), leave])
        if maximum - least > _MAX_STEPS:
            refuse(
                f"a count up to {maximum} whose end depends on what `re` tries first",
                f"bound it by {_MAX_STEPS}, or let what follows begin in another way than what is repeated",
            )
        node = _EPSILON
        for left in range(1, maximum - least + 1):
            rival = _sequence([texts, _repeat(texts, 0, left - 1), context.rest])
            node = _core.union([_core.concat([step, node]), _core.lookahead(rival.full, True)])
        return _core.concat([_core.repeat(step, least, least), node])

    def lazy(self, body: Tree, least: int, maximum: int | None, context: _Context) -> _Walk:
        texts = self.plain[id(body)]
        more = None if maximum is None else max(maximum - 1, 0)
        loop = _sequence([_repeat(texts, 0, more), context.rest])
        inner = yield body, _Context(loop, context.before, context.flags)
        step = self.unless(context.rest, inner, _sequence([texts, loop]).loose)
        if step is inner:
            return _core.repeat(inner, least, maximum)
        tail = _core.repeat(step, 0, None if maximum is None else maximum - least)
        return _core.concat([_core.repeat(inner, least, least), tail])

    def possessive(self, body: _core.Node, least: int, maximum: int | None, context: _Context) -> _core.Node:
        if context.at_end or least == maximum:
            return _core.repeat(body, least, maximum)
        self.check_inside(body, context, "a possessive repeat")
        self.has_assertion = self.is_ordered = True
        other = _core.lookahead(body, True)
        if maximum is None:
            return _core.concat([_core.repeat(body, least, None), other])
        shorter = _core.concat([_core.repeat(body, least, maximum - 1), other])
        return _core.union([_core.repeat(body, maximum, maximum), shorter])

    def boundary(self, item: Item, context: _Context) -> _core.Node:
        if context.at_end and item[1] in _BOUNDARIES:
            return _EPSILON  # final_lookahead has it
        if item[1] not in _BOUNDARIES:
            refuse("an anchor (^, $, \\A, \\Z) looks beyond the terminal", "take it away: terminals follow each other")
        if context.before < 1:
            refuse("\\b at the start of a terminal looks before it", "take it away: the longest match ends a word")
        self.check_inside(CHARACTER, context, "\\b")
        self.has_assertion = True
        return self.texts(item, context.flags).full

    def assertion(self, item: Item, context: _Context) -> _core.Node:
        kind, (direction, body) = item
        _check_no_assertion(body.data)
        texts = self.texts(item, context.flags)
        if direction < 0:
            if int(body.getwidth()[1]) > context.before:
                refuse("a lookbehind looks before the terminal", "take it away, or begin the terminal with more")
        elif context.at_end and kind is op.ASSERT_NOT:
            return _EPSILON  # final_lookahead has it
        else:
            self.check_inside(self.plain[id(body.data)].loose, context, "a lookahead")
        self.has_assertion = True
        return texts.full

    def check_inside(self, texts: _core.Node, context: _Context, what: str) -> None:
        """Raise `UnsupportedError` if a text may be longer than the rest of the terminal."""
        if not self.languages.is_empty(_core.intersection([texts, _core.concat([context.rest.loose, _SOME_BYTES])])):
            remedy = "only a negative lookahead may stand at the very end of a terminal"
            refuse(f"{what} looks beyond the terminal", remedy)


def _sequence(parts: list[_Texts]) -> _Texts:
    if len(parts) == 1:
        return parts[0]
    return _Texts(_core.concat([part.full for part in parts]), _core.concat([part.loose for part in parts]))


def _union(options: list[_Texts]) -> _Texts:
    return _Texts(_core.union([part.full for part in options]), _core.union([part.loose for part in options]))


def _repeat(texts: _Texts, least: int, maximum: int | None) -> _Texts:
    return _Texts(_core.repeat(texts.full, least, maximum), _core.repeat(texts.loose, least, maximum))


def _check_no_assertion(items: Tree, *, at_end: bool = False) -> None:
    """Raise `UnsupportedError` if there is an assertion; with `at_end`, if there is one that is not at the end."""
    waiting = [(items, at_end)]
    while waiting:
        items, may_end = waiting.pop()
        for kind, value in reversed(items):
            is_assertion = kind in (op.AT, op.ASSERT, op.ASSERT_NOT)
            if is_assertion and not may_end:
                refuse("an assertion inside an assertion", "write one, or use & and ~ between terminals")
            if kind is op.SUBPATTERN or kind is _ATOMIC:
                waiting.append((group_body(kind, value, 0)[0], may_end))
            elif kind is op.BRANCH:
                waiting.extend((body.data, may_end) for body in value[1])
            elif kind in _REPEATS:
                waiting.append((value[2].data, False))
            elif kind in (op.ASSERT, op.ASSERT_NOT):
                waiting.append((value[1].data, False))
            may_end = may_end and is_assertion


def _character(kind: Operator, value: Any, flags: int) -> _core.Node:
    if kind is op.ANY:
        return (ANY if flags & op.SRE_FLAG_DOTALL else ANY_BUT_NEWLINE).node
    if kind is op.IN:
        items: tuple[Item, ...] = tuple(value)
    elif kind is op.NOT_LITERAL:
        items = ((op.NEGATE, None), (op.LITERAL, value))
    else:
        if not flags & op.SRE_FLAG_IGNORECASE:
            return _core.literal(chr(value).encode())
        items = ((op.LITERAL, value),)
    return make_class(items, bool(flags & op.SRE_FLAG_IGNORECASE), bool(flags & op.SRE_FLAG_ASCII)).node


def _least(item: Item) -> int:
    """Return a lower bound of the characters that an item matches."""
    total = 0
    waiting: list[tuple[Item, int]] = [(item, 1)]
    while waiting:
        (kind, value), times = waiting.pop()
        if kind in ONE_CHARACTER:
            total += times
        elif kind is op.SUBPATTERN:
            waiting.extend((inner, times) for inner in value[-1].data)
        elif kind in (op.MAX_REPEAT, op.MIN_REPEAT, POSSESSIVE_REPEAT) and value[0]:
            waiting.extend((inner, times * value[0]) for inner in value[2].data)
        elif kind is op.BRANCH:
            total += times * min(sum(map(_shallow, body.data)) for body in value[1])
    return total


def _shallow(item: Item) -> int:
    """Return a lower bound without going into groups."""
    kind, value = item
    if kind in ONE_CHARACTER:
        return 1
    if kind in (op.MAX_REPEAT, op.MIN_REPEAT, POSSESSIVE_REPEAT):
        return int(value[0]) if value[2].data and value[2].data[0][0] in ONE_CHARACTER else 0
    return 0

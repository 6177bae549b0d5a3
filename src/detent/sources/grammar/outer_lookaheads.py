r"""Negative lookaheads of a terminal that depend on the text after it: at its very end, and at its start before a word.

1. `(?!x)` at the end becomes a lookahead of the grammar: the text after the terminal must not begin with x.
2. `\b` at the end is `(?!\w)` if each text of the terminal ends in a word character; `\B` is the same if none does.
3. `(?!k\b)` at the start of a word, as in `(?!if\b)[a-z]\w*`, excludes texts of the word. The word reads on over the
   characters of its loop, here `\w`, so none of these follows its match. So the match alone decides: it must not be k,
   nor k with a text that `\b` accepts. No shorter match replaces it, since a character of the loop would follow.
4. `\b` may know more word characters than the loop: `(?!on\b)[a-z]+` matches "on" before é alone, and here never. That
   is exact where no é may follow the terminal, and no other terminal has one there (`assumed`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator
from functools import partial
from typing import Any, NamedTuple, NoReturn, TypeAlias

from detent import _core
from detent.errors import UnsupportedError
from detent.sources.grammar.language_set import LanguageSet
from detent.sources.nodes import ANY_BYTES, CHARACTER
from detent.sources.regex.classes import make_class
from detent.sources.regex.parser import Item, Operator, Tree, op
from detent.sources.trampoline import trampoline

__all__ = ["Case", "Excluded", "final_lookahead", "group_body", "refuse", "without_excluded"]

_ATOMIC = getattr(op, "ATOMIC_GROUP", None)

_Texts: TypeAlias = Callable[[Tree, int], _core.Node]
"""The texts of a sequence of items without its assertions."""

_Walk: TypeAlias = "Generator[tuple[Tree, int], list[Case], list[Case]]"


class Case(NamedTuple):
    """Texts of a pattern, and what must not follow them; None if anything may."""

    texts: _core.Node
    after: _core.Node | None


class Final(NamedTuple):
    """The lookahead at the end of a pattern."""

    after: _core.Node | None
    """The texts with which the text after a match must not begin; None if the pattern has no lookahead there."""
    cases: list[Case]
    """The lookaheads of the alternatives, where they differ: one of the cases of a match must hold."""
    is_absorbed: bool
    """Whether an alternative lacks a part of `after`, and would be read on over it."""


class Excluded(NamedTuple):
    """The texts that a lookahead at the start excludes, unless the text after them begins with one of `after`."""

    texts: _core.Node
    after: _core.Node | None


def refuse(what: str, remedy: str) -> NoReturn:
    """Raise the error of a pattern; its caller knows the terminal and the position."""
    raise UnsupportedError(f"{what}\n{remedy}")


def group_body(kind: Operator, value: Any, flags: int) -> tuple[Tree, int]:
    """Return the body of a group, and the flags in it."""
    if kind is _ATOMIC:
        return value.data, flags
    _, added, removed, body = value
    return body.data, ((flags & ~op.TYPE_FLAGS if added & op.TYPE_FLAGS else flags) | added) & ~removed


def final_lookahead(tree: Tree, flags: int, texts: _Texts, languages: LanguageSet) -> Final:
    """Return the lookahead of a pattern: all lookaheads and boundaries at its very end.

    Raises
    ------
    UnsupportedError
        It is not known whether a word ends before a boundary.
    """
    cases = trampoline(partial(_cases, texts, languages), (tree, flags))
    afters = [case.after for case in cases if case.after is not None]
    if not afters:
        return Final(None, [], False)
    after = _core.union(afters)
    lacking = [_lacking(case, after, languages) for case in cases]
    if all(each is None for each in lacking):
        return Final(after, [], False)
    if all(
        each is None or languages.is_within(_core.concat([case.texts, each]), case.texts)
        for case, each in zip(cases, lacking, strict=True)
    ):
        return Final(after, [], True)
    return Final(after, cases, False)


def _cases(texts: _Texts, languages: LanguageSet, task: tuple[Tree, int]) -> _Walk:
    """Return the cases of a sequence of items: one, or those of the alternatives at its end."""
    items, flags = task
    found: list[_core.Node] = []
    index = len(items)
    while index and items[index - 1][0] in (op.AT, op.ASSERT_NOT):
        index -= 1
        kind, value = items[index]
        if kind is op.AT and value in (op.AT_BOUNDARY, op.AT_NON_BOUNDARY):
            found.append(_boundary(value, texts(items[:index], flags), flags, languages))
        elif kind is op.ASSERT_NOT and value[0] > 0:
            found.append(texts(value[1].data, flags))
    inner: list[Case] = []
    last: Item = items[index - 1] if index else (op.FAILURE, None)
    kind, value = last
    if kind is op.SUBPATTERN or kind is _ATOMIC:
        inner = yield group_body(kind, value, flags)
    elif kind is op.BRANCH:
        for body in value[1]:
            inner += yield body.data, flags
    if all(case.after is None for case in inner):
        return [Case(texts(items, flags), _core.union(found) if found else None)]
    before = texts(items[: index - 1], flags)
    return [
        Case(
            _core.concat([before, case.texts]),
            _core.union(found + ([] if case.after is None else [case.after])) if found or case.after else None,
        )
        for case in inner
    ]


def _lacking(case: Case, after: _core.Node, languages: LanguageSet) -> _core.Node | None:
    """Return the part of a pattern's lookahead that one of its cases lacks; None if it lacks none."""
    if case.after is None:
        return after
    return None if languages.is_within(after, case.after) else _core.intersection([after, _core.complement(case.after)])


def _boundary(kind: Operator, before: _core.Node, flags: int, languages: LanguageSet) -> _core.Node:
    word = _word(flags)
    ends_word = _core.concat([ANY_BYTES, word])
    if kind is op.AT_BOUNDARY and not languages.is_within(before, ends_word):
        refuse(r"\b at the end of a terminal that may end in no word", r"take it away, or write (?!\w)")
    if kind is op.AT_NON_BOUNDARY and not languages.is_within(before, _core.complement(ends_word)):
        refuse(r"\B at the end of a terminal that may end in a word", "take it away: the longest match ends a word")
    return word


def _word(flags: int) -> _core.Node:
    return make_class(((op.CATEGORY, op.CATEGORY_WORD),), False, bool(flags & re.ASCII)).node


def without_excluded(
    word: _core.Node, loop: _core.Node, excluded: Excluded, languages: LanguageSet
) -> tuple[_core.Node, _core.Node] | None:
    """Return a word without the texts that a lookahead at its start excludes, and the characters of point 4.

    None where what follows the word may decide, or where the word is not read on over all characters of its loop.
    """
    other = _core.intersection([CHARACTER, _core.complement(loop)])
    beyond = _core.concat([word, other, ANY_BYTES])
    if not languages.is_within(_core.concat([word, loop]), word):
        return None
    if not languages.is_empty(_core.intersection([excluded.texts, beyond])):
        return None
    accepted, assumed = ANY_BYTES, _core.empty()
    if excluded.after is not None:
        if not languages.is_within(excluded.after, CHARACTER):
            return None
        accepted = _core.complement(_core.concat([excluded.after, ANY_BYTES]))
        assumed = _core.intersection([excluded.after, _core.complement(loop)])
    refused = _core.concat([excluded.texts, accepted])
    return _core.intersection([word, _core.complement(refused)]), assumed

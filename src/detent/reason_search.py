"""Reason search: from a language that operators made to the parts that refuse a continuation.

- ``a & b``, ``a - b``: a smallest set of operands that refuse it together. Each of them is searched in turn, with the
  other operands of the set as conditions beside it.
- ``a | b``: the operands that have the text so far; each of them refuses the continuation.
- ``a + b``: the operands that the text so far may have reached.
- ``a.repeat()``, ``a.optional()``: the operand, in each round that the text so far may have started.
- ``~a``: the operand, which the text must not meet.
- Anything else: what its source says (`detent.origin.Source.reasons`), or its description.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from detent import _core
from detent.errors import DetentError
from detent.origin import MAX_NESTING, Alternatives, Derived
from detent.reason import LOCATIONS, Continuation, Reason, smallest

if TYPE_CHECKING:
    from detent.language import Language

__all__ = ["find_reasons"]

_NO_TEXT = b"\xfe"
"""A byte that no UTF-8 text has, and no mark."""

_MOST_STEPS = 200_000
"""Bytes that the operands of a concatenation read."""


def find_reasons(language: Language[Any], text: bytes, following: bytes) -> tuple[Reason, ...]:
    """Return the parts of a language that refuse a continuation of a text; nothing if there are no parts.

    Parameters
    ----------
    language : Language
        The language.
    text : bytes
        A beginning of a text of the language.
    following : bytes
        The byte that may not follow it; empty if the text may not end there.
    """
    refused = Continuation(text, following)
    try:
        if not refused.is_refused(language._dfa()) or not language._dfa().after(text):
            return ()
        reasons = _find(language, refused, MAX_NESTING)
    except DetentError:
        return ()
    return () if reasons == (_whole(language),) else reasons


def _find(language: Language[Any], refused: Continuation, depth: int) -> tuple[Reason, ...]:
    form, source = language._origin.form, language._origin.source
    found: tuple[Reason, ...] = ()
    if depth and not refused.is_excluded:
        if form is not None and form.operator == "+":
            found = _find_in_parts(form.operands(), refused, depth)
        elif form is not None:
            found = _find_in_operands(language, form.operands(), form.operator == "-", refused, depth)
        elif isinstance(source, Alternatives):
            started = [each for each in source.operands if each._dfa().after(refused.text)]
            found = _joined(_find(each, refused, depth - 1) for each in started)
        elif isinstance(source, Derived):
            found = _find_in_rounds(source, refused, depth) if source.operator == "repeat" else ()
            if source.operator == "~":
                found = _find_excluded(source.operand, refused, depth)
    if not found and source is not None:
        found = source.reasons(refused)
    return found or (_whole(language),)


def _whole(language: Language[Any]) -> Reason:
    return Reason("language", language.description)


def _find_in_operands(
    language: Language[Any], operands: list[Language[Any]], is_difference: bool, refused: Continuation, depth: int
) -> tuple[Reason, ...]:
    quotes = language._origin.quotes
    nodes = []
    for index, each in enumerate(operands):
        in_strings = each._origin.in_strings
        if in_strings is not None and quotes:
            node = _core.without_special(in_strings(each._node, quotes))
        else:
            node = each._text_node()  # with tags as letters
        nodes.append(_core.complement(node) if is_difference and index else node)

    def refuses(kept: list[int]) -> bool:
        return bool(kept) and refused.is_refused_by(_core.intersection([nodes[index] for index in kept]))

    kept = smallest(range(len(operands)), refuses) or []
    found: list[tuple[Reason, ...]] = []
    for index in kept:
        beside = tuple(nodes[other] for other in kept if other != index)
        inner = refused._replace(beside=refused.beside + beside, quotes=quotes)
        find = _find_excluded if is_difference and index else _find
        found.append(find(operands[index], inner, depth - 1))
    return _joined(found)


def _find_excluded(language: Language[Any], refused: Continuation, depth: int) -> tuple[Reason, ...]:
    """Return the reasons of a language whose texts are excluded."""
    reasons = _find(language, refused._replace(is_excluded=True), depth - 1)
    is_whole = reasons == (_whole(language),)
    return (Reason("language", f"the excluded {language.description}"),) if is_whole else reasons


def _find_open(part: Language[Any], refused: Continuation, depth: int) -> tuple[Reason, ...]:
    """Return the reasons of a part that the end of the text is in; its open locations if it allows the end itself."""
    refused = refused._replace(beside=())
    if refused.following or not part._dfa().accepts(refused.text):
        return _find(part, refused, depth)
    found = _find(part, refused._replace(following=_NO_TEXT), depth)
    return found if all(each.kind in LOCATIONS for each in found) else (_whole(part),)


def _find_in_rounds(repeat: Derived, refused: Continuation, depth: int) -> tuple[Reason, ...]:
    """Return the reasons of the rounds that the end of the text may be in."""
    dfa = repeat.operand._dfa()
    found: list[tuple[Reason, ...]] = []
    starts, seen = {0}, {0}
    rounds = steps = 0
    while starts and (repeat.maximum is None or rounds < repeat.maximum):
        rounds += 1
        ends: set[int] = set()
        for start in sorted(starts):
            more, state, read = dfa.read(refused.text, start)
            ends.update(more)
            steps += read + 1
            if steps > _MOST_STEPS:
                return ()
            if state and dfa.expected(state):
                found.append(_find_open(repeat.operand, refused.within(start), depth - 1))
        starts = ends - seen  # later rounds that begin there have no more left
        seen |= ends
    return _joined(found)


def _find_in_parts(parts: list[Language[Any]], refused: Continuation, depth: int) -> tuple[Reason, ...]:
    """Return the reasons of the parts that the end of the text may be in."""
    found = open_parts(parts, refused.text) or []
    return _joined(_find_open(parts[index], refused.within(start), depth - 1) for index, start in found)


def open_parts(parts: list[Language[Any]], text: bytes) -> list[tuple[int, int]] | None:
    """Return the parts of a concatenation that go on after a text, however it is split: the index, and the beginning.

    None if the splits are too many to be followed.
    """
    starts = {0}
    found: list[tuple[int, int]] = []
    steps = 0
    for index, part in enumerate(parts):
        dfa = part._dfa()
        ends: set[int] = set()
        for start in sorted(starts):
            more, state, read = dfa.read(text, start)
            ends.update(more)
            steps += read + 1
            if steps > _MOST_STEPS:
                return None
            if state and dfa.expected(state):
                found.append((index, start))
        starts = ends
    return found


def _joined(found: Any) -> tuple[Reason, ...]:
    return tuple(dict.fromkeys(reason for reasons in found for reason in reasons))

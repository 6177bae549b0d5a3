"""Products of two tables, or of a table and a language, without dead ends."""

from __future__ import annotations

import numpy as np

from detent import _core
from detent.errors import EmptyLanguageError, LimitError
from detent.guide import Canonical
from detent.language import Language
from detent.limits import Limits
from detent.tables.explore import explore
from detent.tables.joint_classes import check_alike, joint_classes
from detent.tables.minimize import FINISHED, REFUSED, START, Ints, compress, distances
from detent.tables.token_dfa import MAX_BYTES, MAX_STATES, TokenDfa

__all__ = ["intersect", "intersect_guide"]


def intersect(
    a: TokenDfa, b: TokenDfa | Language, *, max_states: int = MAX_STATES, max_bytes: int = MAX_BYTES
) -> TokenDfa:
    """Return the product: it allows exactly the tokens after which both have a common completion.

    >>> import detent
    >>> vocabulary = detent.Vocabulary([b"a", b"b", b""], eos_token_ids=[2])
    >>> even = detent.compile(detent.regex("([ab]{2})*"), vocabulary).to_table()
    >>> ends_in_b = detent.compile(detent.regex("[ab]*b"), vocabulary).to_table()
    >>> both = intersect(even, ends_in_b)
    >>> bin(both.mask(both.step(both.start(), 0))[0])
    '0b11'

    The other operand may be a `Language` of the text that the tokens write. Special ids have no text, so the table
    alone constrains them, unless the language asks for special tokens itself (`detent.special_token`).

    >>> both = intersect(even, detent.regex("ab|aab|b"))
    >>> [both.step(both.start(), 0), both.mask(both.start())]
    [3, array([1], dtype=int32)]

    Cost: pairs of states that are reached times classes; for a language, a walk over the vocabulary for each, or over
    the tokens that the table allows, if these are few. The first constraint of each table is meant.

    Raises
    ------
    EmptyLanguageError
        No text is in both.
    LimitError
        There are more than `max_states` pairs of states, or the arrays would take more than `max_bytes`.
    """
    if isinstance(b, Language):
        limits = Limits()
        machine = _core.LanguageMachine(
            *a.vocabulary._tables.for_language(b._node), limits.states, limits.memory_bytes, limits.work
        )
        return intersect_guide(a, machine, b, canonical=a.canonical, max_states=max_states, max_bytes=max_bytes)
    check_alike([a, b])
    token_class, (of_a, of_b) = joint_classes([a, b])
    found, rows = _pairs(a.next[:, of_a], b.next[:, of_b], (a.start(), b.start()), max_states, max_bytes)
    accepting = (a.distance[found[:, 0]] == 0) & (b.distance[found[:, 1]] == 0)
    distance = distances(rows, np.flatnonzero(accepting))
    dfa, number = compress(rows, token_class, distance)
    if number[START] == REFUSED:
        raise EmptyLanguageError("no text of tokens is in both tables")
    canonical = a.canonical or b.canonical
    return TokenDfa(dfa, a.vocabulary, [a.language & b.language], canonical=canonical, max_bytes=max_bytes)


def intersect_guide(
    table: TokenDfa,
    machine: _core.TokenMachine,
    language: Language,
    *,
    canonical: Canonical,
    max_states: int,
    max_bytes: int,
) -> TokenDfa:
    """Return the product of a table and a machine of the language, which is for the table's vocabulary."""
    dfa = explore(machine, max_states, max_bytes, table)
    both = table.language & language
    return TokenDfa(dfa, table.vocabulary, [both], canonical=canonical, max_bytes=max_bytes)


def _pairs(a: Ints, b: Ints, start: tuple[int, int], max_states: int, max_bytes: int) -> tuple[Ints, Ints]:
    """Return the pairs of states that are reached, breadth first, and where the joint classes lead from each."""
    width = np.int64(len(b))
    refused, finished, first = 0, FINISHED * width + FINISHED, start[0] * width + start[1]
    number = {int(refused): REFUSED, int(finished): FINISHED, int(first): START}
    found = [(REFUSED, REFUSED), (FINISHED, FINISHED), start]
    rows = []
    for state_a, state_b in found:  # the list grows in the loop
        after_a, after_b = a[state_a].astype(np.int64), b[state_b]
        codes = np.where((after_a != REFUSED) & (after_b != REFUSED), after_a * width + after_b, refused)
        different, inverse = np.unique(codes, return_inverse=True)
        for code in different.tolist():
            if code not in number:
                if len(found) - START >= max_states:
                    raise LimitError(
                        f"the two tables have more than max_states={max_states} states in common; raise it or simplify",
                        subject="max_states",
                        limit=max_states,
                    )
                number[code] = len(found)
                found.append((code // int(width), code % int(width)))
        rows.append(np.array([number[code] for code in different.tolist()], np.int32)[inverse.reshape(-1)])
        size = 4 * len(found) * len(codes)
        if size > max_bytes:
            raise LimitError(
                f"the table of both needs {size} bytes, above the limit of {max_bytes}; simplify them",
                subject="max_bytes",
                limit=max_bytes,
                given=size,
            )
    return np.array(found, np.int32), np.array(rows, np.int32)

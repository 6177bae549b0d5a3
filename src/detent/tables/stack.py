"""Stacking: several constraints in one table, one for each row of a batch."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from detent.errors import ArgumentError
from detent.suggestions import suggests_names
from detent.tables.joint_classes import check_alike, joint_classes
from detent.tables.minimize import START, Dfa
from detent.tables.token_dfa import MAX_BYTES, TableSize, TokenDfa

__all__ = ["stack_tables"]


@suggests_names
def stack_tables(tables: Sequence[TokenDfa], *, max_bytes: int = MAX_BYTES) -> TokenDfa:
    """Return one table that holds several constraints; the k-th starts at ``start(k)``.

    >>> import detent
    >>> vocabulary = detent.Vocabulary([b"a", b"b", b""], eos_token_ids=[2])
    >>> a, b = (detent.compile(detent.regex(pattern), vocabulary).to_table() for pattern in "ab")
    >>> both = detent.stack_tables([a, b])
    >>> both.mask(both.start(0)), both.mask(both.start(1))
    (array([1], dtype=int32), array([2], dtype=int32))

    The states are those of all tables; the classes are joint ones, of which there may be more.

    Raises
    ------
    ArgumentError
        There is no table, or they are for different vocabularies.
    LimitError
        The arrays would take more than `max_bytes`.
    """
    if not isinstance(tables, Sequence) or not tables or not all(isinstance(table, TokenDfa) for table in tables):
        raise ArgumentError("stack_tables needs a sequence of tables, one at least")
    check_alike(tables)
    token_class, parts = joint_classes(tables)
    state_count = START + sum(len(table.next) - START for table in tables)
    TableSize(state_count, len(parts[0]), masks=1, width=len(token_class)).check(
        max_bytes
    )  # the masks are counted later
    first = tables[0]
    rows, distance, starts = [first.next[:START, parts[0]]], [first.distance[:START]], []
    offset = 0
    for table, part in zip(tables, parts, strict=True):
        transitions = table.next[START:, part]
        rows.append(np.where(transitions >= START, transitions + np.int32(offset), transitions))
        distance.append(table.distance[START:])
        starts += [int(start) + offset for start in table.starts]
        offset += len(transitions)
    dfa = Dfa(np.concatenate(rows), token_class, np.concatenate(distance))
    languages = [language for table in tables for language in table.languages]
    canonical = first.canonical if all(table.canonical == first.canonical for table in tables) else False
    return TokenDfa(dfa, first.vocabulary, languages, starts=starts, canonical=canonical, max_bytes=max_bytes)

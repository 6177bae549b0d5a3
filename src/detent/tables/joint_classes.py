"""Joint classes: the classes of tokens that have the same token class in every one of some tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from detent.errors import ArgumentError
from detent.tables.minimize import Ints

if TYPE_CHECKING:
    from detent.tables.token_dfa import TokenDfa

__all__ = ["check_alike", "joint_classes"]


def check_alike(tables: Sequence[TokenDfa]) -> None:
    """Raise `ArgumentError` unless the tables are for the same vocabulary."""
    first = tables[0].vocabulary
    if any(table.vocabulary is not first and table.vocabulary.fingerprint != first.fingerprint for table in tables):
        raise ArgumentError("the tables are for different vocabularies; make them for the same one")


def joint_classes(tables: Sequence[TokenDfa]) -> tuple[Ints, list[Ints]]:
    """Return the joint class of each token, and for each table the class that a joint class is part of.

    Joint class 0 is of the tokens that no table allows. O(V log V) a table.
    """
    joint = np.zeros(len(tables[0].token_class), np.int64)
    for table in tables:
        joint = np.unique(joint * table.next.shape[1] + table.token_class, return_inverse=True)[1].reshape(-1)
    first = np.unique(joint, return_index=True)[1]
    parts = [np.concatenate([[0], table.token_class[first]]).astype(np.int32) for table in tables]
    return (joint + 1).astype(np.int32), parts

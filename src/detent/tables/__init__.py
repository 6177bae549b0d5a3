"""Tables: constraints as plain arrays, for decoding loops that stay on a device."""

from __future__ import annotations

from detent.tables.drawing import Drawing, draw_automaton
from detent.tables.stack import stack_tables
from detent.tables.token_constraint import TokenConstraint
from detent.tables.token_dfa import TableSize, TokenDfa
from detent.tables.user_dfa import UserDfa, token_table

__all__ = [
    "Drawing",
    "TableSize",
    "TokenConstraint",
    "TokenDfa",
    "UserDfa",
    "draw_automaton",
    "stack_tables",
    "token_table",
]

"""Tables: constraints as plain arrays, for decoding loops that stay on a device."""

from __future__ import annotations

from detent.tables.automaton import UserDfa, token_table
from detent.tables.drawing import Drawing, draw_automaton
from detent.tables.matcher import TableMatcher
from detent.tables.rule import TokenConstraint
from detent.tables.stack import stack_tables
from detent.tables.table import TableSize, TokenDfa

__all__ = [
    "Drawing",
    "TableMatcher",
    "TableSize",
    "TokenConstraint",
    "TokenDfa",
    "UserDfa",
    "draw_automaton",
    "stack_tables",
    "token_table",
]

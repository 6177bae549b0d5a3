"""Tables: constraints as plain arrays, for decoding loops that stay on a device."""

from __future__ import annotations

from detent.tables.automaton import TransitionTable, token_table
from detent.tables.drawing import Drawing, draw
from detent.tables.matcher import TableMatcher
from detent.tables.rule import TokenRule
from detent.tables.stack import stack_tables
from detent.tables.table import Table, TableSize

__all__ = [
    "Drawing",
    "Table",
    "TableMatcher",
    "TableSize",
    "TokenRule",
    "TransitionTable",
    "draw",
    "stack_tables",
    "token_table",
]

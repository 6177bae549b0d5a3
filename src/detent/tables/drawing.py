"""Drawings of automata, in the language of Graphviz."""

from __future__ import annotations

from collections.abc import Hashable, Sequence, Set
from typing import TYPE_CHECKING

from detent.tables.transitions import Over, shown_symbols

if TYPE_CHECKING:
    from detent.vocabulary import Vocabulary

__all__ = ["draw"]

_SHOWN = 12  # ranges of symbols on one edge


def draw(
    edges: Sequence[tuple[int, int, int, int]],
    names: Sequence[Hashable],
    accepting: Set[Hashable],
    over: Over,
    vocabulary: Vocabulary | None,
) -> str:
    """Return a digraph whose nodes are numbered; labels hold names and symbols, a dozen ranges an edge at most."""
    lines = ["rankdir=LR", "node [shape=circle]", "start [shape=point]", "start -> 0"]
    for number, name in enumerate(names):
        shape = ", shape=doublecircle" if name in accepting else ""
        lines.append(f"{number} [label={_quoted(str(name))}{shape}]")
    symbols: dict[tuple[int, int], list[str]] = {}
    for source, low, high, target in edges:
        shown = symbols.setdefault((source, target), [])
        if over == "tokens" and vocabulary is not None:
            shown += [repr(vocabulary.token_bytes(token))[1:] for token in range(low, min(high + 1, low + _SHOWN + 1))]
        else:
            shown.append(shown_symbols(low, high, over))
    for (source, target), shown in symbols.items():
        label = ", ".join(shown[:_SHOWN]) + (", …" if len(shown) > _SHOWN else "")
        lines.append(f"{source} -> {target} [label={_quoted(label)}]")
    return "digraph {\n" + "".join(f"  {line}\n" for line in lines) + "}"


def _quoted(text: str) -> str:
    clipped = text if len(text) <= 200 else text[:199] + "…"
    return '"' + clipped.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'

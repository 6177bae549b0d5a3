"""Drawings of small automata: `draw_automaton` makes one, as SVG or as a text for Graphviz."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import NamedTuple, Protocol, final

import numpy as np

from detent import _core
from detent.code_points import normalise
from detent.errors import ArgumentError, LimitError
from detent.guide import Guide
from detent.language import Language
from detent.limits import Limits, read_limits
from detent.suggestions import suggests_names
from detent.tables.explore import explore
from detent.tables.minimize import START
from detent.tables.read_transitions import shown_symbols
from detent.tables.svg_layout import Layout, layout, svg
from detent.tables.token_constraint import TokenConstraint
from detent.tables.token_dfa import MAX_BYTES, MAX_STATES, TokenDfa
from detent.tables.user_dfa import UserDfa
from detent.vocabulary import Vocabulary

__all__ = ["Drawing", "Edge", "byte_runs", "draw_automaton", "draw_table", "numbered_states", "table_by_bytes"]

_SHOWN = 12  # symbols on one edge


class _Guide(Protocol):
    def to_table(self) -> TokenDfa: ...


class Edge(NamedTuple):
    """The transitions from one state to another: the first dozen symbols or ranges, and how many there are."""

    source: int
    target: int
    symbols: list[str]
    size: int


@final
class Drawing:
    """An automaton to look at; made by `draw_automaton`. Notebooks show it.

    Attributes
    ----------
    names : tuple of str
        What each state is called; the first is the start.
    accepting : frozenset of int
        The states where the text may end, by number: drawn with two circles.
    edges : list of Edge
        Sorted.
    """

    __slots__ = ("accepting", "edges", "names")

    def __init__(self, names: Iterable[Hashable], accepting: Iterable[int], edges: Iterable[Edge]) -> None:
        self.names = tuple(map(str, names))
        self.accepting = frozenset(accepting)
        self.edges = sorted(edges)

    def svg(self) -> str:
        """Return an SVG document: states from left to right by their distance from the start.

        >>> import detent
        >>> detent.draw_automaton(detent.regex("ab?")).svg()[:42]
        '<svg xmlns="http://www.w3.org/2000/svg" vi'
        """
        return svg(self.names, self.accepting, self._labels())

    def layout(self) -> Layout:
        """Return where states and edges are drawn, for pictures of another style.

        >>> import detent
        >>> [(node.x, node.is_accepting) for node in detent.draw_automaton(detent.regex("ab?")).layout().nodes]
        [(0.0, False), (92.0, True), (184.0, True)]
        """
        return layout(self.names, self.accepting, self._labels())

    def _labels(self) -> dict[tuple[int, int], list[str]]:
        return {(source, target): _lines(shown, count) for source, target, shown, count in self.edges}

    def dot(self) -> str:
        """Return the drawing in Graphviz' language.

        >>> import detent
        >>> print(detent.draw_automaton(detent.token_table([(1, 1, 2), (2, 2, 3), (3, 3, 1)], 1, [1])).dot())
        digraph {
          rankdir=LR
          node [shape=circle]
          start [shape=point]
          start -> 0
          0 [label="1", shape=doublecircle]
          1 [label="2"]
          2 [label="3"]
          0 -> 1 [label="1"]
          1 -> 2 [label="2"]
          2 -> 0 [label="3"]
        }
        """
        lines = ["rankdir=LR", "node [shape=circle]", "start [shape=point]", "start -> 0"]
        for number, name in enumerate(self.names):
            shape = ", shape=doublecircle" if number in self.accepting else ""
            lines.append(f"{number} [label={_quoted(name)}{shape}]")
        for source, target, shown, count in self.edges:
            label = ", ".join(shown) + (", …" if count > len(shown) else "")
            lines.append(f"{source} -> {target} [label={_quoted(label)}]")
        return "digraph {\n" + "".join(f"  {line}\n" for line in lines) + "}"

    def _repr_svg_(self) -> str:
        return self.svg()

    def __repr__(self) -> str:
        return f"Drawing({len(self.names)} states, {len(self.edges)} edges)"


@suggests_names
def draw_automaton(
    rule: Language | UserDfa | TokenConstraint | TokenDfa | _Guide,
    vocabulary: Vocabulary | None = None,
    *,
    max_states: int = 64,
) -> Drawing:
    """Draw a constraint: a language by its bytes, a guide or table by its tokens, a `token_table` as it is.

    >>> import detent
    >>> drawing = detent.draw_automaton(detent.regex("[a-z]+(,[a-z]+)*"))
    >>> drawing
    Drawing(2 states, 3 edges)
    >>> drawing.edges[0]
    Edge(source=0, target=1, symbols=['a-z'], size=1)

    Parameters
    ----------
    rule : Language, UserDfa, TokenConstraint, Guide
        What is drawn; of a table with several constraints the first. Equal states are one.
    vocabulary : Vocabulary, optional
        Of an automaton over tokens: to show tokens by their bytes. Needed for a `TokenConstraint`.
    max_states : int
        More cannot be looked at.

    Raises
    ------
    LimitError
        There are more than `max_states` states.
    """
    _check_limit(max_states)
    if isinstance(rule, UserDfa):
        return _of_automaton(rule, vocabulary, max_states)
    try:
        return draw_table(_table(rule, vocabulary), max_states, in_bytes=isinstance(rule, Language))
    except LimitError as error:
        if error.subject == "max_states" and error.limit != max_states:  # of the table, before equal states are one
            raise LimitError(
                f"the automaton has over {error.limit} states before equal ones are merged: too many for a drawing. "
                "The states of a rule that calls itself have no end; draw a part of it",
                subject="states",
                limit=error.limit,
            ) from None
        raise


def _table(rule: object, vocabulary: Vocabulary | None) -> TokenDfa:
    if isinstance(rule, Language):
        return table_by_bytes(rule)
    if isinstance(rule, TokenConstraint):
        return _by_tokens(rule, vocabulary)
    if isinstance(rule, Guide):
        return rule.to_table()
    raise ArgumentError(f"draw_automaton needs a language, guide, table or token_table, got {type(rule).__name__}")


def _by_tokens(rule: TokenConstraint, vocabulary: Vocabulary | None) -> TokenDfa:
    if vocabulary is None:
        raise ArgumentError("a rule over tokens and text is drawn for a vocabulary; pass it")
    table, *others = [automaton.table(vocabulary) for automaton in rule.automata]
    for other in others:
        table = table & other
    return table if rule.language is None else table & rule.language


def table_by_bytes(
    language: Language, limits: Limits | None = None, max_states: int = MAX_STATES, max_bytes: int = MAX_BYTES
) -> TokenDfa:
    """Return the table of a language over the vocabulary whose tokens are the bytes, and its special tokens."""
    names = sorted(set(language._node.special_names))
    tokens = [*(bytes([byte]) for byte in range(256)), b"", *names]
    vocabulary = Vocabulary(tokens, eos_token_ids=[256], special_token_ids=range(257, len(tokens)))
    limits = read_limits(limits)
    machine = _core.LanguageMachine(
        *vocabulary._tables.for_language(language._node), limits.states, limits.memory_bytes, limits.work
    )
    return TokenDfa(explore(machine, max_states, max_bytes), vocabulary, [language])


def _of_automaton(rule: UserDfa, vocabulary: Vocabulary | None, max_states: int) -> Drawing:
    _check_count(len(rule.names), max_states)
    number = {name: index for index, name in enumerate(rule.names)}
    symbols: dict[tuple[int, int], list[str]] = {}
    counts: dict[tuple[int, int], int] = {}
    for source, (low, high), target in rule.transitions:
        edge = number[source], number[target]
        shown = symbols.setdefault(edge, [])
        by_bytes = rule.over == "tokens" and vocabulary is not None
        counts[edge] = counts.get(edge, 0) + (high - low + 1 if by_bytes else 1)
        if by_bytes and vocabulary is not None:
            shown += [_shown(vocabulary, token) for token in range(low, min(high + 1, low + _SHOWN))]
        else:
            shown.append(shown_symbols(low, high, rule.over))
    edges = [Edge(*edge, shown[:_SHOWN], counts[edge]) for edge, shown in symbols.items()]
    return Drawing(rule.names, [number[name] for name in rule.accepting], edges)


def draw_table(table: TokenDfa, max_states: int, *, in_bytes: bool) -> Drawing:
    """Draw the first constraint of a table; its states are numbered as they are first reached."""
    number = numbered_states(table, max_states)
    order = list(number)
    edges = []
    for source in order:
        row = table.next[source]
        for target in np.unique(row[row >= START]).tolist():
            tokens = np.flatnonzero((row == target)[table.token_class])
            if in_bytes:
                symbols = byte_runs(tokens[tokens < 256].tolist())
                longer = tokens[tokens > 256].tolist()
                symbols += [table.vocabulary.token_bytes(token).decode(errors="replace") for token in longer]
            else:
                symbols = [_shown(table.vocabulary, token) for token in tokens[:_SHOWN].tolist()]
            count = len(symbols) if in_bytes else len(tokens)
            edges.append(Edge(number[source], number[target], symbols[:_SHOWN], count))
    accepting = [number[state] for state in order if table.distance[state] == 0]
    return Drawing(range(len(order)), accepting, edges)


def numbered_states(table: TokenDfa, max_states: int) -> dict[int, int]:
    """Return the numbers of the states of a table's first constraint in its drawing, in ascending order."""
    order = [table.start()]
    for state in order:  # the list grows in the loop
        order += [after for after in dict.fromkeys(table.next[state].tolist()) if after >= START and after not in order]
        _check_count(len(order), max_states)
    return {state: index for index, state in enumerate(order)}


def _check_limit(max_states: object) -> None:
    if not isinstance(max_states, int) or isinstance(max_states, bool):
        raise ArgumentError(f"max_states must be an integer, got {type(max_states).__name__}")


def _check_count(count: int, max_states: int) -> None:
    if count > max_states:
        raise LimitError(
            f"over max_states={max_states} states, which a drawing does not show; draw less, or raise it",
            subject="max_states",
            limit=max_states,
        )


def byte_runs(values: Sequence[int]) -> list[str]:
    """Show the runs of a set of bytes, such as ``a-z``."""
    runs = normalise((byte, byte) for byte in values)
    return [_shown_byte(low) if low == high else f"{_shown_byte(low)}-{_shown_byte(high)}" for low, high in runs]


def _shown_byte(byte: int) -> str:
    return chr(byte) if 0x21 <= byte < 0x7F else repr(bytes([byte]))[2:-1] if byte != 0x20 else "' '"


def _shown(vocabulary: Vocabulary, token: int) -> str:
    known = token < len(vocabulary) and vocabulary.token_bytes(token)
    return repr(known)[1:] if known else f"#{token}"


def _lines(symbols: Sequence[str], count: int) -> list[str]:
    """Break a label: three lines of some twenty characters, and how many symbols there are if not all are shown."""
    lines: list[str] = []
    for index, symbol in enumerate(symbols):
        shown = symbol if len(symbol) <= 24 else symbol[:23] + "…"
        if lines and len(lines[-1]) + len(shown) < 20:
            lines[-1] += " " + shown
        elif len(lines) == 3:
            return [*lines, f"… {count} in all"]
        else:
            lines.append(shown)
        if index == len(symbols) - 1 and count > len(symbols):
            lines.append(f"… {count} in all")
    return lines


def _quoted(text: str) -> str:
    clipped = text if len(text) <= 200 else text[:199] + "…"
    return '"' + clipped.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'

"""Questions about the languages of a grammar's terminals, over one set of expressions that compiles a class once."""

from __future__ import annotations

from collections.abc import Iterable

from detent import _core
from detent.errors import LimitError
from detent.limits import Limits
from detent.queries import ByteDfa

__all__ = ["LanguageSet"]

# The work is that of one question, the states are those of the whole set.
_SHARED = Limits(work=500_000)

_MOST_STATES = 50_000
"""With more states, a new set begins."""

# Limits of the question whether a language is empty, where the set does not answer it.
_ALONE = Limits(states=5_000, work=500_000)


class LanguageSet:
    """The automata of languages that share most of their nodes.

    `nodes` are those whose bytes the set distinguishes from the start. A question about others begins a new set.
    """

    def __init__(self, nodes: Iterable[_core.Node] = ()) -> None:
        self._nodes = [*nodes]
        self._core: _core.LanguageSet | None = None

    def dfa(self, node: _core.Node) -> ByteDfa:
        """Return the automaton of a language; raise `LimitError` if it takes too much."""
        shared = self._shared(node)
        return ByteDfa(node) if shared is None else ByteDfa(node, _SHARED, shared)

    def is_empty(self, node: _core.Node) -> bool:
        """Whether a language is certainly empty: False also where the question is too large."""
        shared = self._shared(node)
        if shared is not None:
            return shared.start == 0
        try:
            return ByteDfa(node, _ALONE).is_empty()
        except LimitError:
            return False

    def is_within(self, left: _core.Node, right: _core.Node) -> bool:
        """Whether all texts of one language are certainly in another."""
        return left is right or self.is_empty(_core.intersection([left, _core.complement(right)]))

    def _shared(self, node: _core.Node) -> _core.Automaton | None:
        """Return the automaton of a language in the set; None if it takes too much there."""
        try:
            if self._core is not None and self._core.state_count < _MOST_STATES:
                found = self._core.automaton(node)
                if found is not None:
                    return found
            self._nodes.append(node)
            self._core = _core.LanguageSet(self._nodes, _SHARED.states, _SHARED.memory_bytes, _SHARED.work)
            return self._core.automaton(node)
        except LimitError:
            self._core = None  # it may be full
            return None

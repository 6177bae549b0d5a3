"""TokenDfa: a guide as arrays.

    next        int32[S, C]           the state after a token of a class; 0 where the token is not allowed
    token_class int32[V]              the class of each token id; class 0 is of those that no state allows
    masks       int32[M, ceil(V/32)]  the different masks; bit ``t & 31`` of word ``t >> 5`` is 1 for an allowed id t
    mask_row    int32[S]              the mask row of each state
    distance    int32[S]              fewest tokens of a completion, without end-of-text
    starts      int32[K]              where each of the constraints in the table starts

State 0 allows nothing and is never left: a refused sequence stays refused. State 1 is after end-of-text: it allows
end-of-text alone, and any padding leads back to it. `next[s, token_class[t]] != 0` says the same as
bit t of the mask of s. A budget is `distance[next[s]] < tokens left`, by class, before classes are spread to tokens.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import index
from typing import TYPE_CHECKING, Any, SupportsIndex, final

import numpy as np

from detent import _core
from detent.core_errors import from_core
from detent.errors import ArgumentError, LimitError, StateError
from detent.guide import Canonical, Guide
from detent.language import Language
from detent.matcher import Matcher
from detent.tables.minimize import FINISHED, REFUSED, START, Dfa, Ints
from detent.tables.token_constraint import UNRESTRICTED

if TYPE_CHECKING:
    from detent.vocabulary import Vocabulary

__all__ = ["TableSize", "TokenDfa"]

_ARRAYS = ("next", "token_class", "masks", "mask_row", "distance", "starts")

MAX_BYTES = 256 << 20
MAX_STATES = 4096


@dataclass(frozen=True)
class TableSize:
    """How large a table is, or would be.

    Attributes
    ----------
    states, classes, masks : int
        Rows of `next`, classes of tokens, and different masks.
    width : int
        Token ids.
    """

    states: int
    classes: int
    masks: int
    width: int

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        words = -(-self.width // 32)
        return 4 * (self.states * (self.classes + 2) + self.masks * words + self.width)

    def check(self, max_bytes: int) -> None:
        """Raise `LimitError` if the arrays take more than `max_bytes`."""
        if self.nbytes > max_bytes:
            raise LimitError(
                f"the table needs {self.nbytes} bytes ({self.states} states, {self.classes} token classes, "
                f"{self.masks} masks of {self.width} ids), above the limit of {max_bytes}; "
                "simplify the constraint or raise it",
                subject="max_bytes",
                limit=max_bytes,
                given=self.nbytes,
            )


@final
class TokenDfa(Guide):
    """A guide as arrays: states are numbers, a step is a look-up. Immutable.

    Made by `Guide.to_table`, or by `compile` from a `token_table` over tokens. `detent.torch` and `detent.jax` put it
    on a device; their tests compare with the methods here. ``table & other`` is the product
    with another table or a `Language`, without dead ends.

    >>> import detent
    >>> vocabulary = detent.Vocabulary([b"a", b"b", b"ab", b""], eos_token_ids=[3])
    >>> table = detent.compile(detent.regex("(ab)+"), vocabulary).to_table()
    >>> state = table.step(table.start(), 2)
    >>> bin(table.mask(state)[0]), table.is_accepting(state)
    ('0b1101', True)
    """

    __slots__ = ("_core", "distance", "languages", "mask_row", "masks", "next", "size", "starts", "token_class")

    next: Ints
    token_class: Ints
    masks: Ints
    mask_row: Ints
    distance: Ints
    starts: Ints
    languages: tuple[Language, ...]
    size: TableSize

    def __init__(
        self,
        dfa: Dfa,
        vocabulary: Vocabulary,
        languages: Sequence[Language],
        *,
        starts: Sequence[int] = (START,),
        canonical: Canonical = False,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        super().__init__(languages[0], vocabulary, canonical=canonical)
        allowed = np.packbits(dfa.next != REFUSED, axis=1)
        kinds, first, mask_row = np.unique(allowed, axis=0, return_index=True, return_inverse=True)
        self.size = TableSize(len(dfa.next), dfa.next.shape[1], len(kinds), len(vocabulary))
        self.size.check(max_bytes)
        self._core: _core.TokenDfa | None = None
        self.languages = tuple(languages)
        self.next = np.ascontiguousarray(dfa.next)
        self.token_class = dfa.symbol_class
        self.masks = _mask_rows(dfa, first.tolist())
        self.mask_row = mask_row.reshape(-1).astype(np.int32)
        self.distance = dfa.distance
        self.starts = np.array(starts, np.int32)
        for array in (self.next, self.token_class, self.masks, self.mask_row, self.distance, self.starts):
            array.setflags(write=False)

    def start(self, constraint: SupportsIndex = 0) -> int:
        """Return the state before the first token; of the k-th constraint in a table made by `stack_tables`."""
        k = index(constraint)
        if not 0 <= k < len(self.starts):
            raise ArgumentError(f"the table holds {len(self.starts)} constraints; there is no number {k}")
        return int(self.starts[k])

    def mask(self, state: SupportsIndex) -> Ints:
        """Return the mask of a state, int32[ceil(V / 32)], read-only."""
        row: Ints = self.masks[self.mask_row[self._known(state)]]
        return row

    def step(self, state: SupportsIndex, token_id: SupportsIndex) -> int:
        """Return the state after a token.

        Raises
        ------
        StateError
            The state does not allow the token, or it is after end-of-text.
        """
        at, token = self._known(state), index(token_id)
        if not 0 <= token < len(self.token_class):
            raise from_core("state", "token_id", token, len(self.token_class))
        if at == FINISHED:
            raise from_core("state", "finished", token, 0)
        after = int(self.next[at, self.token_class[token]])
        if after == REFUSED:
            early = token in self.vocabulary.eos_token_ids
            raise from_core("state", "early_end" if early else "token", token, 0)
        return after

    def is_accepting(self, state: SupportsIndex) -> bool:
        """Whether the text may end in a state."""
        return bool(self.distance[self._known(state)] <= 0)

    def matcher(
        self,
        max_tokens: int | None = None,
        *,
        count_eos: bool = False,
        headroom: int = 0,
        prompt_tokens: Sequence[int] = (),
        constraint: SupportsIndex = 0,
    ) -> Matcher:
        """Start a sequence at the `constraint`-th start; the other arguments are those of `Guide.matcher`.

        A table starts a text of its own: `prompt_tokens` are not read.

        Raises
        ------
        LimitError
            No text is as short as `max_tokens`.
        """
        start = self.start(constraint)
        language = self.languages[index(constraint)]
        return self._start(self._machine_from(start), max_tokens, count_eos, headroom, prompt_tokens, language)

    def to_table(self, *, max_states: int = MAX_STATES, max_bytes: int = MAX_BYTES) -> TokenDfa:
        """Return the table itself, which is there already, whatever the bounds."""
        return self

    def _machine(self) -> _core.TokenMachine:
        return self._machine_from(self.start())

    def _machine_from(self, start: int) -> _core.TokenMachine:
        return _core.TokenDfaMachine(self._arrays(), self._vocabulary._tables.core, start)

    def _arrays(self) -> _core.TokenDfa:
        if self._core is None:
            self._core = _core.TokenDfa(self.next, self.token_class, self.masks, self.mask_row, self.distance)
        return self._core

    def _saved(self) -> tuple[Sequence[Language], dict[str, Ints]]:
        return self.languages, {name: getattr(self, name) for name in _ARRAYS}

    @classmethod
    def _of_arrays(
        cls, arrays: Mapping[str, Any], vocabulary: Vocabulary, languages: Sequence[Language], *, canonical: Canonical
    ) -> TokenDfa:
        """Return the table of the int32 arrays that `_saved` has given; raise `ArgumentError` if they do not fit."""
        table = cls.__new__(cls)
        Guide.__init__(table, languages[0], vocabulary, canonical=canonical)
        table.languages = tuple(languages)
        for name in _ARRAYS:
            setattr(table, name, np.frombuffer(arrays[name], np.int32))
        width, states = len(vocabulary), len(table.distance)
        table.next = table.next.reshape(states, -1)
        table.masks = table.masks.reshape(-1, -(-width // 32))
        table.size = TableSize(states, table.next.shape[1], len(table.masks), width)
        table._core = _core.TokenDfa(table.next, table.token_class, table.masks, table.mask_row, table.distance)
        if len(table.starts) != len(languages):
            raise ArgumentError(f"the table has {len(table.starts)} starts for {len(languages)} languages")
        for start in table.starts.tolist():
            table._machine_from(start)
        return table

    def _restricted_to(self, language: Language) -> Guide:
        return self & language

    def __and__(self, other: TokenDfa | Language | str | bytes) -> TokenDfa:
        """The intersection: see `detent.tables.product.intersect`. A string or bytes is taken literally."""
        from detent.tables.product import intersect

        if isinstance(other, (str, bytes)):
            other = UNRESTRICTED & other
        return intersect(self, other) if isinstance(other, (TokenDfa, Language)) else NotImplemented

    def __rand__(self, other: Language | str | bytes) -> TokenDfa:
        return self & other

    def _known(self, state: SupportsIndex) -> int:
        at = index(state)
        if not 0 <= at < len(self.next):
            raise StateError(f"state {at} is none of the table's {len(self.next)}")
        return at

    def __repr__(self) -> str:
        size = self.size
        return f"TokenDfa({size.states} states, {size.classes} token classes, {size.masks} masks, {size.nbytes} bytes)"


def _mask_rows(dfa: Dfa, states: Sequence[int]) -> Ints:
    width = len(dfa.symbol_class)
    rows = np.zeros((len(states), -(-width // 32) * 4), np.uint8)
    for row, state in zip(rows, states, strict=True):
        bits = np.packbits((dfa.next[state] != REFUSED)[dfa.symbol_class], bitorder="little")
        row[: len(bits)] = bits
    return rows.view(np.int32)

"""Matcher: one sequence of tokens in a guide. BatchMatcher: many of them, masked together."""

from __future__ import annotations

import operator
import os
from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, final

import numpy as np

from detent import _core
from detent.code_points import normalise
from detent.errors import ArgumentError, DetentError, LimitError, StateError
from detent.expected import expected_characters, shown_byte_set, shown_characters
from detent.mask import allocate_mask
from detent.refusal import Refusal, shown_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import SupportsIndex, TypeAlias

    import numpy.typing as npt

    from detent.guide import Guide
    from detent.language import Language
    from detent.mask import MaskLike

    TokenIds: TypeAlias = Sequence[int] | npt.NDArray[np.int64]

__all__ = ["BatchMatcher", "DraftMasks", "Matcher"]

_MAX_THREADS = 1024


class DraftMasks(NamedTuple):
    """Which row has which mask of a draft tree.

    Attributes
    ----------
    rows : int32[n + 1]
        The row of the mask after each node, and at last that of the mask before the first token. Nodes with the same
        mask share a row.
    allowed : bool[n]
        Whether the tokens from the sequence to the node may follow. The mask after a node that may not has end-of-text
        alone.
    written : int
        The number of rows that were written, which are the first ones.
    """

    rows: npt.NDArray[np.int32]
    allowed: npt.NDArray[np.bool_]
    written: int


_SHOWN_TOKENS = 8
"""The most tokens of the tokenizer's own encoding that a refusal shows."""


class Matcher(_core.Matcher):
    """One sequence of tokens in a guide: what is allowed next, step by step.

    A matcher belongs to one thread at a time; `fork` gives another thread its own. A call that raises leaves the
    state as it was. Made by `Guide.matcher`.

    A step of decoding: `fill_mask` writes the tokens that are allowed next, `advance` takes the one that was chosen.
    `rollback` undoes steps.

    >>> import detent
    >>> vocabulary = detent.Vocabulary([b"a", b"b", b"ab", b""], eos_token_ids=[3])
    >>> matcher = detent.compile(detent.regex("ab+"), vocabulary).matcher()
    >>> matcher.advance(2)
    >>> matcher.allowed(), matcher.is_accepting
    (array([1, 3], dtype=int32), True)
    >>> matcher.advance(3)
    >>> matcher.is_finished
    True
    """

    guide: Guide
    """The guide that the matcher walks in."""

    _started: tuple[_core.TokenMachine, int | None, list[int], Language[Any]] | None = None
    """The machine, the budget of text tokens, the prompt, and the language, as the guide has started the sequence."""

    _byte_steps: Mapping[int, bytes] = MappingProxyType({})
    """The bytes of the steps that are no tokens, by step; never changed, so that forks share it."""

    def __init__(self, *started: Any) -> None:
        """Start a sequence for `Guide.matcher`, which callers use."""
        try:
            super().__init__(*started)
        except TypeError:
            raise ArgumentError("a Matcher is made by a guide: write guide.matcher()") from None

    def advance_bytes(self, text: bytes) -> None:
        """Take bytes as one step that is no token, such as the start of a text that another program has written.

        >>> import detent
        >>> vocabulary = detent.Vocabulary([b"a", b"b", b"ab", b""], eos_token_ids=[3])
        >>> matcher = detent.compile(detent.regex("a+b"), vocabulary).matcher()
        >>> matcher.advance_bytes(b"aaa")
        >>> matcher.completion(), matcher.step_count
        ([1], 1)

        Raises
        ------
        StateError
            The bytes are not allowed here; the state is unchanged.
        UnsupportedError
            The guide is canonical or a table, for which it counts which tokens the bytes are.
        """
        step = self.step_count
        try:
            super().advance_bytes(text)
        except StateError:
            offset, expected, complete, _ = self._diagnose(text)
            if self.is_finished or offset == len(text):  # a budget or the vocabulary excludes the bytes
                raise
            message = (
                f"byte {text[offset : offset + 1]!r} at {offset} of {shown_bytes(text)} leads out of the language; "
                f"expected there: {self._wanted(text[:offset], expected, complete)}; the state is unchanged"
            )
            raise StateError(message) from None
        self._byte_steps = {**self._byte_steps, step: bytes(text)}

    def __reduce__(self) -> NoReturn:
        """Raise TypeError: a matcher is made again from its tokens."""
        raise TypeError(
            "a Matcher cannot be pickled or copied; matcher.fork() copies it, and in another process "
            "guide.matcher(...) with advance of matcher.token_ids makes it again"
        )

    def fork(self) -> Matcher:
        """Return an independent matcher in the same state. Constant time: both share the steps so far."""
        copy = Matcher(self)
        copy.guide, copy._started, copy._byte_steps = self.guide, self._started, self._byte_steps
        return copy

    def allowed(self) -> npt.NDArray[np.int32]:
        """Return the allowed token ids, ascending. For looking at; decoding wants `fill_mask`."""
        row = allocate_mask(1, len(self.guide.vocabulary))[0]
        self.fill_mask(row)
        bits = np.unpackbits(row.view(np.uint8), bitorder="little")
        return np.flatnonzero(bits).astype(np.int32)

    def expected_bytes(self) -> bytes:
        """Return the bytes that may come next in the language, ascending, whatever the budget."""
        return self._diagnose(b"")[1]

    def explain(self, token_id: SupportsIndex) -> str:
        """Say whether a token is allowed here, or why it is refused; see `why`.

        >>> import detent
        >>> vocabulary = detent.Vocabulary([b"a", b"b", b"ab", b""], eos_token_ids=[3])
        >>> print(detent.compile(detent.regex("a+"), vocabulary).matcher().explain(3))
        token 3 b'' refused: the text is not complete, by 'a' at character 0 of 'a+'; the shortest completion is 'a'
        """
        refusal = self.why(token_id)
        if refusal is not None:
            return str(refusal)
        index = index_of(token_id)
        return f"token {index} {shown_bytes(self.guide.vocabulary.token_bytes(index))} allowed"

    def why(self, token_id: SupportsIndex) -> Refusal | None:
        """Return why a token may not follow, or None if it may.

        >>> import detent
        >>> vocabulary = detent.Vocabulary([b"a", b"b", b"ab", b""], eos_token_ids=[3])
        >>> refusal = detent.compile(detent.regex("a[bc]"), vocabulary).matcher().why(1)
        >>> refusal.kind, refusal.expected, refusal.reasons[0].position
        ('language', "'a'", 0)

        Costs a step of the matcher, and with `Refusal.reasons` questions about the language, in time linear in the text
        so far. Raises `VocabularyError` for an id outside the vocabulary.
        """
        index = index_of(token_id)
        vocabulary = self.guide.vocabulary
        text = vocabulary.token_bytes(index)
        refused = self._refusal(index)
        if refused is _core.Refusal.NONE:
            return None
        refusal = Refusal(index, text, "finished")
        if refused is _core.Refusal.FINISHED:
            return refusal
        if refused is _core.Refusal.BUDGET:
            return replace(refusal, kind="budget", completion=self._completion(), **self._shortfall(index))
        known: dict[str, Any] = {"_language": self._language(), "_text": self._text()}
        if refused is _core.Refusal.INCOMPLETE or index in vocabulary.eos_token_ids:
            return replace(refusal, kind="incomplete", completion=self._completion(), **known)
        if refused is _core.Refusal.TOKENIZATION:
            return replace(refusal, kind="not canonical", **self._encoding(index))
        if refused is _core.Refusal.TOKEN_DFA:
            return replace(refusal, kind="table", completion=self._completion(), **self._refused_by_language(text))
        if not text:
            return replace(refusal, kind="no text")
        if index in vocabulary.special_token_ids:
            return replace(refusal, kind="special")
        offset, expected, complete, _ = self._diagnose(text)
        if offset == len(text):
            return replace(refusal, kind="vocabulary", completion=self._completion())
        wanted, completion = self._wanted(text[:offset], expected, complete), self._completion()
        return replace(refusal, kind="language", position=offset, expected=wanted, completion=completion, **known)

    def _wanted(self, part: bytes, expected: bytes, complete: bool) -> str:
        """Describe what the language wants after a part of a token: characters, a special token, the end."""
        asks_special = b"\xff" in expected and self.guide.language._node.has_special  # no text begins with this byte
        text_bytes = expected.replace(b"\xff", b"") if asks_special else expected
        others = ["a special token" if asks_special else "", "end of text" if complete else ""]
        return " or ".join(filter(None, [self._shown_characters(part, text_bytes), *others]))

    def _shown_characters(self, part: bytes, following: bytes) -> str:
        """Show the characters that begin with the bytes that may follow a part of a token."""
        if following.isascii():
            return shown_characters(normalise((byte, byte) for byte in following)) if following else ""
        try:
            return expected_characters(self._language()._dfa(), self._text() + part) or shown_byte_set(following)
        except DetentError:
            return shown_byte_set(following)

    def _completion(self) -> bytes | None:
        try:
            return self._joined(self.completion()) or None
        except LimitError:  # too far away to search for
            return None

    def _joined(self, tokens: Iterable[int]) -> bytes:
        return b"".join(self.guide.vocabulary.token_bytes(token_id) for token_id in tokens)

    def _language(self) -> Language[Any]:
        return self._started[3] if self._started else self.guide.language

    def _text(self) -> bytes:
        """Return the text so far: the tags of a turn are letters, and other special tokens are left out."""
        special = self.guide.vocabulary.special_token_ids
        tags = {tag.encode() for tag in self._language()._origin.letter_tags}
        pieces = []
        for step, token_id in enumerate(self.token_ids):
            data = self._byte_steps[step] if token_id < 0 else self.guide.vocabulary.token_bytes(token_id)
            if token_id < 0 or token_id not in special or data in tags:
                pieces.append(data)
        return b"".join(pieces)

    def _refused_by_language(self, token: bytes) -> dict[str, Any]:
        """Return the fields of a `Refusal` by a table, if the table's language refuses the token too; else none."""
        language = self._language()
        dfa, text = language._dfa(), self._text()
        state = dfa.after(text)
        for position, byte in enumerate(token if state else b""):
            state = dfa.step(state, byte)
            if not state:
                return {"_language": language, "_text": text, "position": position}
        return {}

    def _shortfall(self, token_id: int) -> dict[str, Any]:
        """Return how many tokens are left, and how many a token and its shortest completion take."""
        machine, most, prompt, _ = self._started or (None, None, [], None)
        if machine is None or most is None:
            return {}
        free = _core.Matcher(machine, None, prompt)
        taken = self.token_ids
        for step, each in enumerate(taken):
            if each < 0:
                free.advance_bytes(self._byte_steps[step])
            else:
                free.advance(each)
        try:
            free.advance(token_id)
            tokens = [token_id, *free.completion()]
        except DetentError:
            return {}
        left = most - sum(each >= 0 for each in taken)
        return {"tokens_left": left, "tokens_needed": len(tokens), "needed": self._joined(tokens)}

    def _encoding(self, token_id: int) -> dict[str, Any]:
        """Return the fields of a `Refusal` that say which tokens the tokenizer writes for the text up to this token."""
        vocabulary = self.guide.vocabulary
        tokens = [*(self._started[2] if self._started else ()), *self.token_ids, token_id]
        special = [index for index, each in enumerate(tokens) if each in vocabulary.special_token_ids]
        tokens = tokens[special[-1] + 1 if special else 0 :]
        if any(each < 0 for each in tokens):
            return {}
        try:
            encode = vocabulary._tables.encoder.encoder.encode
            text = self._joined(tokens)
            written = encode(text)
            if written == tokens:  # the tokens are canonical, but not within any longer text of the language
                dfa = self._language()._dfa()
                written = encode(text + dfa.some_completion(dfa.after(self._text() + vocabulary.token_bytes(token_id))))
        except (DetentError, ValueError):  # the text breaks off inside a character
            return {}
        same = next((n for n, pair in enumerate(zip(tokens, written, strict=False)) if pair[0] != pair[1]), None)
        if same is None:
            return {}
        tail = tuple(written[same : same + _SHOWN_TOKENS])
        return {"encoding": tail, "_encoded": self._joined(tail)}

    def fill_tree(self, tokens: TokenIds, parents: TokenIds, rows: MaskLike) -> DraftMasks:
        """Write the masks of all nodes of a draft tree, without moving: what may follow each guessed token.

        A model that verifies many guesses at once reads all nodes in one pass, and needs the mask after each. A chain
        of n guesses has the parents ``range(-1, n - 1)``.

        >>> import detent
        >>> vocabulary = detent.Vocabulary([b"a", b"b", b"ab", b""], eos_token_ids=[3])
        >>> matcher = detent.compile(detent.regex("(ab)+"), vocabulary).matcher()
        >>> rows = detent.allocate_mask(4, len(vocabulary))
        >>> matcher.fill_tree([0, 1, 1], [-1, 0, -1], rows)     # "a", "ab", and "b", which may not follow
        DraftMasks(rows=array([1, 2, 3, 0], dtype=int32), allowed=array([ True,  True, False]), written=4)
        >>> [f"{row:04b}" for row in rows[:, 0]]
        ['0101', '0010', '1101', '1000']

        Parameters
        ----------
        tokens : sequence of int, [n]
            The token id of each node.
        parents : sequence of int, [n]
            The index of the node before it, which is an earlier one, or -1 for a node right after the sequence.
        rows : int32[n + 1, ceil(V / 32)], CPU, C-contiguous
            Overwritten from the first row on, a row for each different mask.

        Raises
        ------
        ArgumentError
            A parent is not an earlier node, or the shapes do not fit each other.

        Notes
        -----
        Costs a step for each node and a mask for each row that is written.
        """
        ids, above = _id_array(tokens, "tokens"), _id_array(parents, "parents")
        count = len(ids)
        index, allowed = np.empty(count + 1, dtype=np.int32), np.empty(count, dtype=np.uint8)
        written = self._fill_draft_tree(ids, above, rows, index, allowed)
        return DraftMasks(index, allowed.view(np.bool_), written)

    def validate(self, tokens: TokenIds) -> int:
        """Return how many of the tokens may follow one after the other, without moving.

        >>> import detent
        >>> vocabulary = detent.Vocabulary([b"a", b"b", b"ab", b""], eos_token_ids=[3])
        >>> detent.compile(detent.regex("(ab)+"), vocabulary).matcher().validate([2, 0, 0, 1])
        2
        """
        return self._count_allowed(_id_array(tokens, "tokens"))

    def _repr_html_(self) -> str:
        pictures = import_module("detent.pictures")
        return str(pictures.framed(pictures.matcher_body(self)))

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        bundle: dict[str, Any] = import_module("detent.pictures").mime_bundle(self, include, exclude)
        return bundle

    def __len__(self) -> int:
        return self.step_count

    def __repr__(self) -> str:
        state = "finished" if self.is_finished else "accepting" if self.is_accepting else "open"
        return f"Matcher({len(self)} steps, {state})"


@final
class BatchMatcher:
    """Fills the masks of many matchers at once, on several threads, with the GIL released.

    Parameters
    ----------
    matchers : sequence of Matcher
        One for each row; they may belong to different guides, over vocabularies of equal size.
    threads : int, optional
        At most this many; the number of usable cores by default. Threads live for one call only.

    >>> import detent
    >>> vocabulary = detent.Vocabulary([b"a", b"b", b""], eos_token_ids=[2])
    >>> rows = detent.allocate_mask(2, len(vocabulary))
    >>> detent.BatchMatcher([detent.compile(detent.regex(p), vocabulary).matcher() for p in ("a", "b")]).fill_mask(rows)
    >>> rows.tolist()
    [[1], [2]]
    """

    __slots__ = ("matchers", "threads")

    def __init__(self, matchers: Sequence[Matcher], *, threads: int | None = None) -> None:
        if threads is not None and (not isinstance(threads, int) or not 1 <= threads <= _MAX_THREADS):
            got = threads if type(threads) is int and abs(threads) < 1 << 64 else type(threads).__name__
            raise ArgumentError(f"BatchMatcher needs threads from 1 to {_MAX_THREADS}, got {got}")
        if not isinstance(matchers, Sequence) or not matchers:
            got = "none" if isinstance(matchers, Sequence) else type(matchers).__name__
            raise ArgumentError(f"BatchMatcher needs a sequence of at least one matcher, got {got}")
        for matcher in matchers:
            if not isinstance(matcher, _core.Matcher):
                raise ArgumentError(f"BatchMatcher needs matchers (guide.matcher()), got {type(matcher).__name__}")
        if len({id(matcher) for matcher in matchers}) < len(matchers):
            raise ArgumentError("BatchMatcher needs a matcher of its own for each row; use fork() for a second one")
        self.matchers = list(matchers)
        self.threads = threads or usable_cores()

    def fill_mask(self, rows: MaskLike) -> None:
        """Write row i for matcher i; see `Matcher.fill_mask`.

        Parameters
        ----------
        rows : int32[batch, ceil(V / 32)], CPU, C-contiguous
            NumPy array or torch tensor, overwritten.
        """
        _core.fill_batch(tuple(self.matchers), rows, self.threads)


def short_repr(value: object) -> str:
    """Return the `repr` of a value and its type, if they fit into a message; else the type."""
    try:
        text = f"{value!r} of type {type(value).__name__}"
    except (ValueError, RecursionError):  # an integer of thousands of digits, deep nesting
        text = ""
    return text if 0 < len(text) < 80 else f"a {type(value).__name__}"


def _id_array(values: TokenIds, what: str) -> npt.NDArray[np.int64]:
    """Return token ids or indices as an array; raises `ArgumentError` for anything but a sequence of integers."""
    try:
        found = np.asarray(values)
    except (ValueError, RecursionError):  # parts of different lengths, a list in itself
        found = np.empty((), dtype=object)
    if found.ndim != 1 or (found.dtype.kind not in "iu" and found.size) or found.dtype == np.uint64:
        got = f"an array of {found.dtype} and shape {found.shape}" if found.ndim else type(values).__name__
        raise ArgumentError(f"{what} must be a sequence of 64-bit integers, got {got}")
    return found.astype(np.int64, copy=False)


def usable_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def index_of(value: SupportsIndex) -> int:
    """Return a token id or step count as an int; raise `ArgumentError` for what is none. The core calls this too."""
    try:
        if isinstance(value, bool):
            raise TypeError
        index = operator.index(value)
    except TypeError:
        raise ArgumentError(f"expected an integer, got {short_repr(value)}; the state is unchanged") from None
    if not -(1 << 63) <= index < 1 << 63:
        raise ArgumentError(f"{short_repr(value)} is out of range; the state is unchanged")
    return index

"""SpecialTokens: those of a vocabulary that languages ask for by name, as texts of its core; made at the first use."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from functools import cached_property

from detent._core import (
    Encoder,
    LanguageMachine,
    Node,
    PretokenTransitions,
    byte_set,
    concat,
    intersection,
    repeat,
    special,
    special_as_text,
    union,
)
from detent._core import Vocabulary as CoreVocabulary
from detent.errors import ArgumentError, EmptyLanguageError, VocabularyError
from detent.limits import Limits
from detent.vocabulary.loaded_tokens import shown

__all__ = ["SpecialTokens"]


class SpecialTokens:
    """The special tokens of a vocabulary, and its core with these.

    Parameters
    ----------
    core : CoreVocabulary
        The vocabulary's, without them.
    tokens : sequence of bytes
        The text or the name of each id.
    special : frozenset of int
        The ids that are never text.
    ends : sequence of int
        Those among them that end a text.
    """

    def __init__(
        self, core: CoreVocabulary, tokens: Sequence[bytes], special: frozenset[int], ends: Sequence[int]
    ) -> None:
        self.core = core.with_special()
        self._tokens = tokens
        self._special = special
        self._ends = ends
        self._steps: PretokenTransitions | None = None

    @cached_property
    def names(self) -> tuple[bytes, ...]:
        """Their names, sorted."""
        return tuple(sorted({self._tokens[token] for token in self._special} - {b""}))

    def steps(self, encoder: Encoder) -> PretokenTransitions:
        """Return what the tokens do to the tokenizer's split; made at the first use."""
        if self._steps is None:
            self._steps = PretokenTransitions(self.core, encoder)
        return self._steps

    def rows(self, least: int = 0) -> Node:
        """Return all rows of bytes and special tokens, with at least so many of them."""
        return repeat(union([byte_set(bytes(range(255))), *map(special, self.names)]), least, None)

    def check(self, node: Node) -> Node:
        """Return a language that asks for special tokens, as one that a guide for `core` is made of."""
        texts = set()
        for name in node.special_names:
            ids = [token for token, raw in enumerate(self._tokens) if raw == name]
            if not ids:
                raise self._missing(name)
            if self._special.isdisjoint(ids):
                texts.add(name)
        found = special_as_text(node, sorted(texts))
        for name in sorted(set(found.special_names) & {self._tokens[token] for token in self._ends}):
            self._check_end(found, name)
        return found

    def has_row(self, node: Node, rows: Node) -> bool:
        """Whether some row of the language, which was checked, is one of these."""
        limits = Limits()
        try:
            LanguageMachine(intersection([node, rows]), self.core, limits.states, limits.memory_bytes, limits.work)
        except EmptyLanguageError:
            return False
        return True

    def _check_end(self, node: Node, name: bytes) -> None:
        """Raise where a text goes on behind an end-of-text: whoever runs the model stops there."""
        if not self.has_row(node, concat([self.rows(), special(name), self.rows(1)])):
            return
        shown_name = shown(name.decode(errors="replace"))
        raise ArgumentError(
            f"the language goes on behind {shown_name}, which ends a text of this vocabulary; end the language there, "
            "or make the vocabulary with other eos_token_ids"
        )

    def _missing(self, name: bytes) -> VocabularyError:
        known = sorted({raw.decode(errors="replace") for raw in self.names})
        asked = name.decode(errors="replace")
        near = get_close_matches(asked, known, 3) or known[:3]
        has = (
            f"it has {', '.join(map(repr, near))}{'' if len(near) == len(known) else ', ...'}"
            if known
            else "it has none"
        )
        return VocabularyError(f"the vocabulary has no special token {shown(asked)}; {has}")

"""SpecialTokens: the core vocabulary in which special tokens have texts, for languages that name them."""

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
    """The special tokens of a vocabulary, and a core vocabulary that contains them.

    Parameters
    ----------
    core : CoreVocabulary
        The core vocabulary without special tokens.
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
        """The names of the special tokens, sorted."""
        return tuple(sorted({self._tokens[token] for token in self._special} - {b""}))

    def steps(self, encoder: Encoder) -> PretokenTransitions:
        """Return the transitions of the pre-tokenizer along each token; computed at the first use."""
        if self._steps is None:
            self._steps = PretokenTransitions(self.core, encoder)
        return self._steps

    def sequences(self, least: int = 0) -> Node:
        """Return all sequences of bytes and special tokens of a least length."""
        return repeat(union([byte_set(bytes(range(255))), *map(special, self.names)]), least, None)

    def check(self, node: Node) -> Node:
        """Return a language with special tokens in the form that a guide over `core` takes.

        Raises
        ------
        VocabularyError
            The vocabulary lacks a special token that the language names.
        ArgumentError
            A text of the language continues after an end-of-text token.
        """
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

    def intersects(self, node: Node, sequences: Node) -> bool:
        """Whether a checked language contains one of the sequences."""
        limits = Limits()
        try:
            LanguageMachine(intersection([node, sequences]), self.core, limits.states, limits.memory_bytes, limits.work)
        except EmptyLanguageError:
            return False
        return True

    def _check_end(self, node: Node, name: bytes) -> None:
        """Raise `ArgumentError` if a text continues after an end-of-text token, where every engine stops."""
        if not self.intersects(node, concat([self.sequences(), special(name), self.sequences(1)])):
            return
        shown_name = shown(name.decode(errors="replace"))
        raise ArgumentError(
            f"the language goes on after {shown_name}, which ends a text of this vocabulary; end the language there, "
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

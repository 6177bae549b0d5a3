"""Counts of mutated tokenizer files that a loader accepts and refuses."""

from __future__ import annotations

from collections.abc import Callable

from detent.errors import VocabularyError
from detent.vocabulary import Vocabulary


class LoadOutcomes:
    """The outcomes of loading many mutated files; an accepted one must be a usable vocabulary."""

    def __init__(self) -> None:
        self.accepted = self.refused = 0

    def load(self, load: Callable[[], Vocabulary]) -> None:
        """Load one file and count the outcome; any error but `VocabularyError` is a failure."""
        try:
            vocabulary = load()
        except VocabularyError as error:
            assert 0 < len(str(error).encode()) <= 512
            self.refused += 1
            return
        assert len(vocabulary) >= 1
        assert all(isinstance(vocabulary.token_bytes(token), bytes) for token in range(len(vocabulary)))
        assert vocabulary.special_token_ids <= set(range(len(vocabulary)))
        self.accepted += 1

"""CoreTables: the parts of a vocabulary from which the core makes machines: tries, encoder, pre-token transitions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from detent._core import Node, PretokenTransitions
from detent._core import Vocabulary as CoreVocabulary
from detent.errors import UnsupportedError
from detent.vocabulary.core_encoder import CoreEncoder
from detent.vocabulary.special_tokens import SpecialTokens

__all__ = ["CoreTables"]


class CoreTables:
    """The tries, the encoder and the pre-token transitions of a vocabulary, each made at its first use.

    Parameters
    ----------
    core : CoreVocabulary
        The core vocabulary, without texts of special tokens.
    tokens : sequence of bytes
        The text or the name of each id.
    special_token_ids : frozenset of int
        The ids that are never text.
    eos_token_ids : sequence of int
        Those among them that end a text.
    encoder : CoreEncoder, callable, or None
        The tokenizer in the core, or a function that makes it for a number of ids; None if no file describes it.
    """

    __slots__ = ("_encoder", "_special", "_steps", "_tagged", "core", "eos_token_ids", "special_token_ids", "tokens")

    def __init__(
        self,
        core: CoreVocabulary,
        tokens: Sequence[bytes],
        special_token_ids: frozenset[int],
        eos_token_ids: Sequence[int],
        encoder: CoreEncoder | Callable[[int], CoreEncoder] | None = None,
    ) -> None:
        self.core = core
        self.tokens = tokens
        self.special_token_ids = special_token_ids
        self.eos_token_ids = eos_token_ids
        self._encoder = encoder
        self._special: SpecialTokens | None = None
        self._steps: PretokenTransitions | None = None
        self._tagged: dict[frozenset[str], CoreTables] = {}

    @property
    def has_encoder(self) -> bool:
        """Whether a file said how the tokenizer works."""
        return self._encoder is not None

    @property
    def encoder(self) -> CoreEncoder:
        """The tokenizer in the core, where it differs from the tokenizer itself too."""
        known = self._encoder
        if known is None:
            raise UnsupportedError(
                "this vocabulary does not say how its tokenizer splits and merges (of tiktoken and SentencePiece's "
                ".model, only the tokens are read), so canonical tokens cannot be told. Load it from a tokenizer.json "
                "or a fast tokenizer of transformers."
            )
        if not isinstance(known, CoreEncoder):
            known = self._encoder = known(len(self.tokens))
        return known

    def exact_encoder(self) -> CoreEncoder:
        """Return the tokenizer in the core; raise `UnsupportedError` where its tokens are not the tokenizer's."""
        encoder = self.encoder
        if encoder.differs:
            raise UnsupportedError(encoder.differs)
        return encoder

    def with_encoder(self, encoder: CoreEncoder | Callable[[int], CoreEncoder] | None) -> CoreTables:
        """Return the tables of the same tokens with an encoder."""
        return CoreTables(self.core, self.tokens, self.special_token_ids, self.eos_token_ids, encoder)

    @property
    def special_tokens(self) -> SpecialTokens:
        """The special tokens, for languages that name them."""
        if self._special is None:
            self._special = SpecialTokens(self.core, self.tokens, self.special_token_ids, self.eos_token_ids)
        return self._special

    def steps(self, *, with_special: bool = False) -> PretokenTransitions:
        """Return the transitions of the pre-tokenizer along each token."""
        if with_special:
            return self.special_tokens.steps(self.encoder.encoder)
        if self._steps is None:
            self._steps = PretokenTransitions(self.core, self.encoder.encoder)
        return self._steps

    def for_language(self, node: Node) -> tuple[Node, CoreVocabulary]:
        """Return the expression and the core vocabulary of a machine; with special tokens if the language names one.

        Raises
        ------
        VocabularyError
            The vocabulary lacks a special token that the language names.
        ArgumentError
            A text of the language continues after an end-of-text token.
        """
        if not node.has_special:
            return node, self.core
        return self.special_tokens.check(node), self.special_tokens.core

    def with_tags(self, names: Iterable[str]) -> CoreTables:
        """Return the tables in which those added tokens are special that have one of the names.

        The tokenizer finds an added token before it splits and merges, as it finds a special token. So canonical tokens
        of a language that names it are those of the texts around it.
        """
        encoder = self.encoder
        added = frozenset(names) & frozenset(encoder.literals)
        if not added:
            return self
        if added not in self._tagged:
            raw = {name.encode() for name in added}
            special = self.special_token_ids | {i for i, token in enumerate(self.tokens) if token in raw}
            core = CoreVocabulary(list(self.tokens), sorted(special), sorted(self.eos_token_ids), len(self.tokens))
            rest = tuple(text for text in encoder.literals if text not in added)
            self._tagged[added] = CoreTables(
                core, self.tokens, special, self.eos_token_ids, encoder._replace(literals=rest)
            )
        return self._tagged[added]

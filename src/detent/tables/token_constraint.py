"""TokenConstraint: the intersection of automata over tokens and of languages of their text, not yet compiled."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from detent.language import Language
from detent.sources.nodes import ANY_BYTES

if TYPE_CHECKING:
    from detent.tables.user_dfa import UserDfa

__all__ = ["UNRESTRICTED", "TokenConstraint"]

UNRESTRICTED = Language(ANY_BYTES, "any bytes")


@final
class TokenConstraint:
    """The intersection of automata over tokens and languages: the token sequences that all of them accept.

    An automaton says which tokens may follow each other, a language what their text must be. Special ids have no text
    and are the automata's alone, unless the language asks for special tokens itself. `detent.compile` makes it a
    `TokenDfa`.

    >>> import detent
    >>> vocabulary = detent.Vocabulary([b"a", b"b", b"ab", b"<call>", b""], eos_token_ids=[4], special_token_ids=[3])
    >>> called = detent.token_table([("start", 3, "text"), ("text", (0, 1), "text")], "start", ["text"])
    >>> matcher = detent.compile(called & detent.regex("(ab)+"), vocabulary).matcher()
    >>> for token_id in (3, 0, 1):
    ...     matcher.advance(token_id)
    >>> matcher.allowed()  # token 2 is not the automaton's, and token 1 not the language's
    array([0, 4], dtype=int32)

    Attributes
    ----------
    automata : tuple of UserDfa
        Over tokens; one at least.
    language : Language or None
        What their text must be.
    """

    __slots__ = ("automata", "language")

    def __init__(self, automata: tuple[UserDfa, ...], language: Language | None) -> None:
        self.automata = automata
        self.language = language

    def __and__(self, other: TokenConstraint | Language | str | bytes) -> TokenConstraint:
        """The intersection: token sequences that both allow. A string or bytes is taken literally."""
        if isinstance(other, TokenConstraint):
            both = TokenConstraint(self.automata + other.automata, self.language)
            return both if other.language is None else both & other.language
        if isinstance(other, (str, bytes)):
            other = UNRESTRICTED & other
        if not isinstance(other, Language):
            return NotImplemented
        return TokenConstraint(self.automata, other if self.language is None else self.language & other)

    __rand__ = __and__

    def __repr__(self) -> str:
        parts = [*self.automata, *([] if self.language is None else [self.language])]
        return " & ".join(map(repr, parts))

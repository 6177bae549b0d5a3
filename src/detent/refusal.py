"""Refusal: why a token may not follow a sequence of tokens."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from detent.reason import Reason, listed
from detent.reason_search import find_reasons

if TYPE_CHECKING:
    from detent.language import Language

__all__ = ["Refusal", "RefusalKind"]

RefusalKind = Literal[
    "finished", "incomplete", "no text", "special", "language", "vocabulary", "not canonical", "table", "budget"
]

_SHOWN = 80
"""Characters of a text, or bytes of a token, that a message shows."""


@dataclass(frozen=True)
class Refusal:
    """Why a token may not follow; `str` writes it as a sentence. Made by `Matcher.why`.

    Parameters
    ----------
    token_id : int
        The token.
    token : bytes
        Its bytes.
    kind : str
        "finished": the text has ended. "incomplete": end-of-text, and the text is not complete. "no text": the id has
        no bytes. "special": a special token that the rule does not ask for here. "language": no text of the language
        goes on so. "vocabulary": no tokens write what would have to follow. "not canonical": allowed by the language,
        but the tokenizer writes no text of it so. "table": the table has no transition by it. "budget": no text ends
        in the tokens left.
    position : int or None
        The byte of the token that is refused, where `kind` is "language".
    expected : str or None
        The characters that may stand there, such as ``[0-9a-z]``, or the end of text.
    completion : bytes or None
        The shortest completion of the text so far, where one is near.
    tokens_left, tokens_needed : int or None
        With "budget": the tokens that are left, and how many this token and its shortest known completion take.
    needed : bytes or None
        This token and that completion.
    encoding : tuple of int or None
        With "not canonical": what the tokenizer writes instead of the last tokens and this one.
    """

    token_id: int
    token: bytes
    kind: RefusalKind
    position: int | None = None
    expected: str | None = None
    completion: bytes | None = None
    tokens_left: int | None = None
    tokens_needed: int | None = None
    needed: bytes | None = None
    encoding: tuple[int, ...] | None = None
    _encoded: bytes = field(default=b"", repr=False)
    _language: Language | None = field(default=None, repr=False, compare=False)
    _text: bytes | None = field(default=None, repr=False, compare=False)

    @cached_property
    def reasons(self) -> tuple[Reason, ...]:
        """The parts of the rule that refuse it: keywords, locations in a pattern, rules of a grammar, excluded words.

        Found when they are first asked for: a fraction of a millisecond for a pattern, some milliseconds for a schema.
        Empty if the language has no parts that are known, and for refusals that are not the language's.
        """
        if self._language is None or self._text is None:
            return ()
        text = self._text + self.token[: self.position] if self.position is not None else self._text
        following = self.token[self.position : self.position + 1] if self.position is not None else b""
        return find_reasons(self._language, text, following)

    def __str__(self) -> str:
        return f"token {self.token_id} {shown_bytes(self.token)} refused{self.sentence()}{self._ending()}"

    def sentence(self, *, reasons: bool = True) -> str:
        """Return the sentence without the token, from the word "refused" on; without `reasons` it costs no search."""
        by = f", by {listed(self.reasons)}" if reasons and self.reasons else ""
        if self.kind == "language" and self.position is not None:
            found = self.token[self.position : self.position + 1]
            return f" at byte {self.position}, where {found!r} stands: expected {self.expected}{by}"
        if self.kind == "budget":
            return f": {self._shortfall()}"
        if self.kind == "not canonical":
            written = f"; it writes {shown_text(self._encoded)} as {list(self.encoding)}" if self.encoding else ""
            return (
                ": allowed by the language but not canonical: the tokenizer writes no text of the language so" + written
            )
        return {
            "finished": ": the text has ended",
            "incomplete": f": the text is not complete{by}",
            "no text": ": it has no text, so no rule allows it",
            "special": ": it is special, and the rule does not ask for it here",
            "vocabulary": ": the vocabulary cannot write what would have to follow",
            "table": f": the table does not allow it here{by}",
        }[self.kind]

    def _shortfall(self) -> str:
        if self.tokens_left is None or self.tokens_needed is None or self.needed is None:
            return "it leaves no way to complete the text in the tokens left"
        are_left = "1 is left" if self.tokens_left == 1 else f"{self.tokens_left} are left"
        takes = f"{shown_text(self.needed)} takes {self.tokens_needed}, and {are_left}"
        if self.tokens_needed <= self.tokens_left:
            return (
                f"the search of this step ended before it found a way to complete the text in the tokens left: {takes}"
            )
        return f"it leaves no way to complete the text in the tokens left: {takes}"

    def _ending(self) -> str:
        return f"; the shortest completion is {shown_text(self.completion)}" if self.completion else ""


def shown_text(text: bytes) -> str:
    """Return the `repr` of a text, cut where it is long; of its bytes where they are no whole characters."""
    try:
        decoded = text.decode()
    except UnicodeDecodeError:
        return shown_bytes(text)
    return repr(decoded) if len(decoded) <= _SHOWN else f"{decoded[:_SHOWN]!r}… ({len(text)} bytes)"


def shown_bytes(text: bytes) -> str:
    """Return the `repr` of some bytes, cut where they are many."""
    return repr(text) if len(text) <= _SHOWN else f"{text[:_SHOWN]!r}… ({len(text)} bytes)"

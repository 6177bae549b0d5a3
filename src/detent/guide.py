"""Guide: a constraint over the tokens of a vocabulary; `Guide.matcher` starts sequences in it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, NoReturn, TypeAlias

from detent import _core
from detent.costly_rule import costly_rule
from detent.errors import ArgumentError, LimitError
from detent.language import Language
from detent.matcher import Matcher, short_repr
from detent.saved_file import write_saved
from detent.suggestions import suggests_names
from detent.vocabulary import Vocabulary
from detent.vocabulary.loaded_tokens import shown

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike

    import numpy as np
    import numpy.typing as npt

    from detent.tables import TokenDfa

__all__ = ["GUIDE_KIND", "Canonical", "Guide", "check_canonical"]

GUIDE_KIND = "guide"
"""The kind of a saved file (`saved_file`)."""

Ints: TypeAlias = "npt.NDArray[np.int32]"

#: What `canonical` may be.
Canonical: TypeAlias = bool | Literal["approximate"]


class Guide(ABC):
    """A constraint over a vocabulary's tokens: immutable, shared by any number of matchers and threads.

    Made by `detent.compile`. One kind builds the states of a language when decoding first visits them; the other,
    `TokenDfa`, has all its states as arrays.
    """

    __slots__ = ("__weakref__", "_canonical", "_language", "_vocabulary")

    def __init__(self, language: Language, vocabulary: Vocabulary, *, canonical: Canonical = False) -> None:
        self._canonical = canonical
        self._language = language
        self._vocabulary = vocabulary

    @property
    def language(self) -> Language:
        """A language that has every text of the guide: the one that it was compiled from."""
        return self._language

    @property
    def vocabulary(self) -> Vocabulary:
        """The vocabulary that the guide was compiled for."""
        return self._vocabulary

    @property
    def canonical(self) -> Canonical:
        """Whether only token sequences that the tokenizer itself writes are allowed; "approximate" if not exactly."""
        return self._canonical

    @property
    def state_count(self) -> int:
        """States built so far; `Limits.states` bounds it."""
        return self._machine().state_count

    @property
    def memory_bytes(self) -> int:
        """Bytes of expressions and transition rows built so far; `Limits.memory_bytes` bounds it."""
        return self._machine().memory_bytes

    @abstractmethod
    def _machine(self) -> _core.TokenMachine:
        """Return the machine of the core whose states the matchers of the core visit."""

    @abstractmethod
    def _restricted_to(self, language: Language) -> Guide:
        """Return a guide of the same kind whose texts are also in `language`, which is a part of the guide's."""

    def _repr_html_(self) -> str:
        pictures = import_module("detent.pictures")
        return str(pictures.framed(pictures.guide_body(self)))

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        bundle: dict[str, Any] = import_module("detent.pictures").mime_bundle(self, include, exclude)
        return bundle

    @abstractmethod
    def to_table(self, *, max_states: int = ..., max_bytes: int = ...) -> TokenDfa:
        """Return the guide as arrays, for decoding loops that stay on a device.

        >>> import detent
        >>> vocabulary = detent.Vocabulary([b"a", b"b", b"ab", b""], eos_token_ids=[3])
        >>> detent.compile(detent.regex("(ab)+"), vocabulary).to_table()
        TokenDfa(5 states, 5 token classes, 5 masks, 176 bytes)

        Parameters
        ----------
        max_states : int
            Bound on the states that tokens lead to, before equivalent ones are merged.
        max_bytes : int
            Bound on the arrays.

        Raises
        ------
        LimitError
            The states do not end below `max_states` (those of a recursive grammar never do), or the arrays would take
            more than `max_bytes`; nothing of them is allocated.

        Notes
        -----
        Visits all states: a walk over the vocabulary's trie each, up to a few milliseconds. States of a canonical guide
        differ by the last token too: there may be thousands before they are merged.
        """

    def save(self, path: str | PathLike[str]) -> None:
        """Save the guide to a file; `load_guide` reads it.

        A table is saved with its arrays. A language is saved as its expression, which takes no parsing of a schema or
        grammar again; its states are built anew. Functions are not saved: `Language.value` is lost.

        Parameters
        ----------
        path : path
            The file; an older one is replaced.
        """
        languages, arrays = self._saved()
        meta = {
            "fingerprint": self._vocabulary.fingerprint,
            "vocab_size": len(self._vocabulary),
            "canonical": self._canonical,
            "languages": [language.description for language in languages],
            "quotes": [language._origin.quotes for language in languages],
            "letter_tags": [language._origin.letter_tags for language in languages],
            "is_table": bool(arrays),
            "part_tokens": [tokens for language in languages[:1] for _, tokens in language._part_budgets],
        }
        nodes = {f"language{k}": language._node.to_bytes() for k, language in enumerate(languages)}
        parts = [part for language in languages[:1] for part, _ in language._part_budgets]
        nodes |= {f"part{k}": part.to_bytes() for k, part in enumerate(parts)}
        write_saved(path, GUIDE_KIND, meta, {**nodes, **arrays})

    def __reduce__(self) -> NoReturn:
        """Raise TypeError: a guide is saved, or compiled in each process."""
        raise TypeError(
            "a Guide cannot be pickled; write guide.save(path), and detent.load_guide(path, vocabulary) in the other "
            "process, or send the language and compile it there"
        )

    def __copy__(self) -> Guide:
        """Return the guide itself, which nothing changes."""
        return self

    def __deepcopy__(self, memo: object) -> Guide:
        """Return the guide itself: engines copy the options of a request."""
        return self

    @abstractmethod
    def _saved(self) -> tuple[Sequence[Language], dict[str, Ints]]:
        """Return the languages, and for a table the arrays, of which the guide can be made again."""

    @suggests_names
    def matcher(
        self,
        max_tokens: int | None = None,
        *,
        count_eos: bool = False,
        headroom: int = 0,
        prompt_tokens: Sequence[int] = (),
    ) -> Matcher:
        """Start a sequence: return a matcher before the first token.

        Parameters
        ----------
        max_tokens : int, optional
            The text is complete when this many tokens are spent. A token is allowed if the rest can be written in the
            tokens left, and a bounded search finds it. Costs little until the limit nears. With a canonical guide, or
            a recursive language, a token is refused too if no completion is *known* to fit.
        count_eos : bool
            Whether the host counts the end-of-text token among `max_tokens`.
        headroom : int
            Complete the text this many tokens before `max_tokens`, or as early as the shortest text permits.
        prompt_tokens : sequence of int
            The prompt's tokens, or the last of them. A guide that was compiled with `canonical` then allows what
            continues them as the tokenizer would write both together; other guides do not read them. Only the tokens
            after the last special token count, and after the last position where the prompt itself is not canonical.

        Raises
        ------
        LimitError
            No text of the language is that short; the message has the shortest that is known.
        EmptyLanguageError
            No text of the language continues `prompt_tokens` as the tokenizer would write both.
        """
        try:
            return self._start(self._machine(), max_tokens, count_eos, headroom, prompt_tokens)
        except LimitError as error:
            raise costly_rule(self._language, error) from None

    def _start(
        self,
        machine: _core.TokenMachine,
        max_tokens: int | None,
        count_eos: bool,
        headroom: int,
        prompt_tokens: Sequence[int],
        language: Language | None = None,
    ) -> Matcher:
        prompt = self._vocabulary._check_ids(prompt_tokens)
        text_tokens = self._text_tokens(machine, max_tokens, count_eos, headroom, prompt)
        matcher = Matcher(machine, text_tokens, prompt)
        matcher.guide = self
        matcher._started = machine, text_tokens, prompt, self._language if language is None else language
        return matcher

    def _text_tokens(
        self, machine: _core.TokenMachine, max_tokens: int | None, count_eos: bool, headroom: int, prompt: list[int]
    ) -> int | None:
        """Return how many tokens the text may take, end-of-text not counted."""
        if not isinstance(count_eos, int) or count_eos not in (0, 1):
            raise ArgumentError(f"count_eos must be True or False, got {type(count_eos).__name__}")
        if max_tokens is None:
            if count_eos or headroom:
                raise ArgumentError("count_eos and headroom say how max_tokens is spent; pass max_tokens too")
            return None
        if not isinstance(max_tokens, int) or isinstance(max_tokens, bool) or not 0 <= max_tokens < 1 << 32:
            raise ArgumentError(f"max_tokens must be an integer from 0 to 2**32 - 1, got {short_repr(max_tokens)}")
        if not isinstance(headroom, int) or isinstance(headroom, bool) or headroom < 0:
            raise ArgumentError(f"headroom must be an integer from 0 on, got {short_repr(headroom)}")
        text_tokens = min(max_tokens - count_eos, (1 << 32) - 2)
        try:
            if text_tokens >= 0 and machine.completes_within(text_tokens, prompt):
                planned = text_tokens - headroom
                if headroom and not (planned >= 0 and machine.completes_within(planned, prompt)):
                    return len(_core.Matcher(machine, None, prompt).completion())
                return planned
            shortest = _core.Matcher(machine, None, prompt).completion()
        except LimitError as error:
            if error.subject != "completion":
                raise
            raise LimitError(
                f"no text of {self._language!r} is known to fit into max_tokens={max_tokens}: the shortest known one "
                f"takes {error.given} bytes, and those over {error.limit} are not written out; leave max_tokens out, "
                "or allow shorter texts",
                subject="max_tokens",
                limit=max_tokens,
                given=error.given,
            ) from None
        text = b"".join(self._vocabulary.token_bytes(token_id) for token_id in shortest)
        count = f"{len(shortest)} token{'' if len(shortest) == 1 else 's'}{' and end-of-text' if count_eos else ''}"
        raise LimitError(
            f"max_tokens={max_tokens} is too few: the shortest known text of "
            f"{self._language!r} is {_shown(text)}, {count}; raise max_tokens to at least {len(shortest) + count_eos}",
            subject="max_tokens",
            limit=max_tokens,
            given=len(shortest) + count_eos,
        )


def _shown(text: bytes) -> str:
    decoded = text.decode("utf-8", "backslashreplace")
    return repr(decoded if len(decoded) <= 80 else decoded[:79] + "…")


def check_canonical(canonical: object) -> None:
    """Raise `ArgumentError` for what is not a `Canonical`."""
    if not isinstance(canonical, bool) and not (isinstance(canonical, str) and canonical == "approximate"):
        raise ArgumentError(f'canonical must be True, False or "approximate", got {shown(canonical)}')

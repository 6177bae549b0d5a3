"""Guide: a language lifted to a vocabulary; `compile` makes one, `Guide.matcher` starts sequences in it."""

from __future__ import annotations

from typing import final

from detent import _core
from detent.errors import ArgumentError
from detent.language import Language
from detent.limits import Limits
from detent.matcher import Matcher
from detent.vocabulary import Vocabulary


__all__ = ["Cancellation", "Guide", "compile"]


@final
class Cancellation:
    """A wish to stop that any thread may set; the core looks at it every few thousand steps.

    >>> import detent
    >>> stop = detent.Cancellation()
    >>> stop.cancel()
    >>> stop.is_cancelled
    True
    """

    __slots__ = ("_flag",)

    def __init__(self) -> None:
        self._flag = _core.CancelFlag()

    def cancel(self) -> None:
        """Ask every call that was given this object to raise `CancelledError`."""
        self._flag.set()

    @property
    def is_cancelled(self) -> bool:
        """Whether `cancel` was called."""
        return self._flag.is_set()


@final
class Guide:
    """A language over a vocabulary's tokens: immutable, shared by any number of matchers and threads.

    States of the automaton are built when decoding first visits them, and kept.
    """

    __slots__ = ("_core", "_language", "_vocabulary")

    def __init__(self, core: _core.Guide, language: Language, vocabulary: Vocabulary) -> None:
        self._core = core
        self._language = language
        self._vocabulary = vocabulary

    @property
    def language(self) -> Language:
        """The language that the guide was compiled from."""
        return self._language

    @property
    def vocabulary(self) -> Vocabulary:
        """The vocabulary that the guide was compiled for."""
        return self._vocabulary

    @property
    def state_count(self) -> int:
        """States built so far; `Limits.states` bounds it."""
        return self._core.state_count

    @property
    def memory_bytes(self) -> int:
        """Bytes of expressions and rows held so far; `Limits.memory_bytes` bounds it."""
        return self._core.memory_bytes

    def matcher(self) -> Matcher:
        """Start a sequence: a matcher before the first token. Costs about a microsecond."""
        return Matcher(_core.Matcher(self._core), self)

    def __repr__(self) -> str:
        return f"Guide({self._language!r}, {self._vocabulary!r})"


def compile(  # noqa: A001 - the name that users know from re.compile
    language: Language,
    vocabulary: Vocabulary,
    *,
    limits: Limits | None = None,
    cancel: Cancellation | None = None,
) -> Guide:
    """Lift a language to a vocabulary's tokens.

    >>> import detent
    >>> vocabulary = detent.Vocabulary([b"a", b"b", b"ab", b""], eos_token_ids=[3])
    >>> guide = detent.compile(detent.regex("ab+"), vocabulary)
    >>> matcher = guide.matcher()
    >>> [vocabulary.token_bytes(i) for i in matcher.allowed()]
    [b'a', b'ab']

    Parameters
    ----------
    language : Language
        What the text must be, from its first byte to its last.
    vocabulary : Vocabulary
        The model's tokens.
    limits : Limits, optional
        Bounds on what the guide may cost; `Limits()` by default.
    cancel : Cancellation, optional
        Set it from another thread to stop.

    Returns
    -------
    Guide
        Shared by threads. Compiling builds the first state only; the GIL is released.

    Raises
    ------
    EmptyLanguageError
        No text satisfies the rule, or the vocabulary's tokens cannot write one.
    LimitError
        A limit was reached.
    CancelledError
        `cancel` was set.
    """
    if not isinstance(language, Language):
        raise ArgumentError(f"compile needs a Language (such as detent.regex(...)), got {type(language).__name__}")
    if not isinstance(vocabulary, Vocabulary):
        raise ArgumentError(f"compile needs a detent.Vocabulary, got {type(vocabulary).__name__}")
    bounds = limits or Limits()
    core = _core.Guide(
        language._node,
        vocabulary._core,
        bounds.states,
        bounds.memory_bytes,
        bounds.steps,
        cancel._flag if cancel else None,
    )
    return Guide(core, language, vocabulary)

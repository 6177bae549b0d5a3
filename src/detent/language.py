"""Language: a set of byte strings, an immutable expression of the algebra: closed under `| & ~ - +` and repetition."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from detent import _core
from detent.errors import ArgumentError, EmptyLanguageError
from detent.limits import Limits
from detent.queries import ByteDfa

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from random import Random

    from typing_extensions import Never

    from detent.vocabulary import Vocabulary

__all__ = ["Language"]


@final
class Language:
    """An immutable set of byte strings that text is held to.

    Made by `detent.regex`, `detent.literal`, `detent.choice` and their like, and combined by operators:
    ``a | b`` union, ``a & b`` intersection, ``a - b`` difference, ``a + b`` concatenation, ``~a`` the complement.
    A string or bytes as the other operand is taken literally.

    ``a == b`` and ``a <= b`` compare the *sets*, however they are written; see `counterexample`.

    >>> import detent
    >>> word = detent.regex("[a-z]+") - detent.literal("never")
    >>> word.accepts("ever"), word.accepts("never")
    (True, False)
    >>> detent.regex("(ab)*a") == detent.regex("a(ba)*")
    True

    Parameters
    ----------
    node : Node
        The core's expression.
    description : str
        How it was written; what `repr` shows.
    value : callable, optional
        Turns an accepted text into a Python value; `parse` uses it.
    """

    __slots__ = ("_dfa_cache", "_escaped_words", "_has_escapes", "_node", "description", "value")

    description: str
    value: Callable[[str], object] | None
    _escaped_words: tuple[Callable[[], _core.Node], ...]
    _has_escapes: bool
    _node: _core.Node
    _dfa_cache: ByteDfa | None

    def __init__(self, node: _core.Node, description: str, value: Callable[[str], object] | None = None) -> None:
        object.__setattr__(self, "_node", node)
        object.__setattr__(self, "_dfa_cache", None)
        # Combined languages would otherwise carry texts that double with every step.
        object.__setattr__(self, "description", description if len(description) <= 200 else description[:199] + "…")
        object.__setattr__(self, "value", value)
        object.__setattr__(self, "_has_escapes", False)
        object.__setattr__(self, "_escaped_words", ())

    def __setattr__(self, name: str, value: object) -> Never:
        raise ArgumentError(f"a Language is immutable; cannot set {name!r}")

    def __delattr__(self, name: str) -> Never:
        raise ArgumentError(f"a Language is immutable; cannot delete {name!r}")

    def __repr__(self) -> str:
        shown = self.description if len(self.description) <= 100 else self.description[:99] + "…"
        return f"Language({shown})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (
            self._node.to_bytes(),
            self.description,
            self.value,
            self._has_escapes,
            self._escaped_words,
        )

    def _marked(self, has_escapes: bool, escaped_words: tuple[Callable[[], _core.Node], ...] = ()) -> Language:
        """Return this new language, marked: it has strings with escapes; it excludes words that these must not hide."""
        object.__setattr__(self, "_has_escapes", has_escapes)
        object.__setattr__(self, "_escaped_words", escaped_words)
        return self

    # The algebra.

    def __or__(self, other: Language | str | bytes) -> Language:
        """The texts of either."""
        right = _language(other)
        if right is NotImplemented:
            return NotImplemented
        value = _EitherValue(_options(self) + _options(right)) if self.value or right.value else None
        found = Language(_core.union([self._node, right._node]), _infix(self, "|", right), value)
        return found._marked(self._has_escapes or right._has_escapes)

    def __ror__(self, other: str | bytes) -> Language:
        left = _language(other)
        return NotImplemented if left is NotImplemented else left | self

    def __and__(self, other: Language | str | bytes) -> Language:
        """The texts of both. The value is the left operand's, if it has one."""
        right = _language(other)
        if right is NotImplemented:
            return NotImplemented
        hidden = _hidden_words(self, right) + _hidden_words(right, self)
        node = _core.intersection([self._node, right._node, *map(_core.complement, hidden)])
        found = Language(node, _infix(self, "&", right), _narrowed(self) or _narrowed(right))
        return found._marked(self._has_escapes or right._has_escapes, self._escaped_words + right._escaped_words)

    def __rand__(self, other: str | bytes) -> Language:
        left = _language(other)
        return NotImplemented if left is NotImplemented else left & self

    def __invert__(self) -> Language:
        """All byte strings that are not in this language."""
        return Language(_core.complement(self._node), f"~{_group(self)}")

    def __sub__(self, other: Language | str | bytes) -> Language:
        """The texts of this language that are not in the other."""
        right = _language(other)
        if right is NotImplemented:
            return NotImplemented
        node = _core.intersection([self._node, _core.complement(right._node)])
        return Language(node, _infix(self, "-", right), _narrowed(self))._marked(self._has_escapes)

    def __rsub__(self, other: str | bytes) -> Language:
        left = _language(other)
        return NotImplemented if left is NotImplemented else left - self

    def __add__(self, other: Language | str | bytes) -> Language:
        """A text of this language, then one of the other."""
        right = _language(other)
        if right is NotImplemented:
            return NotImplemented
        found = Language(_core.concat([self._node, right._node]), _infix(self, "+", right))
        return found._marked(self._has_escapes or right._has_escapes)

    def __radd__(self, other: str | bytes) -> Language:
        left = _language(other)
        return NotImplemented if left is NotImplemented else left + self

    def repeat(self, minimum: int = 0, maximum: int | None = None) -> Language:
        """From `minimum` to `maximum` texts of this language, one after the other; without `maximum`, any number.

        >>> import detent
        >>> detent.regex("ab").repeat(2, 3).accepts("ababab")
        True
        """
        for count in (minimum, maximum):
            if count is not None:
                _check_count("a repeat count", count)
        bounds = f"{minimum}, {'' if maximum is None else maximum}".rstrip(", ")
        return Language(_core.repeat(self._node, minimum, maximum), f"{_group(self)}.repeat({bounds})")

    def optional(self) -> Language:
        """A text of this language or the empty text, whose value is None."""
        value = _OptionalValue(self) if self.value else None
        return Language(_core.repeat(self._node, 0, 1), f"{_group(self)}.optional()", value)

    # ByteDfa; none needs a model. They cost the states that they visit, within `Limits()`.

    def is_empty(self) -> bool:
        """Whether no text is in the language."""
        return self._dfa().is_empty()

    def accepts(self, text: str | bytes) -> bool:
        """Whether `text` (a string as its UTF-8 bytes) is in the language."""
        return self._dfa().accepts(_bytes(text))

    __contains__ = accepts

    def shortest(self) -> bytes:
        """Return the shortest text, of several the first in byte order. Raises `EmptyLanguageError` if none is."""
        text = self._dfa().shortest()
        if text is None:
            raise EmptyLanguageError(f"{self!r} has no text at all")
        return text

    def enumerate(self) -> Iterator[bytes]:
        """Yield every text, shorter ones first, equal lengths in byte order; without end if the language has none.

        >>> import detent
        >>> list(detent.regex("a?b{1,2}").enumerate())
        [b'b', b'ab', b'bb', b'abb']
        """
        return self._dfa().enumerate()

    def count(self, max_bytes: int) -> int:
        """Count the texts of at most `max_bytes` bytes. Linear in `max_bytes` times the states visited.

        >>> import detent
        >>> detent.regex("[0-9]{1,3}").count(2)
        110
        """
        return self._dfa().count(_check_count("max_bytes", max_bytes))

    def sample(self, rng: Random, max_bytes: int = 64) -> bytes:
        """Draw a text: its length uniformly among the lengths that occur up to `max_bytes`, then the text among those.

        Raises `EmptyLanguageError` if no text is that short.
        """
        text = self._dfa().sample(rng, _check_count("max_bytes", max_bytes))
        if text is None:
            raise EmptyLanguageError(f"{self!r} has no text of at most {max_bytes} bytes")
        return text

    def min_tokens(self, vocabulary: Vocabulary) -> int:
        """Return the least number of tokens that write a text, end-of-text not counted.

        Searches breadth first over token steps: costs a walk over the vocabulary for each state on the way.
        """
        return len(self._machine(vocabulary).shortest())

    def max_tokens(self, vocabulary: Vocabulary) -> int | None:
        """Return the largest number of tokens that write a text, or None if there is no such bound."""
        return self._machine(vocabulary).longest()

    def _machine(self, vocabulary: Vocabulary) -> _core.LanguageMachine:
        lift = getattr(vocabulary, "_for_language", None)
        if lift is None:
            raise ArgumentError(f"needs a detent.Vocabulary, got {type(vocabulary).__name__}")
        node, core = lift(self._node)
        bounds = Limits()
        return _core.LanguageMachine(node, core, bounds.states, bounds.memory_bytes, bounds.work)

    def parse(self, text: str) -> object:
        """Return the Python value of a text of the language; the text itself where the language has no other.

        Raises `ArgumentError` if the text is not in the language.
        """
        if not self.accepts(text):
            raise ArgumentError(f"{text!r} is not in {self!r}")
        return text if self.value is None else self.value(text)

    def counterexample(self, other: Language) -> bytes | None:
        """Return the shortest text that is in this language and not in the other; None shows that ``self <= other``.

        >>> import detent
        >>> detent.regex("a*").counterexample(detent.regex("a{0,3}"))
        b'aaaa'
        """
        if not isinstance(other, Language):
            raise ArgumentError(f"counterexample needs a Language, got {type(other).__name__}")
        return ByteDfa(_core.intersection([self._node, _core.complement(other._node)])).shortest()

    def __le__(self, other: Language) -> bool:
        if not isinstance(other, Language):
            return NotImplemented
        return self.counterexample(other) is None

    def __ge__(self, other: Language) -> bool:
        return NotImplemented if not isinstance(other, Language) else other <= self

    def __lt__(self, other: Language) -> bool:
        return NotImplemented if not isinstance(other, Language) else self <= other and not other <= self

    def __gt__(self, other: Language) -> bool:
        return NotImplemented if not isinstance(other, Language) else other < self

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Language):
            return NotImplemented
        return self._node == other._node or (self <= other and other <= self)

    def __hash__(self) -> int:
        # Equal sets must have equal hashes however they are written: so hash what the set decides and is cheap to see.
        return hash(self._dfa().first_bytes())

    def _dfa(self) -> ByteDfa:
        if self._dfa_cache is None:
            object.__setattr__(self, "_dfa_cache", ByteDfa(_core.without_special(self._node)))
        assert self._dfa_cache is not None  # noqa: S101 - set above
        return self._dfa_cache


@dataclass(frozen=True)
class _EitherValue:
    """The value of a union: that of the first operand that accepts the text. A union of unions is one flat list."""

    options: tuple[Language, ...]

    def __call__(self, text: str) -> object:
        return next(option for option in self.options if option.accepts(text)).parse(text)


@dataclass(frozen=True)
class _NarrowedValue:
    """The value of a union of which some texts were taken away: no longer a list to merge with another."""

    union: Language

    def __call__(self, text: str) -> object:
        return self.union.parse(text)


@dataclass(frozen=True)
class _OptionalValue:
    inner: Language

    def __call__(self, text: str) -> object:
        return self.inner.parse(text) if text else None


def _options(language: Language) -> tuple[Language, ...]:
    return language.value.options if isinstance(language.value, _EitherValue) else (language,)


def _narrowed(language: Language) -> Callable[[str], object] | None:
    return _NarrowedValue(language) if isinstance(language.value, _EitherValue) else language.value


def _restore(
    node: bytes,
    description: str,
    value: Callable[[str], object] | None,
    has_escapes: bool = False,
    escaped_words: tuple[Callable[[], _core.Node], ...] = (),
) -> Language:
    return Language(_core.node_from_bytes(node), description, value)._marked(has_escapes, escaped_words)


def _hidden_words(words: Language, strings: Language) -> list[_core.Node]:
    """Return the texts of one language in which escapes hide words that the other one excludes."""
    return [escaped() for escaped in words._escaped_words] if strings._has_escapes else []


def _language(operand: Language | str | bytes) -> Any:
    """The operand as a language, a string literally; NotImplemented for anything else."""
    if isinstance(operand, Language):
        return operand
    if isinstance(operand, (str, bytes)):
        return Language(_core.literal(_bytes(operand)), repr(operand))
    return NotImplemented


def _bytes(text: str | bytes) -> bytes:
    if isinstance(text, str):
        try:
            return text.encode()
        except UnicodeEncodeError as error:
            raise ArgumentError(f"a lone surrogate at character {error.start} is no text; remove it") from None
    if isinstance(text, (bytes, bytearray, memoryview)):
        return bytes(text)
    raise ArgumentError(f"expected str or bytes, got {type(text).__name__}")


def _check_count(noun: str, count: int) -> int:
    if not isinstance(count, int) or isinstance(count, bool) or not 0 <= count < _core.UNBOUNDED:
        raise ArgumentError(f"{noun} must be an integer from 0 to {_core.UNBOUNDED - 1}, got {count!r}")
    return count


def _group(language: Language) -> str:
    return f"({language.description})" if " " in language.description else language.description


def _infix(left: Language, operator: str, right: Language) -> str:
    return f"{_group(left)} {operator} {_group(right)}"

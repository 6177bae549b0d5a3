"""Checks of a language by its answers: on texts that are given, and on those that it gives itself."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable
from itertools import islice
from random import Random
from typing import TYPE_CHECKING

from detent.errors import ArgumentError, EmptyLanguageError
from detent.testing import laws
from detent.testing.violation import LawViolation, require

if TYPE_CHECKING:
    from detent.language import Language

__all__ = ["check_algebra", "check_language", "check_membership", "check_operators"]


def check_algebra(a: Language, b: Language, c: Language) -> None:
    """Run every law of the algebra over three languages; all roles are taken by each of them.

    >>> import detent
    >>> check_algebra(detent.regex("a*"), detent.regex("(ab)*"), ~detent.regex("b+"))

    Raises
    ------
    LawViolation
        With the shortest text that breaks the law.
    """
    for x in (a, b, c):
        laws.double_complement(x)
        laws.excluded_middle(x)
        laws.idempotence(x)
        laws.concatenation(x)
        laws.repetition(x)
    for x, y in ((a, b), (b, c), (c, a)):
        laws.commutativity(x, y)
        laws.absorption(x, y)
        laws.de_morgan(x, y)
        laws.difference(x, y)
        laws.order(x, y)
        laws.order(x & y, x)
    for x, y, z in ((a, b, c), (b, c, a), (c, a, b)):
        laws.associativity(x, y, z)
        laws.distribution(x, y, z)


def check_membership(language: Language, reference: Callable[[bytes], bool], texts: Iterable[bytes]) -> None:
    """Compare `accepts`, which walks derivatives, with another account of the language.

    >>> import detent, re
    >>> check_membership(detent.regex("a+b?"), lambda text: bool(re.fullmatch(b"a+b?", text)), [b"", b"ab", b"ba"])

    Parameters
    ----------
    language : Language
        What is checked.
    reference : callable
        Whether a text is in the language, by other means.
    texts : iterable of bytes
        The texts to compare on.
    """
    for text in texts:
        expected = bool(reference(text))
        if language.accepts(text) != expected:
            raise LawViolation("membership", f"{text!r} {'is' if expected else 'is not'} in {language!r}", text)


def check_operators(a: Language, b: Language, texts: Iterable[bytes]) -> None:
    """Compare what the operators make of two languages with their definitions, text by text.

    A text of ``a + b`` is one that can be cut into a text of `a` and one of `b`; and so on.

    >>> import detent
    >>> check_operators(detent.regex("a*"), detent.regex("(ab)+"), [b"", b"a", b"aab", b"abab"])

    Raises
    ------
    LawViolation
        With a text on which an operator departs from its definition.
    """
    texts = list(texts)

    def cuts(text: bytes) -> Iterable[tuple[bytes, bytes]]:
        return ((text[:position], text[position:]) for position in range(len(text) + 1))

    check_membership(a | b, lambda text: a.accepts(text) or b.accepts(text), texts)
    check_membership(a & b, lambda text: a.accepts(text) and b.accepts(text), texts)
    check_membership(a - b, lambda text: a.accepts(text) and not b.accepts(text), texts)
    check_membership(~a, lambda text: not a.accepts(text), texts)
    check_membership(a.optional(), lambda text: not text or a.accepts(text), texts)
    check_membership(a + b, lambda text: any(a.accepts(x) and b.accepts(y) for x, y in cuts(text)), texts)
    for minimum, maximum in ((0, None), (1, None), (0, 2), (2, 3)):
        repeated = a.repeat(minimum, maximum)
        check_membership(repeated, lambda text, m=minimum, n=maximum: _is_repeat(a, text, m, n), texts)  # type: ignore[misc]


def _is_repeat(a: Language, text: bytes, minimum: int, maximum: int | None) -> bool:
    # Parts beyond one for each byte are empty ones, of which a few are as good as any number.
    most = minimum + len(text) if maximum is None else maximum
    ends = {0}
    for count in range(most + 1):
        if count >= minimum and len(text) in ends:
            return True
        ends = {end for start in ends for end in range(start, len(text) + 1) if a.accepts(text[start:end])}
    return False


def check_language(language: Language, texts: Iterable[str | bytes] = (), *, rng: Random | None = None) -> None:
    """Check that a language's answers agree with each other.

    >>> import detent
    >>> check_language(detent.regex("(a|bc)+") - "abc", ["a", "abc", "aa", ""])

    Parameters
    ----------
    language : Language
        What is checked.
    texts : iterable of str or bytes
        Texts to ask it about, of the language and others.
    rng : Random, optional
        Draws the samples; seeded with 0 by default.

    Raises
    ------
    LawViolation
        With the text on which two answers differ.
    """
    asked = [text.encode() if isinstance(text, str) else text for text in texts]
    complement = ~language
    for text in asked:
        accepted = language.accepts(text)
        require((text in language) == accepted, "in", f"{text!r} in {language!r} is not what accepts says", text)
        require(complement.accepts(text) != accepted, "complement", f"{text!r} in both or none of a, ~a", text)
        alone = (language & ~language) | text  # the text as a language
        require((alone <= language) == accepted, "a text as a language", f"<= and accepts differ on {text!r}", text)
        _check_parse(language, text, accepted)
    if language.is_empty():
        _check_empty(language)
    else:
        _check_texts(language, asked, rng or Random(0))
    laws.double_complement(language)
    laws.concatenation(language)
    _check_pickle(language)


def _check_parse(language: Language, text: bytes, accepted: bool) -> None:
    try:
        decoded = text.decode()
    except UnicodeDecodeError:
        return
    try:
        language.parse(decoded)
    except ArgumentError:
        require(not accepted, "parse", f"it refuses {text!r}, which {language!r} accepts", text)
    else:
        require(accepted, "parse", f"it takes {text!r}, which {language!r} does not accept", text)


def _check_empty(language: Language) -> None:
    law = "empty language"
    require(language.count(64) == 0 and not list(islice(language.enumerate(), 1)), law, f"{language!r} counts texts")
    for ask in (language.shortest, lambda: language.sample(Random(0))):
        try:
            text = ask()
        except EmptyLanguageError:
            continue
        raise LawViolation(law, f"{language!r} is empty, yet gives {text!r}", text)


def _check_texts(language: Language, asked: list[bytes], rng: Random, many: int = 40) -> None:
    first = list(islice(language.enumerate(), many))
    require(bool(first), "enumerate", f"{language!r} is not empty, yet lists no text")
    keys = [(len(text), text) for text in first]
    require(keys == sorted(set(keys)), "enumerate", f"{language!r} lists texts out of order or twice", first)
    for text in first:
        require(language.accepts(text), "enumerate", f"{language!r} lists {text!r}, which it does not accept", text)
    require(language.shortest() == first[0], "shortest", f"{language.shortest()!r}, but {first[0]!r} is listed first")
    # All texts up to here were listed, or the list is complete.
    last = keys[-1] if len(first) == many else (max([len(text) for text in asked], default=0) + len(first[-1]), b"")
    for text in asked:
        if (len(text), text) <= last and language.accepts(text):
            require(text in first, "enumerate", f"{language!r} does not list {text!r}, which it accepts", text)
    for length in range(last[0]):
        listed = sum(len(text) <= length for text in first)
        counted = language.count(length)
        require(counted == listed, "count", f"{language!r} has {listed} texts up to {length} bytes, not {counted}")
    for _ in range(4):
        text = language.sample(rng, len(first[-1]))
        is_one = language.accepts(text) and len(text) <= len(first[-1])
        require(is_one, "sample", f"{language!r} drew {text!r}", text)


def _check_pickle(language: Language) -> None:
    copy = pickle.loads(pickle.dumps(language))
    laws.same("pickle", copy, language)
    require(repr(copy) == repr(language), "pickle", f"{copy!r} was {language!r}")

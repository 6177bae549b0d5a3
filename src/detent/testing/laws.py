"""Laws of the algebra of languages, each a function of the languages that it is about.

They need no more of a language than its public operators, so that they run over any implementation of these. What they
compare are sets of texts: each law names two expressions, and a text that is in one of them only breaks it.
The empty language is ``a & ~a``, all texts are its complement, and the empty text alone is ``a.repeat(0, 0)``.

Source: the axioms of Boolean algebras and of Kleene algebras (Kozen 1994).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from detent.testing.violation import LawViolation, require

if TYPE_CHECKING:
    from detent.language import Language

__all__ = [
    "absorption",
    "associativity",
    "commutativity",
    "concatenation",
    "de_morgan",
    "difference",
    "distribution",
    "double_complement",
    "excluded_middle",
    "idempotence",
    "order",
    "repetition",
    "same",
]


def same(law: str, left: Language, right: Language) -> None:
    """Require that two languages hold the same texts, and that `==`, `<=`, `hash` and `counterexample` all say so.

    >>> import detent
    >>> same("pieces", detent.regex("ab*"), detent.regex("ab?"))
    Traceback (most recent call last):
      ...
    detent.testing.violation.LawViolation: pieces: b'abb' is in Language(regex 'ab*') and not in Language(regex 'ab?')
    """
    for one, other in ((left, right), (right, left)):
        found = one.counterexample(other)
        if found is not None:
            raise LawViolation(law, f"{found!r} is in {one!r} and not in {other!r}", found)
        require(one <= other, law, f"no text is in {one!r} and not in {other!r}, yet <= denies it")
    require(left == right, law, f"{left!r} and {right!r} hold the same texts, yet == denies it")
    require(hash(left) == hash(right), law, f"{left!r} and {right!r} are equal, their hashes are not")


def double_complement(a: Language) -> None:
    """Require ``~~a == a``."""
    same("double complement", ~~a, a)


def excluded_middle(a: Language) -> None:
    """Require that each text is either in `a` or in ``~a``, and none in both."""
    nothing = a & ~a
    same("excluded middle", a | ~a, ~nothing)
    require(nothing.is_empty(), "excluded middle", f"{nothing!r} is not empty")
    same("bounds", a | nothing, a)
    same("bounds", a & nothing, nothing)
    same("bounds", a & ~nothing, a)
    same("bounds", a | ~nothing, ~nothing)


def idempotence(a: Language) -> None:
    """Require ``a | a == a`` and ``a & a == a``."""
    same("idempotence of |", a | a, a)
    same("idempotence of &", a & a, a)


def commutativity(a: Language, b: Language) -> None:
    """Require ``a | b == b | a`` and ``a & b == b & a``."""
    same("commutativity of |", a | b, b | a)
    same("commutativity of &", a & b, b & a)


def associativity(a: Language, b: Language, c: Language) -> None:
    """Require that `|`, `&` and `+` may be bracketed either way."""
    same("associativity of |", (a | b) | c, a | (b | c))
    same("associativity of &", (a & b) & c, a & (b & c))
    same("associativity of +", (a + b) + c, a + (b + c))


def absorption(a: Language, b: Language) -> None:
    """Require ``a | (a & b) == a`` and ``a & (a | b) == a``."""
    same("absorption by |", a | (a & b), a)
    same("absorption by &", a & (a | b), a)


def distribution(a: Language, b: Language, c: Language) -> None:
    """Require that `|` and `&` distribute over each other, and `+` over `|`."""
    same("distribution of & over |", a & (b | c), (a & b) | (a & c))
    same("distribution of | over &", a | (b & c), (a | b) & (a | c))
    same("distribution of + over | from the left", a + (b | c), (a + b) | (a + c))
    same("distribution of + over | from the right", (a | b) + c, (a + c) | (b + c))


def de_morgan(a: Language, b: Language) -> None:
    """Require ``~(a | b) == ~a & ~b`` and ``~(a & b) == ~a | ~b``."""
    same("De Morgan for |", ~(a | b), ~a & ~b)
    same("De Morgan for &", ~(a & b), ~a | ~b)


def difference(a: Language, b: Language) -> None:
    """Require ``a - b == a & ~b``, and that this and ``a & b`` make up `a`."""
    same("difference", a - b, a & ~b)
    same("parts by difference", (a - b) | (a & b), a)
    require(((a - b) & b).is_empty(), "difference", f"{a - b!r} shares a text with {b!r}")


def order(a: Language, b: Language) -> None:
    """Require that `<=`, `<`, `==`, `counterexample` and the operators agree on which language contains which."""
    within = a <= b
    require(within == (a | b == b), "order and |", f"{a!r} <= {b!r} is {within}, but not so a | b == b")
    require(within == (a & b == a), "order and &", f"{a!r} <= {b!r} is {within}, but not so a & b == a")
    require(within == (a - b).is_empty(), "order and -", f"{a!r} <= {b!r} is {within}, but not so a - b is empty")
    require(within == (b >= a), "order", f"{a!r} <= {b!r} is {within}, but not so b >= a")
    require((a < b) == (b > a) == (within and not b <= a), "strict order", f"{a!r} < {b!r} is {a < b}")
    require((a == b) == (within and b <= a), "equality", f"{a!r} == {b!r} is {a == b}")
    require((a != b) != (a == b), "inequality", f"{a!r} != {b!r} is {a != b}")
    found = a.counterexample(b)
    require((found is None) == within, "counterexample", f"{a!r} <= {b!r} is {within}, but it has {found!r}", found)
    if found is not None:
        is_one = a.accepts(found) and not b.accepts(found)
        require(is_one, "counterexample", f"{found!r} tells nothing of {a!r} and {b!r}", found)


def concatenation(a: Language) -> None:
    """Require that the empty text changes nothing, on either side, and that the empty language leaves nothing."""
    unit, nothing = a.repeat(0, 0), a & ~a
    same("unit of +, right", a + unit, a)
    same("unit of +, left", unit + a, a)
    same("unit of +, as a text", "" + a + b"", a)
    same("zero of +, right", a + nothing, nothing)
    same("zero of +, left", nothing + a, nothing)


def repetition(a: Language) -> None:
    """Require that repeats are what they abbreviate."""
    unit, any_number = a.repeat(0, 0), a.repeat()
    require(unit.accepts(b"") and unit.count(8) == 1, "no repeat", f"{unit!r} is not the empty text alone")
    same("one repeat", a.repeat(1, 1), a)
    same("two repeats", a.repeat(2, 2), a + a)
    same("optional", a.optional(), unit | a)
    same("one or two repeats", a.repeat(1, 2), a | (a + a))
    same("unrolling", any_number, unit | (a + any_number))
    same("unrolling from the right", any_number, unit | (any_number + a))
    same("a repeat of repeats", any_number.repeat(), any_number)
    same("two repeats in a row", any_number + any_number, any_number)
    same("at least one repeat", a.repeat(1, None), a + any_number)
    same("counts in a row", a.repeat(1, 2) + a.repeat(0, 2), a.repeat(1, 4))
    same("counts of counts", a.repeat(2, 2).repeat(0, 2), unit | a.repeat(2, 2) | a.repeat(4, 4))
    same("sliding", (a + a.repeat(2, 2).repeat()), (a.repeat(2, 2).repeat() + a))

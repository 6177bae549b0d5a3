"""Laws as functions, to be run over your own languages, vocabularies and guides.

>>> import detent, random
>>> from detent import testing
>>> number, word = detent.regex("[0-9]+"), detent.regex("[a-z]+")
>>> testing.check_algebra(number, word, number - "0")
>>> testing.check_language(number | word, ["42", "ab", "4b"])
>>> vocabulary = detent.Vocabulary([b"4", b"2", b"42", b"a", b""], eos_token_ids=[4])
>>> ids = testing.check_matcher(detent.compile(number | word, vocabulary), random.Random(0), max_tokens=5)

Each raises `LawViolation`, an AssertionError, with what breaks the law. The single laws are in `detent.testing.laws`.
"""

from __future__ import annotations

from detent.testing.languages import check_algebra, check_language, check_membership, check_operators
from detent.testing.masks import describe_mask
from detent.testing.matchers import check_matcher
from detent.testing.violation import LawViolation

__all__ = [
    "LawViolation",
    "check_algebra",
    "check_language",
    "check_matcher",
    "check_membership",
    "check_operators",
    "describe_mask",
]

"""LawViolation: what a check raises when a law does not hold, with what shows it."""

from __future__ import annotations

from typing import ClassVar

from detent.errors import DetentError

__all__ = ["LawViolation"]


class LawViolation(DetentError, AssertionError):  # noqa: N818 - named by what it shows
    """A law does not hold.

    Test runners report it as a failed assertion.

    >>> raise LawViolation("double complement", "b'a' is in ~~x and not in x", b"a")
    Traceback (most recent call last):
      ...
    detent.testing.violation.LawViolation: double complement: b'a' is in ~~x and not in x

    Attributes
    ----------
    law : str
        The name of the law.
    counterexample : object
        What shows that it does not hold: a text, or for a matcher the token ids that lead to the state.
    """

    code: ClassVar[str] = "law"

    def __init__(self, law: str, shown: str, counterexample: object = None) -> None:
        super().__init__(f"{law}: {shown}")
        self.law = law
        self.counterexample = counterexample


def require(holds: bool, law: str, shown: str, counterexample: object = None) -> None:
    """Raise `LawViolation` unless the condition holds."""
    if not holds:
        raise LawViolation(law, shown, counterexample)

"""Run the checks, and say what held."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from detent.conformance.checks import Check, FailedError
from detent.conformance.client import Client, RefusedError

__all__ = ["Result", "run_checks"]


@dataclass(frozen=True)
class Result:
    """The result of a check.

    Attributes
    ----------
    check : Check
        The check.
    verdict : "holds", "refused" or "fails"
        Refused: the server answered with an error, so nothing wrong was written.
    detail : str
        What was found, if it does not hold.
    """

    check: Check
    verdict: Literal["holds", "refused", "fails"]
    detail: str = ""


def run_checks(client: Client, checks: Sequence[Check]) -> Iterator[Result]:
    """Run checks, one after the other."""
    for check in checks:
        try:
            check.run(client)
        except RefusedError as error:
            is_fault = error.status >= 500 or error.status == 200
            yield Result(check, "fails" if is_fault else "refused", str(error))
        except FailedError as error:
            yield Result(check, "fails", str(error))
        except (OSError, ValueError, KeyError, TypeError, IndexError) as error:
            yield Result(check, "fails", f"{type(error).__name__}: {error}")
        else:
            yield Result(check, "holds")

"""Runs the checks, and reports which constraints were obeyed."""

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
    verdict : "holds", "refused", "error" or "fails"
        Refused: the server answered with a status of the class 400, so nothing wrong was written. Error: one of the
        class 500, or an error inside a stream. Fails: an answer that is not what the request asked for.
    detail : str
        What was found, if it does not hold.
    """

    check: Check
    verdict: Literal["holds", "refused", "error", "fails"]
    detail: str = ""


def run_checks(client: Client, checks: Sequence[Check]) -> Iterator[Result]:
    """Run checks, one after the other."""
    for check in checks:
        try:
            check.run(client)
        except RefusedError as error:
            is_fault = error.status >= 500 or error.status == 200
            yield Result(check, "error" if is_fault else "refused", str(error))
        except FailedError as error:
            yield Result(check, "fails", str(error))
        except (OSError, ValueError, KeyError, TypeError, IndexError) as error:
            yield Result(check, "fails", f"{type(error).__name__}: {error}")
        else:
            yield Result(check, "holds")

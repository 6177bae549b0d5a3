"""Conformance: whether the answers of a server of OpenAI's API obey the constraints that it accepts.

The command is `detent conformance`.

Each check asks for a text under a constraint and tests the answer with a few lines of Python, not with detent. A server
that refuses a constraint with an error is honest: the check then counts as refused, not as failed.
"""

from __future__ import annotations

from detent.conformance.checks import CHECKS, Check
from detent.conformance.run import Result, run_checks

__all__ = ["CHECKS", "Check", "Result", "run_checks"]

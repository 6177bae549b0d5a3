"""Parameters of which some run only with the long tests (`pytest -m long`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest


def long(value: object) -> Any:
    """Return a parameter, or a tuple of several, that runs only with the long tests."""
    return pytest.param(*(value if isinstance(value, tuple) else (value,)), marks=pytest.mark.long)


def mostly_long(values: Sequence[Any], *, always: int) -> list[Any]:
    """Return the parameters for `parametrize`: the first `always` run by default, the others are long tests."""
    return [*values[:always], *map(long, values[always:])]

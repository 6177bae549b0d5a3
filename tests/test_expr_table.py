"""Equal expressions stay one expression while the table that finds them grows."""

from __future__ import annotations

import pytest

import detent
from detent.queries import ByteDfa


@pytest.mark.parametrize("length", [5, 9, 12, 15])
def test_no_state_is_made_twice(length: int) -> None:
    """Whether each of the last bytes was an "a" is all that a state knows: there are 2^(length + 1) of them."""
    dfa = ByteDfa(detent.regex(f"[ab]*a[ab]{{{length}}}")._node)
    states = dfa.reachable([dfa.start], 1 << 20)
    assert states is not None
    assert len(states) == 2 ** (length + 1)
    assert dfa.reachable(states, 1 << 20) == states  # each is found again

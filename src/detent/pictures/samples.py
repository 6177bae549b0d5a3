"""Samples: some texts of a language that are easy to read."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from detent.errors import LimitError
from detent.queries import ByteDfa

__all__ = ["readable_samples"]

_SAMPLES = 6
_LONGER = (24, 100, 400)
"""Bytes that a sample may have more than the shortest text; more where the texts are not varied enough."""
_PLAIN = (b"abcdefghijklmnopqrstuvwxyz", b"ABCDEFGHIJKLMNOPQRSTUVWXYZ", b"0123456789", bytes(range(0x20, 0x7F)), b"\n")


def readable_samples(dfa: ByteDfa, shortest: int, check: Callable[[], None] = lambda: None) -> list[bytes]:
    """Return some texts, short ones first: random walks that prefer what can be read.

    >>> import detent
    >>> readable_samples(ByteDfa(detent.regex("[a-z]{2}[0-9]")._node), 3)
    [b'jx5', b'jy9', b'lk8', b'qb1', b'yb8', b'zp9']

    Parameters
    ----------
    dfa : ByteDfa
        The automaton of a language that is not empty.
    shortest : int
        The length of its shortest text, or of a short one.
    check : callable
        Called before each sample; it may raise an error to stop.

    Returns
    -------
    list of bytes
        At most six; fewer where the language has fewer, or where a limit is reached.
    """
    found: dict[bytes, None] = {}
    rng = Random(0)
    readable = _readable(dfa)
    try:
        for longer, is_plain in [*((longer, True) for longer in _LONGER), (_LONGER[0], False)]:
            for _ in range(4 * _SAMPLES):
                check()
                if len(found) < _SAMPLES:
                    found[_walk(dfa, rng, shortest + longer, readable, is_plain=is_plain)] = None
    except LimitError:
        pass
    return sorted(found, key=lambda text: (len(text), text))


def _walk(dfa: ByteDfa, rng: Random, most: int, readable: list[bytes], *, is_plain: bool) -> bytes:
    core, state, text = dfa._core, dfa.start, bytearray()
    while True:
        left = most - len(text)
        row = dfa.row(state)
        fits = {target: core.completion_bound(target) < left for target in set(row) if target}
        classes = [index for index, target in enumerate(row) if target and fits[target]]
        plain = [index for index in classes if readable[index]] if is_plain else []
        choices: list[int | None] = [*(plain or classes)]
        if dfa.is_accepting(state):
            choices.append(None)
        if not choices:  # only a longer text is known
            return bytes(text) + dfa.some_completion(state)
        choice = rng.choice(choices)
        if choice is None:
            return bytes(text)
        text.append(rng.choice(readable[choice] or dfa._members[choice]))
        state = row[choice]


def _readable(dfa: ByteDfa) -> list[bytes]:
    """Return the plainest characters of each byte class: letters, or digits, or other ASCII characters."""
    kinds = [[bytes(set(members) & set(kind)) for kind in _PLAIN] for members in dfa._members]
    return [next(filter(None, each), b"") for each in kinds]

"""Golden files: the textual forms of nodes, states, automata and masks, and so the normal forms that they show.

Each file in tests/golden holds cases: a line ``>>> expression``, then its text. ``DETENT_UPDATE_GOLDEN=1`` rewrites the
texts.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import detent
from detent.language import Language
from detent.queries import ByteDfa
from detent.testing import describe_mask

_FOLDER = Path(__file__).parent / "golden"
_TOKENS = [*(bytes([byte]) for byte in b'abc01 "{}:,\\'), b"ab", b"ba", b'":', b'"}', b"10", b"\xc3", b"\xa9"]
_VOCABULARY = detent.Vocabulary([*_TOKENS, b"</s>"], eos_token_ids=[len(_TOKENS)])


def _node(language: Language) -> str:
    return language._node.text()


def _state(language: Language, text: str | bytes = b"") -> str:
    """Return the expression of the state after a text."""
    return ByteDfa(language._node).state_text(text.encode() if isinstance(text, str) else text)


def _automaton(language: Language) -> str:
    return ByteDfa(language._node).dump()


def _mask(language: Language, text: bytes = b"") -> str:
    matcher = detent.compile(language, _VOCABULARY).matcher()
    matcher.advance_bytes(text)
    mask = detent.allocate_mask(1, len(_VOCABULARY))
    matcher.fill_mask(mask[0])
    return describe_mask(mask[0], _VOCABULARY)


_NAMES = {
    **{name: getattr(detent, name) for name in detent.__all__ if name.islower()},
    "node": _node,
    "state": _state,
    "automaton": _automaton,
    "mask": _mask,
}


def _read(path: Path) -> list[tuple[str, str]]:
    cases = []
    for block in path.read_text().split(">>> ")[1:]:
        expression, _, text = block.partition("\n")
        cases.append((expression, text.strip("\n")))
    return cases


@pytest.mark.parametrize("path", sorted(_FOLDER.glob("*.txt")), ids=lambda path: path.stem)
def test_golden(path: Path) -> None:
    cases = [(expression, eval(expression, dict(_NAMES)), text) for expression, text in _read(path)]
    if os.environ.get("DETENT_UPDATE_GOLDEN"):
        title = path.read_text().split(">>> ")[0]
        path.write_text(title + "\n".join(f">>> {expression}\n{found}\n" for expression, found, _ in cases))
        return
    for expression, found, text in cases:
        assert found == text, expression


def test_there_are_golden_files() -> None:
    assert sum(len(_read(path)) for path in _FOLDER.glob("*.txt")) >= 60

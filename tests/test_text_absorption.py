"""All UTF-8 texts absorb other texts in unions and intersections; patterns that may match anywhere stay small."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import detent
from detent import _core
from detent.sources.nodes import UTF8

BYTES = [b"a", b"b", b"\xc3", b"\xa9", b"\xff"]
STRINGS = [b"".join(parts) for length in range(5) for parts in product(BYTES, repeat=length)]
Judge = Callable[[bytes], bool]
Pair = tuple[_core.Node, Judge]


def is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def atom(part: bytes) -> Pair:
    """Return the texts that contain `part`, as a pattern that may match anywhere, and their judge."""
    return _core.concat([UTF8, _core.literal(part), UTF8]), lambda data: any(
        is_text(data[:at]) and is_text(data[at + len(part) :])
        for at in range(len(data) + 1)
        if data[at : at + len(part)] == part
    )


def union(pairs: list[Pair]) -> Pair:
    return _core.union([node for node, _ in pairs]), lambda data: any(judge(data) for _, judge in pairs)


def intersection(pairs: list[Pair]) -> Pair:
    return _core.intersection([node for node, _ in pairs]), lambda data: all(judge(data) for _, judge in pairs)


def complement(pair: Pair) -> Pair:
    return _core.complement(pair[0]), lambda data: not pair[1](data)


ATOMS = st.sampled_from([(UTF8, is_text), *map(atom, (b"a", b"b", "é".encode(), b"\xff", b"ab"))])
EXPRESSIONS = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.lists(inner, min_size=2, max_size=3).map(union),
        st.lists(inner, min_size=2, max_size=3).map(intersection),
        inner.map(complement),
    ),
    max_leaves=6,
)


@given(EXPRESSIONS)
@settings(max_examples=150)
def test_sets_of_texts_are_those_of_their_judges(pair: Pair) -> None:
    node, judge = pair
    language = detent.Language(node, "a set")
    assert [language.accepts(data) for data in STRINGS] == [judge(data) for data in STRINGS]


@pytest.mark.parametrize("combine", ["oneOf", "allOf", "anyOf"])
def test_patterns_that_match_anywhere_have_few_states(combine: str) -> None:
    patterns = [{"pattern": letter} for letter in "abcdefghijklmnop"]
    vocabulary = detent.Vocabulary([bytes([byte]) for byte in range(256)], eos_token_ids=None)
    guide = detent.compile(detent.json_schema({"type": "string", combine: patterns}), vocabulary)
    assert guide.state_count < 2000  # 2**16 and more without absorption

"""The fewest tokens of rules that call themselves: `min_tokens` is what a guide takes, and the least."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

import detent
from tests.support.long_tests import mostly_long
from tests.test_budget_searches import _fewest, _random_rules, _texts, _vocabulary

_NESTED: dict[str, Any] = {
    "type": "array",
    "items": {"$ref": "#/$defs/value"},
    "minItems": 2,
    "$defs": {"value": {"anyOf": [{"type": "array", "items": {"$ref": "#/$defs/value"}}, {"type": "integer"}]}},
}


def _takes(language: detent.Language, vocabulary: detent.Vocabulary, max_tokens: int) -> bool:
    try:
        detent.compile(language, vocabulary).matcher(max_tokens)
    except detent.LimitError:
        return False
    return True


@pytest.mark.parametrize("seed", mostly_long([*range(4), 5, 6, 7, 4], always=7))
def test_of_grammars_by_plain_search(seed: int) -> None:
    rng = Random(seed)
    rules = _random_rules(rng)
    longer = {"".join(rng.choices("abc()", k=rng.randrange(2, 4))) for _ in range(20)}
    tokens, vocabulary = _vocabulary(sorted(longer))
    least = _fewest(_texts(rules), tokens)[""]
    quoted = {s: s if s in rules else f'"{s}"' for row in rules.values() for p in row for s in p}
    lines = [f"{name} ::= {' | '.join(' '.join(quoted[s] for s in p) for p in row)}" for name, row in rules.items()]
    language = detent.gbnf("\n".join(["root ::= S", *lines]))
    assert language.min_tokens(vocabulary) == least
    assert [_takes(language, vocabulary, n) for n in (least - 1, least)] == [False, True]


def test_of_a_schema_that_leads_to_itself() -> None:
    # The shortest text is [0,0]: five tokens. `[`, `[],` and `[]]` are three.
    language = detent.json_schema(_NESTED, whitespace="compact")
    every = [bytes([byte]) for byte in range(256)] + [b"[[", b"[],", b"[]]"]
    vocabulary = detent.Vocabulary([*every, b""], eos_token_ids=[len(every)])
    texts = [b"".join(parts) for parts in _sequences([b"[", b"]", b",", b"0", b"[[", b"[],", b"[]]"], 2)]
    assert not any(language.accepts(text.decode()) for text in texts)
    assert language.accepts("[[],[]]")
    assert language.min_tokens(vocabulary) == 3
    assert [_takes(language, vocabulary, n) for n in (2, 3)] == [False, True]


def _sequences(tokens: list[bytes], most: int) -> list[list[bytes]]:
    """Return all sequences of at most so many tokens."""
    found: list[list[bytes]] = [[]]
    for length in range(most):
        found += [[*before, token] for before in found if len(before) == length for token in tokens]
    return found

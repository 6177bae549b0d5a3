"""Classes of free names: many patterns of patternProperties, which overlap or begin with texts of their own."""

from __future__ import annotations

import itertools
import json
import random

import jsonschema
import pytest

import detent
from detent.errors import EmptyLanguageError

PATTERNS = [
    "^a:",
    "^a:[xy]$",
    "^a:x",
    "^a:[^x]",
    "^b",
    "^b:",
    "^b:x$",
    "^ab",
    "^(a|b):",
    "x$",
    "y",
    "^.{2}$",
    "^$",
    "é",
]
NAMES = ["".join(name) for length in range(4) for name in itertools.product("ab:xyé", repeat=length)]


@pytest.mark.parametrize("seed", range(12))
def test_each_name_has_the_value_of_all_patterns_that_match_it(seed: int) -> None:
    rng = random.Random(seed)
    patterns = rng.sample(PATTERNS, rng.randint(4, 8))
    schema = {
        "type": "object",
        "properties": {"b": {"const": -1}},
        "patternProperties": {
            pattern: {"maximum": number % 4, "type": "integer"} for number, pattern in enumerate(patterns)
        },
        "additionalProperties": rng.choice([False, True, {"enum": [7]}]),
    }
    language = detent.json_schema(schema)
    valid = jsonschema.Draft202012Validator(schema).is_valid
    for name in rng.sample(NAMES, 60):
        for value in (-1, 0, 2, 3, 7):
            assert language.accepts(json.dumps({name: value}, ensure_ascii=False)) == valid({name: value}), (
                schema,
                name,
            )


def test_classes_without_any_name_are_left_out() -> None:
    """Each of these patterns excludes the others, but for the two that begin alike."""
    names = [*"acdef", "bx", "by"]
    schema = {
        "type": "object",
        "patternProperties": {f"^{name}": {"const": number} for number, name in enumerate(names)},
        "additionalProperties": False,
        "minProperties": 1,
    }
    language = detent.json_schema(schema)
    assert [language.accepts(json.dumps({name: number})) for number, name in enumerate(names)] == [True] * 7
    assert not any(language.accepts(json.dumps({name: 7})) for name in names)
    with pytest.raises(EmptyLanguageError):
        detent.json_schema(schema | {"propertyNames": {"pattern": "^[bB]z"}}).sample()


def test_many_patterns_in_any_case_begin_with_texts_of_their_own() -> None:
    names = [f"{first}{second}-name" for first, second in itertools.product("abcdefgh", repeat=2)]
    schema = {
        "type": "object",
        "patternProperties": {f"^(?i:{name})$": {"const": number} for number, name in enumerate(names)},
        "additionalProperties": False,
    }
    language = detent.json_schema(schema)
    for number, name in enumerate(names):
        assert language.accepts(json.dumps({name.upper(): number}))
        assert not language.accepts(json.dumps({name: number + 1}))
